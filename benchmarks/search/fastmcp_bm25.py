"""Searches with FastMCP's `BM25SearchTransform`, in its environment; from stdin to stdout, in JSON.

The job has `tools` (each with `name`, `description`, `input_schema`) and `queries`. The answer has
the places of the ten best tools for each query, and the CPU seconds of each. For a job with `shows`
it has what a model reads: the definitions that stand in place of all tools, and the answer of a
search for each query.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any

from fastmcp.server.transforms.search import BM25SearchTransform
from fastmcp.tools.base import Tool

_RESULTS = 10


async def main() -> None:
    """Answer the job."""
    job = json.load(sys.stdin)
    tools = [
        Tool.model_construct(
            name=x["name"], description=x["description"], parameters=x["input_schema"]
        )
        for x in job["tools"]
    ]
    answer = _show if job.get("shows") else _search
    json.dump(await answer(tools, job["queries"]), sys.stdout)


async def _search(tools: list[Tool], queries: list[str]) -> dict[str, Any]:
    places = {tool.name: place for place, tool in enumerate(tools)}
    transform = BM25SearchTransform(max_results=_RESULTS)
    ranked: list[list[int]] = []
    seconds: list[float] = []
    for query in queries:
        start = time.process_time()
        hits = await transform._search(tools, query)
        seconds.append(time.process_time() - start)
        ranked.append([places[x.name] for x in hits])
    return {"ranked": ranked, "seconds": seconds}


async def _show(tools: list[Tool], queries: list[str]) -> dict[str, Any]:
    """With the transform's own defaults."""
    transform = BM25SearchTransform()
    listed = [x.to_mcp_tool() for x in await transform.transform_tools(tools)]
    definitions = [
        {"name": x.name, "description": x.description, "parameters": x.input_schema} for x in listed
    ]
    answers: list[str] = []
    for query in queries:
        hits = await transform._search(tools, query)
        answer = await transform._render_results(hits)
        answers.append(json.dumps(answer, ensure_ascii=False, separators=(",", ":")))
    return {"definitions": definitions, "answers": answers}


if __name__ == "__main__":
    asyncio.run(main())
