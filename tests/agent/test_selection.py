"""What a request shows is not all that can be called."""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence

import pytest

from tests.agent.runs import go
from tests.support.model_endpoint import calls, model_endpoint, says
from xai_mcp_agent import Bridge
from xai_mcp_agent.agent.conversation import Conversation
from xai_mcp_agent.agent.events import RunEvent, RunStarted
from xai_mcp_agent.catalog.definitions import ToolDefinition
from xai_mcp_agent.core.tools import ToolKey
from xai_mcp_agent.search.selector import Selection, ShowEverything, Shown


class Only:
    """Shows one tool of all, and remembers what there was."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.available: list[list[str]] = []

    def select(
        self, available: Sequence[ToolDefinition], found: Sequence[ToolKey] = ()
    ) -> Selection:
        self.available.append([x.name for x in available])
        return Selection(tuple(Shown(x, "wanted") for x in available if x.name == self.name))


@pytest.fixture
def bridge() -> Generator[Bridge]:
    """A bridge without any server."""
    with Bridge({"mcpServers": {}}) as made:
        yield made


def test_a_tool_that_is_not_shown_can_be_called_by_its_name(bridge: Bridge):
    selector, told = Only("tell"), list[RunEvent]()

    async def emit(event: RunEvent) -> None:
        told.append(event)

    with model_endpoint([calls(("add", {})), says("It is 5.")]) as endpoint:
        _, finished = go(bridge, endpoint, Conversation("Go."), emit=emit, selector=selector)
    assert finished is not None
    assert finished.answer == "It is 5."
    for asked in endpoint.requests:
        assert [x["function"]["name"] for x in asked.body["tools"]] == ["tell"]
    assert endpoint.requests[1].body["messages"][-1]["content"] == "5"
    assert selector.available == [["tell", "add", "tool_search", "tool_explain"]] * 2
    (started,) = (x for x in told if isinstance(x, RunStarted))
    assert started.tool_names == ("tell", "add")


def test_the_text_protocol_shows_the_same_selection(bridge: Bridge):
    with model_endpoint([says("TOOL: add {}"), says("It is 5.")]) as endpoint:
        _, finished = go(
            bridge, endpoint, Conversation("Go."), selector=Only("tell"), protocol="text"
        )
    assert finished is not None
    assert finished.answer == "It is 5."
    sent = json.dumps(endpoint.requests[0].body)
    assert "Does tell." in sent
    assert "Does add." not in sent
    assert "TOOL RESULT add:" in endpoint.requests[1].body["messages"][-1]["content"]


def test_what_a_selection_costs_is_the_sum_of_its_definitions(bridge: Bridge):
    seen: list[Selection] = []

    class Noting(Only):
        def select(
            self, available: Sequence[ToolDefinition], found: Sequence[ToolKey] = ()
        ) -> Selection:
            seen.append(ShowEverything().select(available, found))
            return seen[-1]

    with model_endpoint([says("Done.")]) as endpoint:
        go(bridge, endpoint, Conversation("Go."), selector=Noting(""))
    (selection,) = seen
    sizes = [len(json.dumps(x["function"])) for x in endpoint.requests[0].body["tools"]]
    assert sum(sizes) / 5 < selection.tokens < sum(sizes) / 2
