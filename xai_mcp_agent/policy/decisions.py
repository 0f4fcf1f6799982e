"""What people decided about tools, and what locked sources are held to: rules over the lock file.

Nothing else decides: the history notes what was decided, and is never asked for it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Literal

import anyio
import anyio.to_thread

from ..catalog.catalog import Catalog
from ..catalog.entry import Accepted, CatalogEntry
from ..core.calls import DefinitionLock
from ..core.errors import (
    AcceptanceUnknown,
    DefinitionChanged,
    LockFailed,
    NotAccepted,
    StoreFailed,
)
from ..core.events import Inventory, InventoryChanged, SourceEvent, SourceLost
from ..core.json import JsonObject
from ..core.tools import (
    MCP,
    SourceKind,
    Tool,
    ToolKey,
    definition_text,
    digest_of,
    digest_of_definition,
    kind_named,
)
from ..history.diff import difference_in_full
from ..history.event import NAMELESS, Subject, Teller
from ..history.recording.recorder import HistoryRecorder
from ..history.recording.reports import Decided
from ..history.records import ToolRecord
from ..secrets.redactor import redact_json
from .approval_trust import ApprovalTrust
from .lock import DecisionLock, SourceLock, source_name
from .lockfile import Change, LockFile
from .review import Standing

if TYPE_CHECKING:
    from ..history.history import History

SWITCHED_OFF = "The tool {!r} cannot be used: a person has switched it off. Do without it."
_NOT_KNOWN = (
    "The tool {!r} cannot be used now: it cannot be looked up whether a person has switched it "
    "off. Do without it."
)
_NOT_KEPT = "what it was before is not known here any more"
_HIDDEN = "something in it that is hidden here, because it looks like a secret"
_LOST = (
    "{} is not there any more. What was decided goes on to count in this process, and is written "
    "again with the next decision."
)
_NOT_LOOKED = "Nobody has looked yet."
_DEFINITION_SECONDS = 2.0  # what changed is shown to a person, and waits for no store


@dataclass(frozen=True, slots=True)
class Choice:
    """What was decided about a tool. `is_new` is False where it was so already.

    Without a `tool` it is about what the server says of its use. `lines` tell what is different in
    a definition that was accepted in place of another.
    """

    server: str
    tool: str
    decision: Literal["enabled", "disabled", "accepted", "approved", "withdrawn"]
    is_new: bool
    lines: tuple[str, ...] = ()


class Decisions:
    """The rules for calls, and for what models read. Used on the bridge's loop.

    `kind_of` gives the kind of a source by its name; `tell` is given what a person should know.
    """

    def __init__(
        self,
        file: LockFile,
        recorder: HistoryRecorder,
        catalog: Catalog,
        kind_of: Callable[[str], SourceKind],
        tell: Callable[[str], None],
        trust: ApprovalTrust,
    ) -> None:
        self._trust = trust
        self._file = file
        self._recorder = recorder
        self._catalog = catalog
        self._kind_of = kind_of
        self._tell = tell
        self._first: dict[str, Inventory] = {}
        self._as_accepted: dict[ToolKey, tuple[str, Tool]] = {}  # by digest, as it was listed
        self._told: set[str] = set()

    @property
    def version(self) -> object:
        """Another one when what is decided, or known of that, may be different."""
        return self._file.version, self.why_unknown()

    def notice(self, event: SourceEvent) -> None:
        """Remember what each source lists first; an `Observer`."""
        match event:
            case InventoryChanged(source, inventory):
                self._first.setdefault(source, inventory)
            case SourceLost(source, _, on_purpose) if on_purpose:
                self._first.pop(source, None)
            case _:
                pass

    async def read(self) -> None:
        """Know what was decided, by other processes too."""
        await self._file.look()
        if self._file.is_lost:
            self._say(_LOST.format(self._file.path))

    def why_unknown(self) -> str:
        """Why nobody can say what was decided; empty where it is known."""
        if not self._file.was_looked_at:
            return _NOT_LOOKED
        return str(self._file.trouble or "")

    def why_off(self, key: ToolKey) -> str:
        """Why no agent may use the tool, for a model, with a place for its name; empty if it may.

        What may have been switched off counts as switched off.
        """
        if self.why_unknown():
            return _NOT_KNOWN
        return SWITCHED_OFF if self.is_off(key) else ""

    def is_off(self, key: ToolKey) -> bool:
        """Whether a person has switched it off, as far as that is known."""
        return self._file.lock.is_off(key)

    def standing(self, tool: Tool) -> Standing:
        """How the tool, as it is here, is to what was accepted of it."""
        accepted = self._accepted(tool.key)
        if not accepted:
            return "new"
        return "accepted" if accepted == self._catalog.digest(tool) else "changed"

    def looks_like(self, key: ToolKey) -> str:
        """The accepted tool of the same source for which its name may be taken, if there is one."""
        return self._of(key).looks_like(key.name)

    def as_accepted(self, tool: Tool) -> Tool | None:
        """The tool with the definition that was accepted, whatever its source says of it now.

        None where nothing was, or nobody has seen here what it was.
        """
        if self.standing(tool) == "accepted":
            self._as_accepted[tool.key] = self._accepted(tool.key), tool
            return tool
        digest, known = self._as_accepted.get(tool.key, ("", tool))
        return known if digest and digest == self._accepted(tool.key) else None

    def has_accepted_instructions(self, source: str) -> bool:
        """Whether what the source says of its use was accepted, or is nothing."""
        said = self._catalog.instructions(source)
        is_it = self._of_source(source).instructions == digest_of(said)
        return not said or (is_it and not self.why_unknown())

    def standing_of_instructions(self, source: str) -> Standing:
        """How what the source says of its use is to what was accepted."""
        if self.has_accepted_instructions(source):
            return "accepted"
        return "changed" if self._of_source(source).instructions else "new"

    def has_accepted(self, source: str) -> bool:
        """Whether anything of the source was ever accepted."""
        return not self._of_source(source).is_untouched

    def marked(self, entry: CatalogEntry, lock: DefinitionLock = False) -> CatalogEntry:
        """The entry with what was decided about the tool, whose source has this lock."""
        standing = self.standing(entry.tool) if entry.tool is not None else "new"
        may_take = lock == "first" and not self.has_accepted(entry.key.source)
        is_read = (standing == "accepted" or may_take) and not self.why_unknown()
        return replace(
            entry,
            is_enabled=not self.is_off(entry.key),
            accepted=self._accepted(entry.key),
            is_changed=standing == "changed",
            is_held=bool(lock) and entry.tool is not None and not is_read,
        )

    def marked_record(self, record: ToolRecord, lock: DefinitionLock = False) -> ToolRecord:
        """The record with what is decided now, whatever the history notes; as `marked`."""
        key = record.subject.key
        accepted = self._accepted(key)
        may_take = lock == "first" and not self.has_accepted(key.source)
        is_read = (accepted == record.definition or may_take) and not self.why_unknown()
        is_held = bool(lock) and not is_read
        return replace(record, is_enabled=not self.is_off(key), accepted=accepted, is_held=is_held)

    def known_tools(self, source: str) -> list[ToolKey]:
        """The tools of a source about which something was decided, of every kind it ever was."""
        found: list[ToolKey] = []
        for name, lock in self._file.lock.sources.items():
            kind, _, of = name.partition(":")
            if of == (source or NAMELESS.get(kind_named(kind), "")):
                names = {**dict.fromkeys(lock.accepted or ()), **dict.fromkeys(sorted(lock.off))}
                found += [ToolKey(kind, source, x) for x in names]
        return found

    def without_server(self, servers: Iterable[str]) -> list[str]:
        """The MCP servers about which something was decided, and that are none of these."""
        known = {source_name(MCP, x) for x in servers}
        mine = (x for x in self._file.lock.sources if x.startswith(source_name(MCP, "")))
        return [x.partition(":")[2] for x in mine if x not in known]

    def approved(self, key: ToolKey) -> str:
        """What a person said about calls of the tool for good; empty if nothing, or not known.

        That is this user, or somebody else with whom they agreed.
        """
        word = "" if self.why_unknown() else self._of(key).approved.get(key.name, "")
        name = source_name(kind_named(key.kind), key.source)
        return word if word and self._trust.counts(name, key.name, word) else ""

    def approvals(self) -> dict[ToolKey, str]:
        """All that was approved for good: digests of definitions, or `always`."""
        found: dict[ToolKey, str] = {}
        for name, lock in self._file.lock.sources.items():
            kind, _, of = name.partition(":")
            source = "" if of == NAMELESS.get(kind_named(kind)) else of
            found |= {ToolKey(kind, source, x): word for x, word in lock.approved.items()}
        return found

    async def take_first(self, source: str) -> None:
        """Accept all that a source listed first, if nothing of it was accepted by any process."""
        await self.read()
        inventory, name = self._first.get(source), self._name_of(source)
        if inventory is None or self.why_unknown() or not self._of_source(source).is_untouched:
            return
        tools, said = inventory.tools, inventory.instructions
        await self._catalog.digest_all(tools)
        digests = {x.name: self._catalog.digest(x) for x in tools}
        instructions = digest_of(said) if said else ""
        is_ours = False

        def take(lock: DecisionLock) -> DecisionLock:
            nonlocal is_ours
            before = lock.of(name)
            is_ours = before.is_untouched
            if not is_ours:
                return lock
            return lock.with_source(name, before.with_accepted(digests, instructions))

        await self._try(take)
        if is_ours:
            keys = {x.key: digests[x.name] for x in tools}
            self._note_accepted(source, keys, instructions, "executor")

    async def hold(self, tool: Tool, lock: DefinitionLock) -> None:
        """See that a locked tool is what was accepted; with `first`, the first listing is.

        Raises:
            DefinitionChanged, NotAccepted: it is not.
            AcceptanceUnknown: nobody can say what was.
        """
        await self.read()
        if trouble := self.why_unknown():
            raise AcceptanceUnknown(tool.source, tool.name, trouble)
        if lock == "first":
            await self.take_first(tool.source)
        now = self._catalog.get(tool.key) or tool
        if self.standing(now) == "changed":
            raise self._refusal(now, await self.accepted_definition(tool.key))
        self.check(tool)

    def check(self, tool: Tool) -> None:
        """See that it is what was accepted, at this moment.

        Raises:
            DefinitionChanged, NotAccepted: it is not.
        """
        now = self._catalog.get(tool.key) or tool
        if self.as_accepted(now) is not now:
            raise self._refusal(now, self._kept(tool.key))

    def definition(self, tool: Tool) -> Accepted:
        """The definition that a tool has, as it is accepted."""
        masked = redact_json(definition_text(tool), self._recorder.mask)
        return Accepted(self._catalog.digest(tool), json.loads(masked))

    async def accepted_definition(self, key: ToolKey) -> JsonObject | None:
        """What was accepted of a tool, if that was seen here, or the history can tell soon."""
        return self._kept(key) or await self.definition_of(self._accepted(key))

    async def definition_of(self, digest: str) -> JsonObject | None:
        """What the history has by this digest, if it can tell soon; nothing that was altered."""
        found: dict[str, JsonObject] = {}
        with anyio.move_on_after(_DEFINITION_SECONDS), suppress(StoreFailed):
            read = partial(_definition, digest)
            found = await asyncio.wrap_future(self._recorder.read(read, {}))
        definition = found.get(digest)
        is_it = definition is not None and digest_of_definition(definition) == digest
        return definition if is_it else None

    async def switch(self, tools: Sequence[Subject], *, is_enabled: bool) -> None:
        """A person lets agents use these tools, or not.

        Raises:
            LockFailed: it cannot be written; it counts as long as this process lives.
        """

        def change(lock: DecisionLock) -> DecisionLock:
            for tool in tools:
                name = source_name(tool.kind, tool.source)
                switched = lock.of(name).switched(tool.tool or "", is_enabled=is_enabled)
                lock = lock.with_source(name, switched)
            return lock

        for tool in tools:
            self._recorder.decided(Decided(tool, _now(), "enabled" if is_enabled else "disabled"))
        await self._decide(change)

    async def accept(
        self, source: str, tools: Mapping[ToolKey, str], instructions: str = ""
    ) -> None:
        """A person accepts these definitions, and these instructions if any, by their digests.

        Raises:
            LockFailed: as for `switch`.
        """

        def change(lock: DecisionLock) -> DecisionLock:
            named = {key: source_name(kind_named(key.kind), key.source) for key in tools}
            for name in dict.fromkeys(named.values()):
                digests = {key.name: x for key, x in tools.items() if named[key] == name}
                lock = lock.with_source(name, lock.of(name).with_accepted(digests))
            if instructions:
                name = self._name_of(source)
                lock = lock.with_source(name, lock.of(name).with_accepted({}, instructions))
            return lock

        self._note_accepted(source, tools, instructions, "user")
        await self._decide(change)

    async def approve(self, key: ToolKey, word: str) -> None:
        """A person says something about calls of the tool for good, or takes it back with nothing.

        Raises:
            LockFailed: as for `switch`.
        """
        name = source_name(kind_named(key.kind), key.source)
        await anyio.to_thread.run_sync(self._trust.agree, name, key.name, word)
        await self._decide(
            lambda lock: lock.with_source(name, lock.of(name).with_approved(key.name, word))
        )

    async def _decide(self, change: Change) -> None:
        await self.read()
        await self._file.change(change)

    async def _try(self, change: Change) -> None:
        try:
            await self._file.change(change)
        except LockFailed as reason:
            self._say(str(reason))

    def _note_accepted(
        self, source: str, tools: Mapping[ToolKey, str], instructions: str, teller: Teller
    ) -> None:
        now = _now()
        for key, digest in tools.items():
            subject = self._recorder.subject(key)
            self._recorder.decided(Decided(subject, now, "accepted", digest, teller=teller))
        if instructions:
            subject = Subject(self._kind_of(source), source)
            self._recorder.decided(Decided(subject, now, "accepted", instructions, teller=teller))

    def _kept(self, key: ToolKey) -> JsonObject | None:
        """What was accepted of it, if it was seen here."""
        digest, tool = self._as_accepted.get(key, ("", None))
        is_it = tool is not None and digest == self._accepted(key)
        return self.definition(tool).definition if tool is not None and is_it else None

    def _refusal(self, now: Tool, before: JsonObject | None) -> NotAccepted:
        if not self._accepted(now.key):
            digest = self._catalog.digest(now)
            return NotAccepted(now.source, now.name, digest, self.looks_like(now.key))
        after = self.definition(now)
        lines = changes_between(before, after.definition)
        return DefinitionChanged(now.source, now.name, after.digest, lines)

    def _accepted(self, key: ToolKey) -> str:
        return (self._of(key).accepted or {}).get(key.name, "")

    def _of(self, key: ToolKey) -> SourceLock:
        return self._file.lock.of_tool(key)

    def _of_source(self, source: str) -> SourceLock:
        return self._file.lock.of(self._name_of(source))

    def _name_of(self, source: str) -> str:
        return source_name(self._kind_of(source), source)

    def _say(self, text: str) -> None:
        if text not in self._told:
            self._told.add(text)
            self._tell(text)


def changes_between(before: JsonObject | None, after: JsonObject | None) -> tuple[str, ...]:
    """What is different between two definitions, in lines."""
    if before is None or after is None:
        return (_NOT_KEPT,)
    return difference_in_full(before, after) or (_HIDDEN,)


def _definition(digest: str, history: History) -> dict[str, JsonObject]:
    # In the thread that owns the store: SQLAlchemy takes a while.
    from ..history.log import definitions_of

    with history.reading() as connection:
        return definitions_of(connection, [digest])


def _now() -> datetime:
    return datetime.now(UTC)
