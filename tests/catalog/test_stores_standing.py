"""What was decided about tools is found again in every kind of store."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from xai_mcp_agent.catalog.asking.standing import Accepted, Standing, kept_tools, standing_of
from xai_mcp_agent.catalog.keeping.recorder import Recorder
from xai_mcp_agent.catalog.keeping.reports import Decided, Listed
from xai_mcp_agent.core.definitions import definition_of, definition_text, digest_of, tool_of
from xai_mcp_agent.core.kinds import MCP, STATIC
from xai_mcp_agent.core.tools import Icon, Tool, ToolAnnotations, ToolKey
from xai_mcp_agent.history.place import Place
from xai_mcp_agent.history.store import open_store
from xai_mcp_agent.history.subject import Subject

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
ODD = 'o"dd\\ "is_disabled":true \u20ac_%'


def tool(source: str, name: str, description: str = "") -> Tool:
    """A tool without parameters."""
    return Tool(ToolKey(source, name), description, {"type": "object"})


def lists(recorder: Recorder, source: str, *tools: Tool) -> None:
    """A source lists these tools."""
    recorder.record([Listed(Subject(MCP, source), NOON, tools)])


def decide(recorder: Recorder, key: ToolKey, what: Any, definition: str = "", **more: Any) -> None:
    """Something is decided about a tool."""
    subject = Subject(MCP if key.source else STATIC, key.source, key.name)
    recorder.record([Decided(subject, NOON, what, definition, **more)])


@pytest.fixture
def recorder(place: Place) -> Iterator[Recorder]:
    """A recorder on a new store."""
    recorder = Recorder(open_store(place), str)
    yield recorder
    recorder.close()


def test_only_what_was_decided_about_the_sources_that_are_asked_for_is_told(recorder: Recorder):
    lists(recorder, "a", tool("a", "one"), tool("a", ODD, ODD))
    decide(recorder, ToolKey("a", "one"), "disabled")
    decide(recorder, ToolKey("b", ODD), "disabled")
    decide(recorder, ToolKey("", "drawn"), "disabled")
    assert standing_of(recorder.store, ["a"]) == Standing(frozenset([ToolKey("a", "one")]))
    both = frozenset([ToolKey("b", ODD), ToolKey("", "drawn")])
    assert standing_of(recorder.store, ["", "b"]).disabled == both
    decide(recorder, ToolKey("b", ODD), "enabled")
    assert standing_of(recorder.store, ["b", "c"]) == Standing()


def test_a_decision_outlives_loss_change_and_return(recorder: Recorder):
    key = ToolKey("a", "one")
    lists(recorder, "a", tool(*"ax"), tool("a", "one", "Before."))
    decide(recorder, key, "disabled")
    lists(recorder, "a", tool(*"ax"))
    lists(recorder, "a", tool("a", "one", "After."))
    assert standing_of(recorder.store, ["a"]).disabled == {key}


def test_a_first_use_accepts_only_what_nobody_accepted_before(recorder: Recorder):
    """Two processes may use a tool first at the same moment; a person may accept at any time."""
    key, before, after = ToolKey("a", "one"), tool("a", "one", "Before."), tool("a", "one", "After")
    old, new = digest_of(definition_text(before)), digest_of(definition_text(after))
    lists(recorder, "a", before)
    decide(recorder, key, "accepted", old, teller="executor")
    lists(recorder, "a", after)
    decide(recorder, key, "accepted", new, teller="executor")
    accepted = standing_of(recorder.store, ["a"]).accepted
    assert accepted == {key: Accepted(old, definition_of(before))}
    (kept,) = kept_tools(recorder.store, "a", [])
    assert (kept.name, kept.subjects) == ("one", (Subject(MCP, "a", "one"),))
    assert kept.listed == Accepted(new, definition_of(after))
    decide(recorder, key, "accepted", new)
    assert standing_of(recorder.store, ["a"]).accepted == {key: kept.listed}


def test_what_could_not_be_written_down_yet_stays():
    a, b, c = (ToolKey(x, "t") for x in "abc")
    mine = Standing(frozenset([a, b]), {a: Accepted("1", None), b: Accepted("2", None)})
    fresh = Standing(frozenset(), {a: Accepted("3", None)})
    renewed = mine.renewed(["a", "c"], fresh)
    assert renewed.disabled == {b}
    assert renewed.accepted == {a: Accepted("3", None), b: Accepted("2", None)}
    assert c not in renewed.accepted


def test_a_tool_can_be_made_of_its_definition():
    full = Tool(
        ToolKey("a", "one"), "Does it.", {"type": "object"}, {"type": "object"}, "One",
        ToolAnnotations(read_only=True, destructive=False), icons=(Icon("x:y", "z", ("1x1",)),),
    )  # fmt: skip
    for one in (full, tool("a", "one")):
        assert tool_of(one.key, definition_of(one)) == one
