"""What was asked for when tools were used counts in a search as one more, weak text of them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.search.test_tools import tool
from xai_mcp_agent import Tool
from xai_mcp_agent.search.index import LexicalIndex
from xai_mcp_agent.search.terms import terms
from xai_mcp_agent.search.tools import ToolIndex, remembered_terms

TOOLS = (tool("query_ledger", "Reads bookings."), tool("list_events", "Lists meetings."))


def remembered(*texts: str) -> dict[str, float]:
    return remembered_terms(Counter(word for text in texts for word in terms(text)))


def found(query: str, *tools: Tool, **options: Any) -> list[str]:
    return [x.tool.name for x in ToolIndex(tools).search(query, **options)]


def test_a_tool_is_found_by_the_words_it_was_used_for_alone() -> None:
    """Nobody else's words for it, and still none of the tool's own."""
    used = {TOOLS[0].key: remembered("What did we spend in March?")}
    assert found("our spending", *TOOLS) == []
    assert found("what do we spend", *TOOLS, remembered=used) == ["query_ledger"]


def test_what_a_tool_says_of_itself_counts_more() -> None:
    used = {TOOLS[0].key: remembered(*["list the meetings"] * 20)}
    assert found("list meetings", *TOOLS, remembered=used)[0] == "list_events"


def test_what_is_remembered_of_tools_that_are_gone_changes_nothing() -> None:
    used = {tool("gone").key: remembered("list meetings")}
    assert found("list meetings", *TOOLS, remembered=used) == ["list_events"]


def test_nothing_of_it_stays_for_the_next_search() -> None:
    index = ToolIndex(TOOLS)
    before = index.search("spend bookings")
    index.search("spend bookings", remembered={TOOLS[1].key: remembered("spend")})
    assert index.search("spend bookings") == before


weights = st.dictionaries(st.sampled_from("abcdef"), st.floats(0.1, 9), max_size=6)
many = st.lists(weights, max_size=6)


@pytest.mark.parametrize("least_for_numpy", [0, 10**9])
@given(many, many, weights, many)
def test_what_is_added_counts_as_if_it_had_been_indexed(
    least_for_numpy: int,
    own: list[dict[str, float]],
    added: list[dict[str, float]],
    wanted: dict[str, float],
    parts: list[dict[str, float]],
) -> None:
    if not least_for_numpy:
        pytest.importorskip("numpy")
    index, whole = LexicalIndex[int](), LexicalIndex[int]()
    for number, (one, more) in enumerate(zip(own, added, strict=False)):
        index.put(number, one)
        whole.put(number, Counter(one) + Counter(more))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("xai_mcp_agent.search.index._LEAST_FOR_NUMPY", least_for_numpy)
        got = index.search(wanted, 9, parts, added=dict(enumerate(added)))
        expected = whole.search(wanted, 9, parts)
    assert dict(got) == pytest.approx(dict(expected))
