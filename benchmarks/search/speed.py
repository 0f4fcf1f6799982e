"""CPU time of a search, each size in a process of its own."""

from __future__ import annotations

import json
import random
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..rows import IS_SMALLEST, size
from .quality import table_of
from .sets import Json, ToolSet

SIZES = (50,) if IS_SMALLEST else (500, 5_000, 50_000)
# The most there should be: p99 of a query in milliseconds, by size.
_P99 = {5_000: 20.0, 50_000: 250.0}
_BUILD_SECONDS = {5_000: 2.0}
_IMPORT_MILLISECONDS = 30.0
_QUERIES, _UPDATES = size(400, 10), size(50, 2)
# Of the words of a copy so many are others.
_CHANGED = 0.3
_RUN_SECONDS = 240.0
_SEED = 20
_IMPORTS = size(7, 1)


@dataclass(frozen=True)
class Speed:
    """Measurements of one process."""

    size: int
    build_seconds: float
    p50: float  # milliseconds, as the next ones
    p99: float
    update: float
    megabytes: float


def measure(sets: Sequence[ToolSet], folder: Path, sizes: Sequence[int] = SIZES) -> list[Speed]:
    """All sizes."""
    found: list[Speed] = []
    for count in sizes:
        job = folder / f"catalog-{count}.json"
        queries = _queries(sets)
        job.write_text(json.dumps({"tools": list(catalog(sets, count)), "queries": queries}))
        found.append(_in_a_process(job))
        print(_line(found[-1]), flush=True)
    return found


def import_milliseconds() -> float:
    """Return the median time of importing `ToolIndex` in a fresh process."""
    code = (
        "import time, xai_mcp_agent; began = time.process_time();"
        "from xai_mcp_agent.search import ToolIndex; print(time.process_time() - began)"
    )
    command = [sys.executable, "-c", code]
    taken = [
        float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        for _ in range(_IMPORTS)
    ]
    return statistics.median(taken) * 1000


def catalog(sets: Sequence[ToolSet], count: int) -> Iterator[Json]:
    """So many tools: real ones in any order, then copies of them with some other words."""
    chooses = random.Random(_SEED)
    real = [tool | {"id": f"{x.name}/{tool['id']}"} for x in sets for tool in x.tools]
    chooses.shuffle(real)
    words = sorted({word for tool in real for word in tool["description"].split()})
    for number in range(count):
        tool = real[number % len(real)]
        yield tool if number < len(real) else _changed(tool, number, words, chooses)


def misses(speeds: Sequence[Speed], importing: float) -> list[str]:
    """Targets that are not reached."""
    said: list[str] = []
    for one in speeds:
        where = f"{one.size:,} tools"
        if one.p99 > _P99.get(one.size, one.p99):
            said.append(f"{where}: p99 is {one.p99:.1f} ms, not {_P99[one.size]:g}")
        if one.build_seconds > _BUILD_SECONDS.get(one.size, one.build_seconds):
            most = _BUILD_SECONDS[one.size]
            said.append(f"{where}: to build takes {one.build_seconds:.2f} s, not {most:g}")
    if importing > _IMPORT_MILLISECONDS:
        said.append(f"the import takes {importing:.0f} ms, not {_IMPORT_MILLISECONDS:g}")
    return said


def markdown(speeds: Sequence[Speed], importing: float) -> str:
    """A line for each process, with the most that the figures should be."""
    head = "tools", "build, s", "query p50, ms", "p99, ms", "update of one, ms", "MB"
    lines = [list(head)]
    for x in speeds:
        built = _with_most(f"{x.build_seconds:.2f}", _BUILD_SECONDS.get(x.size))
        p99 = _with_most(f"{x.p99:.1f}", _P99.get(x.size))
        cells = f"{x.p50:.1f}", p99, f"{x.update:.2f}", _memory(x)
        lines.append([f"{x.size:,}", built, *cells])
    told = f"The import of the search package takes {importing:.0f} ms (at most 30)."
    return f"{table_of(lines)}\n\n{told}"


def _memory(x: Speed) -> str:
    return f"{x.megabytes:.0f}" if x.megabytes else "-"


def _with_most(value: str, most: float | None) -> str:
    return value if most is None else f"{value} (at most {most:g})"


def _queries(sets: Sequence[ToolSet]) -> list[str]:
    chooses = random.Random(_SEED)
    return chooses.choices([query for x in sets for query in x.queries], k=_QUERIES)


def _changed(tool: Json, number: int, words: Sequence[str], chooses: random.Random) -> Json:
    text = [
        chooses.choice(words) if chooses.random() < _CHANGED else word
        for word in tool["description"].split()
    ]
    name = f"{tool['name']}_{chooses.choice(words)}"
    return tool | {"id": f"{tool['id']}#{number}", "name": name, "description": " ".join(text)}


def _in_a_process(job: Path) -> Speed:
    command = [sys.executable, "-m", __name__, str(job)]
    root = Path(__file__).parents[2]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=_RUN_SECONDS, check=False, cwd=root
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} ended: {done.stderr.strip()[-500:]}")
    return Speed(**json.loads(done.stdout))


def _line(x: Speed) -> str:
    times = f"built in {x.build_seconds:.2f} s, p50 {x.p50:.1f} ms, p99 {x.p99:.1f} ms"
    return f"{x.size:>6} tools: {times}, update {x.update:.2f} ms, {x.megabytes:.0f} MB"


def _main(job: str) -> None:
    """In the process: measure, and print what was found."""
    from .timing import timed

    print(json.dumps(timed(json.loads(Path(job).read_text()), _UPDATES)))


if __name__ == "__main__":
    _main(*sys.argv[1:])
