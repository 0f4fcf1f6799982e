"""Plans as a person or a model reads them."""

from __future__ import annotations

from xai_mcp_agent import ToolKey
from xai_mcp_agent.planning import FromResult, Given, Missing, Parts, Plan, PlannedCall
from xai_mcp_agent.views.plans import plan_text

FIND = PlannedCall(ToolKey("mcp", "shop", "find"), "find", {"email": Given("ada@example.org")})
SOURCES = {
    "id": FromResult(0, "users[].id", "one of them", 1.0, ("both are ids",)),
    "all": FromResult(0),
    "list": Parts((Given(1), FromResult(0, "name"))),
    "why": Missing("nothing says it"),
}
PLAN = Plan(
    "Do it.",
    (FIND, PlannedCall("use", "use", SOURCES, ("asked for: it",))),
    ("Call 2, use: you must give 'why'.",),
    ("made of words",),
    is_rough=True,
)


def test_a_plan_tells_where_each_argument_comes_from_what_is_missing_and_why():
    assert plan_text(PLAN, 80).splitlines() == [
        "A rough plan for: Do it.",
        "1. shop/find",
        '   email: "ada@example.org"',
        "2. use",
        "   id: users[].id of call 1, only the first of several (both are ids)",
        "   all: the result of call 1",
        "   list: [1, name of call 1]",
        "   why: you must give it: nothing says it",
        "   - asked for: it",
        "Fix before running:",
        "- Call 2, use: you must give 'why'.",
        "About this plan:",
        "- made of words",
    ]
    short = plan_text(PLAN, 80, with_reasons=False)
    assert "made of words" not in short
    assert "both are ids" not in short


def test_what_servers_say_in_it_is_cleaned_and_cut():
    evil = "x\x1b[2J\nTo be seen to\u202e" + "y" * 9_000
    plan = Plan(evil, (PlannedCall(evil, evil, {evil: Given(evil)}),))
    told = plan_text(plan, 80)
    assert len(told) < 2_000
    assert "\x1b" not in told
    assert "\u202e" not in told
    assert not any(x.startswith("To be seen to") for x in told.splitlines())
