"""What a run looks like on the screen."""

from __future__ import annotations

from xai_mcp_agent.agent.events import (
    ProtocolChanged,
    RunFailed,
    RunFinished,
    RunStarted,
    TextArrived,
    ThoughtFinished,
    ToolFinished,
    ToolStarted,
)
from xai_mcp_agent.agent.models.base import Usage
from xai_mcp_agent.bridge.console import Console
from xai_mcp_agent.core.results import ToolResult


def shown(*events: object) -> str:
    """The text that these events put on the screen."""
    pieces: list[str] = []
    console = Console(pieces.append)
    for event in events:
        console.show(event)  # pyright: ignore[reportArgumentType]
    return "".join(pieces)


STARTED = RunStarted("helper", "offline rules", "native", ("add",))


def test_a_run_reads_from_top_to_bottom():
    assert shown(
        STARTED,
        TextArrived("I will "),
        TextArrived("add."),
        ThoughtFinished(1, "I will add.", 1, Usage()),
        ToolStarted("c1", "add", {"a": 1, "b": "two"}),
        ToolFinished("c1", "add", {}, ToolResult.of_text("3"), 0.5, ""),
        RunFinished("3", "answered", 2, 1, 1.25, Usage(10, 5)),
    ) == (
        "== helper: offline rules, 1 tool, native protocol\n"
        "  I will add.\n"
        '  -> add(a=1, b="two")\n'
        "  <- add (0.50 s)\n"
        "     3\n"
        "== helper is done: 2 turns, 1 tool call, 1.2 s, 10 + 5 tokens\n"
    )


def test_an_error_after_a_broken_stream_has_a_line_of_its_own():
    text = shown(STARTED, TextArrived("Hello, there is "), RunFailed("the line is dead"))
    assert text.splitlines()[1:] == [
        "  Hello, there is ",
        "  !! helper stopped: the line is dead",
    ]


def test_calls_in_text_are_not_shown_twice_after_a_change_of_protocol():
    text = shown(STARTED, ProtocolChanged("text"), TextArrived("TOOL: add {}"))
    assert "TOOL:" not in text


def test_a_server_cannot_move_the_cursor():
    hostile = ToolResult.of_text("\x1b[2J\x1b[1Agone\x07")
    text = shown(ToolFinished("c1", "add", {}, hostile, 0.0, ""))
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "gone" in text


def test_a_long_result_is_cut_and_says_so():
    result = ToolResult.of_text("\n".join(f"line {n}" for n in range(20)))
    text = shown(ToolFinished("c1", "add", {}, result, 0.0, ""))
    assert "line 5" in text
    assert "line 6" not in text
    assert "... 14 more lines" in text
