"""The thread that runs a workflow, while its agent runs on the bridge's loop.

Nodes are made to run in one thread, the one of their workflow: drawn tools and
branches do so here, between the waits for the loop.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import queue
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from functools import partial
from typing import Any, NoReturn, TypeVar

from ..bridge.faces import Bridge
from ..bridge.operations import Operations
from ..bridge.portal import closed_meanwhile
from ..core.calls import Caller
from ..core.errors import XaiMcpError

T = TypeVar("T")

# How often a waiting thread makes sure that the loop it waits for still lives, and tells a
# person what it waits for: seconds that count up by one.
_CHECK_SECONDS = 0.5

# After an interrupt: long enough for calls in flight to be cancelled at their servers.
_UNWIND_SECONDS = 3.0


class OutOfTime(XaiMcpError):
    """A drawn tool ran over its limit, or an agent runs in one that did."""


class _Here(threading.local):
    """The innermost run that this thread works for: a drawn tool of an agent may run another."""

    innermost: WorkflowThread | None = None


_here = _Here()


class WorkflowThread:
    """Made in the workflow's thread, which then waits in `perform`.

    `tick` is called there now and then while there is nothing to do.
    """

    def __init__(self, tick: Callable[[], None] | None = None) -> None:
        self.caller = Caller("person")  # whoever makes the calls of this run
        self._tick = tick or _nothing
        self._work: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._interrupted: Future[Any] | None = None  # of the nodes that an interrupt came to
        self._inner: WorkflowThread | None = None
        self._is_unwanted = False  # nobody waits any more for what the thread does now

    async def run(self, do: Callable[[], T]) -> T:
        """From the loop: have the workflow's thread do this, and wait for its outcome.

        Who stops waiting cannot stop it, but the runs of agents in it are stopped.
        """
        done: Future[T] = Future()
        self._work.put(partial(self._do, do, done))
        try:
            return await asyncio.wrap_future(done)
        except asyncio.CancelledError:
            if done.running():
                self._stop_inner()
            raise
        finally:
            del done  # as in `Portal.call`: an error must not hold the run

    def post(self, do: Callable[[], None]) -> None:
        """From the loop: have the workflow's thread do this soon, in order, without waiting."""
        self._work.put(do)

    def perform(self, bridge: Bridge, do: Callable[[Operations], Awaitable[T]]) -> T:
        """Run `do` on the bridge's loop and work for it until it ends; give what it gives.

        An interrupt of this thread cancels it and waits, a bounded time, for it to unwind.

        Raises:
            RuntimeError: the bridge is closed, or was closed meanwhile.
            OutOfTime: the drawn tool that this is part of ran over its limit.
        """
        outer, _here.innermost = _here.innermost, self
        try:
            if outer is None:
                return self._perform(bridge, do)
            outer._inner = self
            if outer._is_unwanted:
                _out_of_time()
            return self._perform(bridge, do)
        finally:
            _here.innermost = outer
            if outer is not None:
                outer._inner = None

    def _perform(self, bridge: Bridge, do: Callable[[Operations], Awaitable[T]]) -> T:
        ended = threading.Event()

        async def play(operations: Operations) -> T:
            try:
                return await do(operations.for_caller(self.caller))
            finally:
                ended.set()
                self._work.put(_nothing)

        future = bridge.submit(play)
        try:
            while not (ended.is_set() or future.done()):
                self._next_work()()
            self._finish_work()
            return future.result()
        except concurrent.futures.CancelledError:
            raise closed_meanwhile() from None
        except BaseException as error:
            future.cancel()
            ended.wait(_UNWIND_SECONDS)
            self._let_go(error)
            raise
        finally:
            del future  # as in `run`

    def _do(self, do: Callable[[], T], done: Future[T]) -> None:
        if not done.set_running_or_notify_cancel():
            return
        try:
            done.set_result(do())
        except (StopIteration, concurrent.futures.CancelledError) as error:
            # Tasks cannot be given these: the one that asked would wait for ever, or end as
            # cancelled.
            stopped = RuntimeError(f"a node raised {type(error).__name__}")
            stopped.__cause__ = error
            done.set_exception(stopped)
        except Exception as error:  # noqa: BLE001 - raised again in the task that asked
            done.set_exception(error)
        except BaseException:
            self._interrupted = done
            raise
        finally:
            self._is_unwanted = False
            del done  # as in `run`

    def _stop_inner(self) -> None:
        self._is_unwanted = True
        inner = self._inner
        while inner is not None:
            inner.post(_out_of_time)
            inner = inner._inner

    def _let_go(self, error: BaseException) -> None:
        """Answer who still waits for nodes: not a call of the run, which was cancelled first.

        Such a call is not to be taken for one that failed.
        """
        done, self._interrupted = self._interrupted, None
        if done is not None and not done.done():
            done.set_exception(RuntimeError(f"stopped by {type(error).__name__}"))

    def _finish_work(self) -> None:
        """Do what was posted last; nothing more can come."""
        while not self._work.empty():
            self._work.get()()

    def _next_work(self) -> Callable[[], None]:
        try:
            return self._work.get(timeout=_CHECK_SECONDS)
        except queue.Empty:
            return self._tick


def _out_of_time() -> NoReturn:
    raise OutOfTime(
        "The drawn tool in which this agent runs went over its time limit. Raise `timeout_seconds` "
        "of its AgentDefineTool."
    )


def _nothing() -> None:
    pass
