"""The search over the tools of a bridge: one index, kept up to date in a thread of its own."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import TypeAlias

import anyio.to_thread

from ..catalog.catalog import Catalog, CatalogChanged
from ..core.errors import XaiMcpError
from ..core.tools import Tool, ToolKey
from .embeddings import DenseIndex, Embedder, VectorCache
from .ranking import RankedTools, Ranking
from .remembered import NOTHING_REMEMBERED, Remembered
from .tools import ToolIndex

logger = logging.getLogger(__name__)

Meaning: TypeAlias = Callable[[], tuple[Embedder, VectorCache | None] | None]
"""Gives what makes vectors of texts, and where they are kept, if anywhere; None where words alone
count. Raises `XaiMcpError` where a model is wanted and cannot be used."""

# That a search waits for the vectors of its tools: dozens are made in that time. A later search
# does not wait for the same ones again.
_FILL_SECONDS = 5.0


class ToolSearch:
    """Made and used on the bridge's loop, which it never holds up.

    The first search indexes the tools that are searched. From then on it follows the catalog, so
    that later ones have little left to do. `meaning` is called once, in a thread.
    """

    def __init__(self, catalog: Catalog, meaning: Meaning = lambda: None) -> None:
        self._catalog = catalog
        self._version = catalog.version
        self._meaning = meaning
        self._indexing: _Indexing | None = None
        self._leave: Callable[[], None] = lambda: None

    async def search(
        self,
        query: str,
        tools: Mapping[ToolKey, Tool],
        limit: int,
        ranking: Ranking | None = None,
        remembered: Remembered = NOTHING_REMEMBERED,
    ) -> RankedTools[Tool]:
        """Those of these tools that fit best, best first, and what the search had to do without.

        Where meaning counts it waits some seconds for the vectors that are not there yet.
        """
        indexing, ranking = self._started(), ranking or Ranking()
        if await asyncio.wrap_future(indexing.put(tools.values())):
            await anyio.to_thread.run_sync(indexing.look_up, query, abandon_on_cancel=True)
        found = indexing.rank(ranking, query, limit, tools, remembered)
        return await asyncio.wrap_future(found)

    def close(self) -> None:
        """Let the thread end; what it has not begun is not done."""
        self._leave()
        if self._indexing is not None:
            self._indexing.close()

    def _started(self) -> _Indexing:
        if self._indexing is None:
            self._indexing = _Indexing(self._meaning)
            self._leave = self._catalog.subscribe(self._on_change)
        return self._indexing

    def _on_change(self, change: CatalogChanged) -> None:
        if change.version == self._version:
            return  # calls were counted
        self._version = change.version
        for name in change.sources:
            with suppress(RuntimeError):  # Python ends: its pools take no more work
                self._started().replace(name, self._catalog.tools(name))


class _Indexing:
    """The index and its thread. What begins with `_in_thread` runs in that alone."""

    def __init__(self, meaning: Meaning) -> None:
        self._meaning = meaning
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="xai-mcp-search")
        self._index: ToolIndex[Tool] | None = None
        self._known = defaultdict[str, dict[ToolKey, Tool]](dict)  # by source
        self._dense: DenseIndex[ToolKey] | None = None
        self._cache: VectorCache | None = None
        self._problem = ""  # why meaning does not count
        self._filler: threading.Thread | None = None
        self._slow_filler: threading.Thread | None = None  # a search has waited for it in vain
        self._is_closed = False

    def put(self, tools: Iterable[Tool]) -> Future[bool]:
        """Have these be in the index; whether meaning counts."""
        return self._thread.submit(self._in_thread_put, tools)

    def replace(self, source: str, tools: tuple[Tool, ...]) -> Future[None]:
        """Have what a source offers be in the index, and nothing else of it."""
        return self._thread.submit(self._in_thread_replace, source, tools)

    def look_up(self, query: str) -> None:
        """Wait for what tools and a query mean, in any thread: then a search need not."""
        filler = self._filler
        if filler is not None and filler is not self._slow_filler:
            filler.join(_FILL_SECONDS)
            if filler.is_alive():
                self._slow_filler = filler
        if self._index is not None:
            self._index.look_up(query)

    def rank(
        self,
        ranking: Ranking,
        query: str,
        limit: int,
        tools: Mapping[ToolKey, Tool],
        remembered: Remembered,
    ) -> Future[RankedTools[Tool]]:
        """Search among these."""

        def rank() -> RankedTools[Tool]:
            # Drawn tools are in no catalog, locked ones are not shown as they are listed, and
            # another search may have put others of their keys.
            self._in_thread_put(tools.values())
            index, among = self._in_thread_index(), tools.keys()
            ranked = ranking.rank(index, query, limit, among=among, remembered=remembered)
            return RankedTools(ranked, self._in_thread_note(query, among))

        return self._thread.submit(rank)

    def close(self) -> None:
        """Begin nothing more."""
        self._is_closed = True
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _in_thread_note(self, query: str, keys: Collection[ToolKey]) -> str:
        """What a search by meaning lacks."""
        if self._dense is None or not query.strip():
            return self._problem
        count, total = self._dense.prepared(keys), len(keys)
        if count < total:
            return f"{count} of {total} tools prepared: the others are found by their words alone."
        if keys and not self._dense.knows(query):
            return "Words alone count: there is no vector of the request yet."
        return ""

    def _in_thread_index(self) -> ToolIndex[Tool]:
        if self._index is None:
            try:
                if (meaning := self._meaning()) is not None:
                    self._dense, self._cache = DenseIndex(meaning[0]), meaning[1]
            except XaiMcpError as reason:
                logger.warning("Tools are found by their words alone: %s", reason)
                self._problem = "Words alone count: the embedding model cannot be used."
            self._index = ToolIndex[Tool](embed=self._dense)
        return self._index

    def _in_thread_replace(self, source: str, tools: tuple[Tool, ...]) -> None:
        index = self._in_thread_index()
        for gone in self._known[source].keys() - {x.key for x in tools}:
            del self._known[source][gone]
            index.remove(gone)
        self._in_thread_put(tools)

    def _in_thread_put(self, tools: Iterable[Tool]) -> bool:
        index = self._in_thread_index()
        for tool in tools:
            if self._is_closed:
                return False  # Python waits for this thread at its end
            known = self._known[tool.source]
            if known.get(tool.key) is not tool:
                known[tool.key] = tool
                index.update(tool)
        if self._dense and (self._filler is None or not self._filler.is_alive()):
            self._filler = self._filling(self._dense)
        return self._dense is not None

    def _filling(self, dense: DenseIndex[ToolKey]) -> threading.Thread:
        # Not one of a pool: Python would wait for it at its end.
        fill = threading.Thread(target=self._fill, args=[dense], daemon=True)
        fill.name = "xai-mcp-vectors"
        fill.start()
        return fill

    def _fill(self, dense: DenseIndex[ToolKey]) -> None:
        """Recall or make missing vectors; what fails is tried again by a later search."""
        if self._cache is not None:
            dense.recall(self._cache)
        while not self._is_closed and dense.fill(self._cache):
            pass
