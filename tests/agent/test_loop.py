"""The loop with a scripted model: calls, answers, limits, interruptions, resuming from JSON.

`tests/oracle/agents.py` has a whole run for every kind of reply.
"""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from tests.agent.runs import LONG, RunRecord, StoppedHere, go, stopping_at, through_json
from tests.support.scripted_model import ScriptedModel, calling
from xai_mcp_agent import ModelCannotCallFunctions, ModelRateLimited
from xai_mcp_agent.agent.events import (
    ProtocolChanged,
    RunEvent,
    RunStarted,
    ToolReturned,
    ToolStarted,
)
from xai_mcp_agent.agent.models.base import ModelReply, ModelRequest, TokenUsage
from xai_mcp_agent.agent.results import id_of
from xai_mcp_agent.agent.run_file import RunFileError
from xai_mcp_agent.agent.state import RunLimits, RunState

pytestmark = pytest.mark.anyio


async def test_calls_are_answered_in_order_and_the_model_gets_another_turn():
    reply = calling(("add", {}), ("shout", {"input": "hi"}), text="Some work.")
    run = await go([reply, "It is 5."], "What is 2 + 3?")
    assert (run.answer, run.outcome.tool_calls) == ("It is 5.", 2)
    answers = [(x["tool_call_id"], x["content"]) for x in run.messages[2:4]]
    assert answers == [(x.id, text) for x, text in zip(reply.calls, ("5", "HI"), strict=True)]


async def test_calls_that_fail_raise_the_temperature_until_one_succeeds():
    """xai-agent does the same and calls it stress."""
    broken = calling(("add", '{"a": 1, "b": '))
    run = await go([broken, calling(("boom", {})), calling(("add", {})), "sorry"])
    assert [round(x.extra_temperature, 2) for x in run.model.requests] == [0.0, 0.1, 0.2, 0.0]


async def test_the_last_thought_answers_without_tools_and_leaves_no_call_open():
    run = await go([calling(("add", {}), text=f"thought {n}") for n in range(5)], max_thoughts=3)
    assert [x.may_call for x in run.model.requests] == [True, True, False]
    assert "limit of thoughts" in run.request()[-1]["content"]
    assert run.messages[-1] == {"role": "assistant", "content": "thought 2"}


async def test_an_empty_reply_is_requested_once_more():
    assert (await go(["", "Here I am."])).answer == "Here I am."


async def test_an_error_of_the_model_keeps_the_conversation_so_far():
    model, runs = ScriptedModel([calling(("add", {})), ModelRateLimited("busy")]), list[RunRecord]()
    with pytest.raises(ModelRateLimited):
        await go(model, runs=runs)
    assert runs[0].roles == ["user", "assistant", "tool"]


async def test_a_service_that_refuses_functions_gets_the_text_protocol():
    script = [ModelCannotCallFunctions("no tools"), 'TOOL: shout {"input": "hey"}', "done"]
    run = await go(script)
    assert (run.answer, run.messages[2]["content"]) == ("done", "HEY")
    assert run.functions(1) == []
    assert run.request()[-1]["content"] == "TOOL RESULT shout:\nHEY"
    assert any(isinstance(x, ProtocolChanged) for x in run.events)


# The conversation in a request


async def test_several_system_messages_become_one_at_their_place_in_the_prompt():
    contents = {"First rule.": "system", "Second rule.": "system", "Hi.": "user"}
    messages = [{"role": role, "content": text} for text, role in contents.items()]
    run = await go(["ok"], messages, system_prompt="You are kind.")
    assert run.request()[0]["content"] == "You are kind.\n\nFirst rule.\n\nSecond rule."
    assert [x["role"] for x in run.request()] == ["system", "user"]
    assert run.messages[:3] == messages
    run = await go(["ok"], messages, system_prompt='Rules: {provided_system} {"a": {b}}.')
    assert run.request()[0]["content"] == 'Rules: First rule.\n\nSecond rule. {"a": {b}}.'


def call_message(id_: str) -> dict[str, Any]:
    call = {"id": id_, "type": "function", "function": {"name": "add", "arguments": "{}"}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


async def test_each_open_call_is_answered_even_if_ids_repeat():
    """Services refuse a conversation that has a call without an answer."""
    answer = {"role": "tool", "tool_call_id": "c1", "content": "5"}
    messages = ["Go.", call_message("c1"), answer, call_message("c1"), "And?", answer]
    run = await go(["ok"], messages)
    roles = [x["role"] for x in run.request()]
    assert roles == ["user", "assistant", "tool", "assistant", "tool", "user", "user"]
    assert run.request()[4]["content"] == "ERROR: this call was never answered."


# Limits of a run


async def test_before_a_run_exceeds_its_limit_the_model_must_answer():
    """Each turn takes 25 tokens, 20 of them in."""
    usage = TokenUsage(20, 5)

    def script(request: ModelRequest) -> ModelReply:
        results = sum(x["role"] == "tool" for x in request.messages)
        if not request.may_call or results == 4:
            return ModelReply("As far as I came.", usage=usage)
        return ModelReply("", calling(("add", {})).calls, "tool_calls", usage=usage)

    price: dict[str, Any] = {"input_price": 1.0, "output_price": 2.0}
    for limits, turns in (
        (RunLimits(tokens=60), 2),
        (RunLimits(tokens=90), 3),
        (RunLimits(cost=0.0001, **price), 3),
        (RunLimits(tokens=10_000, cost=1.0, **price), 5),
    ):
        run = await go(script, limits=limits)
        assert len(run.model.requests) == turns
        assert run.outcome.stopped == ("limit" if turns < 5 else "answered")


async def test_the_limit_also_holds_for_a_service_that_counts_no_tokens():
    run = await go(
        lambda request: calling(("add", {})) if request.may_call else "So far.",
        limits=RunLimits(tokens=1_500), max_thoughts=50,
    )  # fmt: skip
    assert (run.outcome.stopped, run.answer) == ("limit", "So far.")
    assert 2 < run.outcome.steps < 15


# Interruptions


PAY = calling(("pay", {"input": "rent"}), ("wait", {}), text="Both.")


async def interrupt_run(with_error: bool) -> tuple[RunState, list[str]]:
    """Return the state of a run that ends while `pay` has answered and `wait` has not.

    It is cancelled, or a listener raises an error.
    """
    paid, is_waiting, is_paid = list[str](), anyio.Event(), anyio.Event()

    async def pay(input: str) -> str:
        await is_waiting.wait()
        paid.append(input)
        return "paid once"

    async def wait() -> None:
        is_waiting.set()
        await anyio.sleep_forever()

    async def emit(event: RunEvent) -> None:
        if isinstance(event, ToolReturned):
            is_paid.set()
            if with_error:
                raise StoppedHere

    stop = None if with_error else is_paid
    return (await go([PAY], "Go.", pay, wait, emit=emit, stop=stop)).state, paid


@pytest.mark.parametrize("with_error", [False, True])
async def test_an_interrupted_turn_keeps_its_results_and_repeats_no_call(with_error: bool):
    state, paid = await interrupt_run(with_error)
    assert (state.pending, paid) == ((), ["rent"])
    _, thought, first, second = state.conversation.messages
    assert (thought["content"], first["content"]) == ("Both.", "paid once")
    assert "It may have been carried out" in second["content"]
    run = await go(["Paid."], through_json(state))
    assert (run.answer, run.outcome.tool_calls, paid) == ("Paid.", 2, ["rent"])


async def test_a_call_that_cannot_be_announced_is_not_made_and_the_reason_is_reported():
    async def emit(event: RunEvent) -> None:
        if isinstance(event, ToolStarted):
            raise RunFileError("The file cannot be written.")

    with pytest.raises(RunFileError, match="cannot be written"):
        await go([calling(("add", {}), ("tell", {}))], emit=emit)


async def test_a_resumed_run_makes_only_the_calls_without_an_answer():
    turns = [
        calling(("tell", {})),
        ModelReply("Adding.", calling(("add", {})).calls, "tool_calls", usage=TokenUsage(20, 5)),
        calling(("read_result", {"result_id": "unknown", "start": 0})),
        "It is 5.",
    ]
    model = ScriptedModel(turns)
    stopped = await go(model, emit=stopping_at(2))
    assert stopped.end is None
    state = through_json(stopped.state)
    assert [x.name for x in state.pending] == ["add"]
    run = await go(model, state)
    assert (run.answer, run.outcome.steps, run.outcome.tool_calls) == ("It is 5.", 4, 3)
    assert run.outcome.usage.input_tokens == 20
    assert [x["content"] for x in run.request(2)[-2:]] == ["Adding.", "5"]
    started = run.events[0]
    assert isinstance(started, RunStarted)
    assert started.asked == "Go.", "not the last result"
    # The long result of the first run can still be read, under the name it had.
    assert run.functions(2) == ["tell", "add", "shout", "boom", "read_result"]
    assert f"There are: {id_of(LONG)}." in run.request(3)[-1]["content"]


# Long results, and ids that repeat


async def test_each_long_result_has_its_own_id_even_if_call_ids_repeat():
    """Some services number the calls of each turn anew."""

    def story(name: str) -> str:
        return f"{name} " * 20_000

    def script(request: ModelRequest) -> ModelReply | str:
        turn = sum(x["role"] == "assistant" for x in request.messages)
        if turn < 2:
            return calling(("story", {"name": ("apples", "plums")[turn]}), id_="call_0")
        if turn == 4:
            return "Read."
        texts = [str(x["content"]) for x in request.messages]
        excerpts = [x for x in texts if "are left out here" in x]
        page = excerpts[turn - 2].partition("read_result: ")[2].partition(" ...]")[0]
        return calling(("read_result", page), id_="call_0")

    run = await go(script, "Go.", story)
    first, second = run.messages[6]["content"], run.messages[8]["content"]
    assert ("apples" in first, "plums" in first) == (True, False)
    assert ("apples" in second, "plums" in second) == (False, True)
    again = await go(["Still."], through_json(run.state))
    assert sorted(again.state.long_results.values()) == sorted([story("apples"), story("plums")])
