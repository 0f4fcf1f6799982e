"""Whatever happens, the records are what the last inventory said, now, then, and made anew."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.histories import rebuild
from tests.support.recorded import IN_MEMORY, NOON
from xai_mcp_agent import Prompt, Records, Subject, Tool, ToolKey
from xai_mcp_agent.core.tools import MCP, definition_text, digest_of
from xai_mcp_agent.history.history import When, open_history
from xai_mcp_agent.history.recording.report_writer import ReportWriter
from xai_mcp_agent.history.recording.reports import Failed, Listed, Lost, Report, call_event

RUNS = 3
Offered = dict[str, str]
"""Descriptions by the names of tools."""

# Which of several runs says of which source that it listed these tools, or something else. Names
# make two ids look alike: `mcp_tool:a_b_c` is `b_c` of `a`, and `c` of `a_b`.
_steps = st.tuples(
    st.integers(0, RUNS - 1),
    st.sampled_from(["a", "a_b"]),
    st.sampled_from(["connects"] * 2 + ["lists", "is forced", "is lost", "fails", "is called"]),
    st.dictionaries(
        st.sampled_from(["c", "b_c", "d"]), st.sampled_from(["old", "new"]), max_size=3
    ),
)


def tool(source: str, name: str, description: str) -> Tool:
    return Tool(ToolKey("mcp", source, name), description, {"type": "object"})


@dataclass
class Model:
    """What the records should come to, in the simplest way."""

    tools: dict[str, Offered] = field(default_factory=dict[str, Offered])
    connected: dict[str, set[int]] = field(default_factory=dict[str, set[int]])

    def take_in(self, run: int, source: str, what: str, tools: Offered) -> None:
        """The last inventory counts, until the last run that has the source loses it."""
        runs = self.connected.setdefault(source, set())
        if what in ("connects", "lists", "is forced"):
            runs.add(run)
            self.tools[source] = tools
        elif what == "is lost":
            runs.discard(run)
            if not runs:
                self.tools[source] = {}

    def available(self) -> dict[tuple[str, str], str]:
        """The digest of each definition."""
        return {
            (source, name): digest_of(definition_text(tool(source, name, description)))
            for source, tools in self.tools.items()
            for name, description in tools.items()
        }


def report(source: str, what: str, tools: Offered, time: datetime) -> Report:
    """The same as it is reported."""
    subject = Subject(MCP, source)
    if what == "is lost":
        return Lost(subject, time, "lost")
    if what == "fails":
        return Failed(subject, time, "out of memory")
    if what == "is called":
        return call_event(Subject(MCP, source, "c"), time, 0.25)
    return Listed(
        subject, time, tuple(tool(source, *x) for x in tools.items()), what == "connects", "stdio",
        is_forced=what == "is forced", features=tuple(Prompt(*x) for x in tools.items()),
    )  # fmt: skip


def available(records: Records) -> dict[tuple[str, str], str]:
    """The digest of each definition."""
    tools = records.tools.values()
    return {(x.subject.source, x.name): x.definition for x in tools if x.is_available}


@settings(max_examples=20)
@given(st.lists(st.lists(_steps, min_size=1, max_size=3), max_size=12))
def test_any_sequence_of_inventories_comes_to_the_last_one(batches: list[list[Any]]):
    """Issue: and views of the past agree with what was shown then, and replay with live."""
    store = open_history(IN_MEMORY)
    writers = [ReportWriter(store, str) for _ in range(RUNS)]
    model, time = Model(), NOON
    shown: list[tuple[When, Records]] = []
    for batch in batches:
        for run, *step in batch:
            time += timedelta(seconds=1)
            model.take_in(run, *step)
            writers[run].record([report(*step, time)])
        records = store.records()
        assert available(records) == model.available()
        prompts = {(x.anchor.source, x.tool) for x, y in records.features.items() if y.is_available}
        assert prompts == model.available().keys(), "each has a prompt of its name"
        for source, runs in model.connected.items():
            record = records.sources.get(Subject(MCP, source))
            assert len(record.runs if record else ()) == len(runs)
        last = [x.position for x in store.events()][-1:]
        shown += [(When(position=x), records) for x in last] + [(When(time=time), records)]
    for moment, records in shown:
        assert store.records(moment) == records
    live = store.records()
    rebuild(store)
    assert store.records() == live
    store.close()
