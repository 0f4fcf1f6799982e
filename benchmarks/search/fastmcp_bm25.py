"""Searches with FastMCP's `BM25SearchTransform`, in its environment; from stdin to stdout, in JSON.

Asked with `tools` (each with `name`, `description`, `input_schema`) and `queries`. Answers with the
places of the ten tools that are found for each query, and with the CPU seconds of each. With
`shows`, instead, with what a model reads: the definitions that stand in place of all tools, and
what a search answers to each query.
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
    """Do the one job."""
    job = json.load(sys.stdin)
    tools = [
        Tool.model_construct(
            name=x["name"], description=x["description"], parameters=x["input_schema"]
        )
        for x in job["tools"]
    ]
    do = _shown if job.get("shows") else _found
    json.dump(await do(tools, job["queries"]), sys.stdout)


async def _found(tools: list[Tool], queries: list[str]) -> dict[str, Any]:
    places = {tool.name: place for place, tool in enumerate(tools)}
    transform = BM25SearchTransform(max_results=_RESULTS)
    found: list[list[int]] = []
    seconds: list[float] = []
    for query in queries:
        began = time.process_time()
        hits = await transform._search(tools, query)
        seconds.append(time.process_time() - began)
        found.append([places[x.name] for x in hits])
    return {"found": found, "seconds": seconds}


async def _shown(tools: list[Tool], queries: list[str]) -> dict[str, Any]:
    """With the transform's own defaults."""
    transform = BM25SearchTransform()
    shown = [x.to_mcp_tool() for x in await transform.transform_tools(tools)]
    definitions = [
        {"name": x.name, "description": x.description, "parameters": x.input_schema} for x in shown
    ]
    answers: list[str] = []
    for query in queries:
        hits = await transform._search(tools, query)
        answer = await transform._render_results(hits)
        answers.append(json.dumps(answer, ensure_ascii=False, separators=(",", ":")))
    return {"definitions": definitions, "answers": answers}


if __name__ == "__main__":
    asyncio.run(main())
