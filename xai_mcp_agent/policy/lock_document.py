"""The decisions about all sources, and their text in `mcp_tools.lock.json`.

The text is made for git: sorted, one decision a line, in ASCII, so that no letter looks like
another one. It is read strictly: one mistake makes all of it unreadable.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Annotated, Any, cast

from annotated_types import Ge, MinLen
from pydantic import ConfigDict, PlainSerializer, StringConstraints, ValidationError

from ..core.json import JsonObject, clip
from ..core.names import did_you_mean, fold_letters, skeleton
from ..core.tools import KIND_NAMES, SourceKind, ToolKey, find_kind
from ..history.event import NAMELESS
from ..settings.document import ParsedObject
from ..settings.validation import adapter

VERSION = 1
ALWAYS = "always"
"""An approval that a person may write into the lock file, for any definition of a tool."""
_MARKS = re.compile(r"^(?:<{7}|\|{7}|={7}|>{7})(?: |\r?$)", re.MULTILINE)
_KEY_CHARS = 60  # of a key in a message
_Digest = Annotated[str, StringConstraints(pattern="^[0-9a-f]{32,128}$")]
_Approval = Annotated[str, StringConstraints(pattern=f"^({ALWAYS}|[0-9a-f]{{32,128}})$")]
_SourceName = Annotated[str, StringConstraints(pattern=f"(?s)^({'|'.join(KIND_NAMES)}):.")]


@dataclass(frozen=True)
class SourceLock:
    """The decisions about one source.

    `accepted` has the digests of tools' definitions by name; None means that nothing was accepted,
    an empty map that a listing without tools was. `approved` has the tools that need no approval,
    `instructions` the digest of the source's instructions, `off` the tools that no agent may use.
    """

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)

    accepted: dict[str, _Digest] | None = None
    approved: dict[str, _Approval] = field(default_factory=dict[str, str])
    instructions: _Digest = ""
    off: Annotated[frozenset[Annotated[str, MinLen(1)]], PlainSerializer(sorted)] = frozenset()

    @property
    def is_untouched(self) -> bool:
        """Whether nothing of the source was ever accepted."""
        return self.accepted is None and not self.instructions

    def is_off(self, tool: str) -> bool:
        """Return whether no agent may use a tool, or one with a look-alike name."""
        return bool(self.off) and fold_letters(tool) in self._letters_off

    def looks_like(self, tool: str) -> str:
        """Return the accepted tool that a name may be confused with; empty if there is none."""
        if not self.accepted or tool in self.accepted:
            return ""
        return self._accepted_skeletons.get(skeleton(tool), "")

    def with_accepted(self, digests: Mapping[str, str], instructions: str = "") -> SourceLock:
        """Return this with more accepted definitions, and these instructions if any."""
        accepted = {**(self.accepted or {}), **digests}
        instructions = instructions or self.instructions
        return replace(self, accepted=accepted, instructions=instructions)

    def with_enabled(self, tool: str, *, is_enabled: bool) -> SourceLock:
        """Return this with a tool switched on or off; names that look alike go on with it."""
        if not is_enabled:
            return replace(self, off=self.off | {tool})
        alike = fold_letters(tool)
        return replace(self, off=frozenset(x for x in self.off if fold_letters(x) != alike))

    def with_approved(self, tool: str, word: str) -> SourceLock:
        """Return this with the calls of a tool approved; an empty word withdraws that."""
        approved = {name: x for name, x in self.approved.items() if name != tool}
        return replace(self, approved=approved | ({tool: word} if word else {}))

    def prepare(self) -> None:
        """Compute the look-alikes now, in a thread: for very many tools that takes seconds."""
        self.is_off("")
        self.looks_like("")

    @cached_property
    def _letters_off(self) -> frozenset[str]:
        return frozenset(map(fold_letters, self.off))

    @cached_property
    def _accepted_skeletons(self) -> Mapping[str, str]:
        return {skeleton(x): x for x in self.accepted or ()}


_NOTHING = SourceLock()


@dataclass(frozen=True)
class DecisionLock:
    """All decisions by source, such as `mcp:weather`: a kind and a name."""

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)

    sources: dict[_SourceName, SourceLock] = field(default_factory=dict[str, SourceLock])
    version: Annotated[int, Ge(1)] = VERSION

    def of(self, source: str) -> SourceLock:
        """Return the decisions about a source."""
        return self.sources.get(source, _NOTHING)

    def by_source(self) -> Iterator[tuple[str, str, SourceLock]]:
        """Yield the kind and name of each source, as in a `ToolKey`, and its decisions."""
        for name, lock in self.sources.items():
            kind, _, source = name.partition(":")
            yield kind, "" if source == NAMELESS.get(find_kind(kind)) else source, lock

    def is_off(self, key: ToolKey) -> bool:
        """Return whether no agent may use a tool."""
        return self.of(source_of(key)).is_off(key.name)

    def with_source(self, name: str, source: SourceLock) -> DecisionLock:
        """Return this with the decisions about one source replaced."""
        sources = {x: lock for x, lock in self.sources.items() if x != name}
        return replace(self, sources=sources | ({} if source == _NOTHING else {name: source}))

    def as_text(self) -> str:
        """Return the text of the file."""
        decisions = adapter(DecisionLock).dump_python(self, exclude_defaults=True)
        document: JsonObject = {"sources": {}, **decisions, "version": VERSION}
        return json.dumps(document, indent=2, sort_keys=True) + "\n"


def source_name(kind: SourceKind, source: str) -> str:
    """Return the name of a source in the lock file: `mcp:weather`, `tools:canvas`."""
    return f"{kind.name}:{source or NAMELESS.get(kind, '')}"


def source_of(key: ToolKey) -> str:
    """Return the name of a tool's source in the lock file."""
    return source_name(find_kind(key.kind), key.source)


class UnreadableLock(ValueError):
    """The text is not a lock file; `fix` says what to do, if that is known."""

    def __init__(self, problem: str, fix: str = "") -> None:
        super().__init__(problem)
        self.fix = fix


def read_lock(text: str) -> DecisionLock:
    """Parse the text of a lock file.

    Raises:
        Unreadable: the text has a mistake.
    """
    if not text.strip():
        raise UnreadableLock("it is empty.")
    if marks := _MARKS.search(text):
        line = text.count("\n", 0, marks.start()) + 1
        fix = "Keep the right lines of both sides, and remove the marks."
        raise UnreadableLock(f"line {line} is a mark of an unresolved git merge.", fix)
    try:
        json.loads(text, object_pairs_hook=_require_unique)
        lock = cast(DecisionLock, adapter(DecisionLock).validate_json(text))
    except ValidationError as cause:
        raise _unreadable(cause) from None
    except UnreadableLock:
        raise
    except (RecursionError, ValueError) as cause:
        raise UnreadableLock(f"it is not JSON: {cause}.") from None
    if lock.version > VERSION:
        raise UnreadableLock(f"it has version {lock.version}.", "Update xai-mcp-agent to read it.")
    return lock


def _unreadable(cause: ValidationError) -> UnreadableLock:
    """Return the first mistake with its place and, for a misspelt word, the nearest one."""
    error = cause.errors(include_url=False, include_input=False)[0]
    place = [x for x in error["loc"] if x != "[key]"]
    where = "".join(f".{x}" if str(x).isidentifier() else f"[{_quote(x)}]" for x in place)
    message = error["msg"].replace("Input should", "must").replace("String should", "must")
    problem = f"`{where.lstrip('.')}` {message}." if place else f"it {message}."
    if error["type"] != "unexpected_keyword_argument":
        return UnreadableLock(problem)
    words = [x.name for x in fields(SourceLock if len(place) > 1 else DecisionLock)]
    fix = did_you_mean(str(place[-1]), words) or f"Known keys: {', '.join(words)}."
    return UnreadableLock(f"the key `{where.lstrip('.')}` is unknown.", fix)


def _require_unique(pairs: list[tuple[str, Any]]) -> JsonObject:
    value = ParsedObject.of_pairs(pairs)
    if value.repeated:
        raise UnreadableLock(f"the key {_quote(value.repeated[0])} is there twice.")
    return value


def _quote(key: object) -> str:
    return json.dumps(clip(str(key), _KEY_CHARS))
