"""What a run teaches: where arguments came from and what results look like, and never a value."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.watchdog import done_within
from xai_mcp_agent.planning.observed import (
    MOST_CALLS,
    SeenCall,
    TracedCall,
    observed_plan,
    observed_run,
)
from xai_mcp_agent.planning.plan import plan_from_json
from xai_mcp_agent.planning.shape_json import cut_at, shape_as_json, shape_from_json
from xai_mcp_agent.planning.shapes import ANY, MAX_DEPTH, shape_of, shape_of_value

USER = {"user": {"id": "u_4711", "email": "ada@example.org", "age": 36}}
ORDERS = {"orders": [{"id": "W1234", "count": 2}, {"id": "W9876", "count": 7}]}


def call(tool: str, arguments: Mapping[str, Any], value: Any = None) -> SeenCall:
    return SeenCall(tool, arguments, value, tuple(arguments))


def traced(request: str, *calls: SeenCall) -> tuple[TracedCall, ...]:
    """The calls, each in a turn of its own."""
    return observed_run(request, [[x] for x in calls]).calls


def test_what_an_earlier_result_gave_is_told_by_call_and_field() -> None:
    found = traced(
        "Cancel what I ordered. I am ada@example.org.",
        call("find_user", {"email": "ada@example.org"}, USER),
        call("list_orders", {"user_id": "u_4711", "limit": 10}, ORDERS),
        call(
            "cancel", {"order_ids": ["W9876"], "reason": "no longer needed"}, "Done, see R-99123."
        ),
        call("refund", {"reference": "R-99123"}),
    )
    assert [x.sources for x in found] == [
        {"email": None},
        {"user_id": (0, "user.id"), "limit": None},
        {"order_ids": (1, "orders[].id"), "reason": None},
        {"reference": (2, None)},
    ]


def test_what_the_request_says_comes_from_nowhere_else() -> None:
    (_, cancel) = traced(
        "Cancel order w1234", call("list_orders", {}, ORDERS), call("cancel", {"order_id": "W1234"})
    )
    assert cancel.sources == {"order_id": None}


def test_what_a_result_only_says_again_comes_from_where_it_was_first() -> None:
    (_, _, cancel) = traced(
        "Cancel it",
        call("list_orders", {}, ORDERS),
        call("get_order", {"order_id": "W1234"}, {"order_id": "W1234", "lines": []}),
        call("cancel", {"order_id": "W1234"}),
    )
    assert cancel.sources == {"order_id": (0, "orders[].id")}


def test_what_one_made_up_and_a_result_says_again_was_given() -> None:
    (_, book) = traced(
        "Book it for the day after tomorrow",
        call("check", {"date": "2026-11-25"}, {"date": "2026-11-25", "free": True}),
        call("book", {"date": "2026-11-25"}),
    )
    assert book.sources == {"date": None}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("count", 2), ("flag", True), ("page", 1), ("size", 12), ("status", "open"),
        ("sort", "asc"), ("unit", "km"), ("total", 0), ("nothing", None), ("text", ""),
        ("items", []), ("state", "true"),
    ],
)  # fmt: skip
def test_values_that_many_things_have_are_no_flow(name: str, value: Any) -> None:
    (_, taken) = traced("Go on", call("give", {}, {name: value}), call("take", {name: value}))
    assert taken.sources == {name: None}


def test_calls_of_one_turn_knew_nothing_of_each_other() -> None:
    turns = [[call("list_orders", {}, ORDERS), call("cancel", {"order_id": "W1234"})]]
    assert [x.sources for x in observed_run("Cancel", turns).calls] == [{}, {"order_id": None}]


def test_only_parameters_that_the_tool_declares_are_told() -> None:
    seen = SeenCall("put", {"ada@example.org": 1, "key": 2}, None, ("key",))
    assert [x.sources for x in observed_run("", [[seen]]).calls] == [{"key": None}]


# Names that are values


@pytest.mark.parametrize(
    "value",
    [
        {"ada@example.org": {"id": "W1234"}},
        {"a1b2c3d4": {"id": "W1234"}},
        {"example.org": {"id": "W1234"}},
        {"2026-11-23": {"id": "W1234"}},
        {"Ada Lovelace": {"id": "W1234"}},
        {"ada": {"id": "W1234"}, "grace": {"id": "W2"}, "mary": {"id": "W3"}},
        {"hunter2222": {"id": "W1234"}, "name": {"id": "W2"}},
    ],
    ids=["address", "id", "host", "day", "person", "names", "beside a name"],
)
def test_keys_that_are_data_are_kept_neither_in_paths_nor_in_shapes(value: Any) -> None:
    run = observed_run(
        "", [[call("map", {}, {"by": value})], [call("cancel", {"order_id": "W1234"})]]
    )
    assert run.calls[1].sources == {"order_id": (0, "by.{key}.id")}
    kept = str(run.calls) + str([shape_as_json(x) for x in run.shapes["map"]])
    assert not any(key in kept for key in value if key != "name")


def test_no_value_is_in_what_comes_out() -> None:
    values = {"token": "s3cr3t-value", "n": 987654, "deep": [{"x": ["another-value"]}]}
    run = observed_run("a request", [[call("a", {"token": "s3cr3t-value"}, values)]])
    kept = repr(run) + str([shape_as_json(x) for x in run.shapes["a"]])
    assert not any(x in kept for x in ("s3cr3t", "987654", "another", "a request"))


# Whatever a tool answers


def test_a_run_of_any_length_is_told_up_to_a_bound() -> None:
    run = observed_run("", [[call(f"t{n % 7}", {"x": n}, {"y": n})] for n in range(500)])
    assert len(run.calls) == MOST_CALLS


def _deep(levels: int) -> Any:
    value: Any = "W1234"
    for _ in range(levels):
        value = {"in": value}
    return value


@pytest.mark.parametrize(
    "value",
    [
        {"rows": [{"id": f"x{n:06}", "of": [n, n]} for n in range(50_000)]},
        "x" * 5_000_000,
        [float("nan"), float("inf"), 10**400],
        _deep(50_000),
        {str(n): {"id": n} for n in range(100_000)},
    ],
    ids=["long", "text", "odd numbers", "deep", "wide"],
)
def test_results_of_any_size_and_depth_are_looked_at_in_no_time(value: Any) -> None:
    turns = [[call("a", {"x": "9" * 10_000}, value)], [call("b", {"x": value, "id": "x000007"})]]
    spent: list[float] = []
    for _ in range(3):
        started = time.thread_time()
        observed_run("Do it", turns)
        spent.append(time.thread_time() - started)
    assert min(spent) < 1.0


def test_many_long_texts_in_many_long_arguments_are_looked_for_up_to_a_bound() -> None:
    """Else it takes half a minute: each argument is searched for each text."""
    chance = random.Random(1)
    texts = ["".join(chance.choices("abcdefgh ", k=2_000)) for _ in range(4_000)]
    long = ["".join(chance.choices("abcdefgh ", k=18_000)) for _ in range(60)]
    turns = [[call("a", {}, texts)], [call("b", {f"x{n}": x for n, x in enumerate(long)})]]
    run = done_within(5.0, lambda: observed_run("Do it", turns))
    assert {*run.calls[1].sources.values()} == {None}


# Shapes as JSON

_NAMES = st.text(max_size=8)
_SCHEMAS = st.recursive(
    st.one_of(
        st.sampled_from(["string", "integer", "number", "boolean", "null"]).map(
            lambda x: {"type": x, "description": "what it is"}
        ),
        st.lists(st.text(max_size=5), min_size=1, max_size=3).map(lambda x: {"enum": x}),
        st.just({"type": ["string", "null"], "format": "date", "x-type": "time:day"}),
        st.just(dict[str, Any]()),
    ),
    lambda inner: st.one_of(
        inner.map(lambda x: {"type": "array", "items": x}),
        inner.map(lambda x: {"additionalProperties": x, "nullable": True}),
        st.lists(inner, min_size=2, max_size=3).map(lambda x: {"anyOf": x}),
        st.dictionaries(_NAMES, inner, max_size=3).map(
            lambda x: {"type": "object", "properties": x, "required": list(x)[:1]}
        ),
    ),
    max_leaves=10,
)


@given(_SCHEMAS)
def test_a_shape_is_read_back_as_it_was_written(schema: Any) -> None:
    shape = shape_of(schema)
    assert shape_from_json(shape_as_json(shape)) == shape


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=9), lambda x: (
    st.lists(x, max_size=3) | st.dictionaries(st.text(max_size=9), x, max_size=3)
), max_leaves=20))  # fmt: skip
@example([{}, [[], {"": [False, []], "0": {}}]])  # unions within lists, as deep as is looked
def test_what_nobody_wrote_is_read_as_some_shape(value: Any) -> None:
    assert shape_from_json(value).kind
    shape = shape_of_value(value)
    assert shape_from_json(shape_as_json(shape)) == shape
    assert cut_at(shape, MAX_DEPTH) == shape
    assert cut_at(shape, 0) in (ANY, shape)


@pytest.mark.parametrize(
    ("field", "known"),
    [
        ("orders[0].id", "orders[].id"),
        ('hosts["db.internal.corp"].state', "hosts.{key}.state"),
        ('hosts["ada.lovelace@mail.example.org"].state', "hosts.{key}.state"),
        ("hosts.{key}.state", "hosts.{key}.state"),
    ],
)
def test_of_a_name_that_a_plan_has_in_quotation_marks_nothing_is_kept_where_it_is_a_value(
    field: str, known: str | None
) -> None:
    call = {"tool": "a/b", "args": {"x": {"call": 0, "field": field}}}
    plan = plan_from_json({"calls": [{"tool": "a/a", "args": {}}, call]})
    hosts = {"db.internal.corp": {"state": 1}, "ada.lovelace@mail.example.org": {"state": 2}}
    found = observed_plan(plan, ["a", "b"], [{**ORDERS, "hosts": hosts}, None])
    assert found.calls[1].sources == {"x": (0, known)}
