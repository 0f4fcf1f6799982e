"""What tools exist now: the projection of what the sources reported."""

from __future__ import annotations

from collections.abc import Iterable

import anyio

from ..core.errors import UnknownTool
from ..core.events import Inventory, InventoryChanged, SourceEvent, SourceLost
from ..core.names import did_you_mean
from ..core.tools import Tool, ToolKey

DISABLED = "{}: {!r} is left out by `disabledTools` of its entry in the settings."
"""Why a tool that its source has does not exist here, for a person."""


class Catalog:
    """Every tool of every source, by key. An `Observer`; used on the bridge's event loop.

    The tools of a source whose connection is lost stay known, so that a call
    can heal it; they go when it is closed on purpose or lists without them.
    """

    def __init__(self) -> None:
        self._inventories: dict[str, Inventory] = {}
        self._tools: dict[ToolKey, Tool] = {}
        self._changed = anyio.Event()

    def notice(self, event: SourceEvent) -> None:
        """Fold one event in."""
        match event:
            case InventoryChanged(source, inventory):
                self._replace(source, inventory)
            case SourceLost(source, _, on_purpose) if on_purpose:
                self._replace(source, None)
            case _:
                pass

    def tools(self, source: str) -> tuple[Tool, ...]:
        """What the source offers, in its own order; empty when it never connected."""
        inventory = self._inventories.get(source)
        return inventory.tools if inventory else ()

    def instructions(self, source: str) -> str:
        """What the source wants its users to know."""
        inventory = self._inventories.get(source)
        return inventory.instructions if inventory else ""

    def get(self, key: ToolKey) -> Tool | None:
        """One tool, if it exists now."""
        return self._tools.get(key)

    def require(self, key: ToolKey) -> Tool:
        """One tool.

        Raises:
            UnknownTool: the source does not offer it; the message names the nearest it does.
        """
        tool = self._tools.get(key)
        if tool is None:
            if (known := self._inventories.get(key.source)) and key.name in known.disabled:
                raise UnknownTool(DISABLED.format(key.source, key.name))
            names = [x.name for x in self.tools(key.source)]
            hint = did_you_mean(key.name, names) or f"It offers: {', '.join(names) or 'no tools'}."
            raise UnknownTool(f"{key.source} has no tool {key.name!r}. {hint}")
        return tool

    def find(self, name: str, sources: Iterable[str]) -> ToolKey | None:
        """The tool of that name from the first of these sources that offers it."""
        keys = (ToolKey(source, name) for source in sources)
        return next((key for key in keys if key in self._tools), None)

    async def wait_for(self, source: str, name: str) -> Tool:
        """Wait until this tool exists. Put a limit around it."""
        while (tool := self._tools.get(ToolKey(source, name))) is None:
            await self._changed.wait()
        return tool

    def _replace(self, source: str, inventory: Inventory | None) -> None:
        for tool in self.tools(source):
            self._tools.pop(tool.key, None)
        self._inventories.pop(source, None)
        if inventory is not None:
            self._inventories[source] = inventory
            self._tools.update((tool.key, tool) for tool in inventory.tools)
        changed, self._changed = self._changed, anyio.Event()
        changed.set()
