"""The catalog: all tools that exist now, with their records, in memory."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import anyio
import anyio.to_thread

from ..core.errors import UnknownTool
from ..core.events import LISTS, Inventory, InventoryChanged, SourceEvent, SourceLost
from ..core.names import did_you_mean, join_names
from ..core.tools import Tool, ToolKey, definition_text, digest_of, item_key
from ..history.recording.recorder import HistoryRecorder
from ..history.recording.reports import ListingDigest, RecordUpdate, is_same
from .entry import CatalogEntry
from .records import ToolRecords

logger = logging.getLogger(__name__)

DISABLED = "{}: {!r} is left out by `disabledTools` of its entry in the settings."
"""Message for a person about a tool that is not in the catalog."""

_MOST_NAMES = 10  # names in an error that a model reads
_MOST_DIGESTS_ON_LOOP = 200  # some milliseconds; more are computed in a thread


@dataclass(frozen=True, slots=True)
class CatalogChanged:
    """The offers of these sources, or the records of their tools, have changed.

    The version stays the same if no tool was added, changed or removed; `lists` are the changed
    ones of `core.events.LISTS`.
    """

    version: int
    sources: frozenset[str]
    lists: frozenset[str] = frozenset()


class Catalog:
    """Every tool of every source, by key. An `Observer` behind the recorder; used on its loop.

    Tools of a lost source stay in the catalog, so that a call can reconnect it; they are removed
    when it is closed on purpose or lists without them.

    A listing counts at once. The records of tools come from the `recorder`.
    """

    def __init__(self, recorder: HistoryRecorder | None = None) -> None:
        self.version = 0
        self._inventories: dict[str, Inventory] = {}
        self._by_name: dict[tuple[str, str], Tool] = {}  # by source and tool
        self._subscribers: list[Callable[[CatalogChanged], None]] = []
        self._listed: dict[str, ListingDigest] = {}
        self._digests: dict[ToolKey, tuple[Tool, str]] = {}
        self._records = ToolRecords(recorder, self._note)

    def notice(self, event: SourceEvent) -> None:
        """Apply one event."""
        match event:
            case InventoryChanged(source, inventory):
                self._replace(source, inventory)
                self._records.follow(source)
            case SourceLost(source, _, on_purpose) if on_purpose:
                self._replace(source, None)
            case _:
                pass

    async def read(self, source: str, seconds: float) -> None:
        """Read the records of all tools the source ever had, within `seconds`.

        It returns at once if the history cannot be used.
        """
        with anyio.move_on_after(seconds):
            await self._records.read(source)

    def subscribe(self, callback: Callable[[CatalogChanged], None]) -> Callable[[], None]:
        """Call a listener on the loop for every change; return a function that removes it."""
        self._subscribers.append(callback)
        return lambda: self._subscribers.remove(callback)

    def tools(self, source: str) -> tuple[Tool, ...]:
        """Return the tools of the source, in its own order; empty if it never connected.

        It is the same object as long as no tool changes.
        """
        inventory = self._inventories.get(source)
        return inventory.tools if inventory else ()

    def inventory(self, source: str) -> Inventory | None:
        """Return the inventory of the source, or None if it never connected or was closed."""
        return self._inventories.get(source)

    def inventories(self) -> dict[str, Inventory]:
        """Return the inventories of all sources by name."""
        return dict(self._inventories)

    def instructions(self, source: str) -> str:
        """Return the source's instructions for its users."""
        inventory = self._inventories.get(source)
        return inventory.instructions if inventory else ""

    def get(self, key: ToolKey) -> Tool | None:
        """Return one tool, if it exists now."""
        tool = self.tool(key.source, key.name)
        return tool if tool is not None and tool.key == key else None

    def tool(self, source: str, name: str) -> Tool | None:
        """Return one tool of a source, if it exists now. Names of sources are unique."""
        return self._by_name.get((source, name))

    def require(self, source: str, name: str) -> Tool:
        """Return one tool of a source.

        Raises:
            UnknownTool: the source does not offer it; the message names the nearest.
        """
        tool = self.tool(source, name)
        if tool is None:
            if (inventory := self._inventories.get(source)) and name in inventory.disabled:
                raise UnknownTool(DISABLED.format(source, name))
            names = [x.name for x in self.tools(source)]
            offers = join_names(names, _MOST_NAMES) or "no tools"
            hint = did_you_mean(name, names) or f"It offers: {offers}."
            raise UnknownTool(f"{source} has no tool {name!r}. {hint}")
        return tool

    def digest(self, tool: Tool) -> str:
        """Return the digest of the tool's definition; usually the writer thread computed it."""
        if not (digest := self._cached_digest(tool)):
            digest = digest_of(definition_text(tool))
            self._digests[tool.key] = tool, digest
        return digest

    async def digest_all(self, tools: Iterable[Tool]) -> None:
        """Compute the digests of these tools in advance; many of them in a thread."""
        new = [x for x in tools if not self._cached_digest(x)]
        if len(new) > _MOST_DIGESTS_ON_LOOP:
            digests = await anyio.to_thread.run_sync(_digests_of, new)
            self._digests |= {x.key: (x, y) for x, y in zip(new, digests, strict=True)}

    def entry_of(self, tool: Tool) -> CatalogEntry:
        """Return the entry of this tool."""
        return CatalogEntry(tool.key, tool, self._records.get(tool.key))

    def entries(self, source: str) -> tuple[CatalogEntry, ...]:
        """Return the entries of a source: its tools in order, then its former tools.

        It is empty for a source that did not connect here and was not `read`.
        """
        records = (x for x in self._records.of(source) if x.subject.is_tool)
        records_by_key = {(x.subject.kind.name, x.name): x for x in records}
        tools = ((x, records_by_key.pop((x.key.kind, x.name), None)) for x in self.tools(source))
        live = [CatalogEntry(x.key, x, record) for x, record in tools]
        return (*live, *(CatalogEntry(x.subject.key, None, x) for x in records_by_key.values()))

    def _note(self, update: RecordUpdate) -> None:
        self._listed |= {source.source: x for source, x in update.listed.items()}
        self._notify({x.source for x in update.tools})

    def _cached_digest(self, tool: Tool) -> str:
        listing = self._listed.get(tool.source)
        if listing is not None and is_same(tool, listing.tools.get(item_key(tool))):
            return listing.digests[item_key(tool)]
        digest = self._digests.get(tool.key)
        return digest[1] if digest is not None and digest[0] is tool else ""

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
            for key in [x.key for x in old if (source, x.name) not in self._by_name]:
                self._digests.pop(key, None)
        lists = zip(LISTS, _offered(before), _offered(inventory), strict=True)
        self._notify([source], {name for name, old, new in lists if old != new})

    def _notify(self, sources: Iterable[str], lists: Iterable[str] = ()) -> None:
        if "tools" in lists:
            self.version += 1
        if not (changed := frozenset(sources)):
            return
        change = CatalogChanged(self.version, changed, frozenset(lists))
        for callback in tuple(self._subscribers):
            try:
                callback(change)
            except Exception:
                logger.exception("A subscriber of the catalog failed")


def _digests_of(tools: Iterable[Tool]) -> list[str]:
    return [digest_of(definition_text(x)) for x in tools]


def _are_same(tools: tuple[Tool, ...], before: tuple[Tool, ...]) -> bool:
    return len(tools) == len(before) and all(map(is_same, tools, before))


def _offered(inventory: Inventory | None) -> tuple[object, ...]:
    """Return the values of each list to compare; unchanged tools are the same object."""
    if inventory is None:
        return (), (), ()
    tools = id(inventory.tools), inventory.instructions, inventory.disabled
    return tools, inventory.prompts, inventory.resources
