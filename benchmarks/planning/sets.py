"""Catalogs of tools with requests and plans that answer them, and what a scorer says of others."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xai_mcp_agent.planning import FromResult, Given, Plan

from ..search.sets import Json, json_lines

_SCORER_SECONDS = 120.0


@dataclass(frozen=True)
class PlanSet:
    """A catalog, and the plans that answer its requests, with `edges` and `edge_kind`."""

    name: str
    tools: list[Json]
    plans: list[Json]

    @property
    def has_data_edges(self) -> bool:
        """Whether it says which results are used, and not only the order or the tools."""
        return any(x.get("edge_kind", "data") == "data" for x in self.plans)

    @property
    def has_order(self) -> bool:
        """Whether the order of its calls says anything."""
        return any(x.get("edge_kind", "data") != "none" for x in self.plans)


def read_sets(folder: Path) -> list[PlanSet]:
    """Each folder in it that has `tools.jsonl` and `plans.jsonl`."""
    found = [
        PlanSet(x.parent.name, json_lines(x.with_name("tools.jsonl")), json_lines(x))
        for x in sorted(folder.glob("*/plans.jsonl"))
    ]
    if not found:
        raise FileNotFoundError(f"{folder} has no folder with tools.jsonl and plans.jsonl")
    return found


def score(scorer: Path, plans: Sequence[Json], predicted: Sequence[Json]) -> dict[str, Any]:
    """Return the scores that the scorer, a program, prints for these plans."""
    with tempfile.TemporaryDirectory() as name:
        files = [Path(name) / x for x in ("plans.jsonl", "predictions.jsonl")]
        rows = plans, [x | {"plan_index": n} for n, x in enumerate(predicted)]
        for file, lines in zip(files, rows, strict=True):
            text = "".join(f"{json.dumps(x)}\n" for x in lines)
            file.write_text(text, encoding="utf-8")
        done = subprocess.run(
            [sys.executable, str(scorer), *map(str, files)],
            capture_output=True, text=True, timeout=_SCORER_SECONDS, check=False,
        )  # fmt: skip
    if done.returncode:
        raise ValueError(f"{scorer} says: {done.stderr.strip()}")
    return json.loads(done.stdout)["all"]


def as_prediction(plan: Plan) -> Json:
    """A plan in the words of the scorer; what must still be given is left out."""
    calls: list[Json] = []
    for call in plan.calls:
        arguments: Json = {}
        for name, source in call.arguments.items():
            if isinstance(source, Given):
                arguments[name] = {"value": source.value}
            elif isinstance(source, FromResult):
                arguments[name] = {"call": source.call, "field": source.field}
        calls.append({"tool": call.tool, "args": arguments})
    return {"calls": calls}


def of_tools(tools: Sequence[str]) -> Json:
    """A prediction that only says which tools."""
    return {"calls": [{"tool": x, "args": {}} for x in dict.fromkeys(tools)]}
