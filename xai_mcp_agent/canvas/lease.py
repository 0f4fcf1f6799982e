"""Leases: which bridge a workflow's run uses, and when it is closed.

There is one bridge per process and settings file. A run finds it through its `ctx`,
which holds a `BridgeLease` on it; when the last hold is gone the bridge is closed.
A run that ends drops its `ctx` and with it the hold. A run that failed in a notebook is kept
alive by its traceback, so the next run in the same thread takes its hold away.
"""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..bridge.bridge import Bridge
from ..bridge.engine import Engine
from ..bridge.toolbox import Failure
from ..console.screen import warn_beside_runs
from ..settings.load import find_settings, load_settings
from .drawn_tools import drawn_in
from .installation import warn_if_stale

_KEY = "mcp_bridge"
# Reentrant: garbage collection may end a run in the middle of starting another.
_lock = threading.RLock()
_bridges: dict[str, Bridge] = {}
_holds: weakref.WeakSet[BridgeLease] = weakref.WeakSet()


class BridgeLease:
    """One run's claim on a bridge. `busy` counts what is going on in the run right now.

    `failed` has the servers that an agent of the run could not use when it waited for them last.
    """

    def __init__(self, name: str, bridge: Bridge) -> None:
        self.bridge = bridge
        self.name = name
        self.thread = threading.get_ident()
        self.busy = 0
        self.failed: dict[str, Failure] = {}
        self._finalizer = weakref.finalize(self, _release, name, bridge)

    @property
    def is_held(self) -> bool:
        """False once it was given up."""
        return self._finalizer.alive

    def release(self) -> None:
        """Give the claim up; the last one closes the bridge. May be called more than once."""
        self._finalizer()

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


def _hold_of(ctx: Any) -> BridgeLease:
    hold = ctx.get(_KEY)
    # One that was taken away may still have an open bridge, but nobody keeps it open for this run.
    if not isinstance(hold, BridgeLease) or not hold.is_held or not hold.bridge.is_open:
        hold = ctx[_KEY] = _take_hold()
        # Before any server is started: what is drawn is there from the start.
        if drawn := drawn_in(ctx):
            hold.bridge.run(Engine.seed, drawn)
    return hold


def _take_hold() -> BridgeLease:
    file = find_settings()
    name = str(file.resolve()) if file else ""
    _tell_of_stale_components()
    for abandoned in _abandoned():
        abandoned.release()
    with _lock:
        bridge = _bridges.get(name)
        if bridge is None or not bridge.is_open:
            bridge = _bridges[name] = _new_bridge(file)
        hold = BridgeLease(name, bridge)
        _holds.add(hold)
        return hold


def _abandoned() -> list[BridgeLease]:
    """Holds of earlier runs in this thread, which runs one workflow at a time."""
    here = threading.get_ident()
    with _lock:  # another thread may be adding one
        mine = [hold for hold in _holds if hold.thread == here]
    return [hold for hold in mine if hold.is_held and not hold.busy]


def _tell_of_stale_components() -> None:
    """Xircuits may have loaded an old copy of our nodes; say so once, the run goes on."""
    for name, module in list(sys.modules.items()):
        if name.startswith("xai_components.xai_mcp_agent.") and module.__file__:
            line = warn_if_stale(module.__file__)
            if line:
                print(line, file=sys.stderr)


def _new_bridge(file: Path | None) -> Bridge:
    return Bridge(loaded=load_settings(file), warn=warn_beside_runs)


def _release(name: str, bridge: Bridge) -> None:
    with _lock:
        if any(hold.bridge is bridge and hold.is_held for hold in _holds):
            return
        if _bridges.get(name) is bridge:
            del _bridges[name]
    bridge.close()


def _begin_anew() -> None:
    """In a child that was just forked: the parent's bridges are not ours, its lock may be held."""
    global _lock
    _lock = threading.RLock()
    _bridges.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
