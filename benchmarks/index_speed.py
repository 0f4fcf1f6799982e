"""CPU time and memory of an index of tools, each size in its own process."""

from __future__ import annotations

import gc
import json
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from . import page
from .measuring import Report, run_module
from .rows import IS_SMALLEST, processor_seconds, size
from .search.sets import Json, ToolSet, catalog

SIZES = (50,) if IS_SMALLEST else (500, 5_000, 50_000)
_IMPORT_MILLISECONDS, _IMPORTS = 30.0, size(7, 1)
_UPDATES = size(50, 2)
_RUN_SECONDS = 400.0
_STATUS = Path("/proc/self/statm")  # on Linux: sizes in pages


@dataclass(frozen=True)
class Speed:
    """Measurements of one process."""

    size: int
    build_seconds: float
    p50: float  # milliseconds, as the next ones
    p99: float
    update: float
    megabytes: float  # 0 if the system does not say


@dataclass(frozen=True)
class Index:
    """An index to measure. `limits` are the upper limits of a measurement, by number of tools."""

    name: str
    request: str  # the heading of a request to it
    import_before: str
    import_timed: str
    import_sentence: str
    limits: Mapping[str, Mapping[int, float]]


SEARCH = Index(
    "search",
    "query",
    "import xai_mcp_agent",
    "from xai_mcp_agent.search import ToolIndex",
    "The import of the search package takes {} ms (at most 30).",
    {"build_seconds": {5_000: 2.0}, "p99": {5_000: 20.0, 50_000: 250.0}},
)
PLANNER = Index(
    "planner",
    "plan",
    "from xai_mcp_agent.search import ToolIndex",
    "from xai_mcp_agent.planning import Planner",
    "The import adds {} ms to that of the search package (at most 30).",
    {"p99": {5_000: 100.0}, "update": {5_000: 10.0}, "megabytes": {50_000: 400.0}},
)


def report(index: Index, sets: Sequence[ToolSet], requests: Sequence[str]) -> Report:
    """Measure all sizes, and the import; return a table, and the exceeded limits."""
    speeds: list[Speed] = []
    with tempfile.TemporaryDirectory() as folder:
        job = Path(folder) / "job.json"
        for count in SIZES:
            tools = list(catalog(sets, count))
            job.write_text(json.dumps({"tools": tools, "requests": requests}))
            output = run_module(__name__, index.name, job, limit_seconds=_RUN_SECONDS)
            speeds.append(Speed(**json.loads(output)))
            print(speeds[-1], flush=True)
    milliseconds = _import_milliseconds(index)
    columns = {
        "build_seconds": ("build, s", ".2f"),
        "p50": (f"{index.request} p50, ms", ".1f"),
        "p99": ("p99, ms", ".1f"),
        "update": ("update of one, ms", ".2f"),
        "megabytes": ("MB", ".0f"),
    }
    rows: list[list[str]] = []
    missed: list[str] = []
    for speed in speeds:
        cells = [f"{speed.size:,}"]
        for name, (title, precision) in columns.items():
            value, limit = getattr(speed, name), index.limits.get(name, {}).get(speed.size)
            cell = f"{value:{precision}}"
            if limit is not None and value > limit:
                missed.append(f"{speed.size:,} tools: {title}: {cell}, not {limit:g}")
            cells.append(cell if limit is None else f"{cell} (at most {limit:g})")
        rows.append(cells)
    if milliseconds > _IMPORT_MILLISECONDS:
        missed.append(f"the import takes {milliseconds:.0f} ms, not {_IMPORT_MILLISECONDS:g}")
    table = page.table(["tools", *(title for title, _ in columns.values())], rows)
    sentence = index.import_sentence.format(f"{milliseconds:.0f}")
    return f"### Speed\n\n{table}\n\n{sentence}", missed


def _import_milliseconds(index: Index) -> float:
    """Return the median time of the import, in a fresh process."""
    code = (
        f"import time; {index.import_before}; start = time.process_time();"
        f"{index.import_timed}; print(time.process_time() - start)"
    )
    command = [sys.executable, "-c", code]
    outputs = [
        subprocess.run(command, capture_output=True, text=True, check=True).stdout
        for _ in range(_IMPORTS + 1)  # the first may have to compile, and is not counted
    ]
    return statistics.median(map(float, outputs[1:])) * 1000


def _measure(name: str, tools: Sequence[Json], requests: Sequence[str]) -> Speed:
    make, ask = _functions_of(name)
    gc.collect()
    memory = _memory_bytes()
    index: Any = None

    def build() -> None:
        nonlocal index
        index = make(tools)

    build_seconds = processor_seconds(build)
    megabytes = (_memory_bytes() - memory) / 1e6
    ask(index, requests[0])  # loads everything that is loaded late
    times = sorted(processor_seconds(lambda x=x: ask(index, x)) * 1000 for x in requests)
    step = max(len(tools) // _UPDATES, 1)
    updated_tools = [
        x | {"description": f"{x['description']} anew"} for x in tools[::step][:_UPDATES]
    ]
    updates = [processor_seconds(lambda x=x: index.update(x)) * 1000 for x in updated_tools]
    p50, p99 = statistics.median(times), times[int(len(times) * 0.99)]
    return Speed(len(tools), build_seconds, p50, p99, statistics.median(updates), megabytes)


def _functions_of(name: str) -> tuple[Callable[..., Any], Callable[[Any, str], object]]:
    """Return a function that makes the index, and one that asks it."""
    if name == SEARCH.name:
        from xai_mcp_agent.search import ToolIndex

        return ToolIndex, lambda index, query: index.search(query, 10)
    from xai_mcp_agent.planning import Planner

    return Planner, lambda planner, request: planner.plan(request)


def _memory_bytes() -> int:
    if not _STATUS.exists():
        return 0
    return int(_STATUS.read_text().split()[1]) * resource.getpagesize()


if __name__ == "__main__":
    _name, _job = sys.argv[1:]
    print(json.dumps(asdict(_measure(_name, **json.loads(Path(_job).read_text())))))
