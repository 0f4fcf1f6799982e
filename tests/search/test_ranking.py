"""The ranking pipeline: rules, blocked, trusted, usage, and how sure it is of what it selects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.search.test_tools import tool
from xai_mcp_agent import Tool
from xai_mcp_agent.search.preferences import Preferences
from xai_mcp_agent.search.ranking import Ranked, Ranking, Rule
from xai_mcp_agent.search.remembered import Intent, Remembered
from xai_mcp_agent.search.terms import terms
from xai_mcp_agent.search.tools import ToolIndex

CREATE, CLOSE = tool("create_issue", "Opens an issue."), tool("close_issue", "Closes an issue.")
WEATHER = tool("forecast", "Tells the weather.", server="sky")


def intent(text: str, uses: int = 1) -> Intent:
    return Intent(Counter(terms(text)), uses)


def ranked(query: str, *tools: Tool, remembered: Any = None, **options: Any) -> list[Ranked[Tool]]:
    limit = options.pop("limit", 10)
    usage = Remembered(remembered or {})
    return Ranking(**options).rank(ToolIndex(tools), query, limit, remembered=usage)


def names(found: Sequence[Ranked[Tool]]) -> list[str]:
    return [x.tool.name for x in found]


# In words


def test_a_selection_says_why_as_a_person_would() -> None:
    used = {CREATE.key: [intent("report a broken login", 3), intent("open an issue about login")]}
    best, *_ = ranked(
        "issue for the broken login", CREATE, CLOSE, WEATHER,
        remembered=used, preferences=Preferences(trusted=("create_*",)),
    )  # fmt: skip
    assert "; ".join(best.reasons) == (
        "name matches 'issue'; description matches 'issue'; used 4 times for similar requests; "
        "trusted"
    )


def test_a_long_request_is_not_told_word_by_word() -> None:
    words = "apple pear plum cherry grape melon"
    (best,) = ranked(words, tool("fruit", words))
    assert best.reasons == ("description matches 'apple', 'pear', 'plum', 'cherry' and 2 more",)
    (odd,) = ranked("x" * 5_000, tool("other", "x" * 5_000))
    assert len(odd.reasons[0]) < 100


def test_a_tool_that_was_used_once_for_something_like_it_says_so() -> None:
    (best, *_) = ranked("weather", WEATHER, remembered={WEATHER.key: [intent("weather in Rome")]})
    assert best.reasons[-1] == "used once for a similar request"


def test_common_words_make_no_request_similar() -> None:
    """Half of what the shorter one says, and rare words say most of it."""
    others = [tool(f"list_files_{n}", "Lists files.") for n in range(50)]
    used = {others[0].key: [intent("list files of the invoice archive")]}
    found = ranked("list files with vacation photos", *others, remembered=used)
    assert not any("used" in reason for x in found for reason in x.reasons)
    best, *_ = ranked("find the invoice in the archive", *others, remembered=used)
    assert best.tool is others[0]
    assert "used once for a similar request" in best.reasons


# Blocked and trusted


def test_blocked_tools_are_never_selected_however_well_they_fit() -> None:
    bad = [tool("create_issue", "Creates an issue.", server=f"bad{n}") for n in range(200)]
    used = {bad[0].key: [intent("create an issue", 9)]}
    found = ranked(
        "create an issue", *bad, CLOSE,
        preferences=Preferences(blocked=("bad*",)), remembered=used, limit=3,
    )  # fmt: skip
    assert [x.tool for x in found] == [CLOSE]


def test_blocked_wins_over_trusted() -> None:
    preferences = Preferences(blocked=("s",), trusted=("create_issue",))
    assert ranked("create an issue", CREATE, preferences=preferences) == []


def test_a_trusted_tool_comes_first_of_those_that_fit_as_well() -> None:
    one, other = tool("search", "Searches.", server="a"), tool("search", "Searches.", server="b")
    assert [x.tool.source for x in ranked("search", one, other)] == ["a", "b"]
    found = ranked("search", one, other, preferences=Preferences(trusted=("b",)))
    assert [x.tool.source for x in found] == ["b", "a"]
    assert found[0].score == 1 > found[1].score


def test_trust_does_not_hide_the_tool_that_fits() -> None:
    found = ranked("weather", WEATHER, CREATE, preferences=Preferences(trusted=("s",)))
    assert names(found) == ["forecast"]
    close = ranked("close the issue", CREATE, CLOSE, preferences=Preferences(trusted=("create*",)))
    assert names(close) == ["close_issue", "create_issue"]


def test_a_trusted_tool_below_the_cut_comes_up_over_it() -> None:
    many = [tool("search", "Searches.", server=f"s{n:02}") for n in range(20)]
    found = ranked("search", *many, preferences=Preferences(trusted=("s19",)), limit=3)
    assert [x.tool.source for x in found] == ["s19", "s00", "s01"]


def test_two_tools_of_the_same_name_both_stay() -> None:
    found = ranked("create issue", CREATE, replace(CREATE, key=tool("create_issue", "", "t").key))
    assert [x.tool.source for x in found] == ["s", "t"]


def test_only_tools_among_those_an_agent_may_use_are_ranked() -> None:
    index, used = ToolIndex([CREATE, CLOSE]), Remembered({CREATE.key: [intent("an issue", 9)]})
    found = Ranking().rank(index, "create issue", among=[CLOSE.key], remembered=used)
    assert [x.tool for x in found] == [CLOSE]


# Rules


def last_first(_: str, found: Sequence[Ranked[Any]]) -> Sequence[Ranked[Any]]:
    return [replace(x, score=n + 1.0) for n, x in enumerate(found)]


def test_rules_change_scores_reasons_and_what_remains() -> None:
    def explain(query: str, found: Sequence[Ranked[Any]]) -> Sequence[Ranked[Any]]:
        return [replace(x, reasons=(f"asked: {query}",)) for x in found if x.tool is not WEATHER]

    found = ranked("issue weather", CREATE, CLOSE, WEATHER, rules=(last_first, explain))
    assert {x.tool.name for x in found} == {"create_issue", "close_issue"}
    assert found[0].score == 1
    assert all(x.reasons == ("asked: issue weather",) for x in found)


def mistake(_: str, __: Sequence[Ranked[Any]]) -> Sequence[Ranked[Any]]:
    raise LookupError("no such fact")


BAD_RULES: dict[str, Rule] = {
    "raises": mistake,
    "forgets to return": lambda _, __: None,  # pyright: ignore
    "gives something else": lambda _, __: ["create_issue"],  # pyright: ignore
    "gives no number": lambda _, x: [replace(y, score=float("nan")) for y in x],
    "invents a tool": lambda _, x: [*x, replace(x[0], tool=tool("hidden"))],
    "doubles": lambda _, x: [*x, *x],
}


@pytest.mark.parametrize("rule", BAD_RULES.values(), ids=BAD_RULES)
def test_a_rule_that_fails_is_left_out_and_told_once(rule: Rule) -> None:
    told: list[str] = []
    ranking = Ranking(rules=(rule, last_first), tell=told.append)
    index = ToolIndex([CREATE, CLOSE])
    expected = Ranking(rules=(last_first,)).rank(index, "close the issue")
    assert ranking.rank(index, "close the issue") == expected
    assert ranking.rank(index, "close the issue") == expected
    assert len(told) == 1
    assert "for ranking tools is left out" in told[0]


def test_a_rule_cannot_bring_back_what_is_blocked() -> None:
    def praise(_: str, found: Sequence[Ranked[Any]]) -> Sequence[Ranked[Any]]:
        return [replace(x, score=9.0, reasons=("trusted",)) for x in found]

    found = ranked("issue", CREATE, CLOSE, rules=(praise,), preferences=Preferences(blocked=("s",)))
    assert found == []


# Confidence


def test_confidence_is_high_for_the_only_tool_that_has_what_is_asked_for() -> None:
    (best,) = ranked("the weather forecast", CREATE, CLOSE, WEATHER)
    assert best.confidence == 1


def test_confidence_is_shared_by_tools_that_fit_as_well() -> None:
    many = [tool("search", "Searches.", server=f"s{n}") for n in range(3)]
    assert [x.confidence for x in ranked("search", *many)] == [0.5, 0.5, 0.5]
    assert [x.confidence for x in ranked("search", *many, limit=1)] == [0.5]


def test_confidence_is_low_where_little_of_what_is_asked_is_there() -> None:
    query = "weather for a picnic with grandmother under flowering cherry trees beside the canal"
    (best,) = ranked(query, CREATE, WEATHER)
    assert best.confidence < 0.5


words = st.lists(st.sampled_from(["sea", "sky", "map", "ship", "star", "port"]), max_size=5)
texts = words.map(" ".join)


@given(st.lists(texts, max_size=8), texts, st.sampled_from(["", "t1", "t*"]), texts)
def test_in_any_ranking_confidence_and_scores_are_from_0_to_1_and_of_one_order(
    descriptions: list[str], query: str, trusted: str, asked: str
) -> None:
    tools = [tool(f"t{n}", text) for n, text in enumerate(descriptions)]
    used = {x.key: [intent(asked)] for x in tools[:1]}
    preferences = Preferences(trusted=(trusted,) if trusted else ())
    found = ranked(query, *tools, preferences=preferences, remembered=used)
    pairs = [(x.score, x.confidence) for x in found]
    assert pairs == sorted(pairs, reverse=True)
    assert all(0 < score <= 1 and 0 < sure <= 1 for score, sure in pairs)
    assert not pairs or pairs[0][0] == 1


def test_plain_dicts_are_ranked_as_well() -> None:
    tools: list[dict[str, Any]] = [
        {"id": n, "server": f"s{n}", "name": "order", "description": "Orders.", "input_schema": {}}
        for n in range(3)
    ]
    ranking = Ranking(Preferences(blocked=("s0",), trusted=("s2/order",)))
    found = ranking.rank(ToolIndex(tools), "order")
    assert [x.tool["id"] for x in found] == [2, 1]
