"""The search over the tools of a bridge: one index, kept up to date in a thread of its own."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor

from ..catalog.catalog import Catalog, CatalogChanged
from ..core.tools import Tool, ToolKey
from .tools import Hit, ToolIndex


class ToolSearch:
    """Made and used on the bridge's loop, which it never holds up.

    The first search indexes the tools that are searched. From then on it follows the catalog, so
    that later ones have little left to do.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._thread: ThreadPoolExecutor | None = None
        self._leave: Callable[[], None] = _nothing
        self._version = catalog.version
        # In the thread only.
        self._index = ToolIndex[Tool]()
        self._indexed = defaultdict[str, dict[ToolKey, Tool]](dict)  # by source

    async def search(
        self, query: str, tools: Mapping[ToolKey, Tool], limit: int
    ) -> list[Hit[Tool]]:
        """Those of these tools that fit best, best first."""
        found = self._started().submit(self._search, query, tools, limit)
        return await asyncio.wrap_future(found)

    def close(self) -> None:
        """Let the thread end; searches that have not begun are cancelled."""
        if self._thread is not None:
            self._leave()
            self._thread.shutdown(wait=False, cancel_futures=True)

    def _started(self) -> ThreadPoolExecutor:
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="xai-mcp-search")
            self._leave = self._catalog.subscribe(self._on_change)
        return self._thread

    def _on_change(self, change: CatalogChanged) -> None:
        if change.version == self._version:
            return  # calls were counted
        self._version = change.version
        for name in change.sources:
            self._started().submit(self._take, name, self._catalog.tools(name))

    def _take(self, source: str, tools: tuple[Tool, ...]) -> None:
        """In the thread: have what a source offers be in the index, and nothing else of it."""
        for gone in self._indexed[source].keys() - {x.key for x in tools}:
            del self._indexed[source][gone]
            self._index.remove(gone)
        self._put(tools)

    def _search(self, query: str, tools: Mapping[ToolKey, Tool], limit: int) -> list[Hit[Tool]]:
        # Drawn tools are in no catalog, and pinned ones are not shown as they are listed.
        self._put(tools.values())
        return self._index.search(query, limit, among=tools.keys())

    def _put(self, tools: Iterable[Tool]) -> None:
        for tool in tools:
            known = self._indexed[tool.source]
            if known.get(tool.key) is not tool:
                known[tool.key] = tool
                self._index.update(tool)


def _nothing() -> None:
    pass
