"""What was decided about tools is found again in every kind of store."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from xai_mcp_agent import Icon, Operation, Subject, Tool, ToolAnnotations, ToolKey, ToolRecord
from xai_mcp_agent.catalog.feed import records_of
from xai_mcp_agent.catalog.records import ToolRecords
from xai_mcp_agent.core.fingerprint import definition_of, definition_text, digest_of, tool_of
from xai_mcp_agent.core.kinds import MCP, STATIC
from xai_mcp_agent.history.place import Place
from xai_mcp_agent.history.recording.report_writer import ReportWriter
from xai_mcp_agent.history.recording.reports import Decided, Listed, RecordUpdate, by_source
from xai_mcp_agent.history.store import open_store

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
ODD = 'o"dd\\ "is_disabled":true \u20ac_%'


def tool(source: str, name: str, description: str = "") -> Tool:
    """A tool without parameters."""
    return Tool(ToolKey("mcp", source, name), description, {"type": "object"})


def lists(recorder: ReportWriter, source: str, *tools: Tool) -> None:
    """A source lists these tools."""
    recorder.record([Listed(Subject(MCP, source), NOON, tools)])


def decide(
    recorder: ReportWriter, key: ToolKey, what: Any, definition: str = "", **more: Any
) -> None:
    """Something is decided about a tool."""
    recorder.record([Decided(subject_of(key), NOON, what, definition, **more)])


def subject_of(key: ToolKey) -> Subject:
    """What a report about this tool is about."""
    return Subject(MCP if key.source else STATIC, key.source, key.name)


@pytest.fixture
def recorder(place: Place) -> Iterator[ReportWriter]:
    """A recorder on a new store."""
    recorder = ReportWriter(open_store(place), str)
    yield recorder
    recorder.close()


def known(recorder: ReportWriter, *sources: str, whole: bool = False) -> ToolRecords:
    """What is known of the tools of these sources, as a process reads it that begins."""
    records = ToolRecords()
    records.take(records_of(recorder.store, sources, whole=whole))
    return records


def disabled(records: ToolRecords, *sources: str) -> set[ToolKey]:
    """The tools that are switched off."""
    return {x.subject.key for name in sources for x in records.of(name) if not x.is_enabled}


def accepted(records: ToolRecords, key: ToolKey) -> tuple[str, Any]:
    """What was accepted of a tool: the digest, and the definition."""
    record = records.decided(key)
    return (record.accepted, records.definitions.get(record.accepted)) if record else ("", None)


def test_only_what_was_decided_about_the_sources_that_are_asked_for_is_told(recorder: ReportWriter):
    lists(recorder, "a", tool("a", "one"), tool("a", ODD, ODD))
    decide(recorder, ToolKey("mcp", "a", "one"), "disabled")
    decide(recorder, ToolKey("mcp", "b", ODD), "disabled")
    decide(recorder, ToolKey("tools", "", "drawn"), "disabled")
    only = known(recorder, "a")
    assert [x.subject.key for x in only.of("a")] == [ToolKey("mcp", "a", "one")]
    assert (disabled(only, "a"), list(only.of("b"))) == ({ToolKey("mcp", "a", "one")}, [])
    both = {ToolKey("mcp", "b", ODD), ToolKey("tools", "", "drawn")}
    assert disabled(known(recorder, "", "b"), "", "b") == both
    decide(recorder, ToolKey("mcp", "b", ODD), "enabled")
    assert disabled(known(recorder, "b", "c"), "b", "c") == set()


def test_the_whole_of_what_is_known_of_a_source_can_be_read(recorder: ReportWriter):
    lists(recorder, "a", tool("a", "one"), tool("a", ODD, ODD))
    lists(recorder, "b", tool("b", "one"))
    assert list(known(recorder, "a").of("a")) == []
    whole = known(recorder, "a", whole=True)
    assert {x.name for x in whole.of("a")} == {"one", ODD}
    assert list(whole.of("b")) == []


def test_a_decision_outlives_loss_change_and_return(recorder: ReportWriter):
    key = ToolKey("mcp", "a", "one")
    lists(recorder, "a", tool(*"ax"), tool("a", "one", "Before."))
    decide(recorder, key, "disabled")
    lists(recorder, "a", tool(*"ax"))
    lists(recorder, "a", tool("a", "one", "After."))
    assert disabled(known(recorder, "a"), "a") == {key}


def test_a_first_use_accepts_only_what_nobody_accepted_before(recorder: ReportWriter):
    """Two processes may use a tool first at the same moment; a person may accept at any time."""
    key, before, after = (
        ToolKey("mcp", "a", "one"),
        tool("a", "one", "Before."),
        tool("a", "one", "After"),
    )
    old, new = digest_of(definition_text(before)), digest_of(definition_text(after))
    lists(recorder, "a", before)
    decide(recorder, key, "accepted", old, teller="executor")
    lists(recorder, "a", after)
    decide(recorder, key, "accepted", new, teller="executor")
    assert accepted(known(recorder, "a"), key) == (old, definition_of(before))
    (kept,) = known(recorder, "a", whole=True).of("a")
    assert (kept.subject, kept.definition) == (Subject(MCP, "a", "one"), new)
    decide(recorder, key, "accepted", new)
    assert accepted(known(recorder, "a"), key) == (new, definition_of(after))


def test_what_could_not_be_written_down_yet_stays(recorder: ReportWriter):
    """Until it is: then what the history says of it counts again."""
    a, b, c = (ToolKey("mcp", x, "t") for x in "abc")
    mine = ToolRecords()
    for key in (a, b):
        for what, digest in (("disabled", ""), ("accepted", f"of {key.source}")):
            mine.decide(Decided(subject_of(key), NOON, what, digest))
    decide(recorder, a, "enabled")
    decide(recorder, a, "accepted", "of another")
    mine.take(records_of(recorder.store, ["a", "c"]))
    assert disabled(mine, "a", "b", "c") == {a, b}
    assert [accepted(mine, x)[0] for x in (a, b, c)] == ["of a", "of b", ""]


def test_what_is_written_down_of_this_process_makes_room_for_what_others_decide(
    recorder: ReportWriter,
):
    key, mine = ToolKey("mcp", "a", "t"), ToolRecords()
    report = Decided(subject_of(key), NOON, "disabled")
    assert mine.decide(report)
    recorder.record([report])
    assert mine.take(replace(records_of(recorder.store, ["a"]), settled=(report,))) == set()
    assert disabled(mine, "a") == {key}
    decide(recorder, key, "enabled")
    assert mine.take(records_of(recorder.store, ["a"])) == {"a"}
    assert disabled(mine, "a") == set()


def test_a_first_use_here_gives_way_to_what_another_process_accepted(recorder: ReportWriter):
    key, mine = ToolKey("mcp", "a", "t"), ToolRecords()
    mine.decide(Decided(subject_of(key), NOON, "accepted", "mine", teller="executor"))
    assert accepted(mine, key)[0] == "mine"
    decide(recorder, key, "accepted", "theirs")
    assert mine.take(records_of(recorder.store, ["a"])) == {"a"}
    assert accepted(mine, key)[0] == "theirs"


def test_what_was_accepted_is_not_forgotten_where_a_history_is_lost(recorder: ReportWriter):
    """Else a file that is deleted would let every change of a pinned tool in."""
    key, mine = ToolKey("mcp", "a", "t"), ToolRecords()
    lost = ToolRecord(subject_of(key), NOON, NOON, NOON, "new", is_enabled=False, accepted="old")
    mine.take(RecordUpdate(by_source([lost])))
    lists(recorder, "a", tool("a", "t"), tool("a", "u"))
    for whole in (False, True):
        mine.take(records_of(recorder.store, ["a"], whole=whole))
        assert accepted(mine, key)[0] == "old"
        assert disabled(mine, "a") == set()


def test_a_tool_can_be_made_of_its_definition():
    full = Tool(
        ToolKey("mcp", "a", "one"), "Does it.", {"type": "object"}, {"type": "object"}, "One",
        ToolAnnotations(read_only=True, destructive=False), icons=(Icon("x:y", "z", ("1x1",)),),
        tags=("a", "b"), operation=Operation("GET", "/one/{id}"),
    )  # fmt: skip
    for one in (full, tool("a", "one")):
        assert tool_of(one.key, definition_of(one)) == one
