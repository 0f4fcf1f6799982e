"""The lines of a run on the screen."""

from __future__ import annotations

import pytest

from tests.support.screens import STARTED, Paper, render
from xai_mcp_agent import BadSetting, ToolResult
from xai_mcp_agent.agent.events import (
    ConversationFolded,
    ModelAsked,
    ProtocolChanged,
    RunEvent,
    RunFailed,
    RunFinished,
    RunStarted,
    TextArrived,
    ThoughtFinished,
    ToolFinished,
    ToolsChanged,
    ToolStarted,
)
from xai_mcp_agent.agent.models.base import ModelRequest, TokenUsage
from xai_mcp_agent.console.surface import VARIABLE
from xai_mcp_agent.core.provider_schema import FunctionSpec

REQUEST = ModelRequest(
    ({"role": "system", "content": "You are kind."}, {"role": "user", "content": "Hi"}),
    (FunctionSpec("add", "Adds two\n numbers.", {"properties": {"a": {"type": "integer"}}}),),
)
FIRST = ModelAsked(1, REQUEST)
END = RunFinished("3", "answered", 2, 1, 1.25, TokenUsage(10, 5))


def call_end(text: str, *, is_error: bool = False) -> ToolFinished:
    """A tool's answer."""
    return ToolFinished("c1", "add", {}, ToolResult.of_text(text, is_error=is_error), 0.5, "")


def test_an_event_that_cannot_be_shown_does_not_end_the_run(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken(_text: str) -> str:
        raise RecursionError

    paper = Paper()
    with paper.console() as console:
        console.hide(broken)
        console.show(call_end("3"))
        console.hide(lambda text: text)
        console.show(END)
    assert "ToolFinished is not shown (RecursionError). The run goes on." in caplog.text
    assert paper.lines[-1].startswith("== helper: 2 turns")


def test_a_run_reads_from_top_to_bottom() -> None:
    assert render(
        STARTED,
        FIRST,
        TextArrived("I will "),
        TextArrived("add."),
        ThoughtFinished(1, "I will add.", 1, TokenUsage()),
        ToolStarted("c1", "add", {"a": 1, "b": "two"}),
        call_end("3"),
        ModelAsked(2, REQUEST),
        TextArrived("It is 3."),
        ThoughtFinished(2, "It is 3.", 0, TokenUsage()),
        END,
    ).split("\n") == [
        "== helper: offline rules, 1 tool",
        " 1. I will add.",
        '    -> add(a=1, b="two")',
        "    <- add (0.50 s): 3",
        " 2. It is 3.",
        "== helper: 2 turns, 1 tool call, 1.2 s, 10 + 5 tokens",
    ]
    broken = render(STARTED, FIRST, TextArrived("Hello, there is "), RunFailed("the line is dead"))
    assert broken.endswith("\n 1. Hello, there is\n    !! helper stopped: the line is dead")


def test_a_result_is_shown_in_a_few_clean_lines() -> None:
    text = render(STARTED, call_end("\x1b[2J\x1b[1Agone\x07 \u202egnorw \x9b1m"))
    assert not {"\x1b", "\x07", "\u202e", "\x9b"} & set(text)
    assert "gone" in text
    text = render(STARTED, call_end("\n".join(f"line {n}" for n in range(20))))
    assert "line 5" in text
    assert "line 6" not in text
    assert "... 14 more lines" in text
    assert render(STARTED, call_end('{\n "a":\n  1\n}')).endswith('<- add (0.50 s): {"a": 1}')
    text = render(STARTED, call_end("it: gone.\n  Next step: look.", is_error=True))
    assert text.split("\n")[1:] == [
        "    !! add (0.50 s): it: gone.",
        "         Next step: look.",
    ]
    lines = render(STARTED, call_end("x" * 1_000_000)).split("\n")
    assert len(lines) < 12
    assert max(map(len, lines)) <= 80
    assert "more characters" in lines[-1]


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (
            ProtocolChanged("text"),
            "the service does not support functions; text protocol from here",
        ),
        (ToolsChanged(("b",), ("a",)), "++ new tools: b -- gone: a"),
        (
            ConversationFolded(3, 1, 12, True, 60_000, 128_000),
            "1 message in part and 12 messages summed up sent from here: about 60,000 of 128,000",
        ),
        (RunFinished("3", "limit", 10, 9, 1.0, TokenUsage()), "`max_run_tokens` or `max_run_cost`"),
        (
            RunFinished("3", "max_thoughts", 1, 9, 1.0, TokenUsage()),
            "!! out of thoughts: raise `max_th",
        ),
    ],
)
def test_changes_and_reached_limits_are_reported(event: RunEvent, words: str) -> None:
    assert words in " ".join(render(STARTED, event).split())


def test_quiet_shows_only_errors_and_their_agents() -> None:
    text = render(
        RunStarted("helper", "m", "native", (), ("bad: no such program.",)),
        FIRST,
        TextArrived("I will add."),
        ThoughtFinished(1, "I will add.", 1, TokenUsage()),
        ToolStarted("c1", "add", {}),
        call_end("3"),
        call_end("no such number", is_error=True),
        END,
        RunFailed("No key."),
        show="quiet",
    )
    assert text.split("\n") == [
        "!! helper, left out: bad: no such program.",
        "!! helper, add: no such number",
        "!! helper stopped: No key.",
    ]


def test_verbose_shows_the_prompt_the_tools_whole_values_and_the_tokens_of_turns() -> None:
    lines = render(
        STARTED,
        FIRST,
        ThoughtFinished(1, "", 1, TokenUsage(1200, 5, 1000)),
        ToolStarted("c1", "add", {"text": "long " * 30}),
        call_end("\n".join(f"line {n}" for n in range(20))),
        show=" Verbose ",
    ).split("\n")
    assert "    -- system prompt: You are kind." in lines
    assert "    -- 1 tool: add(a?: integer): Adds two numbers." in lines
    assert " 1. -- took 0.0 s, 1200 (1000 cached) + 5 tokens" in lines
    assert " ".join(lines).count("long") == 30
    assert "       line 19" in lines


def test_the_port_wins_over_the_environment_and_a_wrong_wish_names_the_choices(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(BadSetting, match=r"`show`.*quiet, normal, verbose"):
        Paper().console(show="loud")
    monkeypatch.setenv(VARIABLE, "quiet")
    assert render(STARTED) == ""
    assert "== helper" in render(STARTED, show="normal")
    monkeypatch.setenv(VARIABLE, "louder")
    for _ in range(2):
        assert render(STARTED) == "== helper: offline rules, 1 tool"
    (message,) = caplog.messages
    assert message.startswith("XAI_MCP_SHOW is 'louder'. Set it to one of: quiet")


def test_an_address_to_copy_stays_in_one_piece() -> None:
    """A person clicks it or copies it; pieces lead nowhere."""
    address = f"https://sign-in.example/authorize?{'x' * 200}"
    paper = Paper("terminal")
    with paper.console() as console:
        console.tell("??", f"Open this page:\n{address}")
    assert [x.strip() for x in paper.lines] == ["?? Open this page:", address]
