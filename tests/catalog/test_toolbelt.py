"""Toolbelts: what an agent is offered, in an order that stays."""

from __future__ import annotations

import pytest

from tests.catalog.test_catalog import lists, tool
from xai_mcp_agent.catalog.catalog import Catalog
from xai_mcp_agent.catalog.toolbelt import Toolbelt

pytestmark = pytest.mark.anyio


async def test_drawn_tools_come_first_then_those_of_the_sources_in_order():
    catalog = Catalog()
    lists(catalog, "b", "two", instructions="From b.")
    lists(catalog, "a", "one")
    lists(catalog, "other", "not enabled")
    offer = Toolbelt((tool("", "drawn"),), ("a", "b")).offer(catalog)
    assert offer.names() == ["drawn", "a_one", "b_two"]
    assert offer.instructions == {"b": "From b."}
    assert [x.tool for x in offer] == [tool("", "drawn"), tool("a", "one"), tool("b", "two")]


async def test_new_tools_come_last_so_that_the_start_of_a_request_stays():
    """Providers cache the beginning of a prompt."""
    catalog = Catalog()
    belt = Toolbelt((), ("a", "b"))
    lists(catalog, "b", "old")
    assert belt.offer(catalog).names() == ["b_old"]
    lists(catalog, "a", "new")
    assert belt.offer(catalog).names() == ["b_old", "a_new"]
    lists(catalog, "b")
    assert belt.offer(catalog).names() == ["a_new"]
    lists(catalog, "b", "old", "older")
    assert belt.offer(catalog).names() == ["b_old", "a_new", "b_older"]


async def test_a_changed_tool_keeps_its_name_and_place():
    catalog = Catalog()
    belt = Toolbelt((), ("a",))
    lists(catalog, "a", "x", "y")
    before = belt.offer(catalog)
    lists(catalog, "a", "y", "x")
    after = belt.offer(catalog)
    assert before.names() == after.names()


async def test_tools_that_would_be_shown_alike_are_both_offered():
    catalog = Catalog()
    lists(catalog, "a", "b_c")
    lists(catalog, "a_b", "c")
    belt = Toolbelt((), ("a", "a_b"))
    offer = belt.offer(catalog)
    assert [x.tool for x in offer] == [tool("a", "b_c"), tool("a_b", "c")]
    assert len(set(offer.names())) == 2
    assert [belt.shown_name(x.tool) for x in offer] == offer.names()
