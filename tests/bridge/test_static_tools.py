"""Tools are stored before a model sees them, and a locked store does not delay a run."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.support.agents_in_ctx import init_agent, use_server
from tests.support.commands import write_settings
from tests.support.fault_server import entry
from tests.support.histories import events_in_file, short
from tests.support.model_endpoint import ModelEndpoint, Step, calls, model_endpoint, says
from tests.support.watchdog import ends_within
from xai_mcp_agent.agent.memory.notes import NoteStore
from xai_mcp_agent.bridge import engine
from xai_mcp_agent.canvas.agent_run import CanvasRun, run_agent, run_tool
from xai_mcp_agent.canvas.toolbelts import define_tool, make_toolbelt
from xai_mcp_agent.history.place import project_of
from xai_mcp_agent.views.history import event_json

Ctx = dict[str, Any]


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The store of the project, whose settings have one server."""
    file = write_settings(tmp_path, {"it": entry()})
    monkeypatch.setenv("XAI_MCP_SETTINGS", str(file))
    return tmp_path / ".xircuits" / "history.db"


def shout(_ctx: Any, text: str, _arguments: Any) -> str:
    """Run the drawn tool: return its text in capitals."""
    if not text:
        raise ValueError("nothing to shout")
    return text.upper()


def draw(ctx: Ctx, name: str = "shout", description: str = "Says it loudly.") -> None:
    """Define a tool as AgentDefineTool does at the start of a workflow."""
    define_tool(ctx, None, name, description, shout)


def test_drawn_tools_are_recorded_before_servers_start(store: Path):
    """Spec 2, Auto-Start Bootstrap. In the combined graph they belong to the project."""
    ctx: Ctx = {}
    draw(ctx)
    ctx["toolbelt_other"] = {"plain": str.upper}
    use_server(ctx, "it")
    ctx["mcp_bridge"].bridge.list_tools("it")
    ctx.clear()
    events = events_in_file(store)
    assert short(events)[:3] == [
        ("seeded", "tools:shout"), ("seeded", "tools:plain"), ("connected", "mcp:it")
    ]  # fmt: skip
    project, event = project_of(store.parents[1]), event_json(events[0])
    text = {"type": "string", "description": "What the tool should work on."}
    parameters = {"type": "object", "properties": {"input": text}}
    assert event["payload"] == {
        "name": "shout", "description": "Says it loudly.", "parameters": parameters
    }  # fmt: skip
    fields = ("event_kind", "source", "kind", "tool_source", "tool", "extends", "related_to")
    assert [event[x] for x in fields] == [
        "fact", "validator", "tools", "", "shout", [f"{project.repo_hash}:tools"],
        [f"knowledge:{project.name}_{project.repo_hash}"],
    ]  # fmt: skip


def test_an_unchanged_tool_is_recorded_once_in_a_process_and_a_changed_one_again(store: Path):
    """Spec 2: the same id overrides. Each run of a workflow has its own bridge."""
    for description in ("Says it loudly.", "Says it loudly.", "Shouts."):
        ctx: Ctx = {}
        draw(ctx, description=description)
        init_agent(ctx, "a", toolbelt_spec=make_toolbelt(ctx, None))
        for _ in range(2):
            run_agent(ctx, "a", "Hello!", outcome=CanvasRun())
        ctx.clear()
    seeded = [
        x for x in events_in_file(store) if x.change == "seeded" and x.subject.kind.name != "meta"
    ]
    assert [x.payload["description"] for x in seeded] == ["Says it loudly.", "Shouts."]


def test_calls_of_drawn_tools_and_of_the_memory_are_recorded(store: Path):
    ctx: Ctx = {}
    draw(ctx)
    init_agent(ctx, "a", memory=NoteStore(), toolbelt_spec=make_toolbelt(ctx, None))
    run_tool(ctx, "a", "shout", {"input": "hi"}, None)
    run_tool(ctx, "a", "shout", {"input": ""}, None)
    run_tool(ctx, "a", "lookup_memory", {"query": "tea"}, None)
    run_tool(ctx, "a", "lookup_memory", {}, None)  # never made: the arguments do not fit
    run_agent(ctx, "a", "Hello!", outcome=CanvasRun())
    ctx.clear()
    events = events_in_file(store)
    seeded = {x.context_id for x in events if x.change == "seeded"}
    assert {"tools:shout", "meta:lookup_memory", "meta:create_memory"} <= seeded
    call_events = [x for x in events if x.change == "called"][:3]
    assert [(x.context_id, x.payload["status"]) for x in call_events] == [
        ("tools:shout", "ok"), ("tools:shout", "error"), ("meta:lookup_memory", "ok"),
    ]  # fmt: skip
    assert "nothing to shout" in call_events[1].payload["error"]
    assert {(x.event_kind, x.source) for x in call_events} == {("action", "executor")}


_LONG_SECONDS = 18.0  # the store gives up waiting for a lock after 20 seconds


def run(ctx: Ctx, endpoint: ModelEndpoint) -> str:
    """Run an agent with the server's tools; return its answer."""
    use_server(ctx, "it")
    init_agent(
        ctx, "a", provider="openai", model="m", base_url=endpoint.base_url,
        toolbelt_spec=make_toolbelt(ctx, None),
    )  # fmt: skip
    outcome = CanvasRun()
    run_agent(ctx, "a", "Hello!", outcome=outcome)
    return outcome.answer


def test_tools_are_in_the_store_before_a_model_sees_them(store: Path):
    """Even tools that a server adds during a run: a crash loses nothing that was shown."""
    missing: list[set[str]] = []

    def look(body: dict[str, Any]) -> Step:
        visible = {x["function"]["name"] for x in body["tools"]}
        stored_names = {f"it_{x.subject.tool}" for x in events_in_file(store) if x.definition}
        missing.append(visible - stored_names)
        if "it_late" not in visible:
            return calls(("it_set_tools", {"tools": ["late"]}))
        return says("done")

    with model_endpoint(look) as endpoint:
        assert run({}, endpoint) == "done"
    assert missing == [set(), set()]


def test_a_store_that_cannot_be_written_to_delays_no_run(
    store: Path, monkeypatch: pytest.MonkeyPatch
):
    """Another program may keep it locked for as long as it likes."""
    monkeypatch.setattr(engine, "_SETTLE_SECONDS", 0.2)
    store.parent.mkdir()
    ctx: Ctx = {}
    with model_endpoint(lambda _: says("done")) as endpoint:
        with closing(sqlite3.connect(store, isolation_level=None)) as other:
            other.execute("PRAGMA journal_mode=WAL")
            other.execute("BEGIN IMMEDIATE")
            with ends_within(_LONG_SECONDS):
                assert run(ctx, endpoint) == "done"
        ctx.clear()
    assert events_in_file(store), "the waiting events are written in the end"
