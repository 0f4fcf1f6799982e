"""The thread that runs a workflow, while its agent runs on the bridge's loop.

Nodes must run in one thread, their workflow's: drawn tools and branches run here, while the thread
waits for the loop.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import queue
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future
from functools import partial
from typing import Any, NoReturn, TypeVar

from ..bridge.faces import Bridge
from ..bridge.operations import Operations
from ..bridge.portal import closed_meanwhile
from ..core.calls import Caller
from ..core.errors import XaiMcpError

T = TypeVar("T")

# How often a waiting thread checks that its loop still lives, and shows a person what it waits for:
# seconds that count up by one.
_CHECK_SECONDS = 0.5

# After an interrupt: long enough to cancel calls in flight at their servers.
_UNWIND_SECONDS = 3.0

# An agent that hands part of its work to itself needs two; more is a mistake in the drawing, and
# with ten turns each, five such levels would already be a hundred thousand requests.
_MOST_OF_ONE_AGENT = 3


class OutOfTime(XaiMcpError):
    """A drawn tool exceeded its limit, or an agent runs in one that did."""


class NestedTooDeep(XaiMcpError):
    """An agent's tools run the agent itself, over and over."""


class _Current(threading.local):
    """The innermost run that this thread works for: a drawn tool of an agent may run another."""

    run: WorkflowThread | None = None


_current = _Current()


def running_agents() -> Iterator[str]:
    """Yield the agents for whose runs this thread works, the innermost first."""
    run = _current.run
    while run is not None:
        if run.agent:
            yield run.agent
        run = run.outer


class WorkflowThread:
    """One run in the thread of a workflow, which makes it and then waits in `perform`.

    `perform` calls `tick` now and then while there is nothing to do. `agent` is the running agent,
    if the run is an agent's.
    """

    def __init__(self, bridge: Bridge, tick: Callable[[], None], agent: str = "") -> None:
        self.bridge = bridge
        self.caller = Caller("person")  # the caller of this run's calls
        self.agent = agent
        self.outer = _current.run
        self._inner: WorkflowThread | None = None
        self._tick = tick
        self._work: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._is_abandoned = False  # the caller has stopped waiting for what the thread does now
        self._interrupted_work: Future[Any] | None = None  # of the nodes that an interrupt hit

    async def run(self, do: Callable[[], T]) -> T:
        """Run `do` in the workflow's thread, and wait for its outcome. Called from the loop.

        Cancelling the wait does not stop `do`, but it stops the runs of agents in it.
        """
        future: Future[T] = Future()
        self._work.put(partial(self._do, do, future))
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            if future.running():
                self._stop_inner()
            raise
        finally:
            del future  # as in `Portal.call`: an error must not hold the run

    def post(self, do: Callable[[], None]) -> None:
        """Run `do` in the workflow's thread soon, in order, without waiting. From the loop."""
        self._work.put(do)

    def perform(self, do: Callable[[Operations], Awaitable[T]]) -> T:
        """Run `do` on the bridge's loop, work for it until it ends, and return its result.

        An interrupt of this thread cancels it and waits, a bounded time, for it to unwind.

        Raises:
            RuntimeError: the bridge is closed, or was closed meanwhile.
            NestedTooDeep: the agent's tools lead back to itself.
            OutOfTime: the drawn tool that this is part of exceeded its limit.
        """
        self._check_nesting()
        _current.run, outer = self, self.outer
        if outer is not None:
            outer._inner = self
        try:
            if outer is not None and outer._is_abandoned:
                _out_of_time()
            return self._perform(do)
        finally:
            _current.run = outer
            if outer is not None:
                outer._inner = None

    def _check_nesting(self) -> None:
        agents = [*running_agents()][::-1]
        if self.agent and agents.count(self.agent) >= _MOST_OF_ONE_AGENT:
            raise NestedTooDeep(
                f"Agent {self.agent!r} would run inside itself "
                f"({' > '.join([*agents, self.agent])}). One of its tools leads back to it: have "
                "that tool run another agent, with a toolbelt that lacks this tool."
            )

    def _perform(self, do: Callable[[Operations], Awaitable[T]]) -> T:
        end = threading.Event()

        async def play(operations: Operations) -> T:
            try:
                return await do(operations.for_caller(self.caller))
            finally:
                end.set()
                self._work.put(lambda: None)

        future = self.bridge.submit(play)
        try:
            while not (end.is_set() or future.done()):
                try:
                    work = self._work.get(timeout=_CHECK_SECONDS)
                except queue.Empty:
                    work = self._tick
                work()
            while not self._work.empty():  # the last posts; nothing more can come
                self._work.get()()
            return future.result()
        except concurrent.futures.CancelledError:
            raise closed_meanwhile() from None
        except BaseException as error:
            future.cancel()
            end.wait(_UNWIND_SECONDS)
            # After the run's calls are cancelled, so that they do not count as failed.
            if self._interrupted_work is not None and not self._interrupted_work.done():
                self._interrupted_work.set_exception(
                    RuntimeError(f"stopped by {type(error).__name__}")
                )
            raise
        finally:
            del future  # as in `run`

    def _do(self, do: Callable[[], T], future: Future[T]) -> None:
        if not future.set_running_or_notify_cancel():
            return
        try:
            future.set_result(do())
        except (StopIteration, concurrent.futures.CancelledError) as error:
            # A task cannot take these: the waiting task would hang, or end as cancelled.
            failure = RuntimeError(f"a node raised {type(error).__name__}")
            failure.__cause__ = error
            future.set_exception(failure)
        except Exception as error:  # noqa: BLE001 - raised again in the task that asked
            future.set_exception(error)
        except BaseException:
            self._interrupted_work = future
            raise
        finally:
            self._is_abandoned = False
            del future  # as in `run`

    def _stop_inner(self) -> None:
        self._is_abandoned = True
        inner = self._inner
        while inner is not None:
            inner.post(_out_of_time)
            inner = inner._inner


def _out_of_time() -> NoReturn:
    raise OutOfTime(
        "The drawn tool in which this agent runs went over its time limit. Raise `timeout_seconds` "
        "of its AgentDefineTool."
    )
