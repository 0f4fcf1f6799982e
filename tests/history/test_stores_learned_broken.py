"""Tables of what runs teach that are damaged, missing or fought over: all else goes on.

Who decided it: we. A file is mended with what can still be read; on a server a row is passed over.
"""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import text

from tests.history.test_stores_learned import FIND, Agent
from tests.support.databases import place_of
from tests.support.processes import wait_until
from xai_mcp_agent import StoreFailed
from xai_mcp_agent.history import learned
from xai_mcp_agent.history.learned import learnings_in
from xai_mcp_agent.history.learned_calls import KeptCall
from xai_mcp_agent.history.place import Place
from xai_mcp_agent.history.recording.recorder import HistoryRecorder
from xai_mcp_agent.history.store import open_store

_SECONDS = 30.0
_RUNS, _SHAPES = "xai_mcp_learned_runs", "xai_mcp_observed_shapes"


def do(place: Place, *statements: str) -> None:
    store = open_store(place)
    try:
        with store.writing() as connection:
            for statement in statements:
                connection.execute(text(statement))
    finally:
        store.close()


def taught(place: Place) -> None:
    """Teach it two runs."""
    agent = Agent(place)
    agent.learn("one", shapes=((FIND, '"string"'),))
    agent.learn("two")
    agent.recorder.settled().result(_SECONDS)
    agent.recorder.close(_SECONDS)


def settle(agent: Agent) -> None:
    def is_settled() -> bool:
        try:
            agent.kept()
        except StoreFailed:
            return False
        return not agent.recorder.trouble

    wait_until(is_settled, "it works again", _SECONDS)


def test_writers_at_once_never_get_one_revision(lasting_place: Place) -> None:
    open_store(lasting_place).close()
    calls = [KeptCall(HistoryRecorder(lasting_place, str).subject(FIND), {})]

    def write(who: int) -> None:
        store = open_store(lasting_place)
        project, now = store.project_id, datetime.now(UTC)
        for number in range(30):
            with store.writing() as connection:
                learned.keep_run(connection, project, "default", f"{who} {number}", calls, now)
        store.close()

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(write, range(4)))
    store = open_store(lasting_place)
    with store.reading() as connection:
        found = [x for (x,) in connection.execute(text(f"SELECT revision FROM {_RUNS}"))]
    store.close()
    assert sorted(found) == list(range(1, 121))


@pytest.mark.parametrize(
    ("statement", "left"),
    {
        f"DROP TABLE {_RUNS}": {"three"},
        f"DROP TABLE {_SHAPES}": {"one", "two", "three"},
        "UPDATE xai_mcp_facts SET value = 'x.y' WHERE name LIKE 'learned:%'": {
            "one", "two", "three",
        },
        "UPDATE xai_mcp_facts SET value = '7' WHERE name LIKE 'learned:%'": {"one", "two", "three"},
        "DELETE FROM xai_mcp_facts WHERE name LIKE 'learned:%'": {"one", "two", "three"},
        f"UPDATE {_RUNS} SET calls = '[1]' WHERE words = 'one'": {"two", "three"},
        f"UPDATE {_RUNS} SET calls = '[[' WHERE words = 'one'": {"two", "three"},
        f"UPDATE {_RUNS} SET calls = replace(calls, '[0,', '[9,') WHERE words = 'one'": {
            "two", "three",
        },
        f"UPDATE {_RUNS} SET used = 9000000000000000000 WHERE words = 'one'": {"two", "three"},
        f"UPDATE {_SHAPES} SET shape = '{{{{'": {"one", "two", "three"},
    }.items(),
)  # fmt: skip
def test_what_is_damaged_or_missing_costs_nothing_else(
    statement: str, left: set[str], lasting_place: Place
) -> None:
    taught(lasting_place)
    do(lasting_place, statement)
    agent = Agent(lasting_place)
    agent.learn("three")
    settle(agent)
    found = {x.words for x in agent.kept().runs}
    assert left <= found <= {"one", "two", "three"}  # a file may be restored from its backup
    agent.recorder.called(FIND, 0.1, "")
    agent.learn("four")
    assert ("four", 1) in agent.words()
    assert "called" in [x["change"] for x in agent.log()]
    agent.forget()
    agent.recorder.close(_SECONDS)
    store = open_store(lasting_place)
    with store.reading() as connection:
        for table in (_RUNS, _SHAPES):
            assert connection.execute(text(f"SELECT count(*) FROM {table}")).scalar() == 0
    store.close()


def test_a_table_that_vanishes_while_it_is_used_is_made_again(lasting_place: Place) -> None:
    taught(lasting_place)
    agent = Agent(lasting_place)
    assert len(agent.kept().runs) == 2
    do(lasting_place, f"DROP TABLE {_RUNS}")
    agent.learn("three")
    agent.recorder.called(FIND, 0.1, "")
    settle(agent)
    assert ("three", 1) in agent.words()
    assert "called" in [x["change"] for x in agent.log()]
    agent.recorder.close(_SECONDS)


def test_where_the_count_of_revisions_was_lost_all_is_read_anew(lasting_place: Place) -> None:
    taught(lasting_place)
    agent = Agent(lasting_place)
    before = agent.kept().revision
    do(lasting_place, "DELETE FROM xai_mcp_facts WHERE name LIKE 'learned:%'")
    lost = agent.kept(since=before)
    assert lost.is_whole
    agent.learn("three")
    news = agent.kept(since=lost.revision)
    assert news.is_whole
    assert news.revision.number > before.number
    agent.learn("four")
    assert [x.words for x in agent.kept(since=news.revision).runs] == ["four"]
    agent.recorder.close(_SECONDS)


def test_what_goes_because_there_is_too_much_is_let_go_of_by_who_knew_it(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learned, "_MOST_OF_TOOLBELT", 20)
    agent = Agent(place)
    for number in range(20):
        agent.learn(f"do {chr(97 + number)}")
    before = agent.kept()
    assert len(before.runs) == 20
    agent.learn("one more")
    news = agent.kept(since=before.revision)
    assert (news.is_whole, len(news.runs)) == (True, 18)
    agent.learn("another")
    assert not agent.kept(since=news.revision).is_whole
    agent.recorder.close(_SECONDS)


def test_secrets_hide_in_no_name_however_it_is_written(lasting_place: Place) -> None:
    secret = 'pässw"ord\\/1'
    agent = Agent(lasting_place, secret)
    for name in (secret, f"by.{secret}.id"):
        agent.learn("a", ((FIND, {name: None}),))
        agent.learn("b", ((FIND, {"p": None}), (FIND, {"p": (0, name)})))
        agent.learn("c", shapes=((FIND, json.dumps({"object": {name: "string"}})),))
    assert {x.words for x in agent.kept().runs} == {"c"}
    assert agent.kept().shapes == ()
    agent.recorder.close(_SECONDS)


def test_a_restored_file_has_what_is_known_read_anew(tmp_path: Path) -> None:
    place = place_of("", tmp_path)
    taught(place)
    agent = Agent(place)
    before = agent.kept().revision
    do(place, f"UPDATE {_RUNS} SET calls = '[1]' WHERE words = 'one'")
    settle(agent)
    assert agent.kept(since=before).is_whole
    agent.recorder.close(_SECONDS)
    store = open_store(place)
    assert learnings_in(store).runs
    store.close()
