"""Agents among hundreds of tools of real servers: the needed one is called, within the budget."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support import catalog_server
from tests.support.many_tools import many_tools, stuffed_tools, tasks, write
from tests.support.model_endpoint import model_endpoint
from tests.support.searching_model import SearchingModel
from tests.support.task_runs import Told, run_tasks
from tests.support.warm_python import warm_python
from xai_mcp_agent import Bridge

BUDGET = 3_800
SERVERS = ("pushy", "office")


@pytest.fixture(scope="module")
def bridge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bridge]:
    """A bridge to an office, and to a server that stuffs its tools with words."""
    folder = tmp_path_factory.mktemp("many")
    servers = {
        "office": _server(write(folder / "office.jsonl", many_tools())),
        "pushy": _server(write(folder / "pushy.jsonl", stuffed_tools(40))),
    }
    with Bridge({"mcpServers": servers, "toolSearch": {"learn": False}}, store="off") as made:
        yield made


def _server(*files: str) -> dict[str, Any]:
    return {"command": warm_python(), "args": [catalog_server.__file__, *files]}


def run(bridge: Bridge, model: str, protocol: Any) -> list[Told]:
    """The tasks, each by an agent with these servers."""
    if model == "offline":
        return run_tasks(bridge, SERVERS, tasks(), protocol=protocol)
    needed = {x.asked: frozenset(f"office_{y}" for y in x.needed) for x in tasks()}
    with model_endpoint(SearchingModel(needed if model == "knows" else {})) as endpoint:
        return run_tasks(bridge, SERVERS, tasks(), base_url=endpoint.base_url, protocol=protocol)


@pytest.mark.parametrize(
    ("model", "protocol"), [("knows", "native"), ("takes the first", "text"), ("offline", "native")]
)
def test_the_needed_tool_is_called_within_the_budget(bridge: Bridge, model: str, protocol: str):
    told = run(bridge, model, protocol)
    missed = [(x.task.asked, x.called, x.found, x.answer) for x in told if not x.is_done]
    assert len(missed) <= 1, missed
    assert max(y for x in told for y in x.tokens) <= BUDGET
