"""Planners over tools that change, in a thread of their own: made once, then kept up to date."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Hashable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from ..core.tools import Tool

if TYPE_CHECKING:
    from .planner import Planner

T = TypeVar("T")

Teaching: TypeAlias = Generator[None, None, Any]
Teach: TypeAlias = "Callable[[Planner, Any], Teaching]"
"""Has a planner know what was learned, and gives what it knows then; called in the thread.

It yields after each little step. The second is what it gave for this planner before, None at first.
"""

_MOST_KEPT = 4  # planners: that of 50,000 tools takes 110 MB
_NO_WEIGHTS: Mapping[Any, float] = {}


class LivePlanners:
    """Made and used on one loop, which it never holds up.

    A planner is for one thread at a time: so what is to be done with one is handed over. Of those
    kept the one is taken whose tools differ least, and brought up to date; a changed tool costs a
    fraction of a millisecond.
    """

    def __init__(self) -> None:
        self._thread: ThreadPoolExecutor | None = None
        self._kept: list[_Kept] = []  # the last used one last
        self._is_closed = False

    async def use(
        self,
        tools: Mapping[Any, Tool],
        do: Callable[[Planner], T],
        *,
        memory: Hashable = "",
        teach: Teach | None = None,
        weights: Mapping[Any, float] = _NO_WEIGHTS,
    ) -> T:
        """What `do` gives, called in the thread with a planner of exactly these tools.

        It must not keep the planner. `weights` is for `Planner.prefer`. `teach` is called before
        with a planner that was taught for the same `memory`, or a new one.
        """
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="xai-mcp-planning")

        def in_thread() -> T:
            kept = self._in_thread_kept(tools, memory)
            if teach is not None:
                self._in_thread_taught(kept, teach)
            kept.planner.prefer(weights)
            return do(kept.planner)

        return await asyncio.wrap_future(self._thread.submit(in_thread))

    def close(self) -> None:
        """Let the thread end; what it has not begun is not done."""
        self._is_closed = True
        if self._thread is not None:
            self._thread.shutdown(wait=False, cancel_futures=True)

    def _in_thread_kept(self, tools: Mapping[Any, Tool], memory: Hashable) -> _Kept:
        mine = [x for x in self._kept if x.memory == memory]
        best = min(mine, key=lambda x: x.distance(tools), default=None)
        if best is None or best.distance(tools) >= max(len(tools), 1):
            best = self._in_thread_new(memory)
        else:
            self._kept.remove(best)
        for _ in best.follow(tools):
            self._check_open()
        self._kept = [*self._kept, best][-_MOST_KEPT:]
        return best

    def _in_thread_taught(self, kept: _Kept, teach: Teach) -> None:
        steps = teach(kept.planner, kept.taught)
        try:
            while True:
                next(steps)
                self._check_open()
        except StopIteration as end:
            kept.taught = end.value
        except BaseException:
            self._kept.remove(kept)  # nobody knows how much of it was learned
            raise

    def _check_open(self) -> None:
        if self._is_closed:  # Python waits for this thread at its end
            raise RuntimeError("The bridge was closed before the plan was made.")

    def _in_thread_new(self, memory: Hashable) -> _Kept:
        # Here, in the thread, because most programs never plan.
        from .planner import Planner

        return _Kept(Planner(()), memory)


class _Kept:
    """A planner with the tools that it has."""

    def __init__(self, planner: Planner, memory: Hashable) -> None:
        self.planner = planner
        self.memory = memory
        self.taught: Any = None
        self._known: dict[Any, Tool] = {}

    def distance(self, tools: Mapping[Any, Tool]) -> int:
        """How many tools would have to be put in or taken out."""
        same = sum(1 for key, x in tools.items() if self._known.get(key) is x)
        return len(tools) - same + len(self._known.keys() - tools.keys())

    def follow(self, tools: Mapping[Any, Tool]) -> Iterator[None]:
        """Have these tools and no others; a step for each that is new."""
        for gone in [x for x in self._known if x not in tools]:
            del self._known[gone]
            self.planner.remove(gone)
        for key, tool in tools.items():
            if self._known.get(key) is not tool:
                self._known[key] = tool
                self.planner.update(tool)
                yield
