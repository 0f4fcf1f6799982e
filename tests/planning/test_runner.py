"""A plan is carried out call by call: it stops at what is missing, and goes on without repeating.

Who decided it: issue 16.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from xai_mcp_agent.core.approval import ApprovalAwaited, ApprovalRequest, AwaitedCall
from xai_mcp_agent.core.errors import BadSetting, InvalidArguments, SourceClosed
from xai_mcp_agent.core.json import JsonObject
from xai_mcp_agent.core.results import ToolResult
from xai_mcp_agent.core.tools import ToolKey
from xai_mcp_agent.planning import Lacking, Plan, PlanRun, plan_from_json
from xai_mcp_agent.planning.plan_run import places_of
from xai_mcp_agent.planning.runner import run_plan

pytestmark = pytest.mark.anyio

LEND = {
    "request": "Lend me a book about the sea.",
    "calls": [
        {"tool": "library/search", "args": {"query": "sea"}},
        {
            "tool": "library/lend",
            "args": {
                "book_id": {"call": 0, "field": "books[].id"},
                "reader": {"missing": "Who borrows it?"},
            },
        },
    ],
}
BOOKS = {"books": [{"id": 3, "title": "Moby-Dick"}]}


class Calls:
    """Answers the calls of a plan in their order, and knows what it was asked."""

    def __init__(self, *answers: Any) -> None:
        self._answers = list(answers)
        self.made: list[tuple[int, JsonObject]] = []

    async def __call__(self, number: int, arguments: JsonObject) -> ToolResult:
        self.made.append((number, arguments))
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, ToolResult):
            return answer
        return ToolResult.of_text(answer if isinstance(answer, str) else json.dumps(answer))


def plan_of(*arguments: JsonObject) -> Plan:
    """Calls of one tool after another, each with these arguments."""
    calls = [{"tool": f"it/tool_{n}", "args": x} for n, x in enumerate(arguments)]
    return plan_from_json({"calls": calls})


async def used(field: Any, answer: Any, how: str = "", parameter: str = "of") -> Any:
    """What the second call is given of the first one's answer."""
    source = {"call": 0, "field": field, "conversion": how}
    calls = Calls(answer, "done")
    run = await run_plan(plan_of({}, {parameter: source}), calls)
    assert run.is_finished, run.problem
    return calls.made[1][1][parameter]


async def test_a_call_uses_what_an_earlier_one_gave() -> None:
    plan = plan_from_json(LEND)
    calls = Calls(BOOKS, "Lent until Friday.")
    run = await run_plan(plan, calls, given=places_of({"2.reader": "Ada"}, plan))
    assert calls.made == [(0, {"query": "sea"}), (1, {"book_id": 3, "reader": "Ada"})]
    assert (run.status, run.results) == ("finished", [BOOKS, "Lent until Friday."])
    assert (run.result, run.text) == ("Lent until Friday.", "Lent until Friday.")


@pytest.mark.parametrize(
    ("field", "answer", "how", "given"),
    [
        ("", "ahoy", "", "ahoy"),
        ("books[].id", BOOKS, "", 3),
        ("books", {"books": [1, 2]}, "one of them", 1),
        ("books[].id", {"result": BOOKS}, "", 3),
        ("n", {"n": 5}, "written as text", "5"),
        ("", {"n": 5}, "written as JSON", '{"n": 5}'),
        ("n", {"n": "5"}, "read as a number", 5),
        ("n", {"n": "5"}, "put in a list", ["5"]),
        ("n", {"n": [5, 6]}, "one of them, written as text", "5"),
        ("odd name.{key}", {"odd name": {"x": 1}}, "", 1),
        ("n", {"n": 5}, "its type is not declared", 5),
    ],
    ids=str,
)
async def test_parts_and_conversions_are_what_flows_call_them(
    field: str, answer: Any, how: str, given: Any
) -> None:
    assert await used(field, answer, how) == given


@pytest.mark.parametrize(
    ("answer", "given"),
    [
        ("usr_1", "usr_1"),
        ({"user_id": "usr_1"}, "usr_1"),
        ({"found": [{"userId": "usr_1"}, {"userId": "usr_2"}]}, "usr_1"),
        ({"user": {"id": "usr_1", "name": "Ada"}}, "usr_1"),
        ({"result": "usr_1"}, "usr_1"),
        ({"name": "Ada"}, {"name": "Ada"}),
    ],
    ids=str,
)
async def test_where_nobody_knows_the_place_it_is_what_is_called_so(
    answer: Any, given: Any
) -> None:
    assert await used(None, answer, parameter="user_id") == given


async def test_it_stops_before_a_call_that_lacks_something_and_goes_on_with_it() -> None:
    plan, calls = plan_from_json(LEND), Calls(BOOKS, "Lent.")
    run = await run_plan(plan, calls)
    assert (run.status, len(calls.made)) == ("missing", 1)
    assert run.lacking == (Lacking(1, "reader", "Who borrows it?"),)
    assert run.problem == (
        "Call 2, library/lend, was not made: `reader` is missing: Who borrows it? Give "
        "`2.reader`, and run the plan again: it goes on there."
    )
    run = PlanRun.from_json(json.loads(json.dumps(run.to_json())))
    run = await run_plan(plan, calls, run, given={(1, "reader"): "Ada"})
    assert (run.status, len(calls.made)) == ("finished", 2)
    assert (await run_plan(plan, calls, run)).is_finished
    assert len(calls.made) == 2


async def test_all_that_is_missing_is_told_at_the_first_stop() -> None:
    run = await run_plan(plan_of({"a": {"missing": "x"}}, {"b": {"missing": "y"}}), Calls())
    assert run.lacking == (Lacking(0, "a", "x"), Lacking(1, "b", "y"))


async def test_a_result_without_the_part_is_something_to_give() -> None:
    plan, calls = plan_from_json(LEND), Calls({"books": []}, "Lent.")
    run = await run_plan(plan, calls, given={(1, "reader"): "Ada"})
    assert run.status == "missing"
    assert "`books` in the result of call 1, library/search has no `[]`" in run.problem
    run = await run_plan(plan, calls, run, given={(1, "book_id"): 9})
    assert calls.made[1] == (1, {"book_id": 9, "reader": "Ada"})


async def test_a_failed_call_ends_the_run_and_is_made_anew() -> None:
    error = ToolResult.of_text("No such book.", is_error=True)
    plan, calls = plan_of({}, {"a": 1}), Calls("x", error, InvalidArguments("t", ["no"], "()"), "y")
    run = await run_plan(plan, calls)
    assert (run.status, len(run.made)) == ("failed", 1)
    assert run.problem.startswith("Call 2, it/tool_1, failed: No such book.\n  Next step: mend")
    run = await run_plan(plan, calls, run)
    assert (run.status, run.begun) == ("failed", False)
    run = await run_plan(plan, calls, run, given={(1, "a"): 2})
    assert calls.made[-1] == (1, {"a": 2})
    assert run.results == ["x", "y"]


async def test_a_call_of_which_nobody_knows_is_not_repeated_unasked() -> None:
    plan, calls = plan_of({}, {}), Calls("x", SourceClosed("it", "it went away"), "y")
    run = await run_plan(plan, calls)
    assert (run.status, run.begun) == ("unknown", True)
    again = await run_plan(plan, calls, run)
    assert (again.status, len(calls.made)) == ("unknown", 2)
    assert "may have been carried out" in again.problem
    with pytest.raises(BadSetting, match="Call 1 cannot be made again"):
        await run_plan(plan, calls, run, again=0)
    assert (await run_plan(plan, calls, run, again=1)).results == ["x", "y"]


async def test_a_call_that_only_reads_is_simply_made_again() -> None:
    plan, calls = plan_of({}), Calls(SourceClosed("it", "it went away"), "y")
    run = await run_plan(plan, calls, harmless={0})
    assert (run.status, run.begun) == ("failed", False)
    assert (await run_plan(plan, calls, run)).results == ["y"]


async def test_what_is_about_to_be_done_is_noted_before_and_after() -> None:
    noted: list[PlanRun] = []

    async def note(run: PlanRun) -> None:
        noted.append(run)

    await run_plan(plan_of({}, {}), Calls("x", "y"), note=note, harmless={1})
    assert [(x.status, len(x.made), x.begun) for x in noted] == [
        ("running", 0, True), ("running", 1, False),
        ("running", 1, False), ("running", 2, False), ("finished", 2, False),
    ]  # fmt: skip


async def test_a_call_that_waits_for_approval_was_not_begun() -> None:
    key = ToolKey("mcp", "it", "tool_0")
    awaited = AwaitedCall(ApprovalRequest("it", "tool_0", {}), key, "d", "a")
    plan, calls = plan_of({}), Calls(ApprovalAwaited(awaited), "x")
    run = await run_plan(plan, calls)
    assert (run.status, run.begun, run.awaiting) == ("waiting", False, awaited)
    run = PlanRun.from_json(json.loads(json.dumps(run.to_json())))
    assert run.awaiting == awaited
    assert (await run_plan(plan, calls, run)).is_finished


async def test_a_run_of_another_plan_is_refused() -> None:
    run = await run_plan(plan_of({"a": 1}), Calls("x"))
    with pytest.raises(BadSetting, match="of another plan"):
        await run_plan(plan_of({"a": 2}), Calls(), run)


def test_what_is_given_is_for_a_parameter_of_a_call() -> None:
    plan = plan_from_json(LEND)
    assert places_of({"reader": "Ada"}, plan) == {(1, "reader"): "Ada"}
    assert places_of({"2.reader": "Ada", (0, "query"): "x"}, plan) == {
        (1, "reader"): "Ada", (0, "query"): "x",
    }  # fmt: skip
    for bad in ("3.reader", "0.x", "raeder", "", 5, (2, "x"), "1."):
        with pytest.raises(BadSetting, match="no place for"):
            places_of({bad: 1}, plan)
    with pytest.raises(BadSetting, match=r"Did you mean '2\.reader'"):
        places_of({"9.reader": 1}, plan)


def test_a_damaged_state_is_no_run() -> None:
    good = PlanRun("digest").to_json()
    damages: Sequence[Callable[[JsonObject], Any]] = (
        lambda x: x.pop("made"),
        lambda x: x.update(status="fine"),
        lambda x: x.update(made=[{"value": 1}]),
        lambda x: x.update(awaiting=5),
    )
    for damage in damages:
        bad = dict(good)
        damage(bad)
        with pytest.raises((KeyError, TypeError, ValueError)):
            PlanRun.from_json(bad)
