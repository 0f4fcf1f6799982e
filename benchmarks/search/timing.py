"""CPU time and memory of an index, measured in a process that does nothing else."""

from __future__ import annotations

import gc
import resource
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from xai_mcp_agent.search import ToolIndex

_RESULTS = 10
_STATUS = Path("/proc/self/statm")  # of Linux: sizes in pages


def timed(job: dict[str, Any], updates: int) -> dict[str, Any]:
    """The fields of `speed.Speed`, for the tools and queries of this job."""
    tools, queries = job["tools"], job["queries"]
    gc.collect()
    before = memory()
    began = time.process_time()
    index = ToolIndex[Any](tools)
    built = time.process_time() - began
    held = memory() - before
    asked = sorted(_milliseconds(lambda x=x: index.search(x, _RESULTS)) for x in queries)
    step = max(len(tools) // updates, 1)
    changed = [x | {"description": f"{x['description']} anew"} for x in tools[::step][:updates]]
    return {
        "size": len(tools),
        "build_seconds": built,
        "p50": statistics.median(asked),
        "p99": asked[int(len(asked) * 0.99)],
        "update": statistics.median(_milliseconds(lambda x=x: index.update(x)) for x in changed),
        "megabytes": held / 1e6,
    }


def _milliseconds(do: Callable[[], object]) -> float:
    began = time.process_time()
    do()
    return (time.process_time() - began) * 1000


def memory() -> int:
    """Return the memory of this process in bytes, or 0 if the system does not say."""
    if not _STATUS.exists():
        return 0
    return int(_STATUS.read_text().split()[1]) * resource.getpagesize()
