"""What a run looks like on the screen."""

from __future__ import annotations

import pytest

from tests.support.screens import STARTED, Paper, shown
from xai_mcp_agent import BadSetting, Tool, ToolKey, ToolResult
from xai_mcp_agent.agent.events import (
    ConversationFolded,
    ModelAsked,
    ProtocolChanged,
    RunFailed,
    RunFinished,
    RunStarted,
    TextArrived,
    ThoughtFinished,
    ToolFinished,
    ToolsChanged,
    ToolsSelected,
    ToolStarted,
)
from xai_mcp_agent.agent.models.base import ModelRequest, Usage
from xai_mcp_agent.catalog.definitions import definition_of
from xai_mcp_agent.console import screen
from xai_mcp_agent.console.surface import VARIABLE
from xai_mcp_agent.core.provider_schema import FunctionSpec
from xai_mcp_agent.search.selector import LeftOut, Selection

REQUEST = ModelRequest(
    ({"role": "system", "content": "You are kind."}, {"role": "user", "content": "Hi"}),
    (FunctionSpec("add", "Adds two\n numbers.", {"properties": {"a": {"type": "integer"}}}),),
)
FIRST = ModelAsked(1, REQUEST)
DONE = RunFinished("3", "answered", 2, 1, 1.25, Usage(10, 5))


def answered(text: str, *, is_error: bool = False) -> ToolFinished:
    """A tool's answer."""
    return ToolFinished("c1", "add", {}, ToolResult.of_text(text, is_error=is_error), 0.5, "")


def test_a_secret_that_json_escapes_is_hidden_in_a_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    """With `verbose`, too, where the lines show the text as the server sent it."""
    secret, folded = "sk-hidden-1234", list[str]()

    def show_fold(_title: str, text: str, _indent: int) -> None:
        folded.append(text)

    monkeypatch.setattr(screen, "show_fold", show_fold)
    spelled, lines = "".join(f"\\u{ord(x):04x}" for x in secret), "\n" * 20
    with Paper("lab").console(show="verbose") as console:
        console.hide(lambda text: text.replace(secret, "***"))
        console.show(answered(f'{{"key": "{spelled}"{lines}}}'))
    assert len(folded) == 1
    assert '"key": "***"' in folded[0]


def test_an_event_that_cannot_be_shown_does_not_end_the_run(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken(_text: str) -> str:
        raise RecursionError

    paper = Paper()
    with paper.console() as console:
        console.hide(broken)
        console.show(answered("3"))
        console.hide(lambda text: text)
        console.show(DONE)
    assert "ToolFinished is not shown (RecursionError). The run goes on." in caplog.text
    assert paper.lines[-1].startswith("== helper: 2 turns")


def test_a_run_reads_from_top_to_bottom() -> None:
    assert shown(
        STARTED,
        FIRST,
        TextArrived("I will "),
        TextArrived("add."),
        ThoughtFinished(1, "I will add.", 1, Usage()),
        ToolStarted("c1", "add", {"a": 1, "b": "two"}),
        answered("3"),
        ModelAsked(2, REQUEST),
        TextArrived("It is 3."),
        ThoughtFinished(2, "It is 3.", 0, Usage()),
        DONE,
    ).split("\n") == [
        "== helper: offline rules, 1 tool",
        " 1. I will add.",
        '    -> add(a=1, b="two")',
        "    <- add (0.50 s): 3",
        " 2. It is 3.",
        "== helper: 2 turns, 1 tool call, 1.2 s, 10 + 5 tokens",
    ]


def test_a_turn_without_words_has_its_number_at_its_first_call() -> None:
    text = shown(STARTED, FIRST, ThoughtFinished(1, "", 1, Usage()), ToolStarted("c1", "add", {}))
    assert text.split("\n")[1] == " 1. -> add()"


def test_an_error_after_a_broken_stream_has_a_line_of_its_own() -> None:
    text = shown(STARTED, FIRST, TextArrived("Hello, there is "), RunFailed("the line is dead"))
    assert text.split("\n")[1:] == [
        " 1. Hello, there is",
        "    !! helper stopped: the line is dead",
    ]


def test_errors_are_red_to_their_last_line() -> None:
    text = shown(STARTED, RunFailed("No key.\n  Next step: set one."), colours=True)
    first, second = text.split("\n")[1:]
    assert first == "    \x1b[31m!!\x1b[0m\x1b[31m helper stopped: No key.\x1b[0m"
    assert second == "\x1b[31m         Next step: set one.\x1b[0m"


def test_the_reason_and_the_next_step_of_a_server_left_out_are_readable() -> None:
    reason = f"bad: the command 'npx' was not found.\n  Next step: {'install it ' * 12}now."
    lines = shown(RunStarted("helper", "m", "native", (), (reason,))).split("\n")
    assert lines[1] == "    !! left out: bad: the command 'npx' was not found."
    assert lines[2].startswith("         Next step: install it")
    assert lines[3].startswith("           install it")
    assert max(map(len, lines)) <= 80


def test_a_change_of_protocol_is_shown() -> None:
    text = shown(STARTED, ProtocolChanged("text"))
    assert "the service takes no functions; text protocol from here" in text


def test_a_server_cannot_move_the_cursor_nor_turn_the_direction_of_writing() -> None:
    text = shown(STARTED, answered("\x1b[2J\x1b[1Agone\x07 \u202egnorw \x9b1m"))
    assert not {"\x1b", "\x07", "\u202e", "\x9b"} & set(text)
    assert "gone" in text


def test_a_long_result_is_cut_and_says_so() -> None:
    text = shown(STARTED, answered("\n".join(f"line {n}" for n in range(20))))
    assert "line 5" in text
    assert "line 6" not in text
    assert "... 14 more lines" in text


def test_json_takes_no_more_lines_than_it_must() -> None:
    assert shown(STARTED, answered('{\n "a":\n  1\n}')).endswith('<- add (0.50 s): {"a": 1}')


def test_a_failed_call_keeps_its_next_step() -> None:
    text = shown(STARTED, answered("it: gone.\n  Next step: look.", is_error=True))
    assert text.split("\n")[1:] == [
        "    !! add (0.50 s): it: gone.",
        "         Next step: look.",
    ]


def test_a_megabyte_in_one_word_is_shown_in_a_few_lines() -> None:
    lines = shown(STARTED, answered("x" * 1_000_000)).split("\n")
    assert len(lines) < 12
    assert max(map(len, lines)) <= 80
    assert "more characters" in lines[-1]


def test_tools_that_come_and_go_are_reported() -> None:
    text = shown(STARTED, ToolsChanged(("b",), ("a",)))
    assert text.split("\n")[1:] == ["    ++ new tools: b", "    -- gone: a"]


def test_tools_without_room_are_reported_once_in_their_order_and_not_by_the_hundred() -> None:
    def left_out(count: int) -> ToolsSelected:
        named = [
            definition_of(f"t{n}", Tool(ToolKey("mcp", "s", f"t{n}"), "", {})) for n in range(count)
        ]
        return ToolsSelected(1, Selection((), left_out=tuple(LeftOut(x, "why") for x in named)))

    lines = shown(left_out(2), left_out(2_000), left_out(2_000)).splitlines()
    told = [x.strip().removeprefix("-- ") for x in lines if "not shown: " in x or "more" in x]
    assert told == [*(f"not shown: t{n} (why)" for n in range(5)), "nor are 1,995 more"]


def test_what_is_not_sent_any_more_is_reported() -> None:
    text = shown(STARTED, ConversationFolded(3, 2, 0, False, 60_000, 128_000))
    assert "to fit the model's window, 2 messages in part sent from here" in " ".join(text.split())
    text = shown(STARTED, ConversationFolded(3, 1, 12, True, 60_000, 128_000))
    told = "1 message in part and 12 messages summed up sent from here: about 60,000 of 128,000"
    assert told in " ".join(text.split())


def test_a_run_at_its_limit_says_which_to_raise() -> None:
    text = shown(STARTED, RunFinished("3", "limit", 10, 9, 1.0, Usage()))
    assert "raise `max_run_tokens` or `max_run_cost`" in " ".join(text.split())


def test_an_answer_that_was_cut_off_says_what_to_do() -> None:
    text = shown(STARTED, RunFinished("3", "max_thoughts", 10, 9, 1.0, Usage()))
    assert "!! out of thoughts: raise `max_thoughts`" in text


def test_quiet_leaves_only_what_went_wrong_and_whose_it_is() -> None:
    text = shown(
        RunStarted("helper", "m", "native", (), ("bad: no such program.",)),
        FIRST,
        TextArrived("I will add."),
        ThoughtFinished(1, "I will add.", 1, Usage()),
        ToolStarted("c1", "add", {}),
        answered("3"),
        answered("no such number", is_error=True),
        DONE,
        RunFailed("No key."),
        show="quiet",
    )
    assert text.split("\n") == [
        "!! helper, left out: bad: no such program.",
        "!! helper, add: no such number",
        "!! helper stopped: No key.",
    ]


def test_a_run_in_which_nothing_went_wrong_prints_nothing_when_quiet() -> None:
    assert shown(STARTED, FIRST, TextArrived("Hi"), DONE, show="quiet") == ""


def test_verbose_shows_the_prompt_the_tools_whole_values_and_the_tokens_of_turns() -> None:
    lines = shown(
        STARTED,
        FIRST,
        ThoughtFinished(1, "", 1, Usage(1200, 5, 1000)),
        ToolStarted("c1", "add", {"text": "long " * 30}),
        answered("\n".join(f"line {n}" for n in range(20))),
        show=" Verbose ",
    ).split("\n")
    assert "    -- system prompt: You are kind." in lines
    assert "    -- 1 tool: add(a?: integer): Adds two numbers." in lines
    assert " 1. -- took 0.0 s, 1200 (1000 cached) + 5 tokens" in lines
    assert " ".join(lines).count("long") == 30
    assert "       line 19" in lines


@pytest.mark.parametrize("wrong", ["loud", 3, True])
def test_a_wrong_wish_on_the_port_names_the_choices(wrong: object) -> None:
    with pytest.raises(BadSetting, match=r"`show`.*quiet, normal, verbose"):
        Paper().console(show=wrong)


def test_the_port_wins_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "quiet")
    assert shown(STARTED) == ""
    assert "== helper" in shown(STARTED, show="normal")


def test_a_wrong_wish_in_the_environment_is_reported_once_and_the_run_goes_on(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(VARIABLE, "louder")
    for _ in range(2):
        assert shown(STARTED) == "== helper: offline rules, 1 tool"
    (message,) = caplog.messages
    assert message.startswith("XAI_MCP_SHOW is 'louder'. Set it to one of: quiet")


def test_an_address_to_copy_stays_in_one_piece() -> None:
    """A person clicks it or copies it; pieces lead nowhere."""
    address = f"https://sign-in.example/authorize?{'x' * 200}"
    paper = Paper("terminal")
    with paper.console() as console:
        console.tell("??", f"Open this page:\n{address}")
    assert [x.strip() for x in paper.lines] == ["?? Open this page:", address]
