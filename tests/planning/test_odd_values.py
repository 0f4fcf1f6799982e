"""What a program gives that is of another type than it must be: it is told so, in words."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from xai_mcp_agent import XaiMcpError
from xai_mcp_agent.planning import Planner, plan_as_json, plan_from_json, read_plan

ODD: list[Any] = [None, 5, 1.5, b"x", True, [], {}, {1: 2}, [None], [[]], object(), "x"]
PAY = {
    "id": "pay", "name": "pay", "description": "Pays a bill.",
    "input_schema": {"type": "object", "properties": {"bill": {"type": "string"}}},
}  # fmt: skip
USES: dict[str, Callable[[Planner, Any], object]] = {
    "tools": lambda _, x: Planner(x),
    "history": lambda _, x: Planner([PAY], history=x),
    "plan": lambda planner, x: planner.plan(x),
    "question": lambda planner, x: planner.question(x),
    "wire, a request": lambda planner, x: planner.wire(x, ["pay"]),
    "wire, tools": lambda planner, x: planner.wire("Pay it.", x),
    "checked": lambda planner, x: planner.checked("Pay it.", x),
    "checked, a request": lambda planner, x: planner.checked(x, {"calls": [{"tool": "pay"}]}),
    "next_tools": lambda planner, x: planner.next_tools(x),
    "next_tools, a request": lambda planner, x: planner.next_tools(["pay"], x),
    "learn": lambda planner, x: planner.learn(x),
    "learn, a tool": lambda planner, x: planner.learn([{"request": "a", "calls": [{"tool": x}]}]),
    "observe": lambda planner, x: planner.observe(x, {"a": 1}),
    "observe_shape": lambda planner, x: planner.observe_shape("pay", x),
    "observe_shape, a key": lambda planner, x: planner.observe_shape(x, x),
    "update": lambda planner, x: planner.update(x),
    "remove": lambda planner, x: planner.remove(x),
    "prefer": lambda planner, x: planner.prefer(x),
    "flow": lambda planner, x: planner.flow(x, "pay"),
    "flows_into": lambda planner, x: planner.flows_into("pay", x),
    "flows_from": lambda planner, x: planner.flows_from(x),
    "wire_problems": lambda planner, x: planner.wire_problems(x),
    "plan_from_json": lambda _, x: plan_from_json(x),
    "plan_as_json": lambda _, x: plan_as_json(x),
    "read_plan": lambda _, x: read_plan(x),
}


@pytest.mark.parametrize("what", USES)
def test_what_cannot_be_is_said_in_words_and_spoils_nothing(what: str) -> None:
    planner = Planner([PAY])
    for odd in ODD:
        with suppress(XaiMcpError):
            USES[what](planner, odd)
        assert [x.tool for x in planner.plan("Pay the bill 5.").calls] == ["pay"]
