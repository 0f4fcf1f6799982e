"""A kernel, as the lab's Run button uses it: nothing is left behind, whatever happens.

An event loop runs there already, modules stay imported from run to run, and an interrupt goes to
every process of the kernel's group. No server stays for the next run here; see
`test_kernel_warm.py`. What ends the kernel is in `test_kernels_end.py`, which is last.
"""

from __future__ import annotations

import ast
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.commands import write_settings
from tests.support.fault_server import entry
from tests.support.kernels import Kernel
from tests.support.model_endpoint import hangs, model_endpoint
from tests.support.processes import calls_in, none_runs, pids_in, wait_until

MOST_GROWTH_MB = 8.0  # of twenty runs; one that kept its bridge would cost more
BEGIN = """
import asyncio, json, sys, threading
from tests.support.canvas import agent_nodes, ask_scripted, make, play, tool_nodes
from tests.support.census import take_census
from tests.support.fault_server import entry
from tests.support.model_endpoint import calls
from xai_mcp_agent import Bridge
from xai_mcp_agent.agent_components import AgentInit, AgentRun
from xai_mcp_agent.mcp_components import MCPCallTool

def some(**entries):
    return Bridge({"mcpServers": entries})

def add_up():
    node = make(MCPCallTool, server_name="it", tool_name="echo", arguments={"text": "hello"})
    play({}, node)
    return node.text.value

def run_agent(*servers):
    run = make(AgentRun, question='Echo "hello".')
    play({}, *agent_nodes(*servers), run)
    return run.last_response.value

with some(it=entry()) as bridge:
    bridge.list_tools("it")
run_agent("it")
before = take_census()
"""


REPLACEMENT = """
import nest_asyncio2

class Stream:
    def write(self, text): return len(text)
    def flush(self): pass

streams = sys.stdout, sys.stderr
sys.stdout = sys.stderr = Stream()
try:
    answer = run_agent('it')
finally:
    sys.stdout, sys.stderr = streams
nest_asyncio2.apply()
with some(it=entry()) as bridge:
    nested = asyncio.run(bridge.aio.call_tool('it', 'echo', {'text': 'nested'})).text
nodes = add_up()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The kernel's folder, with settings for its nodes."""
    folder = tmp_path_factory.mktemp("life")
    journal = str(folder / "journal")
    servers = {
        "it": entry(journal=journal, child="polite"),
        "hanging": entry(journal=journal, hang=True),
    }
    write_settings(folder, servers, keepWarm=0)
    return folder


@pytest.fixture(scope="module")
def shell(one_kernel: Kernel, folder: Path) -> Kernel:
    """The kernel, with what these tests need."""
    run = one_kernel.move(folder).run(BEGIN)
    assert not run.error, run.traceback
    return one_kernel


@pytest.fixture
def journal(folder: Path) -> Path:
    """The journal of this test's servers."""
    file = folder / "journal"
    file.unlink(missing_ok=True)
    return file


def leftovers_in(shell: Kernel) -> list[str]:
    """The threads, processes and files that the kernel did not have at first, after time to end."""
    looks: list[str] = []

    def is_clean() -> bool:
        looks.append(shell.value("take_census().more_than(before)"))
        return looks[-1] == "[]"

    with suppress(AssertionError):
        wait_until(is_clean, "nothing is left")
    return ast.literal_eval(looks[-1])


def test_an_interrupt_while_servers_start_ends_the_wait_and_the_bridge_stays_usable(
    shell: Kernel, journal: Path
) -> None:
    option = f"journal={str(journal)!r}"
    shell.run(f"bridge = some(it=entry({option}), slow=entry({option}, hang=True))")
    run = shell.interrupt_once(lambda: len(pids_in(journal)) == 2, "bridge.connect(wait=True)")
    assert run.error == "KeyboardInterrupt"
    assert shell.value("bridge.call_tool('it', 'echo', {'text': 'usable'}).text") == "'usable'"
    assert shell.run("bridge.close()").error == ""
    assert none_runs(journal)
    assert leftovers_in(shell) == []


def test_an_interrupt_while_an_agent_waits_for_its_servers_ends_the_run(
    shell: Kernel, journal: Path
) -> None:
    run = shell.interrupt_once(
        lambda: len(pids_in(journal)) == 3, "run_agent('it', 'hanging')"
    )  # two servers, and a child of one
    assert run.error == "KeyboardInterrupt"
    assert "hello" in shell.value("run_agent('it')")
    wait_until(lambda: none_runs(journal), "the interrupted run's servers ended")
    assert leftovers_in(shell) == []


def test_an_interrupt_of_an_awaited_call_cancels_it(shell: Kernel, journal: Path) -> None:
    """The kernel's own loop runs while a cell awaits; it only sees an interrupt when it wakes."""
    shell.run(f"bridge = some(it=entry(journal={str(journal)!r}))")
    run = shell.interrupt_once(
        lambda: calls_in(journal) == 1, "await bridge.aio.call_tool('it', 'never')"
    )
    assert run.error in ("KeyboardInterrupt", "CancelledError")
    shell.run("seen = await bridge.aio.call_tool('it', 'seen')")
    assert "notifications/cancelled" in shell.value("seen.text")
    assert shell.run("bridge.close()").error == ""
    assert leftovers_in(shell) == []


def test_twenty_runs_in_one_kernel_leave_nothing_and_need_no_more_memory(shell: Kernel) -> None:
    run = shell.run(
        "[add_up() for _ in range(5)]; at_first = take_census()\n"
        "[add_up() for _ in range(10)] + [run_agent('it') for _ in range(5)]"
    )
    assert not run.error, run.traceback
    assert leftovers_in(shell) == []
    growth = float(shell.value("take_census().memory_mb - at_first.memory_mb"))
    assert growth < MOST_GROWTH_MB


def test_a_kernel_whose_streams_and_loop_were_replaced_works_as_well(shell: Kernel) -> None:
    """Some notebooks let loops run inside each other, and have streams of their own."""
    run = shell.run(REPLACEMENT)
    assert not run.error, run.traceback
    assert "hello" in shell.value("answer")
    assert shell.value("(nested, nodes)") == "('nested', 'hello')"
    assert leftovers_in(shell) == []


ASK = """
run = make(AgentRun, question="Go.")
steps = [calls(("note", {})), calls(("it_never", {}))]
ask_scripted(steps, "it", run=run, tools=[tool_nodes("note", lambda _: "NOTED")])
"""


def test_an_interrupt_in_a_turn_leaves_what_was_done_in_the_conversation(
    shell: Kernel, journal: Path
) -> None:
    run = shell.interrupt_once(lambda: calls_in(journal) == 1, ASK)
    assert run.error == "KeyboardInterrupt"
    messages = ast.literal_eval(shell.value("run.out_conversation.value"))
    assert [x["role"] for x in messages] == ["user", *["assistant", "tool"] * 2]
    assert messages[2]["content"] == "NOTED"
    assert "It may have been carried out" in messages[4]["content"]
    ports = "(run.stopped.value, run.last_response.value, run.usage.value['calls'])"
    assert shell.value(ports) == "('error', '', 2)"


def test_an_interrupt_ends_the_wait_for_a_model(shell: Kernel) -> None:
    with model_endpoint([hangs()]) as endpoint:
        agent = f"make(AgentInit, **{endpoint.inputs!r})"
        code = f"play({{}}, {agent}, make(AgentRun, question='Go.'))"
        run = shell.interrupt_once(endpoint.first_request.is_set, code)
    assert run.error == "KeyboardInterrupt"
