"""The whole soak: start, let everything fail for a while, end, and count the leaks."""

from __future__ import annotations

import ctypes
import ctypes.util
import gc
import json
import os
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from tests.support.census import Census, take_census
from xai_mcp_agent.canvas.lease import bridge_of

from .agents import Agents
from .complaints import report_to
from .fleet import Fleet, model_process
from .stalls import Stalls, watch
from .tally import Tally

_SETTINGS, _TRUST = "XAI_MCP_SETTINGS", "XAI_MCP_TRUST"
_LOOK_SECONDS = 2.0
_WARM_SHARE = 0.3  # of the time: caches and pools fill up first
_ALLOWED_GROWTH_MB = 30.0
_END_SECONDS = 20.0  # for threads and files to go, once everything is closed


@dataclass(frozen=True)
class Plan:
    """The size and the length of the soak."""

    seconds: float
    servers: int
    agents: int
    seed: str


@dataclass
class Outcome:
    """Outcome of the soak. `leaks` are processes, threads and files that were not there at first.

    `memory_mb` is the memory of the process. `used_mb` is that without the free memory that the
    allocator keeps: once after the beginning, and once at the end.
    """

    plan: Plan
    tally: Tally = field(default_factory=Tally)
    seconds: float = 0.0
    runs: int = 0
    starts: int = 0
    attacks: Counter[str] = field(default_factory=Counter[str])
    stalls: Stalls = field(default_factory=Stalls)
    idle: Stalls = field(default_factory=Stalls)
    memory_mb: list[float] = field(default_factory=list[float])
    used_mb: list[float] = field(default_factory=list[float])
    leaks: list[str] = field(default_factory=list[str])

    @property
    def grown_mb(self) -> float:
        """Growth of the used memory since the beginning."""
        return self.used_mb[-1] - self.used_mb[0] if self.used_mb else 0.0

    @property
    def failures(self) -> list[str]:
        """The reasons for failure; empty after a success."""
        failures = [*self.tally.unexplained, *(f"left at the end: {x}" for x in self.leaks)]
        if self.grown_mb > _ALLOWED_GROWTH_MB:
            failures.append(f"memory grew by {self.grown_mb:.0f} MB")
        if not self.tally.results:
            failures.append("no call had a result")
        return failures


def soak(plan: Plan, show: Callable[[Outcome], None]) -> Outcome:
    """Run it; `show` is called every few seconds with the state."""
    outcome = Outcome(plan)
    with (
        report_to(outcome.tally.fail),
        tempfile.TemporaryDirectory() as folder,
        model_process(plan.seed) as model,
    ):
        _warm_up(Path(folder) / "first", plan, model)
        before = take_census()
        _work(Path(folder) / "soak", outcome, model, show)
        outcome.leaks = _leaks_since(before)
    return outcome


def _work(folder: Path, outcome: Outcome, model: str, show: Callable[[Outcome], None]) -> None:
    plan = outcome.plan
    with (
        _world(folder, plan, model, outcome.tally) as (fleet, agents, bridge),
        ExitStack() as stack,
    ):
        outcome.attacks = fleet.attacks
        outcome.stalls, outcome.idle = stack.enter_context(watch(bridge))
        stack.enter_context(agents.at_work())
        stack.enter_context(fleet.under_attack())
        start = time.monotonic()
        while outcome.seconds < plan.seconds:
            time.sleep(min(_LOOK_SECONDS, plan.seconds))
            outcome.seconds = time.monotonic() - start
            outcome.memory_mb.append(_memory_mb())
            if not outcome.used_mb and outcome.seconds > plan.seconds * _WARM_SHARE:
                outcome.used_mb.append(_used_mb())
            outcome.runs, outcome.starts = agents.runs, fleet.starts()
            show(outcome)
        outcome.used_mb.append(_used_mb())


@contextmanager
def _world(
    folder: Path, plan: Plan, model: str, tally: Tally
) -> Generator[tuple[Fleet, Agents, Any]]:
    """Servers, agents, and a bridge that stays open while agents come and go."""
    folder.mkdir()
    fleet = Fleet(plan.servers, folder / "journal", plan.seed)
    file = folder / "mcp_settings.json"
    file.write_text(json.dumps(fleet.settings), encoding="utf-8")
    os.environ[_SETTINGS] = str(file)
    os.environ[_TRUST] = "1"  # no person can agree to the new file
    ctx: dict[str, Any] = {}
    names = list(fleet.settings["mcpServers"])
    with fleet.running():
        bridge = bridge_of(ctx)
        bridge.connect(wait=True)
        try:
            yield fleet, Agents(plan.agents, names, model, tally, plan.seed), bridge
        finally:
            ctx.clear()
            bridge.close()


def _warm_up(folder: Path, plan: Plan, model: str) -> None:
    """Run once: modules and files that a first run loads for good are no leak."""
    small = Plan(0.0, 2, 1, plan.seed)
    with _world(folder, small, model, Tally()) as (_, agents, __):
        agents.run_once("first", random.Random(plan.seed))


def _leaks_since(before: Census) -> list[str]:
    deadline = time.monotonic() + _END_SECONDS
    while (leaks := take_census().more_than(before)) and time.monotonic() < deadline:
        time.sleep(0.1)
    return leaks


def _memory_mb() -> float:
    return psutil.Process().memory_info().rss / 1024**2


def _used_mb() -> float:
    """Memory after garbage collection, without the free memory that the C library keeps.

    It keeps much after large results in several threads, which could hide a leak or look like one.
    """
    gc.collect()
    library = ctypes.util.find_library("c")
    if trim := getattr(ctypes.CDLL(library), "malloc_trim", None) if library else None:
        trim(0)
    return _memory_mb()
