"""Agents with real MCP servers: what changes or breaks during a run is seen in that run."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any, cast

import pytest

from tests.support.agents_in_ctx import (
    agent,
    ctx_with,
    last_message,
    run,
    tools_of_request,
    use_server,
)
from tests.support.commands import write_settings
from tests.support.fault_server import entry, tool
from tests.support.model_endpoint import Step, calls, model_endpoint, says
from tests.support.processes import pids_in, wait_until
from xai_mcp_agent import Agent, Bridge
from xai_mcp_agent.canvas.toolbelts import define_tool

GROWING = entry(era="both", tools=[tool("set_tools")], instructions="Ask for more tools.")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder whose settings have a server, in both eras."""
    monkeypatch.chdir(tmp_path)
    write_settings(tmp_path, {"grow": GROWING, "old": {**GROWING, "mode": "legacy"}})
    return tmp_path


@pytest.mark.parametrize("server", ["grow", "old"])
def test_a_tool_the_server_adds_is_offered_at_the_models_next_step(folder: Path, server: str):
    """MCP: a change notice is a cue to list again, in both eras."""
    ctx, first, change = ctx_with(server), [f"{server}_set_tools"], f"{server}_set_tools"
    steps = [
        calls((change, {"tools": [tool("extra")], "add": True})),
        calls((f"{server}_extra", {})),
        calls((change, {"tools": [tool("set_tools")], "only": True})),
    ]
    with agent(ctx, *steps) as endpoint:
        run(ctx)
    names = [[*tools_of_request(endpoint, n)] for n in range(4)]
    assert names == [first, *[[*first, f"{server}_extra"]] * 2, first]
    prompt, *_, answer = endpoint.requests[2].body["messages"]
    assert "Ask for more tools." in prompt["content"]
    assert answer["content"] == "extra {}"


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
        if {f"{name}_echo" for name in late} <= {x["function"]["name"] for x in body["tools"]}:
            return says("All are here.")
        go.touch()
        wait_until(lambda: len(pids_in(journal)) == len(late), "the others have started")
        return calls(("grow_ping", {}))

    with (
        Bridge({"mcpServers": {"grow": GROWING, **late}, "wait": 0}) as bridge,
        model_endpoint(step) as endpoint,
    ):
        late_agent = Agent(bridge, model=endpoint.model, max_thoughts=500)
        first = late_agent.run("Go.")
        assert [*tools_of_request(endpoint)] == ["grow_set_tools"]
        assert first.answer == "All are here."
        assert late_agent.run("Go.").left_out == ()
    late_servers = "late0, late1, late2, late3, late4 and 2 more"
    assert first.left_out == (f"not ready yet, used as soon as they are: {late_servers}",)


def test_the_wait_for_the_others_counts_from_the_first_source_that_is_ready(folder: Path):
    """Each further source that became ready would otherwise begin it anew."""
    files = {f"own{n}": folder / f"own{n}.py" for n in range(5)}
    for number, file in enumerate(files.values()):
        file.write_text(f"import time\ntime.sleep({number / 2})\ndef shout(): ...\n")
    settings = {"functions": {name: {"file": str(file)} for name, file in files.items()}}
    with Bridge({**settings, "wait": 0.8}) as bridge, model_endpoint([says("done")]) as endpoint:
        (late,) = Agent(bridge, model=endpoint.model).run("Go.").left_out
    assert late.endswith("own4")
    assert "own0" not in late


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
        assert {"late_echo", "fn_shout"} <= {*tools_of_request(endpoint)}
        assert result.left_out == ()


def test_a_tool_of_a_server_that_is_not_enabled_is_refused_by_name(folder: Path):
    ctx: dict[str, Any] = {}
    use_server(ctx, "grow", "other")
    define_tool(ctx, None, "shout", "Says a text loudly.", lambda _c, text, _a: text.upper())
    with agent(ctx, calls(("grow_set_tools", {"tools": []}))) as endpoint:
        run(ctx)
    refusal = "belongs to the server 'grow', which is not enabled for this agent"
    assert refusal in last_message(endpoint)
