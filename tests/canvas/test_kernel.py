"""Workflows in a real IPython kernel, where the lab's Run button executes them.

An event loop runs there already, modules stay imported from run to run, and an interrupt goes to
every process of the kernel's group. No server stays for the next run here; see
`test_kernel_warm.py`. What ends the kernel is in `test_kernels_end.py`, which is last.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.support.kernels import Kernel
from tests.support.model_endpoint import hangs, model_endpoint
from tests.support.processes import is_running, pid_in, wait_until
from tests.support.scripts import compile_workflow
from tests.support.small_workflows import agent_workflow, calling_workflow
from tests.support.warm_python import python_entry
from tools.workflows import Workflow

from .conftest import SERVERS, workshop_entry

_SECONDS = re.compile(r"\d+\.\d+ s")
THREADS = "sorted(x.name for x in __import__('threading').enumerate())"
CHILDREN = "__import__('psutil').Process().children(recursive=True)"
BRIDGES = "[x.name for x in __import__('threading').enumerate() if x.name == 'xai-mcp-bridge']"


@pytest.fixture(scope="module")
def pid_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file in which the workshop server of these workflows writes the number of its process."""
    return tmp_path_factory.mktemp("kernel") / "workshop.pid"


@pytest.fixture(scope="module")
def folder(working_folder: Path) -> Path:
    """The working folder, with the scripts that are run here."""
    example = working_folder / "examples" / "ex01_quickstart.xircuits"
    compile_workflow(example, working_folder / "quickstart.py")
    adding = calling_workflow("adding", "workshop", "add", a=20, b=22)
    waiting = calling_workflow("waiting", "workshop", "wait", seconds=600.0)
    for flow in (adding, waiting, failing(), mistaken()):
        compile_workflow(flow.write(working_folder))
    return working_folder


@pytest.fixture(scope="module")
def settings(pid_file: Path) -> Path:
    """The settings of all runs here."""
    file = pid_file.with_name("mcp_settings.json")
    library, units = (python_entry(SERVERS / f"{name}.py") for name in ("library", "units"))
    missing = {"command": "no-such-program-anywhere"}
    servers = {"library": library, "units": units, "workshop": workshop_entry(pid_file)}
    servers |= {"gone": missing}
    file.write_text(json.dumps({"mcpServers": servers, "keepWarm": 0}), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def shell(one_kernel: Kernel, folder: Path, settings: Path) -> Kernel:
    """One kernel for all tests here, as one Output panel serves many runs."""
    return one_kernel.move(folder, XAI_MCP_SETTINGS=str(settings))


def failing() -> Workflow:
    """Connects a server and then raises."""
    flow = Workflow("failing")
    listing = flow.node("MCPListTools", server_name="workshop")
    flow.main(listing, flow.node("MCPListTools", server_name="nobody"))
    return flow


def mistaken() -> Workflow:
    """Raises at once, by a person's mistake."""
    flow = Workflow("mistaken")
    flow.main(flow.node("AgentUseMCPTools", server_name="libary"))
    return flow


def test_run_pressed_twice_gives_the_same_answer_twice_and_leaves_nothing(shell: Kernel) -> None:
    """The second run waits for the first: the kernel does one thing after the other."""
    before = shell.value(THREADS)
    both = shell.run_all("%run quickstart.py", "%run quickstart.py")
    for run in both:
        assert (run.error, run.errors) == ("", "")
        assert run.output.endswith("Finished Executing\n")
    first, second = (_SECONDS.sub("", run.displayed[-1]["text/plain"]) for run in both)
    assert first == second
    assert "Moby-Dick" in first
    # AnyIO tells its idle threads to end, and does not wait for them.
    wait_until(lambda: shell.value(THREADS) == before, "the threads of both runs have ended")
    assert shell.value(CHILDREN) == "[]"


def test_a_server_ends_with_its_run(shell: Kernel, pid_file: Path) -> None:
    run = shell.run("%run adding.py")
    assert "42" in run.output.split("Executing: Print")[1]
    assert not is_running(pid_in(pid_file))


def test_an_interrupt_ends_a_call_and_the_next_run_works(shell: Kernel, pid_file: Path) -> None:
    began = pid_file.with_name(f"{pid_file.name}.waiting")
    began.unlink(missing_ok=True)
    run = shell.interrupt_once(began.exists, "%run waiting.py")
    assert run.error == "KeyboardInterrupt"
    assert "42" in shell.run("%run adding.py").output
    assert shell.value(BRIDGES) == "[]"


def test_an_interrupt_ends_the_wait_for_a_model(shell: Kernel, folder: Path) -> None:
    with model_endpoint([hangs()]) as endpoint:
        compile_workflow(agent_workflow("thinking", endpoint.base_url).write(folder))
        shell.run("import os; os.environ['OPENAI_API_KEY'] = 'sk-dummy'")
        run = shell.interrupt_once(lambda: bool(endpoint.requests), "%run thinking.py")
    assert run.error == "KeyboardInterrupt"


def test_a_persons_mistake_is_reported_in_a_few_lines(shell: Kernel) -> None:
    """The panel shows the end of a long traceback, and the message is its last line."""
    run = shell.run("%run mistaken.py")
    title, _, *message = run.traceback.splitlines()
    assert title == "The workflow stopped at AgentUseMCPTools (UnknownServer):"
    assert len(message) < 6
    assert all(len(x) < 90 or "mcp_settings.json" in x for x in message), "as wide as the panel"
    text = " ".join(line.strip() for line in message)
    assert "No MCP server 'libary' in " in text
    assert "Known: library, gone, units, workshop." in text


def test_the_servers_of_a_failed_run_end_with_it(shell: Kernel, pid_file: Path) -> None:
    """IPython keeps the traceback, and so the run."""
    assert shell.run("%run failing.py").error == "UnknownServer"
    assert not is_running(pid_in(pid_file))
    assert shell.value(BRIDGES) == "[]"


def test_the_card_of_a_run_without_tools_says_why(shell: Kernel, folder: Path) -> None:
    unwired = Workflow("unwired")
    belt, helper = unwired.node("AgentMakeToolbelt"), unwired.node("AgentInit")
    unwired.main(belt, helper, unwired.node("AgentRun", question="Count the wibbles."))
    counting = agent_workflow("counting", "http://127.0.0.1:9/v1", "gone")
    scripts = [compile_workflow(x.write(folder)).name for x in (counting, unwired)]
    first, other = (shell.run(f"%run {x}") for x in scripts)
    page = first.displayed[-1]["text/html"]
    assert "Stopped by an error" in page
    assert page.count("no-such-program-anywhere") == 1
    assert "failed: it had no tools" in page.rpartition("xai-end")[2]
    page = other.displayed[-1]["text/html"]
    assert "Draw a line from" in page
    assert "I have no tools." in page
    assert "Draw a line from" not in other.output
