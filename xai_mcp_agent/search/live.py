"""The search over the tools of a bridge: one index, kept up to date in a thread of its own."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TypeAlias

import anyio.to_thread

from ..catalog.catalog import Catalog, CatalogChanged
from ..core.errors import XaiMcpError
from ..core.tools import Tool, ToolKey
from .embeddings import DenseIndex, Embedder
from .ranking import RankedTools, Ranking
from .tools import ToolIndex
from .usage import NOTHING_REMEMBERED, Remembered
from .vectors import StoredVectors

logger = logging.getLogger(__name__)

Meaning: TypeAlias = Callable[[], tuple[Embedder, StoredVectors | None] | None]
"""Returns the embedding model, and the store of its vectors if there is one; None if words alone
count. Raises `XaiMcpError` if a model is configured and cannot be used."""

# How long a search waits for the vectors of its tools: dozens are made in that time.
_FILL_SECONDS = 5.0


class ToolSearch:
    """The search of one bridge, made and used on its loop, which it never blocks.

    The first search indexes the tools that it searches. From then on the index follows the catalog,
    so that later searches have little left to do. `meaning` is called once, in the thread of the
    index. Methods that begin with `_in_thread` run in that thread alone.
    """

    def __init__(self, catalog: Catalog, meaning: Meaning = lambda: None) -> None:
        self._catalog = catalog
        self._version = catalog.version
        self._meaning = meaning
        self._thread: ThreadPoolExecutor | None = None
        self._unsubscribe: Callable[[], None] = lambda: None
        self._is_closed = False
        self._index: ToolIndex[Tool] | None = None
        self._indexed = defaultdict[str, dict[ToolKey, Tool]](dict)  # by source
        self._dense: DenseIndex[ToolKey] | None = None
        self._vectors: StoredVectors | None = None
        self._problem = ""  # the reason why words alone count
        self._filler: threading.Thread | None = None
        self._last_filler: threading.Thread | None = None  # for which a search has waited

    async def search(
        self,
        query: str,
        tools: Mapping[ToolKey, Tool],
        limit: int,
        ranking: Ranking | None = None,
        remembered: Remembered = NOTHING_REMEMBERED,
    ) -> RankedTools:
        """Return the tools that fit best, best first, with a note about what the search lacked.

        It waits some seconds for missing vectors.
        """
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="xai-mcp-search")
            self._unsubscribe = self._catalog.subscribe(self._on_change)
        put = self._thread.submit(self._in_thread_put, tools.values())
        await asyncio.wrap_future(put)
        if self._dense is not None:
            await anyio.to_thread.run_sync(self._wait_for_vectors, query, abandon_on_cancel=True)

        def rank() -> RankedTools:
            # Again: drawn tools are in no catalog, locked tools are shown in an earlier version,
            # and another search may have put other tools with their keys.
            index, among = self._in_thread_put(tools.values()), tools.keys()
            ranked = (ranking or Ranking()).rank(
                index, query, limit, among=among, remembered=remembered
            )
            return RankedTools(ranked, self._in_thread_note(query, among))

        return await asyncio.wrap_future(self._thread.submit(rank))

    def close(self) -> None:
        """Let the thread end; work that it has not begun is dropped."""
        self._is_closed = True
        self._unsubscribe()
        if self._thread is not None:
            self._thread.shutdown(wait=False, cancel_futures=True)

    def _on_change(self, change: CatalogChanged) -> None:
        if change.version == self._version or self._thread is None:
            return  # calls were counted
        self._version = change.version
        for name in change.sources:
            with suppress(RuntimeError):  # Python ends: its pools take no more work
                self._thread.submit(self._in_thread_replace, name, self._catalog.tools(name))

    def _wait_for_vectors(self, query: str) -> None:
        """Wait for the vectors of the tools, once for each filler, and of the query."""
        filler = self._filler
        if filler is not None and filler is not self._last_filler:
            filler.join(_FILL_SECONDS)
            self._last_filler = filler
        if self._index is not None:
            self._index.look_up(query)

    def _in_thread_note(self, query: str, keys: Collection[ToolKey]) -> str:
        """Return what a search by meaning lacks, in words."""
        if self._dense is None or not query.strip():
            return self._problem
        count, total = self._dense.count_ready(keys), len(keys)
        if count < total:
            return f"{count} of {total} tools prepared: the others are found by their words alone."
        if keys and not self._dense.knows(query):
            return "Words alone count: there is no vector of the request yet."
        return ""

    def _in_thread_replace(self, source: str, tools: tuple[Tool, ...]) -> None:
        index = self._in_thread_put(tools)
        for key in self._indexed[source].keys() - {x.key for x in tools}:
            del self._indexed[source][key]
            index.remove(key)

    def _in_thread_put(self, tools: Iterable[Tool]) -> ToolIndex[Tool]:
        index = self._index or self._in_thread_index()
        for tool in tools:
            if self._is_closed:
                break  # Python waits for this thread at exit
            by_key = self._indexed[tool.source]
            if by_key.get(tool.key) is not tool:
                by_key[tool.key] = tool
                index.update(tool)
        if self._dense and (self._filler is None or not self._filler.is_alive()):
            # Not in a pool: Python would wait for it at exit.
            self._filler = threading.Thread(
                target=self._fill, args=[self._dense], name="xai-mcp-vectors", daemon=True
            )
            self._filler.start()
        return index

    def _in_thread_index(self) -> ToolIndex[Tool]:
        try:
            if (meaning := self._meaning()) is not None:
                self._dense, self._vectors = DenseIndex[ToolKey](meaning[0]), meaning[1]
        except XaiMcpError as reason:
            logger.warning("Tools are found by their words alone: %s", reason)
            self._problem = "Words alone count: the embedding model cannot be used."
        self._index = ToolIndex[Tool](embed=self._dense)
        return self._index

    def _fill(self, dense: DenseIndex[ToolKey]) -> None:
        """Read or make missing vectors; after a failure a later search tries again."""
        if self._vectors is not None:
            dense.recall(self._vectors)
        while not self._is_closed and dense.fill(self._vectors):
            pass
