"""The ranking pipeline: rules, blocked, trusted, usage, and the confidence of a selection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tests.search.test_tools import tool
from xai_mcp_agent import Tool
from xai_mcp_agent.search.preferences import Preferences
from xai_mcp_agent.search.ranking import Ranked, Ranking
from xai_mcp_agent.search.terms import terms
from xai_mcp_agent.search.tools import ToolIndex
from xai_mcp_agent.search.usage import Intent, Remembered

CREATE, CLOSE = tool("create_issue", "Opens an issue."), tool("close_issue", "Closes an issue.")
WEATHER = tool("forecast", "Tells the weather.", server="sky")


def intent(text: str, uses: int = 1) -> Intent:
    return Intent(Counter(terms(text)), uses)


def rank(query: str, *tools: Tool, remembered: Any = None, **options: Any) -> list[Ranked]:
    limit = options.pop("limit", 10)
    usage = Remembered(remembered or {})
    return Ranking(**options).rank(ToolIndex(tools), query, limit, remembered=usage)


def sources(results: Sequence[Ranked]) -> list[str]:
    return [x.tool.source for x in results]


def test_a_selection_gives_its_reasons_in_plain_words() -> None:
    intents = {
        CREATE.key: [intent("report a broken login", 3), intent("open an issue about login")]
    }
    best, *_ = rank(
        "issue for the broken login", CREATE, CLOSE, WEATHER,
        remembered=intents, preferences=Preferences(trusted=("create_*",)),
    )  # fmt: skip
    assert "; ".join(best.reasons) == (
        "name matches 'issue'; description matches 'issue'; used 4 times for similar requests; "
        "trusted"
    )


def test_requests_with_only_common_words_together_are_not_similar() -> None:
    """Half of the shorter request, where rare words count most."""
    others = [tool(f"list_files_{n}", "Lists files.") for n in range(50)]
    intents = {others[0].key: [intent("list files of the invoice archive")]}
    results = rank("list files with vacation photos", *others, remembered=intents)
    assert not any("used" in reason for x in results for reason in x.reasons)
    best, *_ = rank("find the invoice in the archive", *others, remembered=intents)
    assert best.tool is others[0]
    assert "used once for a similar request" in best.reasons


def test_blocked_tools_are_never_selected_however_well_they_fit() -> None:
    bad = [tool("create_issue", "Creates an issue.", server=f"bad{n}") for n in range(200)]
    intents = {bad[0].key: [intent("create an issue", 9)]}
    results = rank(
        "create an issue", *bad, CLOSE,
        preferences=Preferences(blocked=("bad*",), trusted=("bad0",)), remembered=intents, limit=3,
    )  # fmt: skip
    assert [x.tool for x in results] == [CLOSE]


def test_a_trusted_tool_comes_first_among_equals_even_from_below_the_limit() -> None:
    many = [tool("search", "Searches.", server=f"s{n:02}") for n in range(20)]
    assert sources(rank("search", *many, limit=2)) == ["s00", "s01"]
    results = rank("search", *many, preferences=Preferences(trusted=("s19",)), limit=3)
    assert sources(results) == ["s19", "s00", "s01"]
    assert results[0].score == 1 > results[1].score


def test_rules_change_scores_and_reasons_but_bring_no_blocked_tool_back() -> None:
    def reverse(ranked: Ranked) -> Ranked:
        return replace(ranked, score=1 / ranked.score, reasons=("put behind others",))

    before = rank("close issue", CREATE, CLOSE, WEATHER)
    results = rank("close issue", CREATE, CLOSE, WEATHER, prefer=reverse)
    assert [x.tool for x in results] == [x.tool for x in before][::-1]
    assert results[0].score == 1
    assert all(x.reasons == ("put behind others",) for x in results)
    blocked = Preferences(blocked=("s",))
    assert rank("issue", CREATE, CLOSE, prefer=reverse, preferences=blocked) == []


def test_confidence_grows_with_the_lead_and_with_the_coverage_of_the_request() -> None:
    (only,) = rank("the weather forecast", CREATE, CLOSE, WEATHER)
    assert only.confidence == 1
    many = [tool("search", "Searches.", server=f"s{n}") for n in range(3)]
    assert [x.confidence for x in rank("search", *many)] == [0.5, 0.5, 0.5]
    assert [x.confidence for x in rank("search", *many, limit=1)] == [0.5]
    query = "weather for a picnic with grandmother under flowering cherry trees beside the canal"
    (best,) = rank(query, CREATE, WEATHER)
    assert best.confidence < 0.5
