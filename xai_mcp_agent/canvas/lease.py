"""Leases: which bridge a workflow's run uses, and when it is closed.

There is one bridge per process and settings file. A run finds it through its `ctx`,
which holds a `BridgeLease` on it; when the last hold is gone the bridge is closed. In a kernel it
stays for a while instead, and the next run takes it over: see `bridge.operations.warm`.

A run that ends drops its `ctx` and with it the hold. A run that failed in a notebook is kept
alive by its traceback. In a kernel its hold ends with the cell. Elsewhere the next run in the same
thread takes its hold along when it ends, unless that one was used meanwhile: then two runs
alternate, and none ends the other's servers.
"""

from __future__ import annotations

import _thread
import itertools
import logging
import os
import sys
import threading
import weakref
from collections.abc import Callable, Generator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, NamedTuple

from ..bridge.faces import Bridge
from ..bridge.operations import Operations
from ..bridge.source_toolset import Failure
from ..console.console import Console
from ..console.screen import warn_beside_runs
from ..settings.entry import SourceSettings
from ..settings.load import find_settings, load_settings
from ..settings.models import Settings
from ..settings.trust import without_untrusted
from .drawn_tools import drawn_in
from .installation import warn_if_stale
from .lab_channel import at_end_of_cell, kernel
from .trust import agreed_settings
from .workshop.run import watch

logger = logging.getLogger(__name__)

_KEY = "mcp_bridge"
_SPARE_RUNS = 5  # more between two uses of a workflow is no alternation, or it failed
# Reentrant: garbage collection may end a run in the middle of starting another.
_lock = threading.RLock()
_adding = threading.Lock()
_bridges: dict[str, Bridge] = {}
_resting: dict[Bridge, Future[None]] = {}  # those that no run uses, until their time is over
_holds: weakref.WeakSet[BridgeLease] = weakref.WeakSet()
_uses = itertools.count()
_own = threading.local()
_is_fork = False  # of a kernel: no run comes after it
_has_told = False


class _Claim(NamedTuple):
    """What a lease leaves behind."""

    name: str
    bridge: Bridge
    thread: int
    began: int


class BridgeLease:
    """One run's claim on a bridge. `busy` counts what is going on in the run right now.

    `used` tells which of two was used later. One that `came_back` after it was taken may be left
    unused by some later runs before it is taken again, as `spare` counts down.
    `failed` has the servers that an agent of the run could not use when it waited for them last.
    `added` are the names of sources that its nodes brought along.
    """

    def __init__(self, name: str, bridge: Bridge, *, came_back: bool) -> None:
        self.bridge = bridge
        self.name = name
        self.thread = threading.get_ident()
        self.busy = 0
        self.came_back = came_back
        self.spare = 0
        self.used = began = next(_uses)
        self.failed: dict[str, Failure] = {}
        self.added: set[str] = set()
        claim = _Claim(name, bridge, self.thread, began)
        self._finalizer = weakref.finalize(self, _collected, claim, _mark_of_thread())

    @property
    def is_held(self) -> bool:
        """False once it was given up."""
        return self._finalizer.alive

    def release(self) -> None:
        """Give the claim up; the last one closes the bridge. May be called more than once."""
        if detached := self._finalizer.detach():
            _release(detached[2][0])

    def __deepcopy__(self, memo: dict[int, Any]) -> BridgeLease:
        """Itself: whoever copies a `ctx` has one run still, and one claim."""
        return self

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        """Nothing: in another process the run takes a claim of its own."""
        return type(None), ()


def bridge_of(ctx: Any) -> Bridge:
    """The bridge for this run; made on first use.

    Raises:
        SettingsError: the settings file cannot be read. A wrong server in it disables only itself.
    """
    return _hold_of(ctx).bridge


@contextmanager
def busy(ctx: Any) -> Generator[BridgeLease]:
    """This run's claim, protected from other runs while something is going on."""
    hold = _hold_of(ctx)
    hold.busy += 1
    try:
        yield hold
    finally:
        hold.busy -= 1


def add_to_run(ctx: Any, source: SourceSettings) -> str:
    """Take in a source that the settings do not have; see `Bridge.add_source`.

    It takes the place of nothing that this run or another one that uses the bridge brought along.
    """
    hold = _hold_of(ctx)
    with _adding:
        with _lock:
            kept = {x for y in _holds if y.bridge is hold.bridge and y.is_held for x in y.added}
        name = hold.bridge.add_source(source, kept)
        hold.added.add(name)
    return name


def _is_live(hold: Any) -> bool:
    """One that was taken away may still have an open bridge, but nobody keeps it open for it."""
    return isinstance(hold, BridgeLease) and hold.is_held and hold.bridge.is_open


def _hold_of(ctx: Any) -> BridgeLease:
    hold = ctx.get(_KEY)
    if not _is_live(hold):
        came_back = isinstance(hold, BridgeLease)
        if not came_back:
            _tell_of_stale_components()
            watch(ctx)
        before = hold
        hold = ctx[_KEY] = _take_hold(came_back=came_back)
        if isinstance(before, BridgeLease):
            hold.added |= before.added
        # Before any server is started: what is drawn is there from the start.
        if drawn := drawn_in(ctx):
            hold.bridge.record_drawn(drawn)
    hold.used, hold.spare = next(_uses), _SPARE_RUNS * hold.came_back
    return hold


def _take_hold(*, came_back: bool) -> BridgeLease:
    file = find_settings()
    name = str(file.resolve()) if file else ""
    bridge = _open_bridge(name)
    # Outside of the lock: a person may be asked, and other runs go on meanwhile.
    goes_on = bridge is not None and (came_back or _is_in_use(bridge))
    settings = None if goes_on else agreed_settings(load_settings(file))
    with _lock:
        bridge = _open_bridge(name)
        if bridge and settings and not _is_in_use(bridge) and not _renew(bridge, settings):
            bridge = None
        if bridge is None:
            loaded = settings or without_untrusted(load_settings(file))
            bridge = _bridges[name] = Bridge(loaded, warn=warn_beside_runs)
        hold = BridgeLease(name, bridge, came_back=came_back)
        _holds.add(hold)
        _stop_resting(bridge)
    if kernel() and threading.current_thread() is threading.main_thread():
        at_end_of_cell(partial(_end_with_cell, weakref.ref(hold)))
    return hold


def _renew(bridge: Bridge, settings: Settings) -> bool:
    """Have the bridge use these settings; one that cannot is closed."""
    if bridge.run(Operations.renew, settings):
        return True
    _stop_resting(bridge)
    bridge.close()
    return False


def _stop_resting(bridge: Bridge) -> None:
    if rest := _resting.pop(bridge, None):
        rest.cancel()


def _is_in_use(bridge: Bridge) -> bool:
    """Whether a run goes on with it: in another thread, or in the middle of something in this."""
    here = threading.get_ident()
    with _lock:  # another thread may be adding one
        holds = [x for x in _holds if x.bridge is bridge and x.is_held]
    return any(x.busy or x.thread != here for x in holds)


def _end_with_cell(of: weakref.ref[BridgeLease], error: BaseException | None) -> None:
    """End the hold of a run that failed: its traceback would keep it."""
    hold = of()
    if error is not None and hold is not None and hold.is_held and not hold.busy:
        with suppress(RuntimeError):  # it was closed
            hold.bridge.submit(Operations.doubt)
        hold.release()


def _tell_of_stale_components() -> None:
    """Xircuits may have loaded an old copy of our nodes; say so once, the run goes on."""
    for name, module in sys.modules.copy().items():
        if name.startswith("xai_components.xai_mcp_agent.") and module.__file__:
            line = warn_if_stale(module.__file__)
            if line:
                print(line, file=sys.stderr)


def _open_bridge(name: str) -> Bridge | None:
    bridge = _bridges.get(name)
    return bridge if bridge is not None and bridge.is_open else None


def _mark_of_thread() -> object:
    """Something that no other thread has, also none that is given the same number later."""
    if not hasattr(_own, "mark"):
        _own.mark = object()
    return _own.mark


def _collected(claim: _Claim, mark: object) -> None:
    """Give up the claim of a run that is garbage.

    It may be collected in any thread: by the loop of a bridge for which another thread waits with
    the lock in its hands. So only the thread of the run does it itself.
    """
    if getattr(_own, "mark", None) is mark:
        _release(claim)
    else:
        _aside(partial(_release, claim))


def _aside(do: Callable[[], None]) -> None:
    """Do it in a thread of its own; not by `threading`, whose locks may be held just here."""

    def run() -> None:
        try:
            do()
        except Exception:
            logger.exception("A bridge that no run uses could not be closed")

    with suppress(RuntimeError):  # Python ends, and closes every bridge itself
        _thread.start_new_thread(run, ())


def _release(claim: _Claim) -> None:
    _end_abandoned(claim.thread, claim.began)
    _end_unused(claim.name, claim.bridge)


def _end_unused(name: str, bridge: Bridge) -> None:
    """Close the bridge, or leave it to the next run, if no run uses it."""
    with _lock:
        if any(hold.bridge is bridge and hold.is_held for hold in _holds):
            return
        if _bridges.get(name) is bridge:
            del _bridges[name]  # a run that begins meanwhile has another
        _resting.pop(bridge, None)
    if _stays(name, bridge):
        return
    bridge.close()


def _stays(name: str, bridge: Bridge) -> bool:
    """Leave the bridge to the next run of the kernel, if it has servers that stay."""
    is_ending = not threading.main_thread().is_alive()  # of Python: no run comes any more
    keeps_warm = kernel() and not _is_fork and bridge.settings.keep_warm_seconds
    if not keeps_warm or is_ending or not bridge.is_open:
        return False
    stay = bridge.run(Operations.leave)
    with _lock:
        if not stay or name in _bridges:
            return False
        _bridges[name] = bridge
        _resting[bridge] = rest = bridge.submit(Operations.rest)
    end = partial(_end_unused, name, bridge)
    rest.add_done_callback(lambda rested: rested.cancelled() or _aside(end))
    _tell_once(len(stay), max(stay))
    return True


def _tell_once(count: int, seconds: float) -> None:
    """Say that servers stay, when they do so for the first time in this kernel."""
    global _has_told
    if _has_told:
        return
    _has_told = True
    stay, end = "1 server stays", "it ends"
    if count > 1:
        stay, end = f"{count} servers stay", "they end"
    time = f"{seconds / 60:.0f} minutes" if seconds >= 120 else f"{seconds:g} seconds"
    with Console("servers") as console:
        console.tell("--", f"{stay} for the next run, for {time}; {end} with the kernel")


def _end_abandoned(thread: int, began: int) -> None:
    """Take the holds of runs in this thread that nobody used since a later one began."""
    with _lock:
        mine = [x for x in _holds if x.thread == thread and x.used < began]
    for hold in mine:
        if hold.is_held and not hold.busy:
            hold.spare -= 1
            if hold.spare < 0:
                hold.release()


def _begin_anew() -> None:
    """In a child that was just forked: the parent's bridges are not ours, its lock may be held."""
    global _lock, _adding, _is_fork
    _lock, _adding, _is_fork = threading.RLock(), threading.Lock(), True
    _bridges.clear()
    _resting.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
