"""Questions of servers at a terminal: their words, the ways out, their time."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator

import pytest

from tests.support.asking_server import BOOKING
from tests.support.screens import STARTED, Paper
from xai_mcp_agent import Answer, Question
from xai_mcp_agent.agent.events import ModelAsked, TextArrived
from xai_mcp_agent.agent.models.base import ModelRequest
from xai_mcp_agent.console.surface import Detail
from xai_mcp_agent.console.terminal_questions import QuestionsEnded, ask_in_terminal, read_line
from xai_mcp_agent.console.text import Line


def ask(question: Question, *answers: str) -> tuple[Answer, str]:
    """Ask a question, type these answers, and return the result and everything that is printed."""
    lines: list[str] = []
    keys: Iterator[str] = iter(answers)

    def read(prompt: str) -> str:
        lines.append(prompt)
        return next(keys)

    answer = ask_in_terminal(question, lambda mark, text: lines.append(f"{mark} {text}"), read)
    assert next(keys, None) is None, "not all was read"
    return answer, "\n".join(lines)


def fill_in(*answers: str) -> tuple[Answer, str]:
    """Do the same for the form of the booking server."""
    return ask(Question("booking", "Who comes?", BOOKING), *answers)


def test_a_form_is_asked_field_by_field_and_shown_before_it_is_sent() -> None:
    answer, text = fill_in("Ada", "3", "2", "yes")
    assert answer == Answer.accepted({"name": "Ada", "guests": 3, "seat": "out"})
    assert text.startswith("?? booking asks: Who comes?\n")
    assert "seat: out\nSend this to booking?" in text.replace("   ", "")


def test_enter_takes_the_default_or_leaves_out() -> None:
    assert fill_in("Ada", "", "", "y")[0] == Answer.accepted({"name": "Ada", "guests": 2})
    assert fill_in("Ada", "/skip", "", "y")[0] == Answer.accepted({"name": "Ada"})


def test_an_invalid_or_a_missing_value_is_asked_again() -> None:
    answer, read = fill_in("", "Ada", "0", "1", "", "y")
    assert answer == Answer.accepted({"name": "Ada", "guests": 1})
    assert "An answer is needed here" in read
    assert "minimum of 1" in read
    answer, read = fill_in("Ada", *["none"] * 5)
    assert answer.action == "cancel", "nobody is asked for ever"
    assert "in 5 tries" in read


@pytest.mark.parametrize(("typed", "action"), [("/decline", "decline"), ("/cancel", "cancel")])
def test_the_person_can_say_no_and_stop_at_any_field(typed: str, action: str) -> None:
    assert fill_in(typed)[0].action == action
    assert fill_in("Ada", "", typed)[0].action == action


def test_a_page_is_opened_only_after_a_yes(monkeypatch: pytest.MonkeyPatch) -> None:
    pages: list[str] = []
    monkeypatch.setattr("webbrowser.open", pages.append)
    monkeypatch.setenv("DISPLAY", ":0")
    question = Question("bank", "Sign in.", url="https://google.com@evil.com/x")
    answer, read = ask(question, "what?", "no")
    assert (answer.action, pages) == ("decline", [])
    assert read.startswith("?? bank asks you to open a page of evil.com: Sign in.\n")
    assert "https://google.com@evil.com/x\nOpen evil.com? (yes or no" in read
    assert ask(question, "yes")[0] == Answer.accepted()
    assert pages == ["https://google.com@evil.com/x"]


def test_the_lines_of_other_runs_wait_for_the_end_of_a_prompt() -> None:
    """Nobody can type where two agents write."""
    paper = Paper("terminal")
    with paper.console("ada") as ada, paper.console("bob") as bob:
        ada.show(STARTED)

        def read() -> str:
            bob.note("--", "meanwhile")
            bob.show(ModelAsked(1, ModelRequest(())))
            bob.show(TextArrived("words "))
            paper.output += "(typed)\n"  # as the terminal shows it
            return "typed"

        assert ada.ask("Your\x1b[2J name:", read) == "typed"
        bob.note("--", "later")
    text = "\n".join(paper.lines)
    assert "Your?[2J name: (typed)" in text
    assert text.index("(typed)") < text.index("meanwhile") < text.index("later")


def test_a_prompt_ends_when_its_call_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server is gone: nobody needs the answer any more."""
    ours, theirs = os.openpty()
    over = threading.Event()
    with os.fdopen(theirs, "r") as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        os.write(ours, b"typed\n")
        assert read_line(time.monotonic() + 10, over) == "typed"
        over.set()
        with pytest.raises(QuestionsEnded, match="has ended"):
            read_line(time.monotonic() + 10, over)
        with pytest.raises(TimeoutError):
            read_line(time.monotonic(), threading.Event())
    os.close(ours)


def test_a_card_is_drawn_once_after_a_question_however_often_it_changed() -> None:
    """A person may think for long; all pages of a busy run at once were too much for a browser."""
    paper, drawings = Paper("lab"), list[int]()
    with paper.console("Ada") as ada:

        def read() -> str:
            bob = paper.screen.enter("Bob", Detail.NORMAL)
            for number in range(100):
                bob.card(lambda number=number: drawings.append(number))
            bob.lines(Line("a line"))
            assert not drawings
            paper.screen.leave(bob)
            return "typed"

        ada.ask("Your name:", read)
    assert drawings == [99]
    assert "a line" in paper.output
