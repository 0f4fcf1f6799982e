"""The memory as sources of any kind see it, and what it keeps of the words of strangers."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from xai_mcp_agent import Event, Tool, ToolKey, settings_from
from xai_mcp_agent.core.events import (
    Inventory,
    InventoryChanged,
    SourceConnected,
    SourceEvent,
    SourceLost,
    SourceUnreachable,
)
from xai_mcp_agent.core.tools import SourceKind
from xai_mcp_agent.history.place import find_place
from xai_mcp_agent.history.recording.recorder import HistoryRecorder
from xai_mcp_agent.views.history import event_json

AGENT = SourceKind("agent", "agent", event_name="acp")
REVIEW = Tool(ToolKey("agent", "reviewer", "review"), "Reviews code.", {"type": "object"})
ANSWER_SECONDS = 20
SECRET = "correct-horse"


@contextmanager
def memory(*events: SourceEvent) -> Generator[HistoryRecorder]:
    """A memory that was told of these."""
    made = HistoryRecorder(find_place(settings_from({}), "memory", {}), hide)
    for event in events:
        made.notice(event)
    try:
        yield made
    finally:
        made.close(ANSWER_SECONDS)


def hide(text: str) -> str:
    """Hides the one secret there is."""
    return text.replace(SECRET, "***")


def events_of(memory: HistoryRecorder) -> list[Event]:
    """All events so far."""
    return memory.ask(lambda store: store.events()).result(ANSWER_SECONDS)


def inventory(*tools: Tool) -> InventoryChanged:
    """What the agent offers now."""
    return InventoryChanged("reviewer", Inventory("reviewer", tools))


CONNECTED = SourceConnected("reviewer", "stdio", "1", AGENT, "Reviewer 2")


def test_a_further_kind_of_source_has_the_shape_of_the_others():
    """Spec 2, ACP Tools: the identical pattern, with `acp` and `agent` in place of the words."""
    with memory(CONNECTED, inventory(REVIEW)) as made:
        project = made.ask(lambda store: store.project).result(ANSWER_SECONDS)
        anchor, tool = events_of(made)
    assert anchor.context_id == "acp:reviewer"
    assert anchor.payload == {
        "agent_id": "reviewer", "agent_name": "Reviewer 2", "transport": "stdio",
        "tool_count": 1, "status": "connected",
    }  # fmt: skip
    assert tool.context_id == "acp_tool:reviewer_review"
    assert anchor.links.extends == tool.links.related_to == (project.tools_id,)
    assert anchor.links.related_to == (project.knowledge_id,)
    assert tool.links.extends == ("acp:reviewer",)


def test_nothing_secret_is_kept_of_the_words_of_strangers():
    """Names, descriptions, schemas, reasons, errors of calls: masked before they are cut."""
    schema = {"type": "object", "properties": {"x": {"default": SECRET, "maximum": 12345678}}}
    tool = Tool(ToolKey("agent", "reviewer", "review"), f"Say {SECRET}.", schema)
    titled = SourceConnected("reviewer", "stdio", "1", AGENT, f"By {SECRET}")
    with memory(titled, inventory(tool)) as made:
        made.called(tool.key, 0.5, "x" * 295 + SECRET)
        made.called(tool.key, 0.5, SECRET * 2000)
        made.notice(SourceLost("reviewer", f"It said {SECRET}."))
        made.notice(SourceUnreachable("reviewer", f"It said {SECRET}.", AGENT))
        told = str([event_json(x) for x in events_of(made)])
    assert SECRET not in told
    assert SECRET[:5] not in told
    assert told.count("***") >= 6
