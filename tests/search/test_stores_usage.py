"""What tools were used for is kept in bounds, apart from the log, and can be forgotten for good."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.support.databases import MEMORY, Server, place_of
from tests.support.learning_agents import SECONDS, LearningAgent
from tests.support.warm_python import warm_python
from xai_mcp_agent import ToolKey
from xai_mcp_agent.history import learned_rows
from xai_mcp_agent.history.history import History
from xai_mcp_agent.history.learned_rows import Learning
from xai_mcp_agent.history.place import Place
from xai_mcp_agent.views.history import events_text


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[LearningAgent]:
    """An agent that learns."""
    with LearningAgent(place_of(MEMORY, tmp_path)) as agent:
        yield agent


BILL, SING = ToolKey("mcp", "shop", "create_invoice"), ToolKey("mcp", "choir", "sing")


def test_the_words_are_kept_beside_the_log_and_the_log_tells_that_a_tool_was_of_use(
    agent: LearningAgent,
) -> None:
    agent.learn(BILL, "Bill the customer.", "new invoice", toolbelt="office")
    for text in ("bill  the\ncustomer.", "Bill the customer."):
        agent.learn(BILL, text, toolbelt="office")
    (query, asked) = sorted(agent.rows(), key=lambda x: x.words, reverse=True)
    assert (asked.words, query.words) == ("Bill the customer.", "new invoice")
    assert {(x.tool.key, x.toolbelt) for x in (asked, query)} == {(BILL, "office")}
    assert (asked.times, query.times) == (3, 1)
    assert asked.used > asked.learned
    log = agent.log()
    assert {(x["change"], x["tool"], x["toolbelt"]) for x in log} == {
        ("learned", "create_invoice", "office")
    }
    assert {x["intent"] for x in log} == {asked.id, query.id}
    assert not any(word in json.dumps(log) for word in ("Bill", "customer", "invoice."))


def test_thousands_of_texts_stay_within_bounds_and_learning_them_delays_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learned_rows, "MAX_OF_TOOLBELT", 100)
    texts = [f"{'many ' * (n % 40)}things like {n}" for n in range(3_000)]
    with LearningAgent(place_of(MEMORY, tmp_path)) as agent:
        started = time.thread_time()
        for number, text in enumerate(texts):
            agent.learn(ToolKey("mcp", "shop", f"tool{number % 50}"), text)
        assert time.thread_time() - started < 1.0
        words = agent.words()
        assert 90 <= len(words) <= 100
        assert all(x in words for x in texts[-50:])


def test_secrets_in_what_people_say_are_kept_nowhere(lasting: LearningAgent) -> None:
    lasting.learn(BILL, "log in with zebra-crossing and list invoices", "my password is horse")
    lasting.learn(BILL, "zebra-crossing", "sk-abcdefghijklmnopqrstuvwxyz", "  ")
    assert sorted(lasting.words()) == ["log in with *** and list invoices", "my password ***"]
    assert len(lasting.log()) == 2
    assert not any(b"zebra" in x or b"horse" in x for x in written_by(lasting))


def test_projects_in_one_database_do_not_see_what_others_learned(
    postgresql: Server, tmp_path: Path
) -> None:
    database = postgresql.new_database()
    with (
        LearningAgent(place_of(database, tmp_path / "mine")) as mine,
        LearningAgent(place_of(database, tmp_path / "theirs")) as theirs,
    ):
        mine.learn(BILL, "my invoice")
        theirs.learn(BILL, "their invoice")
        assert (mine.words(), theirs.words()) == (["my invoice"], ["their invoice"])
        assert theirs.forget() == ["their invoice"]
        assert (mine.words(), theirs.words()) == (["my invoice"], [])


def test_one_tool_one_server_or_all_is_forgotten_and_the_log_says_so(place: Place) -> None:
    with LearningAgent(place) as agent:
        forget_in_parts(agent)


def forget_in_parts(agent: LearningAgent) -> None:
    other = ToolKey("mcp", "shop", "refund")
    for key in (BILL, other, SING):
        agent.learn(key, f"please {key.name}", f"again {key.name}")
    assert len(agent.forget(source="shop", tool="refund")) == 2
    assert {x.tool.key for x in agent.rows()} == {BILL, SING}
    assert [len(agent.forget(source="shop")), len(agent.forget()), len(agent.forget())] == [2, 2, 0]
    told = [(x["tool"], x["texts"]) for x in agent.log() if x["change"] == "forgotten"]
    assert told == [("refund", 2), ("create_invoice", 2), ("sing", 2)]


def test_what_waited_to_be_written_when_it_was_forgotten_does_not_come_back(
    agent: LearningAgent,
) -> None:
    """An agent in another process writes once in a second, and later if the store is in use."""
    early, tool = datetime.now(UTC), agent.recorder.subject(BILL)
    agent.learn(BILL, "an invoice")
    agent.learn(BILL, "an invoice", toolbelt="office")
    assert agent.forget(toolbelt="default") == ["an invoice"]

    def write_late(history: History) -> None:
        with history.writing() as connection:
            late = Learning(
                connection, history.project_id, redact=str, note=lambda *_: None, since=early
            )
            for toolbelt in ("default", "office"):
                late.learn(tool, toolbelt, ["a bill"], early)

    agent.recorder.ask(write_late).result(SECONDS)
    assert agent.words() == []
    assert sorted(agent.words("office")) == ["a bill", "an invoice"]


def test_a_process_that_is_killed_leaves_what_was_written_and_a_store_that_works(
    lasting_place: Place,
) -> None:
    store = str(lasting_place.file or lasting_place.url.replace("+psycopg", ""))
    code = f"""
import os
from pathlib import Path
from tests.search.test_stores_usage import BILL
from tests.support.databases import place_of
from tests.support.learning_agents import LearningAgent
agent = LearningAgent(place_of({store!r}, Path({str(lasting_place.folder)!r})))
for number in range(10):
    agent.learn(BILL, "text " + chr(97 + number))
agent.recorder.settled().result(30)
print("written", flush=True)
for number in range(5000):
    agent.learn(BILL, "lost " * (number % 50))
os.kill(os.getpid(), {int(signal.SIGKILL)})
"""
    done = subprocess.run(
        [warm_python(), "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout, done.returncode) == ("written\n", -signal.SIGKILL), done.stderr
    with LearningAgent(lasting_place) as agent:
        assert {f"text {x}" for x in "abcdefghij"} <= {*agent.words()}
        agent.learn(BILL, "goes on")
        assert "goes on" in agent.words()


def test_the_history_tells_calls_as_one_although_they_were_learned_from(
    agent: LearningAgent,
) -> None:
    for _ in range(3):
        agent.recorder.called(BILL, 0.1, "")
        agent.learn(BILL, "an invoice")
    agent.forget()
    records = agent.recorder.ask(lambda x: x.records()).result(SECONDS)
    assert [x.usage.calls for x in records.tools.values()] == [3]
    events = agent.recorder.ask(lambda x: x.events()).result(SECONDS)
    _, *lines = events_text(events, 100).splitlines()
    assert [x[10:] for x in lines] == [
        "shop.create_invoice: called 3 times, 100 ms each, 100 ms at most",
        "shop.create_invoice: what it was used for is forgotten",
    ]


def written_by(agent: LearningAgent) -> list[bytes]:
    """All files of a store in a folder."""
    file = agent.recorder.place.file
    return [] if file is None else [x.read_bytes() for x in file.parent.iterdir() if x.is_file()]


def test_what_nobody_asked_for_in_half_a_year_is_removed(agent: LearningAgent) -> None:
    now, tool = datetime.now(UTC), agent.recorder.subject(BILL)
    for days in (1, 100, 181, 1000):
        then, text = now - timedelta(days=days), "days: " + "x" * days
        agent.recorder.learn(lambda x, _, t=then, y=text: x.learn(tool, "default", [y], t))
    assert [len(x) for x in agent.words()] == [7, 106]


def test_what_is_forgotten_stands_nowhere_in_the_file_or_beside_it(tmp_path: Path) -> None:
    with LearningAgent(place_of("", tmp_path)) as agent:
        for number in range(300):
            text = f"unmistakable words {chr(97 + number % 26)} {'padding ' * (number % 30)}"
            agent.learn(ToolKey("mcp", "shop", f"tool{number % 7}"), text)
        agent.recorder.settled().result(SECONDS)
        assert any(b"unmistakable" in x for x in written_by(agent))
        agent.forget()
        assert not any(b"unmistakable" in x for x in written_by(agent))
    assert not any(b"unmistakable" in x for x in written_by(agent))
