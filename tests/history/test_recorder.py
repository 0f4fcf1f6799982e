"""The recorder as sources of any kind see it, and what it keeps of the words of strangers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.recorded import IN_MEMORY, History, a_tool
from xai_mcp_agent import Event, Prompt, PromptArgument, Resource, Tool, ToolKey
from xai_mcp_agent.core.events import (
    Inventory,
    InventoryChanged,
    SourceConnected,
    SourceLost,
    SourceUnreachable,
)
from xai_mcp_agent.core.tools import SourceKind
from xai_mcp_agent.history.history import When
from xai_mcp_agent.history.recording.recorder import HistoryRecorder
from xai_mcp_agent.views.history import event_json
from xai_mcp_agent.views.tools import records_json, records_text

AGENT = SourceKind("agent", "agent", event_name="acp")
ANSWER_SECONDS = 20
SECRET = "correct-horse"


@pytest.fixture
def recorder() -> Iterator[HistoryRecorder]:
    """One that hides the one secret there is."""
    recorder = HistoryRecorder(IN_MEMORY, lambda text: text.replace(SECRET, "***"))
    yield recorder
    recorder.close(ANSWER_SECONDS)


def connect(recorder: HistoryRecorder, title: str, tool: Tool) -> None:
    """An agent connects and lists this."""
    recorder.notice(SourceConnected("reviewer", "stdio", "1", AGENT, title))
    recorder.notice(InventoryChanged("reviewer", Inventory("reviewer", (tool,))))


def events_of(recorder: HistoryRecorder) -> list[Event]:
    return recorder.ask(lambda store: store.events()).result(ANSWER_SECONDS)


def review(description: str = "Reviews code.", **parameters: object) -> Tool:
    schema = {"type": "object", "properties": parameters}
    return Tool(ToolKey("agent", "reviewer", "review"), description, schema)


def test_a_further_kind_of_source_has_the_shape_of_the_others(recorder: HistoryRecorder):
    """Spec 2, ACP Tools: the identical pattern, with `acp` and `agent` in place of the words."""
    connect(recorder, "Reviewer 2", review())
    project = recorder.ask(lambda store: store.project).result(ANSWER_SECONDS)
    anchor, tool = events_of(recorder)
    assert anchor.context_id == "acp:reviewer"
    assert anchor.payload == {
        "agent_id": "reviewer", "agent_name": "Reviewer 2", "transport": "stdio",
        "tool_count": 1, "status": "connected",
    }  # fmt: skip
    assert tool.context_id == "acp_tool:reviewer_review"
    assert anchor.links.extends == tool.links.related_to == (project.tools_id,)
    assert anchor.links.related_to == (project.knowledge_id,)
    assert tool.links.extends == ("acp:reviewer",)


def test_nothing_secret_is_kept_of_the_words_of_strangers(recorder: HistoryRecorder):
    """Names, descriptions, schemas, reasons, errors of calls: masked before they are cut."""
    tool = review(f"Say {SECRET}.", x={"default": SECRET, "maximum": 12345678})
    connect(recorder, f"By {SECRET}", tool)
    recorder.called(tool.key, 0.5, "x" * 295 + SECRET)
    recorder.called(tool.key, 0.5, SECRET * 2000)
    recorder.notice(SourceLost("reviewer", f"It said {SECRET}."))
    recorder.notice(SourceUnreachable("reviewer", f"It said {SECRET}.", AGENT))
    text = str([event_json(x) for x in events_of(recorder)])
    assert SECRET[:5] not in text
    assert text.count("***") >= 6


def test_prompts_and_resources_have_the_history_that_tools_have(history: History):
    """They are reported like tools, and confused with none of their name."""
    read = a_tool("read")
    prompt = Prompt("read", "Review it.", (PromptArgument("file", "Which one.", True),))
    strict = Prompt("read", "Review it.", (*prompt.arguments, PromptArgument("level")))
    page = Resource("notes://page", "page", "The page.", "text/plain")
    day = Resource("notes://{day}", "day", is_template=True)
    history.connected("it", read, features=(prompt, page, day))
    history.listed("it", read, features=(strict, page))
    history.lost("it")
    for _ in range(2):
        history.connected("it", read, features=(strict, page, day))
    it, tool, asks = "mcp:it", "mcp_tool:it_read", "mcp_prompt:it_read"
    pages, days = "mcp_resource:it_notes://page", "mcp_template:it_notes://{day}"
    assert [(x.change, x.context_id) for x in history.store.events()] == [
        ("connected", it), *(("discovered", x) for x in (asks, pages, days, tool)),
        ("refreshed", it), ("changed", asks), ("unavailable", days),
        ("disconnected", it), *(("unavailable", x) for x in (tool, asks, pages)),
        ("reconnected", it), *(("confirmed", x) for x in (tool, asks, pages)), ("returned", days),
        ("reconnected", it), *(("confirmed", x) for x in (tool, asks, pages, days)),
    ]  # fmt: skip
    records = history.store.records()
    assert [x.tool for x in records.tools] == ["read"]
    features = {x.context_id: y.is_available for x, y in records.features.items()}
    assert features == dict.fromkeys((asks, pages, days), True)
    (source,) = records.sources.values()
    assert (source.tool_count, {*source.others.values()}) == (1, {1})
    assert history.store.records(When(position=1)).features == {}
    kinds = [x["kind"] for x in records_json(records)["features"]]
    assert kinds == ["mcp_resource", "mcp_template", "mcp_prompt"]
    text = records_text(records, 100)
    assert text.startswith("it: connected, 1 tool, 1 resource, 1 template, 1 prompt")
    assert "  read (prompt)" in text.splitlines()
