"""Services that give calls the same ids again, in every turn: nothing takes another one's place."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.agent.runs import LONG, go
from tests.support.agents_in_ctx import init_agent
from tests.support.model_endpoint import Script, Step, calls, model_endpoint, says
from tests.support.offline_talk import ask, tool
from xai_mcp_agent import Bridge, ToolResult
from xai_mcp_agent.agent.conversation import Conversation
from xai_mcp_agent.agent.results import ResultPages
from xai_mcp_agent.agent.state import RunState
from xai_mcp_agent.agent.text_protocol import as_text
from xai_mcp_agent.canvas.agent_run import CanvasRun, run_agent
from xai_mcp_agent.canvas.toolbelts import define_tool, make_toolbelt

Ctx = dict[str, Any]
TOLD = re.compile(r'\{"result_id": "([^"]+)", "start": \d+\}')


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def ctx() -> Ctx:
    """A workflow with a tool that tells a long story of what it is asked for."""
    ctx: Ctx = {}
    define_tool(ctx, None, "story", "Tells a story.", lambda _ctx, text, _: f"{text} " * 20_000)
    return ctx


def again(step: Step) -> Step:
    """The same turn, with the ids that all turns have."""
    asked = [{**x, "id": f"call_{n}"} for n, x in enumerate(step.message["tool_calls"])]
    return replace(step, message={**step.message, "tool_calls": asked})


def story(text: str, *, in_text: bool) -> Step:
    if in_text:
        return says(f'TOOL: story {{"input": "{text}"}}')
    return again(calls(("story", {"input": text})))


def read(told: str, *, in_text: bool) -> Step:
    """The model reads on in the result that this text tells of."""
    (result_id,) = TOLD.findall(told)
    page = {"result_id": result_id, "start": 25_000}
    return says(f"TOOL: read_result {json.dumps(page)}") if in_text else again(
        calls(("read_result", page))
    )  # fmt: skip


def run(ctx: Ctx, script: Script, asked: Any, *, in_text: bool) -> tuple[list[Any], list[Any]]:
    """Run an agent; the conversation after it, and the texts of the last request."""
    with model_endpoint(script) as endpoint:
        belt = {"toolbelt_spec": make_toolbelt(ctx, ""), "base_url": endpoint.base_url}
        protocol = "text" if in_text else "native"
        init_agent(ctx, "a", provider="openai", model="m", tool_protocol=protocol, **belt)
        outcome = CanvasRun()
        run_agent(ctx, "a", asked, outcome=outcome)
        return outcome.conversation, [x["content"] for x in endpoint.requests[-1].body["messages"]]


@pytest.mark.parametrize("in_text", [False, True], ids=["native", "text"])
def test_each_long_result_of_a_run_is_read_by_the_id_it_was_shown_with(ctx: Ctx, in_text: bool):
    def script(body: dict[str, Any]) -> Step:
        told = [x["content"] for x in body["messages"] if TOLD.search(str(x["content"]))]
        turn = sum(x["role"] == "assistant" for x in body["messages"])
        match turn:
            case 0:
                return story("apples", in_text=in_text)
            case 1:
                return story("plums", in_text=in_text)
            case 2 | 3:
                return read(told[turn - 2], in_text=in_text)
            case _:
                return says("Read.")

    _, texts = run(ctx, script, "Go.", in_text=in_text)
    first, second = [x for x in texts if "more characters from" in str(x)]
    assert "apples" in first
    assert "plums" not in first
    assert "plums" in second
    assert "apples" not in second


@pytest.mark.parametrize("in_text", [False, True], ids=["native", "text"])
def test_what_an_earlier_run_showed_in_part_is_read_by_its_own_id(ctx: Ctx, in_text: bool):
    script = [story("apples", in_text=in_text), says("Told.")]
    before, texts = run(ctx, script, "Go.", in_text=in_text)
    (first,) = [x for x in texts if TOLD.search(str(x))]

    def read_the_first(body: dict[str, Any]) -> Step:
        turn = sum(x["role"] == "assistant" for x in body["messages"]) - 2
        now = [story("plums", in_text=in_text), read(first, in_text=in_text), says("Well.")]
        return now[turn]

    _, texts = run(ctx, read_the_first, [*before, {"role": "user", "content": "And?"}],
                   in_text=in_text)  # fmt: skip
    assert "apples" in texts[-1]
    assert "plums" not in texts[-1]


def test_a_run_that_goes_on_keeps_the_results_of_its_first_part():
    script = [again(calls(("tell", {}))), says("Told.")]
    with Bridge({"mcpServers": {}}) as bridge, model_endpoint(script) as endpoint:
        state, _ = go(bridge, endpoint, Conversation("Go."))
    state = RunState.from_json(json.loads(json.dumps(state.to_json())))
    pages = ResultPages(lambda key: key.name, state.kept)
    pages.shown([ToolResult.of_text(LONG.upper())])
    assert sorted(pages.texts.values()) == sorted([LONG, LONG.upper()])


# Pairs of a call and its answer, in the messages of a run


def turn(name: str, result: str) -> list[dict[str, Any]]:
    """A call with the id of all calls, and its answer."""
    call = {"id": "call_0", "type": "function", "function": {"name": name, "arguments": "{}"}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_0", "content": result},
    ]


TURNS = [
    {"role": "user", "content": "Go."},
    *turn("shout", "ERROR: not now"),
    *turn("add", "5"),
]


def test_each_result_is_reported_in_text_with_the_name_of_its_own_call():
    sent = as_text(TURNS)
    assert [x["content"].splitlines()[0] for x in sent[1:]] == [
        "TOOL: shout {}", "TOOL RESULT shout (error):", "TOOL: add {}", "TOOL RESULT add:",
    ]  # fmt: skip


@pytest.mark.anyio
async def test_the_offline_model_takes_each_result_for_that_of_its_own_call():
    tools = [tool("shout", "Shout something."), tool("add", "Add what there is.")]
    asked = {"role": "user", "content": "Shout something. Add what there is."}
    reply = await ask([asked, *TURNS[1:]], tools)
    assert (reply.calls, reply.text) == ((), "shout failed: not now\n\n5")
