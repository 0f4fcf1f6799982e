"""People's decisions about tools: switched off, accepted, approved permanently.

Only the lock file decides; the history records decisions and is never consulted. **They fail
closed**: while the file cannot be read, every tool counts as switched off, none as accepted or
approved.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from ..catalog.catalog import Catalog
from ..catalog.entry import Accepted, CatalogEntry
from ..core.calls import DefinitionLock
from ..core.errors import AcceptanceUnknown, DefinitionChanged, LockFailed, NotAccepted, StoreFailed
from ..core.events import Inventory, InventoryChanged, SourceEvent, SourceLost
from ..core.json import JsonObject
from ..core.tools import (
    MCP,
    SourceKind,
    Tool,
    ToolKey,
    definition_text,
    digest_of,
    digest_of_value,
)
from ..history.diff import differences
from ..history.event import Subject, Teller, tool_subject
from ..history.recording.recorder import HistoryRecorder
from ..history.recording.reports import decision_event
from ..history.records import ToolRecord
from ..secrets.redactor import redact_json
from .approval_trust import ApprovalTrust
from .lock_document import DecisionLock, SourceLock, source_name, source_of
from .lockfile import Change, LockFile
from .review import Standing

if TYPE_CHECKING:
    from ..history.history import History

SWITCHED_OFF = "The tool {!r} cannot be used: a person has switched it off. Do without it."
_UNKNOWN = (
    "The tool {!r} cannot be used now: it is not known whether a person has switched it off. Do "
    "without it."
)
_LOST = (
    "{} is gone. Its decisions still count in this process, and are written again with the next "
    "decision."
)
_NOT_READ = "The file of decisions was not read yet."
_DEFINITION_SECONDS = 2.0  # a person is waiting to see the changes


class Decisions:
    """The decisions about calls, and about the text that models read. Used on the bridge's loop.

    `kind_of` returns the kind of a source by its name; `warn` gets messages for a person.
    """

    def __init__(
        self,
        file: LockFile,
        recorder: HistoryRecorder,
        catalog: Catalog,
        kind_of: Callable[[str], SourceKind],
        warn: Callable[[str], None],
        trust: ApprovalTrust,
    ) -> None:
        self._file = file
        self._recorder = recorder
        self._catalog = catalog
        self._kind_of = kind_of
        self._warn = warn
        self._trust = trust
        self._first: dict[str, Inventory] = {}
        self._as_accepted: dict[ToolKey, tuple[str, Tool]] = {}  # digest and tool as listed
        self._warned: set[str] = set()

    @property
    def version(self) -> object:
        """A value that changes whenever decisions may have changed."""
        return self._file.version, self.why_unknown()

    def notice(self, event: SourceEvent) -> None:
        """Remember the first inventory of each source; an `Observer`."""
        if isinstance(event, InventoryChanged):
            self._first.setdefault(event.source, event.inventory)
        elif isinstance(event, SourceLost) and event.on_purpose:
            self._first.pop(event.source, None)

    async def read(self) -> None:
        """Read the decisions, including those that other processes made."""
        await self._file.read_if_changed()
        if self._file.is_lost:
            self._warn_once(_LOST.format(self._file.path))

    # Fail closed: unknown means not allowed

    def why_unknown(self) -> str:
        """Return why the decisions are unknown; empty if they are known."""
        if not self._file.was_read:
            return _NOT_READ
        return str(self._file.trouble or "")

    def why_off(self, key: ToolKey) -> str:
        """Return why no agent may use a tool, with a placeholder for its name, or ""."""
        if self.why_unknown():
            return _UNKNOWN
        return SWITCHED_OFF if self.is_off(key) else ""

    def approved(self, key: ToolKey) -> str:
        """Return the digest, or `always`, that is approved permanently; empty if none is.

        The approval must be this user's own, or one that they agreed to.
        """
        word = "" if self.why_unknown() else self._of(key).approved.get(key.name, "")
        return word if word and self._trust.counts(source_of(key), key.name, word) else ""

    def has_accepted_instructions(self, source: str) -> bool:
        """Return whether the instructions of a source are accepted, or there are none."""
        text = self._catalog.instructions(source)
        is_accepted = self._of_source(source).instructions == digest_of(text)
        return not text or (is_accepted and not self.why_unknown())

    def _is_readable(self, key: ToolKey, digest: str, lock: DefinitionLock) -> bool:
        """Return whether agents may read this definition of a tool of a locked source."""
        may_take_first = lock == "first" and not self.has_accepted(key.source)
        is_accepted = digest == self._accepted(key) or may_take_first
        return is_accepted and not self.why_unknown()

    async def require_accepted(self, tool: Tool, lock: DefinitionLock) -> None:
        """Check that a locked tool is as accepted. With `first`, a first listing is accepted.

        Raises:
            DefinitionChanged, NotAccepted: the tool is not as accepted.
            AcceptanceUnknown: the decisions are unknown.
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
        """Check that a tool is as accepted at this moment.

        Raises:
            DefinitionChanged, NotAccepted: the tool is not as accepted.
        """
        now = self._catalog.get(tool.key) or tool
        if self.as_accepted(now) is not now:
            raise self._refusal(now, self._cached_definition(tool.key))

    # Queries

    def is_off(self, key: ToolKey) -> bool:
        """Return whether a person switched a tool off, as far as that is known."""
        return self._file.lock.is_off(key)

    def standing(self, tool: Tool) -> Standing:
        """Return how a tool compares to its accepted definition."""
        accepted = self._accepted(tool.key)
        if not accepted:
            return "new"
        return "accepted" if accepted == self._catalog.digest(tool) else "changed"

    def standing_of_instructions(self, source: str) -> Standing:
        """Return how the instructions of a source compare to the accepted ones."""
        if self.has_accepted_instructions(source):
            return "accepted"
        return "changed" if self._of_source(source).instructions else "new"

    def has_accepted(self, source: str) -> bool:
        """Return whether anything of a source was ever accepted."""
        return not self._of_source(source).is_untouched

    def looks_like(self, key: ToolKey) -> str:
        """Return the accepted tool of the same source that a name may be confused with, if any."""
        return self._of(key).looks_like(key.name)

    def as_accepted(self, tool: Tool) -> Tool | None:
        """Return the tool with its accepted definition, even if its source has changed it.

        None if nothing was accepted, or if this process never had the accepted definition.
        """
        if self.standing(tool) == "accepted":
            self._as_accepted[tool.key] = self._accepted(tool.key), tool
            return tool
        digest, accepted_tool = self._as_accepted.get(tool.key, ("", tool))
        return accepted_tool if digest and digest == self._accepted(tool.key) else None

    def with_decisions(self, entry: CatalogEntry, lock: DefinitionLock = False) -> CatalogEntry:
        """Return the entry with the decisions about its tool, for a source with this lock."""
        digest = self._catalog.digest(entry.tool) if entry.tool is not None else ""
        is_changed = "" != self._accepted(entry.key) != digest != ""
        return replace(entry, is_changed=is_changed, **self._marks(entry.key, digest, lock))

    def record_with_decisions(self, record: ToolRecord, lock: DefinitionLock = False) -> ToolRecord:
        """Return the record with the current decisions instead of the recorded ones."""
        return replace(record, **self._marks(record.subject.key, record.definition, lock))

    def _marks(self, key: ToolKey, digest: str, lock: DefinitionLock) -> dict[str, Any]:
        is_held = bool(lock and digest) and not self._is_readable(key, digest, lock)
        is_enabled = not self.is_off(key)
        return {"is_enabled": is_enabled, "accepted": self._accepted(key), "is_held": is_held}

    def decided_tools(self, source: str) -> list[ToolKey]:
        """Return the tools of a source with a decision, for every kind it ever had."""
        return [
            ToolKey(kind, source, tool)
            for kind, name, lock in self._file.lock.by_source()
            if name == source
            for tool in {**dict.fromkeys(lock.accepted or ()), **dict.fromkeys(sorted(lock.off))}
        ]

    def decided_servers_except(self, servers: Iterable[str]) -> list[str]:
        """Return the MCP servers with a decision that are not among these."""
        names = (name for kind, name, _ in self._file.lock.by_source() if kind == MCP.name)
        return [x for x in names if x not in {*servers}]

    def approvals(self) -> dict[ToolKey, str]:
        """Return all permanent approvals: digests of definitions, or `always`."""
        return {
            ToolKey(kind, source, tool): word
            for kind, source, lock in self._file.lock.by_source()
            for tool, word in lock.approved.items()
        }

    def definition(self, tool: Tool) -> Accepted:
        """Return the definition of a tool as it would be accepted, with secrets hidden."""
        masked = redact_json(definition_text(tool), self._recorder.mask)
        return Accepted(self._catalog.digest(tool), json.loads(masked))

    async def accepted_definition(self, key: ToolKey) -> JsonObject | None:
        """Return a tool's accepted definition, if this process or the history has it."""
        return self._cached_definition(key) or await self.definition_of(self._accepted(key))

    async def definition_of(self, digest: str) -> JsonObject | None:
        """Return the unaltered definition with this digest, if the history returns it soon."""
        definitions: dict[str, JsonObject] = {}
        with anyio.move_on_after(_DEFINITION_SECONDS), suppress(StoreFailed):
            read = partial(_definition, digest)
            definitions = await asyncio.wrap_future(self._recorder.read(read, {}))
        definition = definitions.get(digest)
        is_unaltered = definition is not None and digest_of_value(definition) == digest
        return definition if is_unaltered else None

    # Deciding

    async def take_first(self, source: str) -> None:
        """Accept the first inventory of a source, unless anything of it was accepted before."""
        await self.read()
        inventory, name = self._first.get(source), self._name_of(source)
        if inventory is None or self.why_unknown() or self.has_accepted(source):
            return
        await self._catalog.digest_all(inventory.tools)
        digests = {x.name: self._catalog.digest(x) for x in inventory.tools}
        instructions = digest_of(inventory.instructions) if inventory.instructions else ""

        def take(lock: DecisionLock) -> DecisionLock:
            before = lock.of(name)
            if not before.is_untouched:
                return lock
            return lock.with_source(name, before.with_accepted(digests, instructions))

        try:
            await self._file.change(take)
        except LockFailed as reason:
            self._warn_once(str(reason))
        if self._of_source(source).accepted == digests:
            keys = {x.key: digests[x.name] for x in inventory.tools}
            self._record_accepted(source, keys, instructions, "executor")

    async def switch(self, tools: Sequence[Subject], *, is_enabled: bool) -> None:
        """Switch tools on or off for agents, for a person.

        Raises:
            LockFailed: the decision cannot be written; it counts until this process ends.
        """

        def change(lock: DecisionLock) -> DecisionLock:
            for tool in tools:
                name = source_name(tool.kind, tool.source)
                switched = lock.of(name).with_enabled(tool.tool or "", is_enabled=is_enabled)
                lock = lock.with_source(name, switched)
            return lock

        for tool in tools:
            decision = "enabled" if is_enabled else "disabled"
            self._recorder.record_decision(decision_event(tool, _now(), decision))
        await self._decide(change)

    async def accept(
        self, source: str, tools: Mapping[ToolKey, str], instructions: str = ""
    ) -> None:
        """Accept definitions, and instructions if any, by their digests, for a person.

        Raises:
            LockFailed: as for `switch`.
        """

        own = self._name_of(source)
        digests: dict[str, dict[str, str]] = {own: {}} if instructions else {}
        for key, digest in tools.items():
            digests.setdefault(source_of(key), {})[key.name] = digest

        def change(lock: DecisionLock) -> DecisionLock:
            for name, x in digests.items():
                accepted = lock.of(name).with_accepted(x, instructions if name == own else "")
                lock = lock.with_source(name, accepted)
            return lock

        self._record_accepted(source, tools, instructions, "user")
        await self._decide(change)

    async def approve(self, key: ToolKey, word: str) -> None:
        """Approve calls of a tool permanently for a person; an empty word withdraws that.

        Raises:
            LockFailed: as for `switch`.
        """
        name = source_of(key)
        await anyio.to_thread.run_sync(self._trust.agree, name, key.name, word)
        await self._decide(
            lambda lock: lock.with_source(name, lock.of(name).with_approved(key.name, word))
        )

    async def _decide(self, change: Change) -> None:
        await self.read()
        await self._file.change(change)

    def _record_accepted(
        self, source: str, tools: Mapping[ToolKey, str], instructions: str, teller: Teller
    ) -> None:
        subjects = {tool_subject(key): digest for key, digest in tools.items()}
        if instructions:
            subjects[Subject(self._kind_of(source), source)] = instructions
        for subject, digest in subjects.items():
            event = decision_event(subject, _now(), "accepted", digest, teller)
            self._recorder.record_decision(event)

    def _cached_definition(self, key: ToolKey) -> JsonObject | None:
        """Return the accepted definition of a tool, if this process has it."""
        digest, tool = self._as_accepted.get(key, ("", None))
        is_accepted = tool is not None and digest == self._accepted(key)
        return self.definition(tool).definition if tool is not None and is_accepted else None

    def _refusal(self, now: Tool, before: JsonObject | None) -> NotAccepted:
        if not self._accepted(now.key):
            digest = self._catalog.digest(now)
            return NotAccepted(now.source, now.name, digest, self.looks_like(now.key))
        after = self.definition(now)
        lines = differences(before, after.definition, in_full=True)
        return DefinitionChanged(now.source, now.name, after.digest, lines)

    def _accepted(self, key: ToolKey) -> str:
        return (self._of(key).accepted or {}).get(key.name, "")

    def _of(self, key: ToolKey) -> SourceLock:
        return self._file.lock.of(source_of(key))

    def _of_source(self, source: str) -> SourceLock:
        return self._file.lock.of(self._name_of(source))

    def _name_of(self, source: str) -> str:
        return source_name(self._kind_of(source), source)

    def _warn_once(self, text: str) -> None:
        if text not in self._warned:
            self._warned.add(text)
            self._warn(text)


def _definition(digest: str, history: History) -> dict[str, JsonObject]:
    # In the thread that owns the store, because importing SQLAlchemy is slow.
    from ..history.events_table import definitions_of

    with history.reading() as connection:
        return definitions_of(connection, [digest])


def _now() -> datetime:
    return datetime.now(UTC)
