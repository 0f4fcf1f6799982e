"""The search over the tools of a bridge: one index, kept up to date in a thread of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor

from ..catalog.catalog import Catalog, CatalogChanged
from ..core.tools import Tool, ToolKey
from .tools import Hit, ToolIndex


class ToolSearch:
    """Made and used on the bridge's loop, which it never holds up.

    Once it is used it follows the catalog: what is new is indexed when it comes, so that a search
    has little left to do.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._thread: ThreadPoolExecutor | None = None
        self._leave: Callable[[], None] = _nothing
        # In the thread only.
        self._index = ToolIndex[Tool]()
        self._indexed: dict[ToolKey, Tool] = {}
        self._of_source: dict[str, tuple[Tool, ...]] = {}

    def follow(self, sources: Iterable[str]) -> None:
        """Begin to index what these offer, before anybody searches. Returns at once."""
        thread = self._started()
        for name in sources:
            thread.submit(self._take, name, self._catalog.tools(name))

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
        self.follow(change.sources)

    def _take(self, source: str, tools: tuple[Tool, ...]) -> None:
        """In the thread: have what a source offers be in the index, and nothing else of it."""
        before = self._of_source.get(source, ())
        if tools is before:
            return
        self._of_source[source] = tools
        keys = {x.key for x in tools}
        for gone in (x.key for x in before if x.key not in keys):
            if self._indexed.pop(gone, None) is not None:
                self._index.remove(gone)
        self._put(tools)

    def _search(self, query: str, tools: Mapping[ToolKey, Tool], limit: int) -> list[Hit[Tool]]:
        # Drawn tools are in no catalog, and pinned ones are not shown as they are listed.
        self._put(tools.values())
        hits = self._index.search(query, len(self._indexed))
        return [x for x in hits if x.tool.key in tools][:limit]

    def _put(self, tools: Iterable[Tool]) -> None:
        for tool in tools:
            if self._indexed.get(tool.key) is not tool:
                self._indexed[tool.key] = tool
                self._index.update(tool)


def _nothing() -> None:
    pass
