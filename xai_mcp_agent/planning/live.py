"""Planner whose tools change: it is built on first use and updated, in worker threads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

import anyio.to_thread

from ..core.tools import Tool

if TYPE_CHECKING:
    from .planner import Planner

T = TypeVar("T")


class LivePlanner:
    """One planner that follows its caller's tools; one use at a time.

    A changed tool costs a fraction of a millisecond. If most tools differ, as between two
    toolbelts, it builds a new planner.
    """

    def __init__(self) -> None:
        self._planner: Planner | None = None
        self._tools: dict[Any, Tool] = {}
        self._lock = Lock()
        self._is_closed = False

    async def use(
        self,
        tools: Mapping[Any, Tool],
        do: Callable[[Planner], T],
        weights: Mapping[Any, float] | None = None,
    ) -> T:
        """Call `do` in a thread with a planner of exactly these tools, and return its result.

        `do` must not keep the planner. `weights` is for `Planner.prefer`.
        """

        def in_thread() -> T:
            with self._lock:
                planner = self._follow_in_thread(tools)
                planner.prefer(weights or {})
                return do(planner)

        return await anyio.to_thread.run_sync(in_thread, abandon_on_cancel=True)

    def close(self) -> None:
        """Cancel the work in progress: a planner of 50,000 tools takes ten seconds."""
        self._is_closed = True

    def _follow_in_thread(self, tools: Mapping[Any, Tool]) -> Planner:
        # Imported in the thread, because most programs never plan.
        from .planner import Planner

        new = {key: x for key, x in tools.items() if self._tools.get(key) is not x}
        removed = self._tools.keys() - tools.keys()
        if self._planner is None or len(new) + len(removed) > len(tools):
            self._planner, self._tools, new, removed = Planner(()), {}, dict(tools), set[Any]()
        for key in removed:
            self._planner.remove(key)
            del self._tools[key]
        for key, tool in new.items():
            if self._is_closed:  # Python waits for this thread when it exits
                raise RuntimeError("The bridge was closed before the plan was made.")
            self._planner.update(tool)
            self._tools[key] = tool
        return self._planner
