"""Leases: which bridge a workflow's run uses, and when it is closed.

There is one bridge per process and settings file. A run finds it through its `ctx`, which holds a
`BridgeLease` on it; when the last lease is gone, the bridge is closed. In a kernel it stays open
for a while instead, and the next run takes it over: see `bridge.operations.warm`.

A run that ends drops its `ctx` and with it the lease. A run that failed in a kernel is kept alive
by its traceback; its lease ends with the cell.
"""

from __future__ import annotations

import _thread
import logging
import os
import threading
import weakref
from collections.abc import Callable, Generator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from ..bridge.faces import Bridge
from ..bridge.operations import Operations
from ..bridge.source_toolset import SourceFailure
from ..console.console import Console
from ..console.notebook import at_end_of_cell, kernel
from ..console.screen import warn_beside_runs
from ..settings.entry import SourceSettings
from ..settings.load import find_settings, load_settings
from ..settings.models import Settings
from ..settings.trust import without_untrusted
from .drawn_tools import list_drawn_tools
from .installation import warn_of_stale_components
from .person import agreed_settings
from .workshop.run import watch

logger = logging.getLogger(__name__)

_KEY = "mcp_bridge"
_PROCESS = os.getpid()  # a fork of the kernel has another, and no run follows in it
# Reentrant: garbage collection may end a run in the middle of starting another.
_lock = threading.RLock()
_bridges: dict[str, Bridge] = {}
_resting: dict[Bridge, Future[None]] = {}  # bridges without a run, until their time is over
_leases: weakref.WeakSet[BridgeLease] = weakref.WeakSet()


class BridgeLease:
    """One run's claim on a bridge. `busy` counts the operations in progress in the run.

    `failures` has the servers that an agent of the run could not use when it last waited for them.
    `source_names` are the sources that the run's nodes added.
    """

    def __init__(self, name: str, bridge: Bridge) -> None:
        self.bridge = bridge
        self.thread = threading.current_thread()
        self.busy = 0
        self.failures: dict[str, SourceFailure] = {}
        self.source_names: set[str] = set()
        end = partial(_end_unused, name, bridge)
        self._finalizer = weakref.finalize(self, _end_where_it_is_safe, self.thread, end)
        self._finalizer.atexit = False  # at exit, every bridge closes itself

    @property
    def is_live(self) -> bool:
        """False once the lease was released, or its bridge closed."""
        return self._finalizer.alive and self.bridge.is_open

    def release(self) -> None:
        """Release the claim; the last one closes the bridge. May be called more than once."""
        if call := self._finalizer.detach():
            _, _, (_, end), _ = call
            end()

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        """Reduce to None: the run of a copied `ctx` takes a claim of its own."""
        return type(None), ()


def bridge_of(ctx: Any) -> Bridge:
    """Return the bridge for this run; the first use makes it.

    Raises:
        SettingsError: the settings file cannot be read. An invalid server in it disables only
            itself.
    """
    return _lease_of(ctx).bridge


@contextmanager
def busy(ctx: Any) -> Generator[BridgeLease]:
    """Yield this run's lease; until the block ends, no other run renews its bridge."""
    lease = _lease_of(ctx)
    lease.busy += 1
    try:
        yield lease
    finally:
        lease.busy -= 1


def add_to_run(ctx: Any, source: SourceSettings) -> str:
    """Add a source that is not in the settings, and return its name; see `Bridge.add_source`.

    It replaces no source that a run on this bridge has added.
    """
    lease = _lease_of(ctx)
    with _lock:
        names = {name for x in _leases_on(lease.bridge) for name in x.source_names}
        name = lease.bridge.add_source(source, names)
        lease.source_names.add(name)
    return name


def _lease_of(ctx: Any) -> BridgeLease:
    before = ctx.get(_KEY)
    if isinstance(before, BridgeLease) and before.is_live:
        return before
    if before is None:
        warn_of_stale_components()
        watch(ctx)
    lease = ctx[_KEY] = _take_lease()
    if before is not None:
        lease.source_names |= before.source_names
    # Before any server starts, so that drawn tools are in the history from the start.
    if tools := list_drawn_tools(ctx):
        lease.bridge.record_canvas_tools(tools)
    return lease


def _take_lease() -> BridgeLease:
    file = find_settings()
    name = str(file.resolve()) if file else ""
    # Outside the lock: a person may be asked, and other runs go on meanwhile.
    settings = None if _is_in_use(_open_bridge(name)) else _agreed_settings(file)
    with _lock:
        bridge = _open_bridge(name)
        can_renew = bridge and settings and not _is_in_use(bridge)
        if bridge and settings and can_renew and not bridge.run(Operations.renew, settings):
            _stop_resting(bridge)
            bridge.close()
            bridge = None
        if bridge is None:
            settings = settings or without_untrusted(load_settings(file))
            bridge = _bridges[name] = Bridge(settings, warn=warn_beside_runs)
        lease = BridgeLease(name, bridge)
        _leases.add(lease)
        _stop_resting(bridge)
    if kernel() and lease.thread is threading.main_thread():
        at_end_of_cell(partial(_end_with_cell, weakref.ref(lease)))
    return lease


def _agreed_settings(file: Path | None) -> Settings:
    settings = load_settings(file)
    if settings.env_notes:
        with Console("settings") as console:
            for note in settings.env_notes:
                console.tell("!!", note)
    return agreed_settings(settings)


def _open_bridge(name: str) -> Bridge | None:
    bridge = _bridges.get(name)
    return bridge if bridge is not None and bridge.is_open else None


def _leases_on(bridge: Bridge) -> list[BridgeLease]:
    with _lock:  # another thread may be adding one
        return [x for x in _leases if x.bridge is bridge and x.is_live]


def _is_in_use(bridge: Bridge | None) -> bool:
    """Return whether another thread has a lease on it, or this thread is busy with it."""
    here = threading.current_thread()
    return bridge is not None and any(x.busy or x.thread is not here for x in _leases_on(bridge))


def _stop_resting(bridge: Bridge) -> None:
    if rest := _resting.pop(bridge, None):
        rest.cancel()


def _end_with_cell(of: weakref.ref[BridgeLease], error: BaseException | None) -> None:
    """End the lease of a run that failed: its traceback would keep it."""
    lease = of()
    if error is not None and lease is not None and lease.is_live and not lease.busy:
        lease.bridge.submit(Operations.doubt)
        lease.release()


def _end_where_it_is_safe(thread: threading.Thread, end: Callable[[], None]) -> None:
    """End the claim of a garbage-collected run.

    It may be collected in any thread, even on the loop of a bridge that another thread waits for
    while it holds the lock. So only the run's own thread ends the claim directly.
    """
    if thread.ident == threading.get_ident() and thread.is_alive():
        end()
    else:
        _run_in_thread(end)


def _run_in_thread(do: Callable[[], None]) -> None:
    """Run `do` in a new thread; not with `threading`, because its locks may be held right here."""

    def run() -> None:
        try:
            do()
        except Exception:
            logger.exception("A bridge that no run uses could not be closed")

    with suppress(RuntimeError):  # at exit, every bridge closes itself
        _thread.start_new_thread(run, ())


def _end_unused(name: str, bridge: Bridge) -> None:
    """Close the bridge, or leave it to the next run, if no run uses it."""
    with _lock:
        if _leases_on(bridge):
            return
        if _bridges.get(name) is bridge:
            del _bridges[name]  # a run that begins meanwhile gets another
        _resting.pop(bridge, None)
    if not _keep_warm(name, bridge):
        bridge.close()


def _keep_warm(name: str, bridge: Bridge) -> bool:
    """Keep the bridge for the next run of the kernel; return whether any server stays."""
    is_ending = not threading.main_thread().is_alive()  # of Python: no run follows
    keeps_warm = kernel() and os.getpid() == _PROCESS and bridge.settings.keep_warm_seconds
    if not keeps_warm or is_ending or not bridge.is_open:
        return False
    stays = bridge.run(Operations.leave)
    with _lock:
        if not stays or name in _bridges:
            return False
        _bridges[name] = bridge
        _resting[bridge] = rest = bridge.submit(Operations.rest)
    end = partial(_end_unused, name, bridge)
    rest.add_done_callback(lambda future: future.cancelled() or _run_in_thread(end))
    return True


def _reset_after_fork() -> None:
    """Forget the parent's bridges and lock in a forked child: it may be held."""
    global _lock
    _lock = threading.RLock()
    _bridges.clear()
    _resting.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)
