"""Agents among hundreds of tools of a real server: the needed one is called, within the budget.

Whoever the model is, on the wire or offline, and in either protocol.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
EACH_PROTOCOL = pytest.mark.parametrize("protocol", ["native", "text"])
EACH_MODEL = pytest.mark.parametrize("model", ["knows", "takes the first", "offline"])


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


def run(bridge: Bridge, model: str, protocol: Any, servers: Sequence[str]) -> list[Told]:
    """The tasks, each by an agent with these servers."""
    if model == "offline":
        return run_tasks(bridge, servers, tasks(), protocol=protocol)
    needed = {x.asked: frozenset(f"office_{y}" for y in x.needed) for x in tasks()}
    with model_endpoint(SearchingModel(needed if model == "knows" else {})) as endpoint:
        url = endpoint.base_url
        return run_tasks(bridge, servers, tasks(), base_url=url, protocol=protocol)


@EACH_PROTOCOL
@EACH_MODEL
@pytest.mark.parametrize("servers", [("office",), ("pushy", "office")])
def test_the_needed_tool_is_called_within_the_budget(
    bridge: Bridge, model: str, protocol: str, servers: Sequence[str]
):
    """Also beside a server that stuffs its tools with words."""
    told = run(bridge, model, protocol, servers)
    missed = [(x.task.asked, x.called, x.found, x.answer) for x in told if not x.is_done]
    assert len(missed) <= 1, missed
    assert max(y for x in told for y in x.tokens) <= BUDGET
