"""Plans as JSON are read with the source of each argument; what is wrong is told by its call."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from xai_mcp_agent.drawing import draw_plan
from xai_mcp_agent.drawing.plans import calls_of_plan
from xai_mcp_agent.drawing.rules import nodes_of
from xai_mcp_agent.planning import BadPlan, plan_from_json
from xai_mcp_agent.steps.references import First, Reference, Somewhere

NOTHING: dict[str, Any] = {"tool": "it/x", "args": {}}


def plan(*calls: Any) -> dict[str, Any]:
    return {"request": "Do it.", "calls": list(calls)}


def test_values_parts_of_results_and_what_is_missing_are_told_apart() -> None:
    args = {
        "a": {"value": {"call": 1}},
        "b": {"call": 0, "field": "events[].by.{key}.odd name"},
        "c": {"parts": [{"call": 0, "field": None}, {"value": 2}]},
        "d": {"missing": "Ask Ada."},
        "e": 5,
    }
    first, second = calls_of_plan(
        plan_from_json(plan({"tool": "it/x", "args": {}}, {"tool": "it/y", "args": args}))
    )
    assert (first.source, first.tool) == ("it", "x")
    path = ("events", First.ITEM, "by", First.VALUE, "odd name")
    assert second.arguments == {
        "a": {"call": 1}, "b": Reference(0, path), "c": [Reference(0, (Somewhere("c"),)), 2],
        "e": 5,
    }  # fmt: skip
    assert second.missing == {"d": "Ask Ada."}


def test_a_source_for_all_keeps_names_whole() -> None:
    (call,) = calls_of_plan(plan_from_json(plan({"tool": "a/b", "args": {}})), "it")
    assert (call.source, call.tool) == ("it", "a/b")


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ({}, "no `calls`"),
        (plan({}), "Call 1 of the plan: it has no `tool`"),
        (plan({"tool": "x", "args": {}}), "name the source of all with --source"),
        (plan({"tool": "it/x", "args": None}), "Call 1 of the plan, `args`"),
        (plan({"tool": "it/x", "args": {"a": {"call": 0}}}), "does not come before it"),
        (plan(NOTHING, {"tool": "it/x", "args": {"a": {"call": 0, "field": "[x"}}}), "is no path"),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_is_told(bad: dict[str, Any], says: str) -> None:
    with pytest.raises(BadPlan) as told:
        calls_of_plan(plan_from_json(bad))
    assert says in str(told.value)


def test_a_plan_is_drawn_from_python_and_never_over_a_file(tmp_path: Path) -> None:
    args = {"a": {"call": 0, "field": "x"}, "b": {"missing": "Ask Ada."}}
    told = plan(NOTHING, {"tool": "it/y", "args": args})
    file = draw_plan(told, tmp_path / "mine")
    names = [x["name"] for x in nodes_of(json.loads(file.read_text(encoding="utf-8")))]
    assert (names.count("MCPToolStep"), names.count("Literal String")) == (2, 3)
    with pytest.raises(FileExistsError):
        draw_plan(plan_from_json(told), file)
