"""What tools exist, what was decided about them, and how they did: one projection, in memory."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import anyio

from ..core.errors import UnknownTool
from ..core.events import Inventory, InventoryChanged, SourceEvent, SourceLost
from ..core.fingerprint import definition_text, digest_of
from ..core.names import did_you_mean
from ..core.tools import Tool, ToolKey
from ..history.recording.recorder import HistoryRecorder
from ..history.recording.reports import Decided, ListingDigest, RecordUpdate, is_same
from ..history.records import ToolRecord
from .entry import Accepted, CatalogEntry
from .feed import RecordFeed
from .records import ToolRecords

logger = logging.getLogger(__name__)

DISABLED = "{}: {!r} is left out by `disabledTools` of its entry in the settings."
"""Why a tool that its source has does not exist here, for a person."""

_NO_HISTORY = "there is no history"


@dataclass(frozen=True, slots=True)
class CatalogChanged:
    """Something is new about tools of these sources.

    The version is as before where no tool came, changed or went, and nothing else is decided:
    where calls were counted, say.
    """

    version: int
    sources: frozenset[str]


class Catalog:
    """Every tool of every source, by key. An `Observer`, told after the recorder; used on its loop.

    The tools of a source whose connection is lost stay known, so that a call
    can heal it; they go when it is closed on purpose or lists without them.

    What a source lists counts at once, and so does what is decided in this process. The rest is
    what `recorder` has written down, and what others have, when it was read last: at a listing of
    the source, and by `read`. Without one nothing was decided.
    """

    def __init__(self, recorder: HistoryRecorder | None = None) -> None:
        self.version = 0
        self._inventories: dict[str, Inventory] = {}
        self._by_name: dict[tuple[str, str], Tool] = {}  # of source and tool
        self._changed = anyio.Event()
        self._subscribers: list[Callable[[CatalogChanged], None]] = []
        self._listed: dict[str, ListingDigest] = {}
        self._digests: dict[ToolKey, tuple[Tool, str]] = {}
        self._records = ToolRecords()
        self._feed = recorder and RecordFeed(recorder, self._records.definitions, self._take)

    def notice(self, event: SourceEvent) -> None:
        """Fold one event in."""
        match event:
            case InventoryChanged(source, inventory):
                self._replace(source, inventory)
                if self._feed:
                    self._feed.ask([source])
            case SourceLost(source, _, on_purpose) if on_purpose:
                self._replace(source, None)
            case _:
                pass

    def decide(self, report: Decided, definition: Accepted | None = None) -> None:
        """Have a decision count that this process made; `definition` is what it accepts."""
        if definition is not None and definition.definition is not None:
            self._records.definitions[definition.digest] = definition.definition
        self._tell([report.tool.source], is_new=self._records.decide(report))

    async def read(self, sources: Iterable[str], seconds: float, *, whole: bool = False) -> bool:
        """Know what was decided about the tools of these, by other processes too.

        `whole`: know all tools that they ever had, also where they were not connected here. Waits
        so long at most, and not at all for a history that cannot be used. Whether it was in time.
        """
        answered = self._feed.ask(sources, whole=whole) if self._feed else None
        with anyio.move_on_after(seconds):
            if answered is not None:
                await answered.wait()
        return answered is None or answered.is_set()

    def why_not_read(self, source: str) -> str | None:
        """Why it is not known what was decided about the tools of a source; None if it is."""
        if self._feed is None:
            return _NO_HISTORY
        return None if source in self._feed.known else self._feed.trouble

    def why_unknown(self, source: str) -> str:
        """The same of what was switched off; empty also where nothing was ever decided."""
        if self._feed is None or self._feed.is_new or source in self._feed.known:
            return ""
        return self._feed.trouble

    @property
    def decided_version(self) -> object:
        """Another one when what is decided, or known of that, may be different."""
        known = (self._feed.is_new, len(self._feed.known)) if self._feed else ()
        return self.version, len(self._records.definitions), known

    def subscribe(self, callback: Callable[[CatalogChanged], None]) -> Callable[[], None]:
        """Have every change told, on the loop; what comes back ends that."""
        self._subscribers.append(callback)
        return lambda: self._subscribers.remove(callback)

    def tools(self, source: str) -> tuple[Tool, ...]:
        """What the source offers, in its own order; empty when it never connected.

        The same object as long as nothing changes in it.
        """
        inventory = self._inventories.get(source)
        return inventory.tools if inventory else ()

    def instructions(self, source: str) -> str:
        """What the source wants its users to know."""
        inventory = self._inventories.get(source)
        return inventory.instructions if inventory else ""

    def get(self, key: ToolKey) -> Tool | None:
        """One tool, if it exists now."""
        tool = self.named(key.source, key.name)
        return tool if tool is not None and tool.key == key else None

    def named(self, source: str, name: str) -> Tool | None:
        """One tool of a source, if it exists now. No two sources have the same name."""
        return self._by_name.get((source, name))

    def require(self, source: str, name: str) -> Tool:
        """One tool of a source.

        Raises:
            UnknownTool: the source does not offer it; the message names the nearest it does.
        """
        tool = self.named(source, name)
        if tool is None:
            if (known := self._inventories.get(source)) and name in known.disabled:
                raise UnknownTool(DISABLED.format(source, name))
            names = [x.name for x in self.tools(source)]
            hint = did_you_mean(name, names) or f"It offers: {', '.join(names) or 'no tools'}."
            raise UnknownTool(f"{source} has no tool {name!r}. {hint}")
        return tool

    def find(self, name: str, sources: Iterable[str]) -> ToolKey | None:
        """The tool of that name from the first of these sources that offers it."""
        found = (self.named(source, name) for source in sources)
        return next((tool.key for tool in found if tool is not None), None)

    async def wait_for(self, source: str, name: str) -> Tool:
        """Wait until this tool exists. Put a limit around it."""
        while (tool := self.named(source, name)) is None:
            await self._changed.wait()
        return tool

    def is_enabled(self, key: ToolKey) -> bool:
        """Whether agents may use the tool, as far as anything was decided about it."""
        record = self._records.decided(key)
        return record is None or record.is_enabled

    def accepted(self, key: ToolKey) -> Accepted | None:
        """The definition of the tool that was accepted, if any was."""
        record = self._records.decided(key)
        if record is None or not record.accepted:
            return None
        return Accepted(record.accepted, self._records.definitions.get(record.accepted))

    def is_changed(self, tool: Tool) -> bool:
        """Whether another definition of the tool was accepted than it has here."""
        record = self._records.decided(tool.key)
        return bool(record and record.accepted and record.accepted != self.digest(tool))

    def digest(self, tool: Tool) -> str:
        """The digest of its definition. The writer thread has those of what is listed."""
        listed = self._listed.get(tool.source)
        if listed is not None and is_same(tool, listed.tools.get(tool.name)):
            return listed.digests[tool.name]
        known = self._digests.get(tool.key)
        if known is None or known[0] is not tool:
            known = self._digests[tool.key] = tool, digest_of(definition_text(tool))
        return known[1]

    def entry(self, key: ToolKey) -> CatalogEntry | None:
        """All that is known of a tool; None if it does not exist, and is not known to have."""
        tool, record = self.get(key), self._records.get(key)
        if tool is not None:
            return self._entry(tool, record)
        return record and CatalogEntry(key, None, record, self.accepted(key))

    def entry_of(self, tool: Tool) -> CatalogEntry:
        """All that is known of a tool that is like this."""
        return self._entry(tool, self._records.get(tool.key))

    def entries(self, source: str) -> tuple[CatalogEntry, ...]:
        """The tools of a source: those that exist, in its order, then those known to have.

        Of a source that did not connect here, only those about which something was decided, until
        its `whole` was read.
        """
        known = {(x.subject.kind.name, x.name): x for x in self._records.of(source)}
        tools = ((x, known.pop((x.key.kind, x.name), None)) for x in self.tools(source))
        live = [self._entry(*x) for x in tools]
        gone = ((x.subject.key, x) for x in known.values())
        return (*live, *(CatalogEntry(key, None, x, self.accepted(key)) for key, x in gone))

    def _entry(self, tool: Tool, record: ToolRecord | None) -> CatalogEntry:
        key = tool.key
        if record is None or not record.accepted:
            return CatalogEntry(key, tool, record)
        return CatalogEntry(key, tool, record, self.accepted(key), self.is_changed(tool))

    def _take(self, update: RecordUpdate) -> None:
        changed = self._records.take(update)
        self._listed |= {source.source: x for source, x in update.listed.items()}
        self._tell(changed | {x.source for x in update.tools}, is_new=bool(changed))

    def _replace(self, source: str, inventory: Inventory | None) -> None:
        before = self._inventories.pop(source, None)
        if inventory is not None:
            if before is not None and _are_same(inventory.tools, before.tools):
                inventory = replace(inventory, tools=before.tools)
            self._inventories[source] = inventory
        else:
            self._listed.pop(source, None)
        old, new = (x.tools if x else () for x in (before, inventory))
        if old is not new:
            for tool in old:
                self._by_name.pop((source, tool.name), None)
            self._by_name.update(((source, tool.name), tool) for tool in new)
            for gone in [x.key for x in old if (source, x.name) not in self._by_name]:
                self._digests.pop(gone, None)
        self._tell([source], is_new=_offered(before) != _offered(inventory))

    def _tell(self, sources: Iterable[str], *, is_new: bool) -> None:
        if is_new:
            self.version += 1
            changed, self._changed = self._changed, anyio.Event()
            changed.set()
        if not (concerned := frozenset(sources)):
            return
        change = CatalogChanged(self.version, concerned)
        for callback in tuple(self._subscribers):
            try:
                callback(change)
            except Exception:
                logger.exception("Who follows the catalog could not take a change of it")


def _are_same(tools: tuple[Tool, ...], before: tuple[Tool, ...]) -> bool:
    return len(tools) == len(before) and all(map(is_same, tools, before))


def _offered(inventory: Inventory | None) -> tuple[object, ...]:
    """What counts as a change; tools that are the same are the same object by now."""
    if inventory is None:
        return ()
    return id(inventory.tools), inventory.instructions, inventory.disabled
