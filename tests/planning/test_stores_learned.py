"""What runs teach is kept in bounds, without values and apart from the log, and is forgotten."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.search.test_stores_intents import written_in
from tests.support.databases import MEMORY, Server, place_of
from tests.support.learning_agents import SECONDS, LearningAgent
from tests.support.warm_python import warm_python
from xai_mcp_agent import ToolKey
from xai_mcp_agent.history.history import open_history
from xai_mcp_agent.history.learned_rows import LearnedFilter
from xai_mcp_agent.history.place import Place
from xai_mcp_agent.history.recording.recorder import HistoryRecorder
from xai_mcp_agent.planning.learned_runs import (
    RUNS,
    SHAPES,
    LearnedCall,
    Learnings,
    forget_requests,
    forget_runs,
    learn_run,
    learnings_in,
)
from xai_mcp_agent.search.intents import forget_intents, learn_intents
from xai_mcp_agent.views.history import events_text

_TEXT = '"string"'
FIND, CANCEL = ToolKey("mcp", "shop", "find_order"), ToolKey("mcp", "shop", "cancel")
SING = ToolKey("mcp", "choir", "sing")
Sources = Mapping[str, tuple[int, str | None] | None]
CANCELLED: tuple[tuple[ToolKey, Sources], ...] = (
    (FIND, {"email": None}), (CANCEL, {"order_id": (0, "orders[].id")}),
)  # fmt: skip


class Agent(LearningAgent):
    """Learns of runs, as a bridge has its agents do."""

    def learn(
        self,
        request: str = "",
        calls: tuple[tuple[ToolKey, Sources], ...] = CANCELLED,
        shapes: tuple[tuple[ToolKey, str], ...] = (),
        toolbelt: str = "default",
    ) -> None:
        made = [LearnedCall(self.recorder.subject(key), sources) for key, sources in calls]
        seen = [(self.recorder.subject(key), text) for key, text in shapes]
        self.recorder.learn(lambda x, time: learn_run(x, toolbelt, request, made, seen, time))

    def kept(self, toolbelt: str | None = None) -> Learnings:
        chosen = LearnedFilter(toolbelt)
        return self.recorder.ask(lambda x: learnings_in(x, chosen)).result(SECONDS)

    def words(self, toolbelt: str = "default") -> list[tuple[str, int]]:
        return sorted((x.words, x.times) for x in self.kept(toolbelt).runs)

    def forget(self, **which: str) -> Learnings:
        chosen = LearnedFilter(**which)
        return self.recorder.forget(lambda x: forget_runs(x, chosen)).result(SECONDS)


# What is kept


def test_a_run_is_kept_with_its_tools_and_sources_and_counted(agent: Agent) -> None:
    for request in ("Cancel my order", "cancel  my order", "Send it back"):
        agent.learn(request, shapes=((FIND, '{"object":{"id":"string"}}'),))
    kept = agent.kept()
    assert agent.words() == [("Cancel my order", 2), ("Send it back", 1)]
    assert [(x.tool.key, x.sources) for x in kept.runs[0].calls] == list(CANCELLED)
    (shape,) = kept.shapes
    assert (shape.tool.key, shape.shape, shape.times) == (FIND, {"object": {"id": "string"}}, 3)
    assert agent.log() == []


def test_without_words_runs_with_the_same_calls_are_one(agent: Agent) -> None:
    for _ in range(5):
        agent.learn()
    assert agent.words() == [("", 5)]


def test_secrets_and_what_tells_who_somebody_is_are_kept_nowhere(lasting: Agent) -> None:
    lasting.learn("Cancel what ada@example.org ordered, my password is horse")
    lasting.learn("Log in with zebra-crossing")
    lasting.learn("x", ((ToolKey("mcp", "a", "b"), {"p": (0, "by.zebra-crossing.id")}),))
    lasting.learn("y", shapes=((FIND, '{"object":{"zebra-crossing":"string"}}'),))
    assert [x for x, _ in lasting.words()] == [
        "Cancel what *** ordered, my password ***", "Log in with ***", "y",
    ]  # fmt: skip
    assert lasting.kept().shapes == ()
    for data in written_in(lasting.recorder.place):
        assert not any(x in data for x in (b"zebra", b"horse", b"ada@"))


def test_secrets_hide_in_no_name_however_it_is_written(lasting_place: Place) -> None:
    secret = 'pässw"ord\\/1'
    agent = Agent(lasting_place, secret)
    for name in (secret, f"by.{secret}.id"):
        agent.learn("a", ((FIND, {name: None}),))
        agent.learn("b", ((FIND, {"p": None}), (FIND, {"p": (0, name)})))
        agent.learn("c", shapes=((FIND, json.dumps({"object": {name: "string"}})),))
    assert {x.words for x in agent.kept().runs} == {"c"}
    assert agent.kept().shapes == ()
    agent.recorder.close(SECONDS)


def test_names_of_strangers_are_kept_as_they_are(agent: Agent) -> None:
    names = ("a\0b", "\ud800", "'; DROP TABLE xai_mcp_events; --", "x" * 5_000, "\u202eevil")
    for name in names:
        key = ToolKey("mcp", name[:100], name[:1000])
        agent.learn("use it", ((key, {name[:100]: None}),), ((key, _TEXT),), toolbelt=name)
    kept = agent.kept()
    assert {(x.toolbelt, x.calls[0].tool.key.source) for x in kept.runs} == {
        (x, x[:100]) for x in names
    }
    assert len(agent.forget(source=names[2]).runs) == 1
    assert len(agent.kept().runs) == len(agent.kept().shapes) == len(names) - 1


def test_what_is_too_large_is_not_kept(agent: Agent) -> None:
    agent.learn("x", tuple((FIND, {f"p{y}": None for y in range(50)}) for _ in range(60)))
    agent.learn("y", shapes=((FIND, json.dumps("x" * 10_000)),))
    assert agent.words() == [("y", 1)]
    assert agent.kept().shapes == ()


def test_thousands_of_runs_and_shapes_stay_within_bounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RUNS, "most_of_toolbelt", 100)
    monkeypatch.setattr(SHAPES, "most_of_toolbelt", 50)
    agent = Agent(place_of(MEMORY, tmp_path))
    for number in range(3_000):
        key = ToolKey("mcp", "shop", f"tool{number % 20}")
        shape = json.dumps({"object": {f"f{number}": "string"}})
        letters = f"{chr(97 + number % 26)}{chr(97 + number // 26 % 26)}{chr(97 + number // 676)}"
        toolbelt = f"belt{number // 1_000}"
        agent.learn(f"do {letters}", ((key, {}),), ((key, shape),), toolbelt)
    assert agent.recorder.settled().result(4 * SECONDS) is None
    kept = agent.kept()
    assert len(kept.runs) <= 300
    assert 90 <= len(agent.kept("belt2").runs) <= 100
    assert 60 < len(kept.shapes) <= 150
    agent.recorder.close(SECONDS)


def test_of_one_tool_the_newest_shapes_are_kept(agent: Agent) -> None:
    for number in range(20):
        agent.learn(shapes=((FIND, json.dumps({"object": {f"f{number}": "string"}})),))
    kept = {str(x.shape) for x in agent.kept().shapes}
    assert kept == {str({"object": {f"f{n}": "string"}}) for n in range(12, 20)}


def test_what_was_not_seen_for_half_a_year_is_let_go(place: Place) -> None:
    store, now = open_history(place), datetime.now(UTC)
    tool = HistoryRecorder(place, str).subject(FIND)
    with store.writing() as connection:
        for days in (1, 100, 181):
            then, words = now - timedelta(days=days), f"days: {days}"
            body = [["mcp", "shop", "find_order", {}]]
            RUNS.add(connection, store.project_id, "default", tool, then, words=words, body=body)
            SHAPES.add(connection, store.project_id, f"{days}", tool, then, body="string")
        for rows in (RUNS, SHAPES):
            rows.prune(connection, store.project_id, ["default"])
    kept = learnings_in(store, LearnedFilter())
    assert [x.words for x in kept.runs] == ["days: 1", "days: 100"]
    assert [x.toolbelt for x in kept.shapes] == ["1", "100"]
    store.close()


# Who sees what


def test_toolbelts_do_not_see_what_others_learned(agent: Agent) -> None:
    agent.learn("cancel it", toolbelt="office", shapes=((FIND, _TEXT),))
    agent.learn("never mind", toolbelt="hotel")
    assert agent.words("office") == [("cancel it", 1)]
    assert agent.words("default") == []
    assert agent.kept("hotel").shapes == ()
    assert len(agent.kept().runs) == 2
    assert [x.words for x in agent.forget(toolbelt="hotel").runs] == ["never mind"]
    assert agent.words("office") == [("cancel it", 1)]


def test_projects_in_one_database_do_not_see_what_others_learned(
    postgresql: Server, tmp_path: Path
) -> None:
    database = postgresql.new_database()
    mine, theirs = (Agent(place_of(database, tmp_path / x)) for x in ("mine", "theirs"))
    mine.learn("my order")
    theirs.learn("their order")
    assert (mine.words(), theirs.words()) == ([("my order", 1)], [("their order", 1)])
    assert len(theirs.forget().runs) == 1
    assert (mine.words(), theirs.words()) == ([("my order", 1)], [])
    for one in (mine, theirs):
        one.recorder.close(SECONDS)


# Forgetting


def test_runs_with_a_tool_or_a_server_or_all_are_forgotten_and_the_log_says_so(
    agent: Agent,
) -> None:
    agent.learn("cancel", shapes=((FIND, _TEXT),))
    agent.learn("find", ((FIND, {}),))
    agent.learn("sing", ((SING, {}),), ((SING, _TEXT),))
    assert [x.words for x in agent.forget(source="shop", tool="cancel").runs] == ["cancel"]
    assert [x.words for x in agent.forget(source="shop").runs] == ["find"]
    assert {x.tool.key for x in agent.kept().shapes} == {SING}
    assert [len(x) for x in (agent.forget().shapes, agent.forget().runs)] == [1, 0]
    told = sorted((str(x["tool"]), x["runs"]) for x in agent.log())
    assert told == [("cancel", 1), ("find_order", 1), ("find_order", 1), ("sing", 1)]
    events = agent.recorder.ask(lambda x: x.events()).result(SECONDS)
    assert "what it was used for is forgotten" in events_text(events, 100)


def test_who_forgets_what_tools_were_used_for_forgets_the_words_of_runs_too(agent: Agent) -> None:
    tool, shop = agent.recorder.subject(CANCEL), LearnedFilter(source="shop")
    said = ["Cancel my order"]
    agent.recorder.learn(lambda x, time: learn_intents(x, tool, "default", said, time))
    agent.learn("Cancel my order")
    agent.learn("Sing", ((SING, {}),))
    agent.recorder.forget(lambda x: forget_requests(x, shop)).result(SECONDS)
    assert len(agent.recorder.forget(lambda x: forget_intents(x, shop)).result(SECONDS)) == 1
    assert agent.words() == [("", 1), ("Sing", 1)]


def test_what_is_forgotten_stands_nowhere_in_the_file_or_beside_it(tmp_path: Path) -> None:
    agent = Agent(place_of("", tmp_path))
    for number in range(300):
        words = f"unmistakable words {chr(97 + number % 26)} {'padding ' * (number % 30)}"
        key = ToolKey("mcp", "shop", f"tool{number % 7}")
        shape = json.dumps({"object": {f"distinctive_{number}": "string"}})
        agent.learn(words, ((key, {"odd_parameter": None}),), ((key, shape),))
    agent.recorder.settled().result(SECONDS)
    marks = (b"unmistakable", b"distinctive", b"odd_parameter")
    assert all(any(x in y for y in written_in(agent.recorder.place)) for x in marks)
    agent.forget()
    assert not any(x in y for x in marks for y in written_in(agent.recorder.place))
    agent.recorder.close(SECONDS)
    assert not any(x in y for x in marks for y in written_in(agent.recorder.place))


def test_what_waited_to_be_written_when_it_was_forgotten_does_not_come_back(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    early = datetime.now(UTC)
    agent.learn("cancel it")
    agent.learn("cancel it", toolbelt="office")
    agent.forget(toolbelt="default")
    monkeypatch.setattr("xai_mcp_agent.history.recording.recorder._now", lambda: early)
    agent.learn("a run I had forgotten")
    agent.learn("another one", toolbelt="office")
    monkeypatch.undo()
    agent.learn("sing", ((SING, {}),))
    assert agent.words() == [("sing", 1)]
    assert agent.words("office") == [("another one", 1), ("cancel it", 1)]


# Several processes, and a file that is damaged


def test_two_processes_at_once_count_every_run(lasting_place: Place) -> None:
    store = str(lasting_place.file or lasting_place.url.replace("+psycopg", ""))
    code = f"""
from pathlib import Path
from tests.planning.test_stores_learned import Agent, FIND
from tests.support.databases import place_of
agent = Agent(place_of({store!r}, Path({str(lasting_place.folder)!r})))
for number in range(200):
    agent.learn("together " + chr(97 + number % 10), shapes=((FIND, '"string"'),))
agent.recorder.settled().result(30)
agent.recorder.close(30)
"""
    made = [subprocess.Popen([warm_python(), "-c", code]) for _ in range(2)]
    assert [x.wait(2 * SECONDS) for x in made] == [0, 0]
    agent = Agent(lasting_place)
    assert agent.words() == [(f"together {chr(97 + n)}", 40) for n in range(10)]
    assert [x.times for x in agent.kept().shapes] == [400]
    agent.recorder.close(SECONDS)
