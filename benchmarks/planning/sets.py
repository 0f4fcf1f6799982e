"""Sets of tools with requests and the plans that answer them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from xai_mcp_agent.planning import FromResult, Plan, Value

from ..search.sets import Json, ToolSet, json_lines


@dataclass(frozen=True)
class PlanSet(ToolSet):
    """Tools, and the plans that answer requests, with `edges` and `edge_kind`."""

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
    sets: list[PlanSet] = []
    for file in sorted(folder.glob("*/plans.jsonl")):
        tools, plans = json_lines(file.with_name("tools.jsonl")), json_lines(file)
        sets.append(PlanSet(file.parent.name, tools, [x["request"] for x in plans], file, plans))
    if not sets:
        raise FileNotFoundError(f"{folder} has no folder with tools.jsonl and plans.jsonl")
    return sets


def as_prediction(plan: Plan) -> Json:
    """Return a plan in the words of the scorer; values that are still missing are left out."""
    calls: list[Json] = []
    for call in plan.calls:
        arguments: Json = {}
        for name, source in call.arguments.items():
            if isinstance(source, Value):
                arguments[name] = {"value": source.value}
            elif isinstance(source, FromResult):
                arguments[name] = {"call": source.call, "field": source.field}
        calls.append({"tool": call.tool, "args": arguments})
    return {"calls": calls}


def prediction_of_tools(tools: Sequence[str]) -> Json:
    """Return a prediction that only names tools."""
    return {"calls": [{"tool": x, "args": {}} for x in dict.fromkeys(tools)]}
