"""Plans as JSON: nothing is lost, and an error names the place that is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.planning.shop import TOOLS
from xai_mcp_agent.core.tools import ToolKey
from xai_mcp_agent.planning import (
    BadPlan,
    FromResult,
    Missing,
    Parts,
    Plan,
    PlannedCall,
    Planner,
    Value,
    plan_as_json,
    plan_from_json,
    read_plan,
)

SEARCH = PlannedCall(
    ToolKey("mcp", "library", "search"), "search", {"query": Value("sea", ("a",))}
)  # fmt: skip
LEND: dict[str, Any] = {
    "id": FromResult(0, "books[].by.{key}.odd name", "one of them", 0.5, ("an id",)),
    "of": FromResult(0),
    "all": FromResult(0, ""),
    "list": Parts((Value({"value": 1}), FromResult(0, "name"), Missing("which?"))),
    "reader": Missing("who?"),
}
WHOLE = Plan(
    "Lend me a book.",
    (SEARCH, PlannedCall("library/lend", "lend", LEND, ("fits",), 0.7)),
    ("Call 2, lend: you must give 'reader'.",),
    ("made of words",),
    is_rough=True,
)


def test_a_plan_survives_writing_and_reading(tmp_path: Path):
    for number, plan in enumerate((WHOLE, Planner(TOOLS).plan("Cancel my order. I am a@b.org."))):
        file = tmp_path / f"{number}.json"
        file.write_text(json.dumps(plan_as_json(plan)), encoding="utf-8")
        assert read_plan(file) == plan
        file.write_text(json.dumps(plan_as_json(plan)), encoding="utf-8-sig")
        assert read_plan(file) == plan, "with a byte order mark"


def test_a_handwritten_plan_needs_only_tools_and_arguments():
    plan = plan_from_json({"calls": [{"tool": "it/x", "args": {"a": 5, "b": [{"call": 1}]}}]})
    arguments = {"a": Value(5), "b": Value([{"call": 1}])}
    assert plan == Plan("", (PlannedCall("it/x", "it/x", arguments),))


def call(**fields: Any) -> str:
    return json.dumps({"calls": [{"tool": "x", "args": {}, **fields}]})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not JSON"),
        ('{"calls": [5]}', "Call 1 of the plan"),
        (call(tool=5), "Call 1 of the plan: it has no `tool`"),
        (call(args=[]), "Call 1 of the plan, `args`"),
        (call(reasons=[5]), "Call 1 of the plan, `reasons`"),
        (
            call(args={"a": {"cal": 0}}),
            "Call 1 of the plan: `a`: it is not a source of an argument",
        ),
        (call(args={"a": {"call": 0}}), "uses call 0, counted from 0, which does not come before"),
        (call(args={"a": {"parts": [{"call": -1}]}}), "Call 1, x: `a` uses call -1"),
        ('{"calls": [], "request": []}', "The plan, `request`"),
        ('{"calls": [], "request": "' + "x" * 5_000_000 + '"}', "more than 4 MB"),
    ],
    ids=lambda x: x[:40],
)
def test_the_error_about_a_bad_plan_names_the_file_and_the_place_in_it(
    text: str, words: str, tmp_path: Path
):
    file = tmp_path / "plan.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(BadPlan) as caught:
        read_plan(file)
    assert words in str(caught.value)
    assert str(caught.value).startswith(str(file))


def test_a_field_must_be_a_path_as_in_a_step():
    calls: list[Any] = [{"tool": "x", "args": {}}, {"tool": "x", "args": {"a": {"call": 0}}}]
    calls[1]["args"]["a"]["field"] = "[x"
    with pytest.raises(BadPlan, match=r"`\[x` is not a path in a result"):
        plan_from_json({"calls": calls})
