"""Agents among hundreds of tools of a real server: the needed one is called, within the budget.

Whoever the model is, on the wire or offline, and in either protocol; also while tools come, a
server dies, or one wants to be found whatever is looked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.support import catalog_server
from tests.support.bridges import listed_tool
from tests.support.fault_server import entry
from tests.support.many_tools import many_tools, stuffed_tools, tasks, write
from tests.support.model_endpoint import model_endpoint
from tests.support.searching_model import SearchingModel
from tests.support.task_runs import OnEvent, Task, Told, nothing, run_tasks
from tests.support.warm_python import warm_python
from xai_mcp_agent import Bridge, XaiMcpError
from xai_mcp_agent.agent.events import ModelAsked, RunEvent
from xai_mcp_agent.bridge.operations import Operations

BUDGET = 3_800
EACH_PROTOCOL = pytest.mark.parametrize("protocol", ["native", "text"])
EACH_MODEL = pytest.mark.parametrize("model", ["knows", "takes the first", "offline"])
UNLIKE_MODELS = pytest.mark.parametrize("model", ["knows", "offline"])


@pytest.fixture(scope="module")
def bridge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bridge]:
    """A bridge that all tests share: what they do leaves nothing behind."""
    folder = tmp_path_factory.mktemp("many")
    servers = {
        "office": _server(write(folder / "office.jsonl", many_tools())),
        "pushy": _server(write(folder / "pushy.jsonl", stuffed_tools(40))),
    }
    with Bridge({"mcpServers": servers, "toolSearch": {"learn": False}}) as made:
        yield made


def _server(*files: str) -> dict[str, Any]:
    return {"command": warm_python(), "args": [catalog_server.__file__, *files]}


def run(
    bridge: Bridge,
    model: str,
    protocol: Any,
    servers: Sequence[str] = ("office",),
    asked: Sequence[Task] = (),
    on_event: OnEvent = nothing,
) -> list[Told]:
    """The tasks, each by an agent with these servers."""
    todo = asked or tasks()
    if model == "offline":
        return run_tasks(bridge, servers, todo, protocol=protocol, on_event=on_event)
    needed = {x.asked: frozenset(f"office_{y}" for y in x.needed) for x in todo}
    with model_endpoint(SearchingModel(needed if model == "knows" else {})) as endpoint:
        url = endpoint.base_url
        return run_tasks(bridge, servers, todo, base_url=url, protocol=protocol, on_event=on_event)


def missed(told: Sequence[Told]) -> list[Any]:
    """What was asked for and not done, with what was done."""
    return [(x.task.asked, x.called, x.found, x.answer) for x in told if not x.is_done]


@EACH_PROTOCOL
@EACH_MODEL
def test_the_needed_tool_is_called_within_the_budget(bridge: Bridge, model: str, protocol: str):
    told = run(bridge, model, protocol)
    assert len(missed(told)) <= 1, missed(told)
    assert max(y for x in told for y in x.tokens) <= BUDGET


@EACH_PROTOCOL
@EACH_MODEL
def test_a_server_that_stuffs_its_tools_with_words_does_not_hide_those_of_another(
    bridge: Bridge, model: str, protocol: str
):
    told = run(bridge, model, protocol, ("pushy", "office"))
    assert len(missed(told)) <= 1, missed(told)
    assert max(y for x in told for y in x.tokens) <= BUDGET


@EACH_PROTOCOL
@UNLIKE_MODELS
def test_tools_that_come_while_the_model_thinks_are_found(
    tmp_path: Path, model: str, protocol: str
):
    """Fifty at once, the needed one among them."""
    task, tools = tasks()[3], many_tools()
    late = [x for x in tools if x["name"] in task.needed]
    late += [x for x in tools if x["name"] not in task.needed][:49]
    early = [x for x in tools if x not in late]
    files = write(tmp_path / "early.jsonl", early), write(tmp_path / "late.jsonl", late)

    async def install(operations: Operations, event: RunEvent) -> None:
        if isinstance(event, ModelAsked) and event.step == 1:
            await operations.call_tool("office", "install_tools")
            await listed_tool(operations, "office", next(iter(task.needed)))

    with Bridge({"mcpServers": {"office": _server(*files)}}) as bridge:
        (told,) = run(bridge, model, protocol, asked=[task], on_event=install)
    assert told.is_done, missed([told])
    assert max(told.tokens) <= BUDGET


@EACH_PROTOCOL
@UNLIKE_MODELS
def test_a_server_that_dies_in_mid_run_keeps_nobody_from_the_tools_of_another(
    tmp_path: Path, model: str, protocol: str
):
    """Between the search and the call, in every run anew."""
    office = _server(write(tmp_path / "office.jsonl", many_tools()))

    async def kill(operations: Operations, event: RunEvent) -> None:
        if isinstance(event, ModelAsked) and event.step == 2:
            with suppress(XaiMcpError):
                await operations.call_tool("attic", "die")

    with Bridge({"mcpServers": {"attic": entry(), "office": office}}) as bridge:
        told = run(bridge, model, protocol, ("attic", "office"), tasks()[3:6], kill)
    assert not missed(told)
