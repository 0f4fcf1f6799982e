"""Servers stay in a kernel between two runs, and only what changed starts anew."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support import fault_server
from tests.support.commands import write_settings
from tests.support.fault_server import entry
from tests.support.http_service import as_json, http_service
from tests.support.kernels import CellResult, Kernel
from tests.support.processes import calls_in, is_running, none_runs, pids_in, wait_until

BEGIN = """
import os
from tests.support.canvas import make, play
from xai_mcp_agent.mcp_components import MCPCallTool

def call(*servers, tool="pid"):
    nodes = [make(MCPCallTool, server_name=x, tool_name=tool) for x in servers]
    play({}, *nodes)
    return nodes[-1].text.value
"""
SHOP = """
from xai_mcp_agent.agent_components import AgentUseOpenAPI

def order(base_url):
    shop = make(AgentUseOpenAPI, spec="shop.json", base_url=base_url)
    tool = make(MCPCallTool, server_name="shop", tool_name="order")
    play({}, shop, tool)
    return tool.text.value
"""
FORK = """
from xai_mcp_agent.canvas import lease

child = os.fork()
if not child:
    left = 1
    try:
        call("it")
        left = len(lease._bridges)
    finally:
        os._exit(left)
print(os.waitpid(child, 0)[1])
"""
BRIDGES = "[x.name for x in __import__('threading').enumerate() if x.name.startswith('xai-mcp')]"

Settle = Callable[..., None]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The kernel's folder."""
    return tmp_path_factory.mktemp("warm")


@pytest.fixture(scope="module")
def shell(one_kernel: Kernel, folder: Path) -> Kernel:
    """The kernel, with what these tests need."""
    assert not one_kernel.move(folder).run(BEGIN).error
    return one_kernel


@pytest.fixture
def settle(folder: Path, shell: Kernel) -> Settle:
    """Call it with sections and servers; they are the settings from the next run on.

    A run without any has ended what an earlier test left.
    """

    def settle(sections: dict[str, Any] | None = None, **servers: Any) -> None:
        write_settings(folder, servers, **(sections or {}))

    settle()
    assert shell.run("call('it')").error == "UnknownServer"
    return settle


def pids(shell: Kernel, *servers: str) -> list[int]:
    """The processes of these servers, each asked in a run of its own."""
    return [last_number(shell.run(f"print(call({x!r}))")) for x in servers]


def last_number(run: CellResult) -> int:
    """The number on the last line."""
    return int(run.output.splitlines()[-1])


IN_TOKEN = {**entry(), "env": {"T": "${TOKEN:-none}"}}


@pytest.mark.parametrize(
    ("before", "after", "error"),
    [
        (entry(), {**entry(), "env": {"LEVEL": "2"}}, ""),
        (IN_TOKEN, IN_TOKEN, ""),
        (entry(), {**entry(), "timeout": "long"}, "SettingsError"),
        (entry(), None, "UnknownServer"),
    ],
    ids=["a variable", "a token", "a mistake", "removed"],
)
def test_only_a_server_whose_entry_has_changed_starts_anew(
    shell: Kernel, settle: Settle, before: Any, after: Any, error: str
) -> None:
    settle(it=before, other=entry())
    first, other = pids(shell, "it", "other")
    settle(**({"it": after} if after else {}), other=entry(), more=entry())
    shell.run("os.environ['TOKEN'] = 'sesame'")
    assert pids(shell, "other", "more")[0] == other
    assert not is_running(first)
    assert shell.run("call('it')").error == error
    shell.run("del os.environ['TOKEN']")


def test_a_server_whose_program_was_saved_starts_anew(
    shell: Kernel, settle: Settle, tmp_path: Path
) -> None:
    """A learner who writes a server saves it again and again."""
    program = tmp_path / "mine.py"
    shutil.copy(fault_server.__file__, program)
    settle(it={**entry(), "args": ["-S", "-E", str(program), "{}"]})
    first = pids(shell, "it")
    assert pids(shell, "it") == first
    program.write_text(program.read_text(encoding="utf-8") + "\n# Changed.\n", encoding="utf-8")
    assert pids(shell, "it") != first


def test_another_change_of_the_settings_counts_from_the_next_run_on(
    shell: Kernel, settle: Settle
) -> None:
    settle(it=entry())
    first = pids(shell, "it")
    settle({"toolSearch": {"blocked": ["it/echo"]}}, it=entry())
    assert pids(shell, "it") != first
    assert not is_running(first[0])


def test_a_server_that_is_not_to_stay_ends_with_the_run(shell: Kernel, settle: Settle) -> None:
    settle(it={**entry(), "keepWarm": 0}, other=entry())
    run = shell.run("print(call('other'), call('it'))")
    other, it = map(int, run.output.splitlines()[-1].split())
    assert (is_running(it), is_running(other)) == (False, True)


@pytest.mark.parametrize("code", ["call('it')", "call('it', 'nobody')"])
def test_servers_end_when_their_time_is_over(
    shell: Kernel, settle: Settle, code: str, tmp_path: Path
) -> None:
    """This includes a run that failed, which its traceback keeps alive."""
    settle({"keepWarm": 0.3}, it=entry(journal=str(tmp_path / "journal")))
    shell.run(code)
    wait_until(lambda: none_runs(tmp_path / "journal"), "the server ended")
    wait_until(lambda: shell.value(BRIDGES) == "[]", "the bridge ended")
    assert len(pids(shell, "it")) == 1


def test_a_server_may_end_before_the_others(shell: Kernel, settle: Settle) -> None:
    settle(it={**entry(), "keepWarm": 0.3}, other=entry())
    it, other = pids(shell, "it", "other")
    wait_until(lambda: not is_running(it), "its time is over")
    assert pids(shell, "other") == [other]


@pytest.mark.parametrize(("tool", "stays"), [("never", True), ("freeze", False)])
def test_after_an_interrupt_a_server_is_used_again_if_it_answers(
    shell: Kernel, settle: Settle, tmp_path: Path, tool: str, stays: bool
) -> None:
    journal = tmp_path / "journal"
    settle(it=entry(journal=str(journal)))
    first = pids(shell, "it")
    run = shell.interrupt_once(lambda: calls_in(journal) == 2, f"call('it', tool={tool!r})")
    assert run.error == "KeyboardInterrupt"
    assert (pids(shell, "it") == first) == stays


def test_a_run_that_failed_leaves_its_servers_to_the_next(
    shell: Kernel, settle: Settle, tmp_path: Path
) -> None:
    settle(it=entry(journal=str(tmp_path / "journal")))
    assert shell.run("call('it', 'nobody')").error == "UnknownServer"
    assert pids(shell, "it") == pids_in(tmp_path / "journal")


def test_a_breaker_that_a_run_opened_is_closed_for_the_next(shell: Kernel, settle: Settle) -> None:
    settle(it={**entry(), "breaker": {"failures": 1, "seconds": 300}}, other=entry())
    (other,) = pids(shell, "other")
    assert shell.run("call('it', tool='die')").error
    assert pids(shell, "it")
    assert pids(shell, "other") == [other]


def test_a_service_on_a_node_is_called_again_once_its_address_is_corrected(
    shell: Kernel, settle: Settle, folder: Path
) -> None:
    settle(other=entry())
    pids(shell, "other")  # it stays, and with it the bridge
    paths = {"/order": {"get": {"operationId": "order", "responses": {}}}}
    document = {"openapi": "3.0.3", "info": {}, "paths": paths}
    (folder / "shop.json").write_text(json.dumps(document), encoding="utf-8")
    shell.run(SHOP)
    for _ in range(5):
        assert shell.run("order('http://127.0.0.1:9')").error == "SourceFailed"
    with http_service() as service:
        service.replies["/order"] = as_json("baked")
        assert "baked" in shell.run(f"print(order({service.url!r}))").output


def test_in_a_fork_of_the_kernel_nothing_stays(shell: Kernel, settle: Settle) -> None:
    """No run comes after it there."""
    settle(it=entry())
    ours = pids(shell, "it")
    assert last_number(shell.run(FORK)) == 0
    assert pids(shell, "it") == ours
