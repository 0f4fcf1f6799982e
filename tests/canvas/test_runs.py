"""A run leaves nothing behind, however it ends.

A run is over when its `ctx` is gone. Errors like to hold the frames they came through, and
those frames hold `ctx`; where that happens servers run on until garbage is collected.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from xai_components.base import Component

from tests.support.canvas import agent_nodes, call, chain, make, play, tool_nodes
from tests.support.fault_server import entry
from tests.support.processes import none_runs, pids_in, wait_until
from xai_mcp_agent.agent_components import AgentRun, AgentRunTool
from xai_mcp_agent.mcp_components import MCPCallTool, MCPListTools

from .conftest import UseServers

NOBODY = "http://127.0.0.1:9/v1"  # the discard port: nothing listens there

Flow = list[Component]


@pytest.fixture(autouse=True, scope="module")
def _without_what_was_there() -> Iterator[None]:
    """The search for garbage skips all modules of the tests, and so takes no time."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True)
def _only_by_counting(
    use_servers: UseServers, library: dict[str, Any], tmp_path: Path
) -> Iterator[None]:
    """No garbage collection: objects in a reference cycle stay, and the tests find them."""
    broken, it = {"command": "no-such-program-anywhere"}, entry(journal=str(tmp_path / "journal"))
    use_servers(library=library, it=it, broken=broken, half={})
    gc.collect()
    gc.disable()
    yield
    gc.enable()
    gc.collect()


def open_bridges() -> list[threading.Thread]:
    return [x for x in threading.enumerate() if x.name == "xai-mcp-bridge" and x.is_alive()]


def burn(_: Any) -> None:
    raise ZeroDivisionError("the pan is empty")


def asking(text: str) -> AgentRun:
    return make(AgentRun, agent_name="a", conversation=text)


def burning_branch() -> AgentRun:
    run = asking('Cook "soup".')
    run.on_thought = chain(call(burn))
    return run


ENDINGS: dict[str, Callable[[], Flow]] = {
    "with an agent": lambda: [*agent_nodes("library"), asking("Find a book about whales.")],
    "without servers that fail": lambda: [*agent_nodes("broken", "half"), asking("Hello!")],
    "with a drawn tool that raises": lambda: [*agent_nodes("library"), asking('Cook "soup".')],
    "with a tool that is refused": lambda: [
        *agent_nodes("library"),
        make(AgentRunTool, agent_name="a", tool_name="library_get_book", tool_args="{}"),
    ],
    "with a branch that raises": lambda: [*agent_nodes("library"), burning_branch()],
    "with a model nobody serves": lambda: [
        *agent_nodes(agent_provider="openai", agent_model="m", base_url=NOBODY, api_key="sk-dummy"),
        asking("Hello!"),
    ],
    "with a server that fails": lambda: [make(MCPListTools, server_name="broken")],
    "with wrong arguments": lambda: [
        make(MCPCallTool, server_name="library", tool_name="get_book", arguments={})
    ],
    "with a node of someone else": lambda: [
        make(MCPListTools, server_name="library"),
        call(burn),
    ],
}


@pytest.mark.parametrize("flow", ENDINGS.values(), ids=ENDINGS)
def test_a_run_that_ends_leaves_no_bridge_open(flow: Callable[[], Flow]) -> None:
    with suppress(Exception):
        play({}, *flow(), tools=[tool_nodes("cook", burn)])
    assert open_bridges() == []


def test_the_process_of_a_server_is_gone_when_the_run_is(tmp_path: Path) -> None:
    play({}, make(MCPListTools, server_name="it"))
    assert none_runs(tmp_path / "journal")
    with pytest.raises(ZeroDivisionError):
        play({}, make(MCPListTools, server_name="it"), call(burn))
    gc.collect()  # pytest keeps the error a while
    wait_until(lambda: none_runs(tmp_path / "journal"), "the server ended")
    assert len(pids_in(tmp_path / "journal")) == 2
