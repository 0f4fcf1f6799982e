"""What tools were used for is kept in bounds, apart from the log, and can be forgotten for good."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.support.databases import MEMORY, Server, place_of
from tests.support.learning_agents import SECONDS, LearningAgent
from tests.support.warm_python import warm_python
from xai_mcp_agent import ToolKey
from xai_mcp_agent.history.history import open_history
from xai_mcp_agent.history.learned_rows import LearnedFilter, LearnedRow
from xai_mcp_agent.history.place import Place
from xai_mcp_agent.history.recording.recorder import HistoryRecorder
from xai_mcp_agent.search.intents import INTENTS, forget_intents, intents_in, learn_intents
from xai_mcp_agent.views.history import events_text

BILL, SING = ToolKey("mcp", "shop", "create_invoice"), ToolKey("mcp", "choir", "sing")


class Agent(LearningAgent):
    """Learns, as a bridge has its agents do."""

    def learn(self, key: ToolKey, *texts: str, toolbelt: str = "default") -> None:
        tool = self.recorder.subject(key)
        self.recorder.learn(lambda x, time: learn_intents(x, tool, toolbelt, texts, time))

    def kept(self, which: LearnedFilter | None = None) -> list[LearnedRow]:
        return self.recorder.ask(lambda x: intents_in(x, which or LearnedFilter())).result(SECONDS)

    def words(self, toolbelt: str = "default") -> list[str]:
        return [x.words for x in self.kept(LearnedFilter(toolbelt))]

    def forget(self, **which: str) -> list[str]:
        chosen = LearnedFilter(**which)
        gone = self.recorder.forget(lambda x: forget_intents(x, chosen)).result(SECONDS)
        return [x.words for x in gone]


# What is kept


def test_the_words_are_kept_beside_the_log_and_the_log_tells_that_a_tool_was_of_use(
    agent: Agent,
) -> None:
    agent.learn(BILL, "Bill the customer.", "new invoice", toolbelt="office")
    (query, asked) = sorted(agent.kept(), key=lambda x: x.words, reverse=True)
    assert (asked.words, query.words) == ("Bill the customer.", "new invoice")
    assert {(x.tool.key, x.toolbelt, x.times) for x in (asked, query)} == {(BILL, "office", 1)}
    log = agent.log()
    assert [(x["change"], x["tool"], x["toolbelt"]) for x in log] == [
        ("learned", "create_invoice", "office")
    ] * 2
    assert {x["intent"] for x in log} == {asked.id, query.id}
    assert not any(word in json.dumps(log) for word in ("Bill", "customer", "invoice."))


def test_the_same_words_are_kept_once_and_counted(agent: Agent) -> None:
    for text in ("Bill the customer", "bill  the\ncustomer", "Bill the customer"):
        agent.learn(BILL, text)
    (kept,) = agent.kept()
    assert kept.times == 3
    assert kept.used > kept.learned
    assert len({x["intent"] for x in agent.log()}) == 1


def test_of_a_tool_twenty_texts_are_kept_the_newest(agent: Agent) -> None:
    for number in range(25):
        agent.learn(BILL, f"invoice for {chr(97 + number)}")
    agent.learn(SING, "a song")
    assert len(agent.words()) == 21
    assert f"invoice for {chr(97 + 24)}" in agent.words()
    assert "invoice for e" not in agent.words()


def test_ten_thousand_texts_stay_within_bounds_and_learning_them_delays_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(INTENTS, "most_of_toolbelt", 100)
    agent = Agent(place_of(MEMORY, tmp_path))
    keys = [ToolKey("mcp", "shop", f"tool{n}") for n in range(50)]
    texts = [f"{'many ' * (n % 40)}things like {n}" for n in range(10_000)]
    started = time.thread_time()
    for number, text in enumerate(texts):
        agent.learn(keys[number % len(keys)], text)
    assert time.thread_time() - started < 1.0
    assert agent.recorder.settled().result(4 * SECONDS) is None
    words = agent.words()
    assert 90 <= len(words) <= 100
    assert all(x in words for x in texts[-50:])
    agent.recorder.close(SECONDS)


def test_what_nobody_asked_for_in_half_a_year_is_let_go(place: Place) -> None:
    store, now = open_history(place), datetime.now(UTC)
    tool = HistoryRecorder(place, str).subject(BILL)
    with store.writing() as connection:
        for days in (1, 100, 181, 1000):
            then = now - timedelta(days=days)
            INTENTS.add(connection, store.project_id, "default", tool, then, f"days: {days}")
        INTENTS.prune(connection, store.project_id, ["default"])
    assert [x.words for x in intents_in(store, LearnedFilter())] == ["days: 1", "days: 100"]
    store.close()


def test_secrets_in_what_people_say_are_kept_nowhere(lasting: Agent) -> None:
    lasting.learn(BILL, "log in with zebra-crossing and list invoices", "my password is horse")
    lasting.learn(BILL, "zebra-crossing", "sk-abcdefghijklmnopqrstuvwxyz", "  ")
    assert sorted(lasting.words()) == ["log in with *** and list invoices", "my password ***"]
    assert len(lasting.log()) == 2
    for data in written_by(lasting):
        assert b"zebra" not in data
        assert b"horse" not in data


def test_names_and_words_of_strangers_are_kept_as_they_are(agent: Agent) -> None:
    names = ("a\0b", "\ud800", "'; DROP TABLE xai_mcp_events; --", "x" * 10_000, "\u202eevil")
    for name in names:
        agent.learn(ToolKey("mcp", name, name), f"use {name[:20]}", toolbelt=name)
    assert {x.tool.key for x in agent.kept()} == {ToolKey("mcp", x, x) for x in names}
    for name in names:
        (kept,) = agent.kept(LearnedFilter(name, name, name))
        assert (kept.toolbelt, kept.words.split()[0]) == (name, "use")
    assert len(agent.forget(source=names[2])) == 1
    assert len(agent.kept()) == len(names) - 1


def test_the_records_of_tools_are_what_they_were(agent: Agent) -> None:
    agent.recorder.called(BILL, 0.1, "")
    agent.learn(BILL, "an invoice")
    agent.forget()
    records = agent.recorder.ask(lambda x: x.records()).result(SECONDS)
    assert [x.usage.calls for x in records.tools.values()] == [1]


# Who sees what


def test_toolbelts_do_not_see_what_others_learned(agent: Agent) -> None:
    agent.learn(BILL, "bill the customer", toolbelt="office")
    agent.learn(BILL, "charge the guest", toolbelt="hotel")
    assert agent.words("office") == ["bill the customer"]
    assert agent.words("hotel") == ["charge the guest"]
    assert agent.words("default") == []
    assert agent.forget(toolbelt="hotel") == ["charge the guest"]
    assert agent.words("office") == ["bill the customer"]


def test_projects_in_one_database_do_not_see_what_others_learned(
    postgresql: Server, tmp_path: Path
) -> None:
    database = postgresql.new_database()
    mine, theirs = (Agent(place_of(database, tmp_path / x)) for x in ("mine", "theirs"))
    mine.learn(BILL, "my invoice")
    theirs.learn(BILL, "their invoice")
    assert (mine.words(), theirs.words()) == (["my invoice"], ["their invoice"])
    assert theirs.forget() == ["their invoice"]
    assert (mine.words(), theirs.words()) == (["my invoice"], [])
    for one in (mine, theirs):
        one.recorder.close(SECONDS)


# Forgetting


def test_one_tool_one_server_or_all_is_forgotten_and_the_log_says_so(agent: Agent) -> None:
    other = ToolKey("mcp", "shop", "refund")
    for key in (BILL, other, SING):
        agent.learn(key, f"please {key.name}", f"again {key.name}")
    assert len(agent.forget(source="shop", tool="refund")) == 2
    assert {x.tool.key for x in agent.kept()} == {BILL, SING}
    assert len(agent.forget(source="shop")) == 2
    assert len(agent.forget()) == 2
    assert agent.forget() == []
    told = [(x["tool"], x["texts"]) for x in agent.log() if x["change"] == "forgotten"]
    assert told == [("refund", 2), ("create_invoice", 2), ("sing", 2)]


def test_what_is_forgotten_stands_nowhere_in_the_file_or_beside_it(tmp_path: Path) -> None:
    agent = Agent(place_of("", tmp_path))
    for number in range(300):
        text = f"unmistakable words {chr(97 + number % 26)} {'padding ' * (number % 30)}"
        agent.learn(ToolKey("mcp", "shop", f"tool{number % 7}"), text)
    agent.recorder.settled().result(SECONDS)
    assert any(b"unmistakable" in x for x in written_by(agent))
    agent.forget()
    assert not any(b"unmistakable" in x for x in written_by(agent))
    agent.recorder.close(SECONDS)
    assert not any(b"unmistakable" in x for x in written_by(agent))


def test_what_was_forgotten_does_not_come_back_by_those_who_use_the_store_still(
    lasting: Agent,
) -> None:
    lasting.learn(BILL, "an invoice")
    lasting.recorder.settled().result(SECONDS)
    other = Agent(lasting.recorder.place)
    assert other.forget() == ["an invoice"]
    other.recorder.close(SECONDS)
    lasting.learn(BILL, "a bill")
    assert lasting.words() == ["a bill"]


def test_what_waited_to_be_written_when_it_was_forgotten_does_not_come_back(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent in another process writes once in a second, and later if the store is in use."""
    early = datetime.now(UTC)
    agent.learn(BILL, "an invoice")
    agent.learn(BILL, "an invoice", toolbelt="office")
    assert agent.forget(toolbelt="default") == ["an invoice"]
    monkeypatch.setattr("xai_mcp_agent.history.recording.recorder._now", lambda: early)
    agent.learn(BILL, "a bill I had forgotten")
    agent.learn(BILL, "a bill", toolbelt="office")
    monkeypatch.undo()
    agent.learn(SING, "a song")
    assert agent.words() == ["a song"]
    assert sorted(agent.words("office")) == ["a bill", "an invoice"]


# Ends


def test_a_process_that_is_killed_leaves_what_was_written_and_a_store_that_works(
    lasting_place: Place,
) -> None:
    store = str(lasting_place.file or lasting_place.url.replace("+psycopg", ""))
    folder = str(lasting_place.folder)
    code = f"""
import os, sys
from tests.search.test_stores_intents import BILL, Agent
from tests.support.databases import place_of
from pathlib import Path
agent = Agent(place_of({store!r}, Path({folder!r})))
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
    agent = Agent(lasting_place)
    assert {f"text {x}" for x in "abcdefghij"} <= {*agent.words()}
    agent.learn(BILL, "goes on")
    assert "goes on" in agent.words()
    agent.recorder.close(SECONDS)


def test_what_people_read_of_the_history_is_not_torn_apart_by_it(agent: Agent) -> None:
    for _ in range(3):
        agent.recorder.called(BILL, 0.1, "")
        agent.learn(BILL, "an invoice")
    agent.forget()
    events = agent.recorder.ask(lambda x: x.events()).result(SECONDS)
    _, *lines = events_text(events, 100).splitlines()
    assert [x[10:] for x in lines] == [
        "shop.create_invoice: called 3 times, 100 ms each, 100 ms at most",
        "shop.create_invoice: what it was used for is remembered",
        "shop.create_invoice: what it was used for is forgotten",
    ]


def written_by(agent: Agent) -> list[bytes]:
    """All files of a store that is one."""
    return written_in(agent.recorder.place)


def written_in(place: Place) -> list[bytes]:
    """All files of a store that is one."""
    file = place.file
    return [] if file is None else [x.read_bytes() for x in file.parent.iterdir() if x.is_file()]
