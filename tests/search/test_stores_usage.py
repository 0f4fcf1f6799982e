"""Learned requests: bounded, stored apart from the log, and forgotten for good on demand."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.support.databases import MEMORY, place_of
from tests.support.learning_agents import SECONDS, LearningAgent
from xai_mcp_agent import ToolKey
from xai_mcp_agent.history.event import tool_subject
from xai_mcp_agent.history.history import History
from xai_mcp_agent.history.learned_rows import learn
from xai_mcp_agent.history.place import Place


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[LearningAgent]:
    """An agent that learns."""
    with LearningAgent(place_of(MEMORY, tmp_path)) as agent:
        yield agent


BILL, SING = ToolKey("mcp", "shop", "create_invoice"), ToolKey("mcp", "choir", "sing")


def test_requests_are_stored_apart_from_the_log_which_names_the_tool(agent: LearningAgent) -> None:
    agent.learn(BILL, "Bill the customer.", "new invoice", toolbelt="office")
    for text in ("bill  the\ncustomer.", "Bill the customer."):
        agent.learn(BILL, text, toolbelt="office")
    rows = sorted(agent.rows(), key=lambda x: x.words)
    assert [(x.words, x.times) for x in rows] == [("Bill the customer.", 3), ("new invoice", 1)]
    assert {(x.tool.key, x.toolbelt) for x in rows} == {(BILL, "office")}
    assert rows[0].used > rows[0].learned
    log = agent.log()
    assert {x["intent"] for x in log} == {x.id for x in rows}
    entry = ("learned", "create_invoice", "office")
    assert {(x["change"], x["tool"], x["toolbelt"]) for x in log} == {entry}
    assert not any(word in json.dumps(log) for word in ("Bill", "customer", "invoice."))


def test_secrets_in_requests_are_not_stored(lasting_place: Place) -> None:
    with LearningAgent(lasting_place) as agent:
        agent.learn(BILL, "log in with zebra-crossing and list invoices", "my password is horse")
        agent.learn(BILL, "zebra-crossing", "sk-abcdefghijklmnopqrstuvwxyz", "  ")
        assert sorted(agent.words()) == ["log in with *** and list invoices", "my password ***"]
        assert len(agent.log()) == 2
        assert not any(b"zebra" in x or b"horse" in x for x in files_of(agent))


def test_a_tool_a_server_or_everything_can_be_forgotten_and_the_log_says_so(place: Place) -> None:
    other = ToolKey("mcp", "shop", "refund")
    with LearningAgent(place) as agent:
        for key in (BILL, other, SING):
            agent.learn(key, f"please {key.name}", f"again {key.name}")
        assert len(agent.forget(source="shop", tool="refund")) == 2
        assert {x.tool.key for x in agent.rows()} == {BILL, SING}
        removed = [agent.forget(source="shop"), agent.forget(), agent.forget()]
        assert [len(x) for x in removed] == [2, 2, 0]
        log = [(x["tool"], x["texts"]) for x in agent.log() if x["change"] == "forgotten"]
    assert log == [("refund", 2), ("create_invoice", 2), ("sing", 2)]


def test_forgotten_requests_do_not_come_back_from_another_process_that_writes_late(
    agent: LearningAgent,
) -> None:
    """An agent in another process writes once in a second, and later if the store is in use."""
    early = datetime.now(UTC)
    agent.learn(BILL, "an invoice")
    agent.learn(BILL, "an invoice", toolbelt="office")
    assert agent.forget(toolbelt="default") == ["an invoice"]
    for toolbelt in ("default", "office"):
        learn_at(agent, early, "a bill", toolbelt)
    assert agent.words() == []
    assert sorted(agent.words("office")) == ["a bill", "an invoice"]


def learn_at(agent: LearningAgent, time: datetime, text: str, toolbelt: str = "default") -> None:
    """Learn as of a time."""

    def write(history: History) -> None:
        with history.writing() as connection:
            learn(connection, history.log, tool_subject(BILL), toolbelt, [text], time, str)

    agent.recorder.ask(write).result(SECONDS)


def files_of(agent: LearningAgent) -> list[bytes]:
    """Return the content of all files of its store."""
    file = agent.recorder.place.file
    return [] if file is None else [x.read_bytes() for x in file.parent.iterdir() if x.is_file()]


def test_requests_are_removed_after_half_a_year_without_use(agent: LearningAgent) -> None:
    now = datetime.now(UTC)
    for days in (1, 100, 181, 1000):
        then, text = now - timedelta(days=days), "days: " + "x" * days
        learn_at(agent, then, text)
    assert [len(x) for x in agent.words()] == [7, 106]


def test_no_file_of_the_store_contains_forgotten_requests(tmp_path: Path) -> None:
    with LearningAgent(place_of("", tmp_path)) as agent:
        for number in range(100):
            text = f"unmistakable words {chr(97 + number % 26)} {'padding ' * (number % 30)}"
            agent.learn(ToolKey("mcp", "shop", f"tool{number % 7}"), text)
        agent.recorder.flush().result(SECONDS)
        assert any(b"unmistakable" in x for x in files_of(agent))
        agent.forget()
        assert not any(b"unmistakable" in x for x in files_of(agent))
    assert not any(b"unmistakable" in x for x in files_of(agent))
