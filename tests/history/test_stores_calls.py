"""Calls of a killed process: all finished ones are stored, and the one under way."""

from __future__ import annotations

import errno
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.databases import place_of
from tests.support.histories import call_numbers, recorded_events, recorder_in, start_writer
from tests.support.processes import is_running, wait_until
from xai_mcp_agent import ToolKey
from xai_mcp_agent.history.place import Place
from xai_mcp_agent.history.recording.call_journal import (
    AbandonedJournal,
    CallJournal,
    CallReport,
    abandoned_journals,
)
from xai_mcp_agent.history.recording.recorder import HistoryRecorder
from xai_mcp_agent.views.history import event_json, events_text

NOTES_SAVE = ("mcp", "notes", "save")
SAVE, LOOK = (ToolKey("mcp", "notes", name) for name in ("save", "look"))
_SECONDS = 60.0
_CALLS = 20


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder of journals for databases on servers."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def kill_after(place: Place, count: int) -> None:
    """Kill a process after this many calls have returned."""
    process, pid = start_writer(place, "notes", 0, count, 0)
    with process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(count + 1)]
        process.kill()
    # A warm Python is another process, which ends a moment later.
    wait_until(lambda: not is_running(pid), "the process that makes calls has ended", _SECONDS)
    assert lines[-1] == b"waits\n"


def test_each_finished_call_of_a_killed_process_is_stored_once(
    lasting_place: Place, monkeypatch: pytest.MonkeyPatch
):
    """It is unknown whether the call under way was carried out.

    This also holds if the next process is killed before it removes the journal.
    """
    kill_after(lasting_place, _CALLS)
    with monkeypatch.context() as killed:
        killed.setattr(AbandonedJournal, "remove", AbandonedJournal.release)
        with recorder_in(lasting_place) as recorder:
            assert call_numbers(recorded_events(recorder), "begun") == [_CALLS]
    with recorder_in(lasting_place) as recorder:
        all_events = recorded_events(recorder)
        assert sorted(call_numbers(all_events, "called")) == list(range(_CALLS))
        assert call_numbers(all_events, "begun") == [_CALLS]
        unfinished = next(x for x in all_events if x.change == "begun")
        assert {unfinished.run} == {x.run for x in all_events if x.change == "called"}
        assert event_json(unfinished)["payload"]["status"] == "unknown"
        text = events_text([unfinished])
        assert "notes.save: called: " in text
        assert "it is unknown whether it was carried out" in text
        tools = recorder.ask(lambda store: store.records()).result(_SECONDS).tools
        usage = {x.name: (x.usage.calls, x.usage.unknown) for x in tools.values()}
        assert usage == {SAVE.name: (_CALLS // 2, 1), LOOK.name: (_CALLS // 2, 0)}
    assert not abandoned_journals(lasting_place)


def test_a_running_call_of_another_process_is_not_reported(lasting_place: Place):
    with recorder_in(lasting_place) as one:
        number = one.note_call(SAVE, {"number": 1})
        with recorder_in(lasting_place) as other:
            assert call_numbers(recorded_events(other), "begun") == []
        one.record_call(SAVE, 0.1, "", {"number": 1}, number=number)
    with recorder_in(lasting_place) as recorder:
        assert [x.change for x in recorded_events(recorder)] == ["called"]


def test_a_withdrawn_call_is_not_reported(tmp_path: Path):
    place = place_of("", tmp_path)
    journal = CallJournal(place, "run")
    call = CallReport(NOTES_SAVE, time.time())
    first, second = (journal.note(call) for _ in range(2))
    call = call._replace(seconds=0.1)
    journal.note(call, first)
    journal.withdraw(second)
    journal.close()  # before the store has the first one
    (abandoned,) = abandoned_journals(place)
    assert abandoned.calls == [replace(call.event(), run="run")]
    abandoned.release()
    with recorder_in(place) as again:
        assert [x.change for x in recorded_events(again)] == ["called"]


def test_the_journal_stays_small_and_private(tmp_path: Path):
    """It is emptied when the store has all calls; a history in memory has no journal."""
    place = place_of("", tmp_path)
    with recorder_in(place) as recorder:
        for number in range(500):
            recorder.record_call(LOOK, 0.1, "", {"number": number})
        recorder.flush().result(_SECONDS)
        (file,) = (tmp_path / ".xircuits").glob("*.calls-*")
        assert file.stat().st_size < 100
        assert file.stat().st_mode & 0o777 == 0o600
        recorder.note_call(SAVE, {"number": -1})
        assert b'"number":-1' in file.read_bytes()
    journals = abandoned_journals(place)
    assert [x.payload["arguments"] for one in journals for x in one.calls] == [{"number": -1}]
    with recorder_in(place_of("memory", tmp_path / "none")) as recorder:
        recorder.record_call(SAVE, 0.1, "", number=recorder.note_call(SAVE))
    assert not (tmp_path / "none").exists()


def test_an_unreadable_line_of_a_journal_is_skipped(tmp_path: Path):
    place = place_of("", tmp_path)
    with closing(CallJournal(place, "run")) as journal:
        journal.note(CallReport(NOTES_SAVE, time.time(), seconds=0.1))
        (file,) = (tmp_path / ".xircuits").glob("*.calls-*")
        with file.open("ab") as opened:
            opened.write(b'[8,[["mcp",5,null],1.0]]\n[9,[["mcp","notes"')
    (abandoned,) = abandoned_journals(place)
    assert [x.subject.tool for x in abandoned.calls] == ["save"]
    abandoned.remove()


def test_no_call_is_lost_while_the_disk_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The journal cannot grow then; emptying it must not fail in the writer's thread."""
    warnings = list[str]()

    def is_full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    recorder = HistoryRecorder(place_of("", tmp_path), str, {"arguments"}, warn=warnings.append)
    under_way = recorder.note_call(SAVE, {"number": 1})
    for number in range(2, 20):
        recorder.record_call(LOOK, 0.1, "", {"number": number})
    with monkeypatch.context() as full:
        full.setattr(CallJournal, "_append", is_full)
        recorder.record_call(LOOK, 0.1, "", {"number": 20})
    recorder.flush().result(_SECONDS)
    assert not recorder.trouble
    recorder.record_call(SAVE, 0.1, "", {"number": 1}, number=under_way)
    assert sorted(call_numbers(recorded_events(recorder), "called")) == list(range(1, 21))
    recorder.close(_SECONDS)
    assert not list((tmp_path / ".xircuits").glob("*.calls-*"))
    assert len(warnings) == 1
    assert "cannot be noted" in warnings[0]
