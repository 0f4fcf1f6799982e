"""Events from reports of any sources, with masked texts; renames, versions and changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.histories import rebuild, recorded_events
from tests.support.recorded import IN_MEMORY, NOON, History, a_tool, tool_of
from tests.support.watchdog import ends_within
from xai_mcp_agent import (
    Prompt,
    PromptArgument,
    Records,
    Resource,
    Subject,
    Tool,
    ToolChanged,
    ToolKey,
)
from xai_mcp_agent.core.events import (
    Inventory,
    InventoryChanged,
    SourceConnected,
    SourceLost,
    SourceUnreachable,
)
from xai_mcp_agent.core.tools import MCP, SourceKind, definition_text, digest_of
from xai_mcp_agent.history.history import open_history
from xai_mcp_agent.history.recording.call_journal import call_event
from xai_mcp_agent.history.recording.recorder import HistoryRecorder
from xai_mcp_agent.history.recording.report_writer import ReportWriter
from xai_mcp_agent.history.recording.reports import Listed, Lost, Report, failure_event
from xai_mcp_agent.history.tool_changes import likely_renames
from xai_mcp_agent.views.history import event_json
from xai_mcp_agent.views.tools import records_json, records_text

AGENT = SourceKind("agent", "agent", event_name="acp")
ANSWER_SECONDS = 20
SECRET = "correct-horse"


@pytest.fixture
def recorder() -> Iterator[HistoryRecorder]:
    """A recorder that masks the secret."""
    recorder = HistoryRecorder(IN_MEMORY, lambda text: text.replace(SECRET, "***"))
    yield recorder
    recorder.close(ANSWER_SECONDS)


def connect(recorder: HistoryRecorder, title: str, tool: Tool) -> None:
    """An agent connects and lists this."""
    recorder.notice(SourceConnected("reviewer", "stdio", "1", AGENT, title))
    recorder.notice(InventoryChanged("reviewer", Inventory("reviewer", (tool,))))


def review(description: str = "Reviews code.", **parameters: object) -> Tool:
    schema = {"type": "object", "properties": parameters}
    return Tool(ToolKey("agent", "reviewer", "review"), description, schema)


def test_events_of_a_new_kind_of_source_have_the_same_shape(recorder: HistoryRecorder):
    """Spec 2, ACP Tools: the same pattern with `acp` and `agent`."""
    connect(recorder, "Reviewer 2", review())
    project = recorder.ask(lambda store: store.project).result(ANSWER_SECONDS)
    anchor, tool = recorded_events(recorder)
    assert anchor.context_id == "acp:reviewer"
    assert anchor.payload == {
        "agent_id": "reviewer", "agent_name": "Reviewer 2", "transport": "stdio",
        "tool_count": 1, "status": "connected",
    }  # fmt: skip
    assert tool.context_id == "acp_tool:reviewer_review"
    assert anchor.links.extends == tool.links.related_to == (project.tools_id,)
    assert anchor.links.related_to == (project.knowledge_id,)
    assert tool.links.extends == ("acp:reviewer",)


def test_secrets_in_texts_of_sources_are_masked(recorder: HistoryRecorder):
    """Names, descriptions, schemas, reasons, errors of calls: masked before they are cut."""
    tool = review(f"Say {SECRET}.", x={"default": SECRET, "maximum": 12345678})
    connect(recorder, f"By {SECRET}", tool)
    recorder.record_call(tool.key, 0.5, "x" * 295 + SECRET)
    recorder.record_call(tool.key, 0.5, SECRET * 2000)
    recorder.notice(SourceLost("reviewer", f"It said {SECRET}."))
    recorder.notice(SourceUnreachable("reviewer", f"It said {SECRET}.", AGENT))
    text = str([event_json(x) for x in recorded_events(recorder)])
    assert SECRET[:5] not in text
    assert text.count("***") >= 6


def test_prompts_and_resources_have_a_history_like_tools(history: History):
    """They are separate from tools of the same name. FastMCP's servers send `_meta` with each."""
    read = a_tool("read")
    more: dict[str, Any] = {"_meta": {"fastmcp": {"tags": []}}}
    prompt = Prompt("read", "Review it.", (PromptArgument("file", "Which one.", True),), more=more)
    strict = Prompt("read", "Review it.", (*prompt.arguments, PromptArgument("level")))
    page = Resource("notes://page", "page", "The page.", "text/plain", more=more)
    day = Resource("notes://{day}", "day", is_template=True)
    history.connected("it", read, features=(prompt, page, day))
    history.listed("it", read, features=(strict, page))
    for _ in range(2):
        history.lost("it")
        history.connected("it", read, features=(strict, page, day))
    it, tool, asks = "mcp:it", "mcp_tool:it_read", "mcp_prompt:it_read"
    pages, days = "mcp_resource:it_notes://page", "mcp_template:it_notes://{day}"
    assert [(x.change, x.context_id) for x in history.store.events()] == [
        ("connected", it), *(("discovered", x) for x in (asks, pages, days, tool)),
        ("refreshed", it), ("changed", asks), ("unavailable", days),
        ("disconnected", it), *(("unavailable", x) for x in (tool, asks, pages)),
        ("reconnected", it), *(("confirmed", x) for x in (tool, asks, pages)), ("returned", days),
        ("disconnected", it), *(("unavailable", x) for x in (tool, asks, pages, days)),
        ("reconnected", it), *(("confirmed", x) for x in (tool, asks, pages, days)),
    ]  # fmt: skip
    records = history.store.records()
    assert [x.tool for x in records.tools] == ["read"]
    features = {x.context_id: y.is_available for x, y in records.features.items()}
    assert features == dict.fromkeys((asks, pages, days), True)
    (source,) = records.sources.values()
    assert (source.tool_count, {*source.others.values()}) == (1, {1})
    assert history.store.records(1).features == {}
    kinds = [x["kind"] for x in records_json(records)["features"]]
    assert kinds == ["mcp_resource", "mcp_template", "mcp_prompt"]
    text = records_text(records)
    assert text.startswith("it: connected, 1 tool, 1 resource, 1 template, 1 prompt")
    assert "  read (prompt)" in text.splitlines()


# After any events the records match the last inventory.


RUNS = 3
Offered = dict[str, str]
"""Descriptions by the names of tools."""

# A run, a source, its report, and its tools. Two tools have the id `mcp_tool:a_b_c`: `b_c` of `a`,
# and `c` of `a_b`.
_steps = st.tuples(
    st.integers(0, RUNS - 1),
    st.sampled_from(["a", "a_b"]),
    st.sampled_from(["connects"] * 2 + ["lists", "is forced", "is lost", "fails", "is called"]),
    st.dictionaries(
        st.sampled_from(["c", "b_c", "d"]), st.sampled_from(["old", "new"]), max_size=3
    ),
)


@dataclass
class Model:
    """Simplest model of the expected records."""

    tools: dict[str, Offered] = field(default_factory=dict[str, Offered])
    connected: dict[str, set[int]] = field(default_factory=dict[str, set[int]])

    def take_in(self, run: int, source: str, what: str, tools: Offered) -> None:
        """Apply a step: the last inventory counts until the last run loses the source."""
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
            (source, name): digest_of(definition_text(tool_of(source, name, description)))
            for source, tools in self.tools.items()
            for name, description in tools.items()
        }


def report(source: str, what: str, tools: Offered, time: datetime) -> Report:
    """Return the report of a step."""
    subject = Subject(MCP, source)
    if what == "is lost":
        return Lost(subject, time, "lost")
    if what == "fails":
        return failure_event(subject, time, "out of memory")
    if what == "is called":
        return call_event(Subject(MCP, source, "c"), time, 0.25)
    offered = tuple(tool_of(source, *x) for x in tools.items())
    features = tuple(Prompt(*x) for x in tools.items())
    is_forced = what == "is forced"
    return Listed(subject, time, offered, "stdio", is_forced=is_forced, features=features)


def available(records: Records) -> dict[tuple[str, str], str]:
    """The digest of each definition."""
    tools = records.tools.values()
    return {(x.subject.source, x.name): x.definition for x in tools if x.is_available}


@settings(max_examples=20)
@given(st.lists(st.lists(_steps, min_size=1, max_size=3), max_size=7))
def test_after_any_reports_the_records_match_the_last_inventory(batches: list[list[Any]]):
    """A rebuild gives the same; `test_stores_log` looks at the past."""
    store = open_history(IN_MEMORY)
    writers = [ReportWriter(store, str) for _ in range(RUNS)]
    model, time = Model(), NOON
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
    live = store.records()
    rebuild(store)
    assert store.records() == live
    store.close()


# Renamed tools are recognised by their schemas.


ADD = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
EMPTY = {"type": "object"}
MANY = 10_000
RESTART = "Starts the service again."


def definition(name: str, schema: Any = ADD, description: str = "", **more: Any) -> dict[str, Any]:
    """A definition of a tool."""
    return {"name": name, "description": description, "input_schema": schema, **more}


def renames(removed: Iterable[dict[str, Any]], added: Iterable[dict[str, Any]]) -> dict[str, str]:
    """The likely renames of these tools of one source, by their names."""
    old, new = ({Subject(MCP, "it", x["name"]): x for x in side} for side in (removed, added))
    return {x.tool or "": y.tool or "" for x, y in likely_renames(old, new).items()}


def test_a_renamed_tool_is_reported_under_both_names(history: History):
    """A removed and an added tool with equal schemas are a likely rename."""
    number = {"type": "integer"}
    history.connected("it", a_tool("add", a=number, b=number), a_tool("other"))
    history.listed("it", a_tool("plus", a=number, b=number), a_tool("strange"))
    reasons = {x.subject.tool: x.reason for x in history.store.events()[3:] if x.subject.tool}
    assert reasons == {
        "add": "It is no longer listed; probably renamed to plus.",
        "other": "It is no longer listed.",
        "plus": "Probably renamed from add.",
        "strange": "",
    }


def test_tools_with_the_most_similar_names_are_paired():
    """The titles that the Python SDK makes of a name, such as `addArguments`, do not count."""
    old = definition("add", {**ADD, "title": "addArguments"}, output_schema={"title": "addOutput"})
    new = definition("plus", {**ADD, "title": "plusArguments"}, output_schema={"title": "plusOut"})
    assert renames([old], [new]) == {"add": "plus"}
    pairs = {"read_file": "file_read", "write_file": "file_write", "delete": "remove"}
    assert renames(map(definition, pairs), map(definition, sorted(pairs.values()))) == pairs
    assert len(renames(map(definition, ("read_a", "read_b")), [definition("read_c")])) == 1


def test_tools_without_parameters_need_similar_names_or_descriptions():
    """Their schemas are all equal."""
    removed = [definition("restart", EMPTY, RESTART)]
    assert renames(removed, [definition("list_users", EMPTY, "Who may sign in.")]) == {}
    assert renames(removed, [definition("reboot", EMPTY, RESTART)])
    assert renames(removed, [definition("service_restart", EMPTY)])
    assert renames([definition("listUsers", EMPTY)], [definition("list_users", EMPTY)])


def test_only_tools_of_one_source_and_kind_are_renamed(history: History):
    """A prompt may have the name of a tool, and two servers may have equal tools."""
    old, new = (
        Prompt(name, "Review it.", (PromptArgument("file", "Which one.", True),))
        for name in ("review", "review_code")
    )
    history.connected("it", a_tool("log", a=NUMBER), features=[old])
    history.connected("other")
    before = history.now
    history.listed("it", features=[new])
    history.listed("other", a_tool("logs", a=NUMBER))
    changes = history.store.changes(None, None, before)
    assert [(x.how, x.tool.context_id) for x in changes] == [
        ("removed", "mcp_tool:it_log"), ("added", "mcp_tool:other_logs"),
        ("renamed", "mcp_prompt:it_review_code"),
    ]  # fmt: skip


def test_thousands_of_new_names_are_compared_in_a_moment():
    """A server adds a prefix to all its names; the store waits meanwhile."""
    removed, added = (
        [definition(f"{x}t{i}", EMPTY, f"Tool number {i}.") for i in range(MANY)]
        for x in ("", "my_")
    )
    with ends_within(30):  # comparing all pairs would take an hour
        assert renames(removed, added) == {f"t{i}": f"my_t{i}" for i in range(MANY)}


# Versions of a tool, and changes between two points.


GIT = Subject(MCP, "git")
LOG = Subject(MCP, "git", "log")
TEXT, NUMBER = {"type": "string"}, {"type": "integer"}
ONE, TWO = a_tool("log", "Looks."), a_tool("log", "Looks.", count=NUMBER)
THREE = a_tool("log", "Looks back.", count=NUMBER)
ADDS, PLUS = a_tool("add", a=NUMBER, b=NUMBER), a_tool("plus", a=NUMBER, b=NUMBER)
COUNT_ADDED = "Parameter 'count' was added (integer, optional)"


def test_versions_of_a_tool_have_their_start_and_differences(history: History):
    history.connected("git", ONE)
    began = history.now
    history.lost("git")
    history.connected("git", ONE)
    history.listed("git", TWO)
    changed = history.now
    history.listed("git")
    history.listed("git", ONE)
    versions = history.store.versions("git", "log")
    assert [(x.time, x.lines) for x in versions] == [
        (began, ()), (changed, (COUNT_ADDED,)), (history.now, ("Parameter 'count' was removed",)),
    ]  # fmt: skip
    assert versions[0].digest == versions[2].digest
    assert versions[1].definition
    assert versions[1].definition["name"] == "log"


def test_two_points_are_compared_tool_by_tool(history: History):
    history.connected("git", ONE, ADDS, a_tool("old", "An old one."))
    history.connected("other", ONE)
    before = history.now
    history.listed("git", THREE, PLUS, a_tool("new", "Brand new.", x=TEXT))
    changes = history.store.changes("git", None, before)
    assert changes == [
        ToolChanged(LOG, "changed", ("Description: 'Looks.' → 'Looks back.'", COUNT_ADDED)),
        ToolChanged(Subject(MCP, "git", "new"), "added"),
        ToolChanged(Subject(MCP, "git", "old"), "removed"),
        ToolChanged(Subject(MCP, "git", "plus"), "renamed", (), Subject(MCP, "git", "add")),
    ]
    assert history.store.changes(None, None, before) == changes, "the other is as it was"
    assert [x.how for x in history.store.changes("git", "log", before)] == ["changed"]
    backwards = history.store.changes("git", "log", None, before)
    assert backwards[0].lines[1] == "Parameter 'count' was removed"


def test_a_tool_that_changed_before_it_was_renamed_is_recognised(history: History):
    history.connected("git", ONE)
    before = history.now
    history.listed("git", TWO)
    history.listed("git", a_tool("history", "Looks.", count=NUMBER))
    changed = history.store.changes(None, None, before)
    assert changed == [ToolChanged(Subject(MCP, "git", "history"), "renamed", (COUNT_ADDED,), LOG)]
    for name in ("log", "history"):
        assert history.store.changes("git", name, before) == changed


def test_tools_of_a_disconnected_source_are_not_removed(history: History):
    """Between two runs no source is connected."""
    history.connected("git", ONE, ADDS)
    before = history.now
    history.lost("git")
    assert history.store.changes(None, None, before) == []
    history.connected("git", ONE)
    changes = history.store.changes("git", None, before)
    assert [(x.tool.tool, x.how) for x in changes] == [("add", "removed")]
