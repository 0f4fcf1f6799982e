"""Runs faults over the public `Bridge`, several at once in one bridge, beside a healthy server.

It records the outcome and duration of each step, stalls of the bridge's event loop, and everything
that stays behind.
"""

from __future__ import annotations

import gc
import os
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.bridges import bridge_with, status_of
from tests.support.census import Census, take_census
from tests.support.fault_server import entry
from tests.support.processes import is_running, wait_until
from tests.support.stalls import watching
from xai_mcp_agent import Bridge, SourceFailed

from .fault import LONG_SECONDS, Call, Entry, Fault

HEALTHY = "healthy"
_MARK = "FAULT_RUN"
# A step may end this much after its limit: the limit itself has a second of grace, ending a
# process has its own, the SDK tries for 5 s to tell the server, and the machine may be busy.
_SLACK_SECONDS = 10.0
_PAUSE_SECONDS = 0.05  # between two calls of the healthy server
_EXIT_SECONDS = 10.0  # from the end of a server to the end of its last process


@dataclass(frozen=True)
class Step:
    """Outcome of one step."""

    name: str
    seconds: float
    is_in_time: bool
    error: BaseException | None = None
    text: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Report:
    """Outcome of one fault, step by step. `survivors` are processes that outlived the close."""

    fault: Fault
    steps: dict[str, Step]
    status_notes: tuple[str, ...] = ()
    survivors: tuple[int, ...] = ()


@dataclass(frozen=True)
class Run:
    """Outcome of several faults at once, and their effects on the rest of the process."""

    reports: dict[str, Report]
    healthy_calls: int
    healthy_errors: tuple[str, ...]
    longest_stall_seconds: float
    longest_hold_seconds: float
    leftovers: tuple[str, ...]


def run_faults(faults: Sequence[Fault], folder: Path) -> Run:
    """Connect, call, call again and close each of them, all at the same time."""
    import mcp  # noqa: F401  # so that no step includes the time of this import

    gc.collect()
    before = take_census()
    with ExitStack() as servers:
        entries = {x.name: _entry_of(x, folder, servers) for x in faults}
        with bridge_with(**entries, **{HEALTHY: entry()}) as bridge:
            bridge.list_tools(HEALTHY)
            with (
                watching(bridge) as stalls,
                _calling(bridge) as healthy,
                ThreadPoolExecutor(len(faults)) as threads,
            ):
                fault_runs = [_FaultRun(bridge, x, folder) for x in faults]
                reports = list(threads.map(_FaultRun.report, fault_runs))
    return Run(
        reports={x.fault.name: x for x in reports},
        healthy_calls=healthy.calls,
        healthy_errors=tuple(healthy.errors),
        longest_stall_seconds=stalls.longest_step_seconds,
        longest_hold_seconds=stalls.longest_hold_seconds,
        leftovers=_leftovers(before),
    )


class _FaultRun:
    """Run of one fault. Every exception of a step is recorded, ours or not."""

    def __init__(self, bridge: Bridge, fault: Fault, folder: Path) -> None:
        self._bridge = bridge
        self._fault = fault
        self._folder = folder / fault.name
        self._steps: dict[str, Step] = {}

    def report(self) -> Report:
        fault = self._fault
        self._run_step("connect", fault.connect_seconds, self._connect)
        before = self._session()
        if fault.call is not None:
            self._call("call", fault.call)
        if fault.dies_after_call:
            condition = f"the end of {fault.name} is noticed"
            wait_until(lambda: self._session() != before, condition, LONG_SECONDS)
        if fault.mend is not None:
            fault.mend(self._folder)
            self._wait_for_attempt()
        self._call("again", fault.again)
        if fault.last is not None:
            self._call("last", fault.last)
        notes = status_of(self._bridge, fault.name).notes
        self._run_step("close", 8.0, lambda: self._bridge.disconnect(fault.name))
        return Report(fault, self._steps, notes, _survivors(fault.name))

    def _connect(self) -> None:
        self._bridge.connect(self._fault.name, wait=True)
        status = status_of(self._bridge, self._fault.name)
        if status.state != "ready":
            raise SourceFailed(status.name, status.error, status.next_step, status.stderr_tail)

    def _session(self) -> tuple[object, ...]:
        """Return a value that differs for each session: no two take the same time to connect."""
        status = status_of(self._bridge, self._fault.name)
        return status.state, status.connect_seconds

    def _wait_for_attempt(self) -> None:
        """Wait for an attempt that began before the repair; the next one counts."""

        def has_ended() -> bool:
            return status_of(self._bridge, self._fault.name).state != "connecting"

        wait_until(has_ended, f"{self._fault.name} is no longer connecting", LONG_SECONDS)

    def _call(self, name: str, call: Call) -> None:
        def call_tool() -> Any:
            return self._bridge.call_tool(
                self._fault.name, call.tool, call.arguments, timeout_seconds=call.seconds
            )

        self._run_step(name, call.seconds, call_tool)

    def _run_step(self, name: str, limit: float, do: Callable[[], Any]) -> None:
        began, result, error = time.monotonic(), None, None
        try:
            result = do()
        except BaseException as raised:  # noqa: BLE001 - we look for types that leak
            error = raised.with_traceback(None)
        seconds = time.monotonic() - began
        text, notes = (result.text, result.notes) if hasattr(result, "text") else ("", ())
        is_in_time = seconds < limit + _SLACK_SECONDS
        self._steps[name] = Step(name, seconds, is_in_time, error, text, notes)


@dataclass
class _Healthy:
    """Caller that calls a healthy server all the time."""

    calls: int = 0
    errors: list[str] = field(default_factory=list[str])

    def run(self, bridge: Bridge, stop: threading.Event) -> None:
        while not stop.wait(_PAUSE_SECONDS):
            self.calls += 1
            try:
                text = bridge.call_tool(HEALTHY, "echo", {"text": "well"}, timeout_seconds=20).text
            except Exception as error:  # noqa: BLE001 - any error is one too many
                self.errors.append(repr(error))
                return
            if text != "well":
                self.errors.append(text)


@contextmanager
def _calling(bridge: Bridge) -> Iterator[_Healthy]:
    healthy, stop = _Healthy(), threading.Event()
    thread = threading.Thread(target=healthy.run, args=[bridge, stop])
    thread.start()
    try:
        yield healthy
    finally:
        stop.set()
        thread.join(30)


def _entry_of(fault: Fault, folder: Path, servers: ExitStack) -> Entry:
    own = folder / fault.name
    own.mkdir()
    server = fault.server
    settings = servers.enter_context(server(own)) if callable(server) else server
    if "url" in settings:
        return settings
    # All descendants of a process inherit it, so that survivors can be identified.
    env = {**settings.get("env", {}), _MARK: _mark(fault.name)}
    return {**settings, "env": env, "cwd": str(own)}


_RUN = uuid.uuid4().hex


def _mark(name: str) -> str:
    return f"{_RUN}-{name}"


def _survivors(name: str) -> tuple[int, ...]:
    """Return the processes of this fault that still run after a moment."""
    with suppress(AssertionError):
        wait_until(lambda: not _processes_of(name), "they have ended", _EXIT_SECONDS)
    return _processes_of(name)


def _processes_of(name: str) -> tuple[int, ...]:
    mark, pids = f"{_MARK}={_mark(name)}\0".encode(), list[int]()
    numbers = os.listdir("/proc") if os.path.isdir("/proc") else ()
    for number in filter(str.isdecimal, numbers):
        try:
            with open(f"/proc/{number}/environ", "rb", buffering=0) as environment:
                if mark in environment.read() and is_running(int(number)):
                    pids.append(int(number))
        except OSError:
            continue  # it has ended meanwhile, or belongs to somebody else
    return tuple(pids)


def _leftovers(before: Census) -> tuple[str, ...]:
    """Return everything that was not there before and does not go away within the limit."""
    gc.collect()
    # The event loop's threads and sockets end a moment after the bridge.
    with suppress(AssertionError):
        wait_until(
            lambda: not take_census().more_than(before), "everything is released", _EXIT_SECONDS
        )
    return tuple(take_census().more_than(before))
