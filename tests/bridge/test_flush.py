"""Tools are in the store before a model sees them; a locked store holds no run up."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.support.agents_in_ctx import init_agent, use_server
from tests.support.fault_server import entry
from tests.support.histories import events_in_file
from tests.support.model_endpoint import ModelEndpoint, Step, calls, model_endpoint, says
from tests.support.watchdog import ends_within
from xai_mcp_agent.bridge import engine
from xai_mcp_agent.canvas.agent_run import CanvasRun, run_agent
from xai_mcp_agent.canvas.toolbelts import make_toolbelt

Ctx = dict[str, Any]

_LONG_SECONDS = 18.0  # the store gives up waiting for a lock after 20 seconds


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project's own; its settings have one server."""
    file = tmp_path / "mcp_settings.json"
    file.write_text(json.dumps({"mcpServers": {"it": entry()}}), encoding="utf-8")
    monkeypatch.setenv("XAI_MCP_SETTINGS", str(file))
    monkeypatch.delenv("XAI_MCP_STORE", raising=False)
    return tmp_path / ".xircuits" / "history.db"


def run(ctx: Ctx, endpoint: ModelEndpoint) -> str:
    """An agent's run with the server's tools; its answer."""
    use_server(ctx, "it", None)
    init_agent(
        ctx, "a", provider="openai", model="m", base_url=endpoint.base_url,
        toolbelt_spec=make_toolbelt(ctx, None),
    )  # fmt: skip
    outcome = CanvasRun()
    run_agent(ctx, "a", "Hello!", outcome=outcome)
    return outcome.answer


def test_tools_are_in_the_store_before_a_model_sees_them(store: Path):
    """Also what a server adds during a run: a crash loses nothing that was shown."""
    missing: list[set[str]] = []

    def look(body: dict[str, Any]) -> Step:
        shown = {x["function"]["name"] for x in body["tools"]}
        stored = {f"it_{x.subject.tool}" for x in events_in_file(store) if x.definition}
        missing.append(shown - stored)
        if "it_late" not in shown:
            return calls(("it_set_tools", {"tools": ["late"]}))
        return says("done")

    with model_endpoint(look) as endpoint:
        assert run({}, endpoint) == "done"
    assert missing == [set(), set()]


def test_a_store_that_cannot_be_written_to_holds_no_run_up(
    store: Path, monkeypatch: pytest.MonkeyPatch
):
    """Another program may have locked it, for as long as it likes."""
    monkeypatch.setattr(engine, "_SETTLE_SECONDS", 0.2)
    store.parent.mkdir()
    other = sqlite3.connect(store, isolation_level=None)
    other.execute("PRAGMA journal_mode=WAL")
    other.execute("BEGIN IMMEDIATE")
    ctx: Ctx = {}
    with model_endpoint(lambda _: says("done")) as endpoint:
        with ends_within(_LONG_SECONDS):
            assert run(ctx, endpoint) == "done"
        other.close()
        ctx.clear()
    assert events_in_file(store), "what waited is written when it can be"
