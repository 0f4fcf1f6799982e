"""The state of a run as a value: written as JSON in one run, gone on with in another."""

from __future__ import annotations

import json
from collections.abc import Generator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agent.runs import StoppedHere, go
from tests.support.model_endpoint import Script, calls, model_endpoint, says
from tests.support.model_services import SERVICES, Rules, minding
from xai_mcp_agent import Bridge, ToolKey
from xai_mcp_agent.agent.conversation import Conversation
from xai_mcp_agent.agent.events import Emit, RunEvent, ToolStarted
from xai_mcp_agent.agent.messages import ToolCall
from xai_mcp_agent.agent.models.base import Usage
from xai_mcp_agent.agent.state import RunState

TEXT = st.text(max_size=8)
MESSAGE = st.builds(lambda text: {"role": "user", "content": text}, TEXT.filter(str.strip))
KEY = st.builds(ToolKey, st.sampled_from(["mcp", "tools"]), TEXT, TEXT)
COUNT = st.integers(0, 1000)
STATE = st.builds(
    RunState,
    st.builds(Conversation, st.lists(MESSAGE, max_size=3), st.lists(MESSAGE, max_size=3)),
    pending=st.lists(st.builds(ToolCall, TEXT, TEXT, TEXT), max_size=3).map(tuple),
    thought=TEXT,
    added=st.dictionaries(TEXT, st.dictionaries(TEXT, TEXT), max_size=2),
    cut_off=st.booleans(),
    names=st.lists(st.tuples(KEY, TEXT), max_size=3).map(tuple),
    kept=st.dictionaries(TEXT, TEXT, max_size=2),
    step=COUNT,
    calls=COUNT,
    failures=COUNT,
    usage=st.builds(Usage, COUNT, COUNT, COUNT, COUNT),
)


@pytest.fixture
def bridge() -> Generator[Bridge]:
    """A bridge without any server."""
    with Bridge({"mcpServers": {}}) as made:
        yield made


def through_json(state: RunState) -> RunState:
    """As another process gets it."""
    return RunState.from_json(json.loads(json.dumps(state.to_json())))


def stopping_at(count: int) -> Emit:
    """Ends the run when so many calls were begun."""
    begun: list[RunEvent] = []

    async def emit(event: RunEvent) -> None:
        if isinstance(event, ToolStarted):
            begun.append(event)
            if len(begun) == count:
                raise StoppedHere

    return emit


@given(STATE)
def test_a_state_is_read_back_from_json_as_it_was_written(state: RunState):
    again = through_json(state)
    assert again.to_json() == state.to_json()
    assert (again.names, again.pending, again.usage) == (state.names, state.pending, state.usage)
    assert again.conversation.messages == state.conversation.messages


def test_a_run_that_was_stopped_goes_on_with_the_calls_that_have_no_answer_yet(bridge: Bridge):
    script: Script = [
        calls(("tell", {})),
        calls(("add", {}), text="Adding."),
        calls(("read_result", {"result_id": "unknown", "start": 0})),
        says("It is 5."),
    ]
    with model_endpoint(script) as endpoint:
        stopped, finished = go(bridge, endpoint, Conversation("Go."), emit=stopping_at(2))
        assert finished is None
        state = through_json(stopped)
        assert [x.name for x in state.pending] == ["add"]
        assert [x["role"] for x in state.conversation.messages] == ["user", "assistant", "tool"]
        _, finished = go(bridge, endpoint, state)
    assert finished is not None
    assert (finished.answer, finished.steps, finished.tool_calls) == ("It is 5.", 4, 3)
    assert finished.usage.input_tokens == 80
    sent = endpoint.requests[2].body["messages"]
    assert [x["role"] for x in sent] == ["user", "assistant", "tool", "assistant", "tool"]
    assert sent[-2]["content"] == "Adding."
    assert sent[-1]["content"] == "5"
    # The long result of the first run can still be read, under the name it had.
    offered = [x["function"]["name"] for x in endpoint.requests[2].body["tools"]]
    assert offered == ["tell", "add", "read_result"]
    (kept,) = state.kept
    assert f"There are: {kept}." in endpoint.requests[3].body["messages"][-1]["content"]


@pytest.mark.parametrize("rules", SERVICES)
def test_what_a_service_added_goes_back_to_it_from_the_json_of_a_state(
    bridge: Bridge, rules: Rules
):
    """Of calls that are answered, and of those that have no answer yet."""
    asked = [rules.calls(("add", {})), rules.calls(("add", {})), says("It is 5.")]
    with model_endpoint(minding(rules, asked)) as endpoint:
        start, by = Conversation("Go."), rules.provider
        stopped, _ = go(bridge, endpoint, start, emit=stopping_at(2), provider=by)
        assert stopped.pending
        _, finished = go(bridge, endpoint, through_json(stopped), provider=by)
    assert finished is not None
    assert finished.answer == "It is 5."
