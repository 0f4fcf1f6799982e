"""Whatever happens, the records are what the last inventory said, now, then, and made anew."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.histories import rebuild
from xai_mcp_agent import Prompt, Records, Subject, Tool, ToolKey, settings_from
from xai_mcp_agent.core.tools import MCP, definition_text, digest_of
from xai_mcp_agent.history import log
from xai_mcp_agent.history.history import History, When, open_history
from xai_mcp_agent.history.place import Place, find_place
from xai_mcp_agent.history.recording.report_writer import ReportWriter
from xai_mcp_agent.history.recording.reports import Failed, Listed, Lost, Report, call_event

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
RUNS = 3

Offered = dict[str, str]
"""Descriptions by the names of tools."""

# Names that make two ids look alike: `mcp_tool:a_b_c` is `b_c` of `a`, and `c` of `a_b`.
sources = st.sampled_from(["a", "a_b"])
offered = st.dictionaries(
    st.sampled_from(["c", "b_c", "d"]), st.sampled_from(["old", "new"]), max_size=3
)


@dataclass(frozen=True)
class Step:
    """What one run says of one source: that it listed its tools, or `what` else."""

    run: int
    source: str
    what: str
    tools: Offered = field(default_factory=dict[str, str])


steps = st.builds(
    Step,
    st.integers(0, RUNS - 1),
    sources,
    st.sampled_from(
        ["connects", "connects", "lists", "is forced", "is lost", "fails", "is called"]
    ),
    offered,
)


@dataclass
class Truth:
    """What the records should come to, told in the simplest way."""

    tools: dict[str, Offered] = field(default_factory=dict[str, Offered])
    connected: dict[str, set[int]] = field(default_factory=dict[str, set[int]])

    def take_in(self, step: Step) -> None:
        """The last inventory counts, until the last run that has the source loses it."""
        having = self.connected.setdefault(step.source, set())
        if step.what in ("connects", "lists", "is forced"):
            having.add(step.run)
            self.tools[step.source] = step.tools
        elif step.what == "is lost":
            having.discard(step.run)
            if not having:
                self.tools[step.source] = {}

    def available(self) -> dict[tuple[str, str], str]:
        """The digest of each definition."""
        return {
            (source, name): digest_of(definition_text(tool_of(source, name, description)))
            for source, tools in self.tools.items()
            for name, description in tools.items()
        }


def tool_of(source: str, name: str, description: str) -> Tool:
    """A tool as its source lists it."""
    return Tool(ToolKey("mcp", source, name), description, {"type": "object"})


def tools_of(source: str, tools: Offered) -> tuple[Tool, ...]:
    """An inventory."""
    return tuple(tool_of(source, *x) for x in tools.items())


def report_of(step: Step, time: datetime) -> Report:
    """The same as it is reported."""
    subject, tools = Subject(MCP, step.source), tools_of(step.source, step.tools)
    match step.what:
        case "is lost":
            return Lost(subject, time, f"lost by {step.run}")
        case "fails":
            return Failed(subject, time, "out of memory")
        case "is called":
            return call_event(Subject(MCP, step.source, "c"), time, 0.25)
        case what:
            is_new, is_forced = what == "connects", what == "is forced"
            prompts = tuple(Prompt(*x) for x in step.tools.items())
            return Listed(
                subject, time, tools, is_new, "stdio", is_forced=is_forced, features=prompts
            )


def available(records: Records) -> dict[tuple[str, str], str]:
    """The digest of each definition."""
    return {
        (x.subject.source, x.name): x.definition for x in records.tools.values() if x.is_available
    }


def newest(store: History) -> int:
    """The position of the newest event."""
    with store.reading() as connection:
        return log.last_position(connection, store.project_id)


@contextmanager
def new_store() -> Generator[History]:
    """An empty one."""
    store = open_history(in_memory())
    yield store
    store.close()


def in_memory() -> Place:
    """Where nothing stays."""
    return find_place(settings_from({}), "memory", {})


@settings(max_examples=20)
@given(st.lists(st.lists(steps, min_size=1, max_size=3), max_size=12))
def test_any_sequence_of_inventories_comes_to_the_last_one(batches: list[list[Step]]):
    """Issue: and views of the past agree with what was shown then, and replay with live."""
    with new_store() as store:
        recorders = [ReportWriter(store, lambda text: text) for _ in range(RUNS)]
        truth, time = Truth(), BEGIN
        shown: list[tuple[int, datetime, Records]] = []
        for batch in batches:
            for step in batch:
                time += timedelta(seconds=1)
                truth.take_in(step)
                recorders[step.run].record([report_of(step, time)])
            records = store.records()
            assert available(records) == truth.available()
            prompts = {(x.anchor.source, x.tool) for x, y in records.features.items()
                       if y.is_available}  # fmt: skip
            assert prompts == truth.available().keys(), "each has a prompt of its name"
            for source, having in truth.connected.items():
                known = records.sources.get(Subject(MCP, source))
                assert len(known.runs if known else ()) == len(having)
            shown.append((newest(store), time, records))
        for position, time, records in shown:
            assert store.records(When(position=position)) == records
            assert store.records(When(time=time)) == records
        live = store.records()
        rebuild(store)
        assert store.records() == live
