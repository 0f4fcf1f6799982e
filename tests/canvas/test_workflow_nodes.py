"""The node that gives an agent a workflow as a tool."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.sources.workflows.drawings import draw
from tests.support.model_endpoint import calls, model_endpoint, says
from tests.support.processes import is_running, pid_in, wait_until
from tests.support.scripts import child_environment, compile_workflow, run_script
from tests.support.small_workflows import ask_with
from tools.workflows import Argument, Workflow

_SECONDS = 60


def with_agent(flow: Workflow, base_url: str, **workflow: Any) -> Workflow:
    """A flow in which a scripted model may use a workflow."""
    ask_with(flow, base_url, flow.node("AgentUseWorkflow", **workflow))
    return flow


def test_an_agent_uses_a_workflow_that_stands_beside_its_own(working_folder: Path) -> None:
    """Compiled and run as a person does it; no entry in the settings."""
    inner = Workflow("say_twice")
    node = inner.node("ConcatString", a=Argument("first"), b=Argument("second"))
    inner.main(node, inner.node("Print", msg="noise"))
    inner.outputs(node["out"])
    inner.note("Description", "Says two texts.\nsecond: the later one", above=node)
    inner.write(working_folder)
    odd = {"first": "a 'b' \"c\" $(d)\n", "second": "ü \u6f22"}
    script = [calls(("say_twice", odd)), says("Said.")]
    with model_endpoint(script) as endpoint:
        flow = with_agent(Workflow("twice"), endpoint.base_url, workflow="say_twice.xircuits")
        environment = {"OPENAI_API_KEY": "sk-dummy", "OPENAI_BASE_URL": endpoint.base_url}
        result = run_script(compile_workflow(flow.write(working_folder)), **environment)
    assert (result.status, result.errors) == (0, "")
    first, second = (x.body for x in endpoint.requests)
    (function,) = (x["function"] for x in first["tools"] if x["function"]["name"] == "say_twice")
    assert function["description"] == "Says two texts."
    assert function["parameters"]["properties"]["second"]["description"] == "the later one"
    assert second["messages"][-1]["content"] == odd["first"] + odd["second"]
    assert "Executing: Print\nSaid." in result.output
    assert not (working_folder / "say_twice.py").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="no interrupt of one process")
def test_an_interrupt_of_the_run_ends_the_workflow_with_all_that_it_started(
    working_folder: Path, tmp_path: Path
) -> None:
    pid = tmp_path / "pid"
    code = (
        "import os, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"open({str(pid)!r}, 'w').write(str(child.pid))\ntime.sleep(600)"
    )
    hanging = draw(tmp_path, code, name="hanging")
    with model_endpoint([calls(("hanging", {"value": 1}))]) as endpoint:
        flow = with_agent(Workflow("interrupted"), endpoint.base_url, workflow=str(hanging))
        script = compile_workflow(flow.write(working_folder))
        environment = child_environment(
            working_folder, OPENAI_API_KEY="sk-dummy", OPENAI_BASE_URL=endpoint.base_url
        )
        with subprocess.Popen(
            [sys.executable, script.name], cwd=working_folder, env=environment,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        ) as run:  # fmt: skip
            try:
                wait_until(
                    lambda: pid.exists() and pid.read_text() != "", "the tool is at work", _SECONDS
                )
                run.send_signal(signal.SIGINT)
                assert run.wait(_SECONDS) != 0
            finally:
                run.kill()
    wait_until(lambda: not is_running(pid_in(pid)), "its child is ended")
