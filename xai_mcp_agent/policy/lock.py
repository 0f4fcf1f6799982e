"""The decisions of people, as a value and as the text of `mcp_tools.lock.json`.

The text is made for git: sorted, one decision a line, in ASCII, so that no letter looks like
another one. It is read strictly: one mistake makes all of it unreadable.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Annotated, Any

from annotated_types import Ge, MinLen
from pydantic import ConfigDict, StringConstraints, TypeAdapter, ValidationError

from ..core.json import JsonObject, clipped
from ..core.names import did_you_mean, letters, skeleton
from ..core.tools import KIND_NAMES, SourceKind, ToolKey, kind_named
from ..history.event import NAMELESS
from ..settings.document import ParsedObject

VERSION = 1
ALWAYS = "always"
"""An approval that a person may write into the lock file: of any definition of a tool."""

_MARKS = re.compile(r"^(?:<{7}|\|{7}|={7}|>{7})(?: |\r?$)", re.MULTILINE)
_KEY_CHARS = 60  # of a key in a message

_Digest = Annotated[str, StringConstraints(pattern="^[0-9a-f]{32,128}$")]
_Approval = Annotated[str, StringConstraints(pattern=f"^({ALWAYS}|[0-9a-f]{{32,128}})$")]
_SourceName = Annotated[str, StringConstraints(pattern=f"(?s)^({'|'.join(KIND_NAMES)}):.")]


class Unreadable(ValueError):
    """The text is not a lock file; `fix` says what to do, if that is known."""

    def __init__(self, problem: str, fix: str = "") -> None:
        super().__init__(problem)
        self.fix = fix


@dataclass(frozen=True)
class SourceLock:
    """The decisions about one source.

    `accepted` has the digests of tools' definitions by name; None if nothing was accepted, while an
    empty map means that a listing without tools was. `approved` has the tools whose calls need no
    question, `instructions` the digest of the source's instructions, `off` the tools that no agent
    may use.
    """

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)

    accepted: dict[str, _Digest] | None = None
    approved: dict[str, _Approval] = field(default_factory=dict[str, str])
    instructions: _Digest = ""
    off: frozenset[Annotated[str, MinLen(1)]] = frozenset()

    @property
    def is_untouched(self) -> bool:
        """Whether nothing of the source was ever accepted."""
        return self.accepted is None and not self.instructions

    @property
    def decisions(self) -> int:
        """The number of decisions."""
        return (
            len(self.accepted or ()) + len(self.approved) + len(self.off) + bool(self.instructions)
        )

    def is_off(self, tool: str) -> bool:
        """Whether no agent may use a tool, also if its name only looks like that of such a tool."""
        return bool(self.off) and letters(tool) in self._letters_off

    def looks_like(self, tool: str) -> str:
        """The accepted tool that a name may be confused with; empty if there is none."""
        if not self.accepted or tool in self.accepted:
            return ""
        return self._accepted_skeletons.get(skeleton(tool), "")

    def with_accepted(self, digests: Mapping[str, str], instructions: str = "") -> SourceLock:
        """Accept these definitions, and these instructions if any, in place of earlier ones."""
        return replace(
            self,
            accepted={**(self.accepted or {}), **digests},
            instructions=instructions or self.instructions,
        )

    def switched(self, tool: str, *, is_enabled: bool) -> SourceLock:
        """Switch a tool on or off; with it, names that look alike are switched on."""
        if not is_enabled:
            return replace(self, off=self.off | {tool})
        alike = letters(tool)
        return replace(self, off=frozenset(x for x in self.off if letters(x) != alike))

    def with_approved(self, tool: str, word: str) -> SourceLock:
        """Approve the calls of a tool; an empty word withdraws that."""
        approved = {name: x for name, x in self.approved.items() if name != tool}
        return replace(self, approved=approved | ({tool: word} if word else {}))

    def as_json(self) -> JsonObject:
        """The decisions by their keys in the file."""
        keys = {
            "accepted": self.accepted, "approved": self.approved or None,
            "instructions": self.instructions or None, "off": sorted(self.off) or None,
        }  # fmt: skip
        return {key: x for key, x in keys.items() if x is not None}

    def prepare(self) -> None:
        """Compute the look-alikes now, in a thread: for very many tools that takes seconds."""
        self.is_off("")
        self.looks_like("")

    @cached_property
    def _letters_off(self) -> frozenset[str]:
        return frozenset(map(letters, self.off))

    @cached_property
    def _accepted_skeletons(self) -> Mapping[str, str]:
        return {skeleton(x): x for x in self.accepted or ()}


NOTHING = SourceLock()
"""No decisions."""


@dataclass(frozen=True)
class DecisionLock:
    """All decisions, by source: `mcp:weather`, a kind and a name."""

    sources: Mapping[str, SourceLock] = field(default_factory=dict[str, SourceLock])

    @property
    def decisions(self) -> int:
        """The number of decisions."""
        return sum(x.decisions for x in self.sources.values())

    def of(self, source: str) -> SourceLock:
        """The decisions about a source."""
        return self.sources.get(source, NOTHING)

    def prepare(self) -> None:
        """As `SourceLock.prepare`."""
        for source in self.sources.values():
            source.prepare()

    def by_source(self) -> Iterator[tuple[str, str, SourceLock]]:
        """Yield the kind and name of each source, as in a `ToolKey`, and its decisions."""
        for name, lock in self.sources.items():
            kind, _, source = name.partition(":")
            yield kind, "" if source == NAMELESS.get(kind_named(kind)) else source, lock

    def is_off(self, key: ToolKey) -> bool:
        """Whether no agent may use a tool."""
        return self.of(source_of(key)).is_off(key.name)

    def with_source(self, name: str, source: SourceLock) -> DecisionLock:
        """Replace the decisions about one source."""
        others = {x: kept for x, kept in self.sources.items() if x != name}
        return replace(self, sources=others if source == NOTHING else {**others, name: source})

    def as_text(self) -> str:
        """The text of the file."""
        sources = {name: x.as_json() for name, x in self.sources.items()}
        return json.dumps({"version": VERSION, "sources": sources}, indent=2, sort_keys=True) + "\n"


@dataclass(frozen=True)
class _File:
    """The content of the file."""

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)

    version: Annotated[int, Ge(1)] = VERSION
    sources: dict[_SourceName, SourceLock] = field(default_factory=dict[str, SourceLock])


def source_name(kind: SourceKind, source: str) -> str:
    """The name of a source in the lock file: `mcp:weather`, `tools:canvas`."""
    return f"{kind.name}:{source or NAMELESS.get(kind, '')}"


def source_of(key: ToolKey) -> str:
    """The name of a tool's source in the lock file."""
    return source_name(kind_named(key.kind), key.source)


def read_lock(text: str) -> DecisionLock:
    """Read the text of a lock file.

    Raises:
        Unreadable: something in it is wrong.
    """
    if not text.strip():
        raise Unreadable("it is empty.")
    if marks := _MARKS.search(text):
        line = text.count("\n", 0, marks.start()) + 1
        fix = "Keep the right lines of both sides, and remove the marks."
        raise Unreadable(f"line {line} is a mark of an unresolved git merge.", fix)
    try:
        json.loads(text, object_pairs_hook=_require_unique)
        file = TypeAdapter(_File).validate_json(text)
    except json.JSONDecodeError as cause:
        where = f"line {cause.lineno}, column {cause.colno}"
        raise Unreadable(f"it is not JSON, at {where}: {cause.msg}.") from None
    except ValidationError as cause:
        raise _unreadable(cause) from None
    except (RecursionError, ValueError) as cause:
        if isinstance(cause, Unreadable):
            raise
        raise Unreadable(f"it is not JSON: {cause}.") from None
    if file.version > VERSION:
        raise Unreadable(f"it has version {file.version}.", "Update xai-mcp-agent to read it.")
    return DecisionLock(file.sources)


def _unreadable(cause: ValidationError) -> Unreadable:
    """The first mistake with its place and, if a word is misspelt, the nearest one."""
    error = cause.errors(include_url=False, include_input=False)[0]
    place = [x for x in error["loc"] if x != "[key]"]
    where = "".join(f".{x}" if str(x).isidentifier() else f"[{_shown(x)}]" for x in place)
    message = error["msg"].replace("Input should", "must").replace("String should", "must")
    problem = f"`{where.lstrip('.')}` {message}." if place else f"it {message}."
    if error["type"] != "unexpected_keyword_argument":
        return Unreadable(problem)
    words = [x.name for x in fields(SourceLock if len(place) > 1 else _File)]
    fix = did_you_mean(str(place[-1]), words) or f"Known keys: {', '.join(words)}."
    return Unreadable(f"the key `{where.lstrip('.')}` is unknown.", fix)


def _require_unique(pairs: list[tuple[str, Any]]) -> JsonObject:
    value = ParsedObject.of_pairs(pairs)
    if value.repeated:
        twice = _shown(value.repeated[0])
        raise Unreadable(f"the key {twice} is there twice.")
    return value


def _shown(key: object) -> str:
    return json.dumps(clipped(str(key), _KEY_CHARS))
