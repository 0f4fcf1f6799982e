"""Agents with real MCP servers: what changes or breaks during a run is seen in that run."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any, cast

import pytest

from tests.support.agents_in_ctx import init_agent, use_server
from tests.support.fault_server import entry
from tests.support.growing_server import growing_entry
from tests.support.journals import pids_in
from tests.support.model_endpoint import Script, Step, calls, model_endpoint, says
from tests.support.processes import wait_until
from xai_mcp_agent import Agent, Bridge
from xai_mcp_agent.canvas.agent_run import CanvasRun, run_agent
from xai_mcp_agent.canvas.toolbelts import define_tool, make_toolbelt


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder whose settings have a server, in both eras."""
    monkeypatch.chdir(tmp_path)
    servers = {"grow": growing_entry(), "old": growing_entry(mode="legacy")}
    (tmp_path / "mcp_settings.json").write_text(json.dumps({"mcpServers": servers}))
    return tmp_path


def tool_names(body: dict[str, Any]) -> list[str]:
    return [x["function"]["name"] for x in body.get("tools", [])]


def run(ctx: dict[str, Any], script: Script) -> list[dict[str, Any]]:
    """Run an agent with the default toolbelt, and return the requests to its model."""
    with model_endpoint(script) as endpoint:
        init_agent(
            ctx, "a", provider="openai", model="m", base_url=endpoint.base_url,
            toolbelt_spec=make_toolbelt(ctx, None),
        )  # fmt: skip
        run_agent(ctx, "a", "Go.", outcome=CanvasRun())
    return [x.body for x in endpoint.requests]


@pytest.mark.parametrize("server", ["grow", "old"])
def test_a_tool_the_server_adds_is_offered_at_the_models_next_step(folder: Path, server: str):
    """MCP: a change notice is a cue to list again, in both eras."""
    ctx: dict[str, Any] = {}
    use_server(ctx, server, None)
    script = [
        calls((f"{server}_grow", {"name": "extra"})),
        calls((f"{server}_extra", {})),
        calls((f"{server}_shrink", {"name": "extra"})),
        says("done"),
    ]
    bodies = run(ctx, script)
    first = [f"{server}_grow", f"{server}_shrink"]
    assert tool_names(bodies[0]) == first
    assert tool_names(bodies[1]) == [*first, f"{server}_extra"]
    assert bodies[2]["messages"][-1]["content"] == "I am extra."
    assert tool_names(bodies[3]) == first
    assert "Ask grow for more tools." in bodies[0]["messages"][0]["content"]


def delayed_entry(until: Path, **options: Any) -> dict[str, Any]:
    """A server that begins to start when this file is there."""
    plain = entry(**options)
    command = shlex.join([str(plain["command"]), *cast("list[str]", plain["args"])])
    wait = f"while [ ! -e {shlex.quote(str(until))} ]; do sleep 0.05; done; exec {command}"
    return {"command": "/bin/sh", "args": ["-c", wait]}


def test_a_run_begins_with_what_is_ready_and_gets_the_rest_at_a_later_step(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    """This holds if the agent names no servers."""
    monkeypatch.setenv("XAI_TOOL_BUDGET", "100000")  # all of them are looked for
    go, journal = folder / "go", folder / "journal"
    late = {f"late{n}": delayed_entry(go, journal=str(journal)) for n in range(7)}

    def step(body: dict[str, Any]) -> Step:
        if {f"{name}_echo" for name in late} <= {*tool_names(body)}:
            return says("All are here.")
        go.touch()
        wait_until(lambda: len(pids_in(journal)) == len(late), "the others have started")
        return calls(("grow_shrink", {"name": "nothing"}))

    with (
        Bridge({"mcpServers": {"grow": growing_entry(), **late}, "wait": 0}) as bridge,
        model_endpoint(step) as endpoint,
    ):
        agent = Agent(bridge, model=endpoint.model, max_thoughts=500)
        first = agent.run("Go.")
        assert tool_names(endpoint.requests[0].body) == ["grow_grow", "grow_shrink"]
        assert first.answer == "All are here."
        assert agent.run("Go.").left_out == ()
    late_servers = "late0, late1, late2, late3, late4 and 2 more"
    assert first.left_out == (f"not ready yet, used as soon as they are: {late_servers}",)


def test_a_run_waits_for_servers_that_are_named_to_their_own_limit(folder: Path):
    """Functions beside them are ready at once; the limit for other servers does not count."""
    functions = folder / "own.py"
    functions.write_text("def shout(text: str) -> str:\n    return text.upper()\n")
    settings = {"functions": {"fn": {"file": str(functions)}}, "wait": 0}
    options: list[dict[str, Any]] = [{"required": "late"}, {"toolbelt": ["late", "fn"]}]
    for tools in options:
        with (
            Bridge({"mcpServers": {"late": entry(delay=0.3)}, **settings}) as bridge,
            model_endpoint([says("done")]) as endpoint,
        ):
            result = Agent(bridge, model=endpoint.model, **tools).run("Go.")
        assert {"late_echo", "fn_shout"} <= {*tool_names(endpoint.requests[0].body)}
        assert result.left_out == ()


def test_a_tool_of_a_server_that_is_not_enabled_is_refused_by_name(folder: Path):
    ctx: dict[str, Any] = {}
    use_server(ctx, "grow", "other")
    define_tool(ctx, None, "shout", "Says a text loudly.", lambda _c, text, _a: text.upper())
    answer = run(ctx, [calls(("grow_grow", {"name": "x"})), says("ok")])[1]["messages"][-1][
        "content"
    ]
    assert "belongs to the server 'grow', which is not enabled for this agent" in answer
