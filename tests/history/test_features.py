"""Prompts and resources have the history that tools have: they appear, change, go and return."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.recorded import History, a_history, a_tool
from xai_mcp_agent import Event, Prompt, PromptArgument, Resource
from xai_mcp_agent.history.history import When
from xai_mcp_agent.views.tools import records_json, records_text

READ = a_tool("read")
REVIEW = Prompt("read", "Review it.", (PromptArgument("file", "Which one.", True),))
STRICT = Prompt("read", "Review it.", (*REVIEW.arguments, PromptArgument("level")))
PAGE = Resource("notes://page", "page", "The page.", "text/plain")
DAY = Resource("notes://{day}", "day", is_template=True)
PROMPT, OTHERS = (
    "mcp_prompt:it_read",
    ("mcp_resource:it_notes://page", "mcp_template:it_notes://{day}"),
)


@pytest.fixture
def history() -> Iterator[History]:
    """One life of a server."""
    with a_history() as history:
        history.connected("it", READ, features=(REVIEW, PAGE, DAY))
        history.listed("it", READ, features=(STRICT, PAGE))
        history.lost("it")
        history.connected("it", READ, features=(STRICT, PAGE, DAY))
        history.connected("it", READ, features=(STRICT, PAGE, DAY))
        yield history


def told(events: list[Event]) -> list[tuple[str, str]]:
    """What happened, and to what."""
    return [(x.change, x.context_id) for x in events]


def test_each_is_reported_like_a_tool_and_confused_with_none_of_its_name(history: History):
    events = history.store.events()
    tool, server, page, day = "mcp_tool:it_read", "mcp:it", *OTHERS
    assert told(events) == [
        ("connected", server), *(("discovered", x) for x in (PROMPT, page, day, tool)),
        ("refreshed", server), ("changed", PROMPT), ("unavailable", day),
        ("disconnected", server), *(("unavailable", x) for x in (tool, PROMPT, page)),
        ("reconnected", server), *(("confirmed", x) for x in (tool, PROMPT, page)),
        ("returned", day),
        ("reconnected", server), *(("confirmed", x) for x in (tool, PROMPT, page, day)),
    ]  # fmt: skip


def test_records_keep_them_beside_the_tools(history: History):
    records = history.store.records()
    assert [x.tool for x in records.tools] == ["read"]
    assert {x.context_id: y.is_available for x, y in records.features.items()} == {
        PROMPT: True, **dict.fromkeys(OTHERS, True),
    }  # fmt: skip
    (source,) = records.sources.values()
    assert (source.tool_count, dict(source.others)) == (
        1, {"prompt": 1, "resource": 1, "template": 1},
    )  # fmt: skip
    assert history.store.records(When(position=1)).features == {}
    shown = records_json(records)
    assert [x["name"] for x in shown["tools"]] == ["read"]
    assert [(x["kind"], x["name"]) for x in shown["features"]] == [
        ("mcp_resource", "notes://page"), ("mcp_template", "notes://{day}"), ("mcp_prompt", "read"),
    ]  # fmt: skip
    text = records_text(records, 100)
    assert text.startswith("it: connected, 1 tool, 1 resource, 1 template, 1 prompt")
    assert "  read (prompt)" in text.splitlines()
