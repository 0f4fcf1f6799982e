"""What an event is about, and the names that the event graph gives it (spec 2)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from ..core.kinds import META, STATIC, SourceKind

_DIGEST_CHARS = 32
_NAMELESS = {STATIC: "canvas", META: "built-in"}


@dataclass(frozen=True, slots=True)
class Subject:
    """A source (`tool` is None), or one tool of it.

    Subjects that differ may have the same `context_id`: spec 2 joins names with underscores,
    which names may have, too. So whoever follows links compares subjects.
    """

    kind: SourceKind
    source: str
    tool: str | None = None

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
        return self.source or _NAMELESS.get(self.kind, self.kind.name)

    @property
    def digest(self) -> str:
        """What a store finds it by: names may be longer than a database can index."""
        names = f"{self.kind.name}:{len(self.source)}:{self.source}"
        names += "" if self.tool is None else f":{self.tool}"
        return hashlib.sha256(names.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_CHARS]

    @property
    def anchor(self) -> Subject:
        """The source it belongs to; itself, if it is one."""
        return Subject(self.kind, self.source)


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
