"""Who made a call stands in its event, and takes little room, on each kind of store."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.support.databases import place_of
from tests.support.recorded import NOON
from xai_mcp_agent import Event, Subject
from xai_mcp_agent.core.calls import Caller
from xai_mcp_agent.core.tools import MCP
from xai_mcp_agent.history.history import open_history
from xai_mcp_agent.history.recording.report_writer import ReportWriter
from xai_mcp_agent.history.recording.reports import (
    Use,
    call_event,
    kept_use,
    refusal_event,
    used_by,
)

LOG = Subject(MCP, "git", "log")
HELPER = Caller("agent", "helper", "default", "b1946ac92492", workflow="my_agent", node="AgentRun")
ODD = "\x1b[31m\u202eö\ud800\0'\"%_\n" * 30


def events(writer: ReportWriter) -> list[Event]:
    return writer.history.events()


def by(caller: Caller = HELPER, call_id: str = "call_1") -> Use:
    return kept_use(used_by(caller, call_id), str)


def test_an_event_tells_agent_workflow_node_toolbelt_run_and_call(writer: ReportWriter) -> None:
    writer.record([call_event(LOG, NOON, 0.5, "There is no shelf 9.", by=by())])
    writer.record([refusal_event(LOG, NOON, "It was not approved.", by=by())])
    called, refused = events(writer)
    who = {
        "caller": "agent", "agent": "helper", "workflow": "my_agent", "node": "AgentRun",
        "toolbelt": "default", "run_id": "b1946ac92492", "call_id": "call_1",
    }  # fmt: skip
    assert called.payload == {
        "status": "error", "seconds": 0.5, "error": "There is no shelf 9.", **who,
    }  # fmt: skip
    assert refused.payload == {"status": "refused", **who}


def test_of_a_program_nothing_more_is_known(writer: ReportWriter) -> None:
    writer.record(
        [call_event(LOG, NOON, 0.5, by=by(Caller("program"), "")), call_event(LOG, NOON, 0.5)]
    )
    known, unknown = events(writer)
    assert known.payload == {"status": "ok", "seconds": 0.5, "caller": "program"}
    assert unknown.payload == {"status": "ok", "seconds": 0.5}


def test_odd_and_long_names_are_kept_as_they_look_and_cut(writer: ReportWriter) -> None:
    odd = Caller("agent", ODD, ODD, ODD, workflow=ODD, node=ODD)
    writer.record([call_event(LOG, NOON, 0.5, by=by(odd, ODD))])
    (event,) = events(writer)
    assert event.payload["agent"].startswith("ö\ufffd\ufffd'\"%_")
    assert all(len(str(x)) <= 100 for x in event.payload.values())


def test_secrets_in_names_are_hidden() -> None:
    hidden = kept_use(used_by(HELPER), lambda text: text.replace("helper", "***"))
    assert dict(hidden)["agent"] == "***"


def test_a_call_takes_less_than_four_hundred_bytes(tmp_path: Path) -> None:
    """With ids as long as services give them, and a run for every third call."""
    place, chance = place_of("", tmp_path), random.Random(7)
    assert place.file is not None
    writer = ReportWriter(open_history(place), str)
    sizes = [0, 0]
    for part in range(2):
        for first in range(0, 6000, 500):
            runs = [chance.randbytes(6).hex() for _ in range(500)]
            writer.record([
                call_event(LOG, NOON, 0.5, by=by(
                    Caller("agent", "helper", "default", runs[x // 3], workflow="my_agent"),
                    f"call_{chance.randbytes(12).hex()}",
                ))
                for x in range(first % 1, 500)
            ])  # fmt: skip
        with closing(sqlite3.connect(place.file)) as file:
            pages, free, size = (
                file.execute(f"PRAGMA {x}").fetchone()[0]
                for x in ("page_count", "freelist_count", "page_size")
            )
        sizes[part] = (pages - free) * size
    writer.close()
    assert (sizes[1] - sizes[0]) / 6000 < 300
