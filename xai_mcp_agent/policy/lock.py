"""What people decided, as a value and as the text of `mcp_tools.lock.json`.

The text is made for git: sorted, one line for each decision, in ASCII, so that no letter looks like
another one. It is read strictly: what is wrong in it makes all of it unreadable, never a part.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NoReturn, cast

from ..core.json import JsonObject, clipped
from ..core.names import did_you_mean, letters, nearest, skeleton
from ..core.tools import KIND_NAMES, MCP, SourceKind, ToolKey, kind_named
from ..history.event import NAMELESS
from ..settings.document import ParsedObject

VERSION = 1
ALWAYS = "always"
"""What a person may write in the lock file for a tool, whatever its definition becomes."""

_KEYS = _SOURCES, _VERSION = "sources", "version"
_OF_SOURCE = _ACCEPTED, _APPROVED, _INSTRUCTIONS, _OFF = (
    "accepted", "approved", "instructions", "off",
)  # fmt: skip
_DIGEST = re.compile(r"[0-9a-f]{32,128}")
_MARKS = re.compile(r"^(?:<{7}|\|{7}|={7}|>{7})(?: |\r?$)", re.MULTILINE)
_MOST_CHARS = 60  # of a key in a message


class Unreadable(ValueError):
    """The text is no such file: the problem, and in `fix` what to do, where it is known."""

    def __init__(self, problem: str, fix: str = "") -> None:
        super().__init__(problem)
        self.fix = fix


@dataclass(frozen=True)
class SourceLock:
    """What was decided about one source.

    `accepted` has the digests of tools' definitions by their names; None before anything of the
    source was accepted, for which an empty map is something else: a listing without tools was.
    `approved` says which calls need no question any more, `instructions` is the digest of what the
    source says of its use, `off` has the tools that no agent may use.
    """

    accepted: Mapping[str, str] | None = None
    approved: Mapping[str, str] = field(default_factory=dict[str, str])
    instructions: str = ""
    off: frozenset[str] = frozenset()

    @property
    def is_untouched(self) -> bool:
        """Whether nothing of it was ever accepted."""
        return self.accepted is None and not self.instructions

    @property
    def decisions(self) -> int:
        """How many there are."""
        return (
            len(self.accepted or ()) + len(self.approved) + len(self.off) + bool(self.instructions)
        )

    def is_off(self, tool: str) -> bool:
        """Whether no agent may use it; also one whose name only looks like that of such a tool."""
        return bool(self.off) and letters(tool) in self._letters_off

    def looks_like(self, tool: str) -> str:
        """The accepted tool for which its name may be taken; empty if there is none."""
        if not self.accepted or tool in self.accepted:
            return ""
        return self._accepted_skeletons.get(skeleton(tool), "")

    def with_accepted(self, digests: Mapping[str, str], instructions: str = "") -> SourceLock:
        """Also these definitions, and these instructions if any, each in place of what was."""
        return replace(
            self,
            accepted={**(self.accepted or {}), **digests},
            instructions=instructions or self.instructions,
        )

    def switched(self, tool: str, *, is_enabled: bool) -> SourceLock:
        """With this tool on or off. One that is on takes along those that look like it."""
        if not is_enabled:
            return replace(self, off=self.off | {tool})
        alike = letters(tool)
        return replace(self, off=frozenset(x for x in self.off if letters(x) != alike))

    def with_approved(self, tool: str, word: str) -> SourceLock:
        """With this word about its calls; an empty one takes back what was said."""
        approved = {name: x for name, x in self.approved.items() if name != tool}
        return replace(self, approved=approved | ({tool: word} if word else {}))

    def prepare(self) -> None:
        """Have at hand what is asked of it: of very many tools that takes seconds."""
        self.is_off("")
        self.looks_like("")

    @cached_property
    def _letters_off(self) -> frozenset[str]:
        return frozenset(map(letters, self.off))

    @cached_property
    def _accepted_skeletons(self) -> Mapping[str, str]:
        return {skeleton(x): x for x in self.accepted or ()}


NOTHING = SourceLock()
"""Where nothing was decided."""


@dataclass(frozen=True)
class DecisionLock:
    """All that was decided, by sources: `mcp:weather`, a kind and a name."""

    sources: Mapping[str, SourceLock] = field(default_factory=dict[str, SourceLock])

    @property
    def decisions(self) -> int:
        """How many there are."""
        return sum(x.decisions for x in self.sources.values())

    def of(self, source: str) -> SourceLock:
        """What was decided about this source."""
        return self.sources.get(source, NOTHING)

    def prepare(self) -> None:
        """As `SourceLock.prepare`."""
        for source in self.sources.values():
            source.prepare()

    def of_tool(self, key: ToolKey) -> SourceLock:
        """What was decided about the source of this tool."""
        return self.of(source_name(kind_named(key.kind), key.source))

    def is_off(self, key: ToolKey) -> bool:
        """Whether no agent may use it."""
        return self.of_tool(key).is_off(key.name)

    def with_source(self, name: str, source: SourceLock) -> DecisionLock:
        """The same with another word about one source."""
        others = {x: kept for x, kept in self.sources.items() if x != name}
        return replace(self, sources=others if source == NOTHING else {**others, name: source})

    def as_text(self) -> str:
        """The file."""
        sources = {name: _as_json(x) for name, x in self.sources.items()}
        value = {_VERSION: VERSION, _SOURCES: sources}
        return json.dumps(value, indent=2, sort_keys=True) + "\n"


def source_name(kind: SourceKind, source: str) -> str:
    """What a source is called in the lock file: `mcp:weather`, `tools:canvas`."""
    return f"{kind.name}:{source or NAMELESS.get(kind, '')}"


def read_lock(text: str) -> DecisionLock:
    """What the text of such a file says.

    Raises:
        Unreadable: it is not right, as a whole or in any part.
    """
    if not text.strip():
        _refuse("it is empty.")
    if marks := _MARKS.search(text):
        line = text.count("\n", 0, marks.start()) + 1
        fix = "Keep the lines of both sides that count, and take the marks out."
        raise Unreadable(f"line {line} is a mark of a git merge that is not settled.", fix)
    value = _object(_parsed(text), "")
    version = value.get(_VERSION, VERSION)
    if type(version) is not int or version < 1:
        _refuse("`version` must be a whole number.")
    if version > VERSION:
        raise Unreadable(f"it is of version {version}.", "Update xai-mcp-agent to read it.")
    _require_known(value, _KEYS, "")
    sources = _object(value.get(_SOURCES, {}), _SOURCES)
    return DecisionLock({name: _source(x, name) for name, x in sources.items()})


def _parsed(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except json.JSONDecodeError as cause:
        where = f"line {cause.lineno}, column {cause.colno}"
        raise Unreadable(f"it is no JSON, at {where}: {cause.msg}.") from None
    except (RecursionError, ValueError) as cause:
        if isinstance(cause, Unreadable):
            raise
        raise Unreadable(f"it is no JSON that can be read: {cause}.") from None


def _unique(pairs: list[tuple[str, Any]]) -> JsonObject:
    found = ParsedObject.of_pairs(pairs)
    if found.repeated:
        twice = _shown(found.repeated[0])
        _refuse(f"the key {twice} is there twice, so one of the two would not count.")
    return found


def _no_constant(name: str) -> NoReturn:
    _refuse(f"{name} is no JSON.")


def _source(value: Any, name: str) -> SourceLock:
    where = f"{_SOURCES}[{_shown(name)}]"
    kind, _, of = name.partition(":")
    if kind not in KIND_NAMES or not of:
        meant = nearest(kind, KIND_NAMES, count=1) or [MCP.name]
        hint = f'Did you mean "{meant[0]}:{of or name}"?'
        raise Unreadable(f"`{where}` does not begin with the kind of a source.", hint)
    given = _object(value, where)
    _require_known(given, _OF_SOURCE, where)
    accepted, instructions = given.get(_ACCEPTED), given.get(_INSTRUCTIONS, "")
    approved = _object(given.get(_APPROVED, {}), f"{where}.{_APPROVED}")
    off = given.get(_OFF, [])
    if not isinstance(off, list) or not all(
        x and isinstance(x, str) for x in cast("list[Any]", off)
    ):
        _refuse(f"`{where}.{_OFF}` must be a list of names.")
    digests = {x: word for x, word in approved.items() if word != ALWAYS}
    return SourceLock(
        None if accepted is None else _digests(accepted, f"{where}.{_ACCEPTED}"),
        approved | _digests(digests, f"{where}.{_APPROVED}", f" or {ALWAYS!r}"),
        instructions and _digest(instructions, f"{where}.{_INSTRUCTIONS}"),
        frozenset(cast("list[str]", off)),
    )


def _require_known(given: JsonObject, known: tuple[str, ...], where: str) -> None:
    for key in given:
        if key not in known:
            place = f" in `{where}`" if where else ""
            hint = did_you_mean(key, known) or f"The keys there are: {', '.join(known)}."
            raise Unreadable(f"the key {_shown(key)}{place} is not known.", hint)


def _digests(value: Any, where: str, also: str = "") -> dict[str, str]:
    return {x: _digest(y, f"{where}[{_shown(x)}]", also) for x, y in _object(value, where).items()}


def _digest(value: Any, where: str, also: str = "") -> str:
    if not isinstance(value, str) or not _DIGEST.fullmatch(value):
        _refuse(f"`{where}` must be a digest, of 32 or more of 0-9 and a-f{also}.")
    return value


def _object(value: Any, where: str) -> JsonObject:
    if not isinstance(value, dict):
        _refuse(f"`{where}` must be an object." if where else "it must be a JSON object.")
    return dict(cast(JsonObject, value))


def _shown(key: str) -> str:
    return json.dumps(clipped(key, _MOST_CHARS))


def _refuse(problem: str) -> NoReturn:
    raise Unreadable(problem)


def _as_json(source: SourceLock) -> JsonObject:
    value: JsonObject = {}
    if source.accepted is not None:
        value[_ACCEPTED] = dict(source.accepted)
    if source.approved:
        value[_APPROVED] = dict(source.approved)
    if source.instructions:
        value[_INSTRUCTIONS] = source.instructions
    if source.off:
        value[_OFF] = sorted(source.off)
    return value
