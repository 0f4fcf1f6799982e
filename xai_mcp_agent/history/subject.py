"""What an event is about, and the names that the event graph gives it (spec 2)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import lru_cache

from ..core.kinds import META, STATIC, SourceKind

_DIGEST_CHARS = 32
NAMELESS = {STATIC: "canvas", META: "built-in"}
"""What people call the sources that have no name of their own."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A source (`tool` is None), or one tool of it.

    Subjects that differ may have the same `context_id`: spec 2 joins names with underscores,
    which names may have, too. So whoever follows links compares subjects.
    """

    kind: SourceKind
    source: str
    tool: str | None = None
    # Asked for several times while an event is written.
    _digest: str = field(default="", init=False, repr=False, compare=False)

    def __hash__(self) -> int:
        """Quick: every event is looked up by it. Kinds that share names are few."""
        return hash((self.source, self.tool))

    @property
    def context_id(self) -> str:
        """Its id in the event graph: `mcp:git`, `mcp_tool:git_git_log`, `tools:bash`."""
        if not self.kind.connects:
            return f"{self.kind.name}:{self.tool}"
        if self.tool is None:
            return f"{self.kind.name}:{self.source}"
        return f"{self.kind.name}_tool:{self.source}_{self.tool}"

    @property
    def shown_source(self) -> str:
        """What people call its source; `canvas` has the tools that are drawn, which have none."""
        return self.source or NAMELESS.get(self.kind, self.kind.name)

    @property
    def digest(self) -> str:
        """What a store finds it by: names may be longer than a database can index."""
        if not self._digest:
            names = f"{self.kind.name}:{len(self.source)}:{self.source}"
            names += "" if self.tool is None else f":{self.tool}"
            data = names.encode("utf-8", "surrogatepass")
            object.__setattr__(self, "_digest", hashlib.sha256(data).hexdigest()[:_DIGEST_CHARS])
        return self._digest

    @property
    def anchor(self) -> Subject:
        """The source it belongs to; itself, if it is one."""
        return self if self.tool is None else _anchor(self.kind, self.source)


@dataclass(frozen=True, slots=True)
class Project:
    """Whose tools they are. `repo_hash` is the same wherever the same project is worked on."""

    name: str
    repo_hash: str

    @property
    def tools_id(self) -> str:
        """The id under which all its tools hang."""
        return f"{self.repo_hash}:tools"

    @property
    def knowledge_id(self) -> str:
        """The id of all that is known of the project."""
        return f"knowledge:{self.name}_{self.repo_hash}"


@lru_cache(maxsize=256)
def _anchor(kind: SourceKind, source: str) -> Subject:
    return Subject(kind, source)
