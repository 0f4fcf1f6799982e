"""Questions of a server during a call: answered by a program, declined or late, in both eras."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Generator
from typing import Any

import pytest

from tests.support.asking_server import COLOUR, asking_entry, form, page
from tests.support.bridges import bridge_with, status_of
from xai_mcp_agent import Answer, Bridge, Icon, Question, ServerError, ToolResult


class Programmed:
    """A program that gives the answer `next`, and keeps the questions."""

    def __init__(self) -> None:
        self.questions: list[Question] = []
        self.next: Any = Answer.accepted({"colour": "red"})

    def __call__(self, question: Question) -> Answer:
        self.questions.append(question)
        match self.next:
            case BaseException():
                raise self.next
            case threading.Event():
                self.next.wait(20)
                return Answer.accepted({"colour": "late"})
            case _:
                return self.next


@pytest.fixture(scope="module")
def program() -> Programmed:
    """Answers for the servers of this file."""
    return Programmed()


@pytest.fixture(scope="module")
def servers(asking_url: str, program: Programmed) -> Generator[Bridge]:
    """The asking server in every way; `no` and `defaults` have other settings."""
    entries = {
        "stdio": asking_entry(timeout=10),
        "stdio_old": asking_entry(mode="legacy"),
        "http": {"url": asking_url},
        "http_old": {"url": asking_url, "mode": "legacy"},
        "defaults": {"url": asking_url, "elicitation": "defaults"},
        "no": {"url": asking_url, "elicitation": "decline"},
        "no_old": {"url": asking_url, "mode": "legacy", "elicitation": "decline"},
        "hasty": {"url": asking_url, "elicitationTimeout": 0.2},
        "hasty_old": {"url": asking_url, "mode": "legacy", "elicitationTimeout": 0.2},
        "short_old": {"url": asking_url, "mode": "legacy", "timeout": 0.3},
    }
    with Bridge({"mcpServers": entries}, answer=program) as bridge:
        bridge.connect(wait=True)
        yield bridge


def ask(
    bridge: Bridge, server: str, request: dict[str, Any], **more: Any
) -> tuple[Any, ToolResult]:
    """Return the answer that the server got, and the whole result."""
    result = bridge.call_tool(server, "ask", {**request, **more})
    assert not result.is_error, result.text
    return json.loads(result.text), result


def test_a_form_and_a_page_are_answered_by_the_program_or_refused(
    servers: Bridge, program: Programmed, server: str, caplog: pytest.LogCaptureFixture
):
    """MCP, elicitation, form mode and URL mode; a refusal is in the notes and in the log, too."""
    program.questions, program.next = [], Answer.accepted({"colour": "red"})
    answer, result = ask(servers, server, form())
    assert (answer["action"], answer["content"], result.notes) == ("accept", {"colour": "red"}, ())
    answer, _ = ask(servers, server, page("https://example.org/sign-in"))
    assert answer["action"] == "accept"
    assert "content" not in answer
    page_question = Question(server, "Sign in there.", url="https://example.org/sign-in")
    assert program.questions == [Question(server, "Which colour?", COLOUR), page_question]
    for refusal in (Answer.declined("not today"), Answer.cancelled("not today")):
        program.next = refusal
        answer, result = ask(servers, server, form())
        assert answer["action"] == refusal.action
        assert "A question of the server" in result.notes[0]
        assert "not today" in result.notes[0]
        record = f"xai_mcp_agent.servers.{server}", logging.WARNING, result.notes[0]
        assert record in caplog.record_tuples


def test_a_program_that_answers_wrongly_cancels_the_question(servers: Bridge, program: Programmed):
    for program.next, reason in (
        (Answer.accepted({"colour": 7}), "colour"),
        (KeyError("oops"), "raised KeyError"),
        (SystemExit("oops"), "raised SystemExit"),
        ({"colour": "red"}, "returned a dict, not an Answer"),
    ):
        answer, result = ask(servers, "http", form())
        assert answer["action"] == "cancel"
        assert reason in result.notes[0]


@pytest.mark.parametrize("server", ["hasty", "hasty_old"])
def test_an_answer_has_the_time_limit_of_the_settings(
    servers: Bridge, program: Programmed, server: str
):
    program.next = release = threading.Event()
    try:
        answer, result = ask(servers, server, form())
    finally:
        release.set()
    assert answer["action"] == "cancel"
    assert "within 0.2 s" in result.notes[0]


def test_the_clock_of_a_call_stops_while_a_person_is_asked(servers: Bridge, program: Programmed):
    """The call has 0.3 s; the answer takes longer."""
    program.next = release = threading.Event()
    timer = threading.Timer(0.4, release.set)
    timer.start()
    answer, _ = ask(servers, "short_old", form())
    assert answer["content"] == {"colour": "late"}


def test_rounds_of_questions_are_answered_up_to_a_limit(servers: Bridge, program: Programmed):
    """MCP 2026-07-28: a server may ask again with the answers so far."""
    program.questions, program.next = [], Answer.accepted({"colour": "red"})
    answer, _ = ask(servers, "http", form(), rounds=3)
    assert (answer["action"], len(program.questions)) == ("accept", 3)
    with pytest.raises(ServerError, match="kept asking"):
        servers.call_tool("http", "ask", {**form(), "rounds": 1000})
    assert len(program.questions) < 20


def test_the_settings_can_accept_default_values(servers: Bridge, program: Programmed):
    program.questions = []
    answer, _ = ask(servers, "defaults", form())
    assert answer["content"] == {"colour": "blue"}
    required = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}
    answer, result = ask(servers, "defaults", form(schema=required))
    assert answer["action"] == "decline"
    assert "these have no default: age" in result.notes[0]
    assert program.questions == []


@pytest.mark.parametrize("server", ["no", "no_old"])
def test_elicitation_that_is_switched_off_is_not_declared(servers: Bridge, server: str):
    assert "elicitation" not in json.loads(servers.call_tool(server, "declared").text)
    assert "elicitation" in json.loads(servers.call_tool("http", "declared").text)


def test_without_a_person_the_note_names_the_setting_to_change():
    with bridge_with(it=asking_entry()) as bridge:
        answer, result = ask(bridge, "it", form())
    assert answer["action"] == "decline"
    assert '"elicitation": "defaults"' in result.notes[0]


@pytest.mark.parametrize("action", ["accept", "decline"])
def test_a_page_that_a_refusal_names_is_opened(servers: Bridge, program: Programmed, action: Any):
    """MCP 2025-11-25, error -32042: the person needs time for the page, so the call fails."""
    program.questions, program.next = [], Answer(action)
    with pytest.raises(ServerError, match="Complete the steps on the page") as raised:
        servers.call_tool("http_old", "locked")
    assert raised.value.code == -32042
    assert [x.url for x in program.questions] == ["https://example.org/sign-in"]


@pytest.mark.parametrize("server", ["http", "http_old"])
def test_titles_and_icons_are_fields_of_tools_resources_and_prompts(servers: Bridge, server: str):
    icons = (Icon("data:image/png;base64,AA==", "image/png", ("48x48",)),)
    tool = next(x for x in servers.list_tools(server) if x.name == "locked")
    (resource,), (prompt,) = servers.list_resources(server), servers.list_prompts(server)
    assert (tool.title, tool.icons) == ("Sign in first", icons)
    assert (resource.title, resource.icons) == ("A page", icons)
    assert (prompt.title, prompt.icons) == ("A prompt", icons)
    assert status_of(servers, server).server == "Asks 1.0"
