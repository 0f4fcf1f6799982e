"""CPU time of plans and memory of a planner, each size in a process of its own."""

from __future__ import annotations

import gc
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..rows import IS_SMALLEST, size
from ..search.quality import table_of
from ..search.sets import ToolSet
from ..search.speed import catalog
from ..search.timing import memory
from .sets import PlanSet

SIZES = (50,) if IS_SMALLEST else (500, 5_000, 50_000)
_PLAN_MILLISECONDS, _UPDATE_MILLISECONDS = {5_000: 100.0}, {5_000: 10.0}
_MEGABYTES = {50_000: 400.0}
_IMPORT_MILLISECONDS, _IMPORTS = 30.0, size(7, 1)
_REQUESTS, _UPDATES = size(150, 5), size(30, 2)
_RUN_SECONDS = 400.0


@dataclass(frozen=True)
class Speed:
    """Measurements of one process."""

    size: int
    build_seconds: float
    p50: float  # milliseconds, as the next ones
    p99: float
    update: float
    megabytes: float


def measure(sets: Sequence[PlanSet], folder: Path, sizes: Sequence[int] = SIZES) -> list[Speed]:
    """All sizes."""
    found: list[Speed] = []
    catalogs = [ToolSet(x.name, x.tools, [], Path()) for x in sets]
    requests = [y["request"] for x in sets for y in x.plans]
    step = max(len(requests) // _REQUESTS, 1)
    for count in sizes:
        job = folder / f"catalog-{count}.json"
        tools = list(catalog(catalogs, count))
        job.write_text(json.dumps({"tools": tools, "requests": requests[::step]}))
        found.append(_in_a_process(job))
        print(found[-1], flush=True)
    return found


def import_milliseconds() -> float:
    """Return how much importing `Planner` adds to `search`, in a fresh process."""
    code = (
        "import time; from xai_mcp_agent.search import ToolIndex; began = time.process_time();"
        "from xai_mcp_agent.planning import Planner; print(time.process_time() - began)"
    )
    command = [sys.executable, "-c", code]
    # As it is once installed: the first of these compiles, and is not counted.
    kept = {x: y for x, y in os.environ.items() if x != "PYTHONDONTWRITEBYTECODE"}
    taken = [
        float(subprocess.run(command, capture_output=True, text=True, check=True, env=kept).stdout)
        for _ in range(_IMPORTS + 1)
    ]
    return statistics.median(taken[1:]) * 1000


def misses(speeds: Sequence[Speed], importing: float) -> list[str]:
    """Targets that are not reached."""
    said: list[str] = []
    for x in speeds:
        for what, value, most in (
            ("a plan", x.p99, _PLAN_MILLISECONDS), ("an update", x.update, _UPDATE_MILLISECONDS),
            ("memory", x.megabytes, _MEGABYTES),
        ):  # fmt: skip
            if value > most.get(x.size, value):
                said.append(f"{x.size:,} tools: {what} is {value:.1f}, not {most[x.size]:g}")
    if importing > _IMPORT_MILLISECONDS:
        said.append(f"the import adds {importing:.0f} ms, not {_IMPORT_MILLISECONDS:g}")
    return said


def markdown(speeds: Sequence[Speed], importing: float) -> str:
    """A line for each process, with the most that the figures should be."""
    lines = [["tools", "build, s", "plan p50, ms", "p99, ms", "update of one, ms", "MB"]]
    for x in speeds:
        lines.append(
            [
                f"{x.size:,}", f"{x.build_seconds:.2f}", f"{x.p50:.1f}",
                _with_most(x.p99, _PLAN_MILLISECONDS.get(x.size)),
                _with_most(x.update, _UPDATE_MILLISECONDS.get(x.size)),
                _with_most(x.megabytes, _MEGABYTES.get(x.size)),
            ]
        )  # fmt: skip
    told = f"The import adds {importing:.0f} ms to that of the search package (at most 30)."
    return f"{table_of(lines)}\n\n{told}"


def _with_most(value: float, most: float | None) -> str:
    return f"{value:.1f}" if most is None else f"{value:.1f} (at most {most:g})"


def _in_a_process(job: Path) -> Speed:
    command = [sys.executable, "-m", __name__, str(job)]
    root = Path(__file__).parents[2]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=_RUN_SECONDS, check=False, cwd=root
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} ended: {done.stderr.strip()[-500:]}")
    return Speed(**json.loads(done.stdout))


def _main(job: str) -> None:
    """In the process: measure, and print what was found."""
    from xai_mcp_agent.planning import Planner

    told = json.loads(Path(job).read_text())
    tools, requests = told["tools"], told["requests"]
    gc.collect()
    before, began = memory(), time.process_time()
    planner = Planner(tools)
    built = time.process_time() - began
    held = memory() - before
    planner.plan(requests[0])  # numpy is loaded, once
    asked = sorted(_milliseconds(lambda x=x: planner.plan(x)) for x in requests)
    step = max(len(tools) // _UPDATES, 1)
    changed = [x | {"description": f"{x['description']} anew"} for x in tools[::step][:_UPDATES]]
    updates = [_milliseconds(lambda x=x: planner.update(x)) for x in changed]
    found = Speed(
        len(tools), built, statistics.median(asked), asked[int(len(asked) * 0.99)],
        statistics.median(updates), held / 1e6,
    )  # fmt: skip
    print(json.dumps(found.__dict__))


def _milliseconds(do: Callable[[], object]) -> float:
    began = time.process_time()
    do()
    return (time.process_time() - began) * 1000


if __name__ == "__main__":
    _main(*sys.argv[1:])
