"""Tables of what runs teach that are damaged, missing or fought over: all else goes on.

Who decided it: we. A file is mended with what can still be read; on a server a row is passed over.
"""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
from sqlalchemy import text

from tests.history.test_stores_learned import FIND, Agent
from tests.support.processes import wait_until
from xai_mcp_agent import StoreFailed
from xai_mcp_agent.history import learned
from xai_mcp_agent.history.history import open_history
from xai_mcp_agent.history.learned_calls import KeptCall
from xai_mcp_agent.history.place import Place
from xai_mcp_agent.history.recording.recorder import HistoryRecorder

_SECONDS = 30.0
_RUNS, _SHAPES = "xai_mcp_learned_runs", "xai_mcp_observed_shapes"


def do(place: Place, *statements: str) -> None:
    store = open_history(place)
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
    open_history(lasting_place).close()
    calls = [KeptCall(HistoryRecorder(lasting_place, str).subject(FIND), {})]

    def write(who: int) -> None:
        store = open_history(lasting_place)
        project, now = store.project_id, datetime.now(UTC)
        for number in range(30):
            with store.writing() as connection:
                learned.keep_run(connection, project, "default", f"{who} {number}", calls, now)
        store.close()

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(write, range(4)))
    store = open_history(lasting_place)
    with store.reading() as connection:
        found = [x for (x,) in connection.execute(text(f"SELECT revision FROM {_RUNS}"))]
    store.close()
    assert sorted(found) == list(range(1, 121))


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
