"""The agent loop, against a scripted model on the real wire and tools drawn in Python."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.support.agents_in_ctx import init_agent
from tests.support.model_endpoint import (
    Script,
    breaks_off,
    calls,
    fails,
    hangs,
    model_endpoint,
    says,
)
from tests.support.model_services import DEEPSEEK, STRICT, Rules, minding
from tests.support.model_services import SERVICES as ALL_SERVICES
from xai_mcp_agent import (
    BadSetting,
    ModelAuthenticationError,
    ModelContentFiltered,
    ModelContextOverflow,
    ModelRateLimited,
    ModelTimeout,
    ModelUnreachable,
    UnknownAgent,
)
from xai_mcp_agent.agent.conversation import BadConversation
from xai_mcp_agent.agent.results import id_of
from xai_mcp_agent.canvas.agent_run import CanvasRun, run_agent, run_tool
from xai_mcp_agent.canvas.agents import update_agent
from xai_mcp_agent.canvas.toolbelts import define_tool, make_toolbelt

ADD = {"a": "integer", "b": "integer"}


@dataclass
class Run:
    """What a run gave: the outcome, the requests the model got, and what was printed."""

    outcome: CanvasRun = field(default_factory=CanvasRun)
    bodies: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    error: Exception | None = None

    def sent(self, number: int) -> list[dict[str, Any]]:
        body = self.bodies[number]
        return body["messages"] if "messages" in body else body["input"]

    def told(self, number: int) -> str:
        """The last thing that a request says."""
        last = self.sent(number)[-1]
        return last["output"] if "output" in last else last["content"]


LONG = "x" * 100_000 + "THE END"
LONG_ID = id_of(LONG)
_asked_by = {"provider": "openai"}
ON_EACH_WIRE = pytest.mark.parametrize("_wire", ["openai", "openai_responses"], indirect=True)


@pytest.fixture(autouse=True)
def _wire(request: pytest.FixtureRequest) -> None:
    """What `play` asks by: Chat Completions, if a test says nothing else."""
    _asked_by["provider"] = getattr(request, "param", "openai")


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XAI_MCP_SETTINGS", raising=False)


def new_ctx() -> dict[str, Any]:
    """A run's ctx with a toolbelt of three drawn tools."""
    ctx: dict[str, Any] = {}

    def add(_ctx: Any, _text: str, numbers: Any) -> int:
        return numbers["a"] + numbers["b"]

    def boom(_ctx: Any, _text: str, _arguments: Any) -> str:
        raise ZeroDivisionError("inner detail")

    define_tool(ctx, None, "add", "Adds two integers.", add, ADD)
    define_tool(ctx, None, "shout", "Says a text loudly.", lambda _c, text, _a: text.upper())
    define_tool(ctx, None, "boom", "Always fails.", boom)
    define_tool(ctx, None, "long", "Says much.", lambda _c, text, _a: LONG)
    return ctx


def play(
    script: Script,
    conversation: Any = "Go.",
    *,
    on_thought: Callable[[Any], None] | None = None,
    **agent: Any,
) -> Run:
    """Run an agent whose model follows the script; an error is kept."""
    ctx, run = new_ctx(), Run()
    with model_endpoint(script) as endpoint:
        values = {
            **_asked_by,
            "model": "scripted",
            "toolbelt_spec": make_toolbelt(ctx, ""),
        }
        init_agent(ctx, "a", **{**values, "base_url": endpoint.base_url, **agent})
        try:
            run_agent(ctx, "a", conversation, outcome=run.outcome, on_thought=on_thought)
        except Exception as error:  # noqa: BLE001 - the tests look at it
            run.error = error
        run.bodies = [x.body for x in endpoint.requests]
    return run


@ON_EACH_WIRE
def test_a_tool_call_is_answered_and_the_model_asked_again():
    run = play([calls(("add", {"a": 2, "b": 3})), says("It is 5.")], "What is 2 + 3?")
    assert run.outcome.answer == "It is 5."
    assert [x["role"] for x in run.outcome.conversation] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
    assert run.told(1) == "5"
    offered = [(x.get("function") or x)["name"] for x in run.bodies[0]["tools"]]
    assert offered == ["add", "shout", "boom", "long"]


def test_a_branch_after_each_tool_gets_a_long_conversation_without_holding_up_the_loop():
    given = [{"role": "user", "content": f"question {n}"} for n in range(20_000)]
    seen: list[Any] = []
    script = [calls(("add", {"a": 2, "b": 3})), says("5")]
    run = play(script, given, on_thought=seen.append, context_tokens=1_000_000)
    assert (run.outcome.answer, len(seen)) == ("5", 1)
    assert len(run.outcome.conversation) == 20_003


@ON_EACH_WIRE
def test_parallel_calls_are_all_answered_in_the_order_they_were_asked():
    run = play(
        [calls(("add", {"a": 1, "b": 1}), ("shout", {"input": "hi"}), ("nope", {})), says("ok")]
    )
    asked = [x["id"] for x in run.outcome.conversation[1]["tool_calls"]]
    answers = run.outcome.conversation[2:5]
    assert [x["tool_call_id"] for x in answers] == asked
    assert [x["content"] for x in answers[:2]] == ["2", "HI"]
    assert answers[2]["content"].startswith("ERROR: There is no tool 'nope'.")


@ON_EACH_WIRE
@pytest.mark.parametrize(
    ("call", "hint"),
    [
        (("ad", {"a": 1, "b": 2}), "Did you mean 'add'"),
        (("add", {"a": "one", "b": 2}), 'a: "one" is not of type "integer"'),
        (("add", {"a": 1}), '"b" is a required property'),
        (("add", '{"a": 1, "b": '), "not JSON"),
        (("boom", {"input": "x"}), "ZeroDivisionError: inner detail"),
    ],
)
def test_what_a_model_does_wrong_is_answered_with_a_hint(call: Any, hint: str):
    run = play([calls(call), says("sorry")])
    text = run.told(1)
    assert text.startswith("ERROR: ")
    assert hint in text
    assert run.outcome.answer == "sorry"


def test_failures_in_a_row_raise_the_temperature_and_a_success_lowers_it_again():
    """As in xai-agent, where it is called stress."""
    script = [calls(("nope", {}))] * 2 + [calls(("add", {"a": 1, "b": 1})), says("done")]
    run = play(script, temperature=0.5)
    assert [round(x["temperature"], 2) for x in run.bodies] == [0.5, 0.6, 0.7, 0.5]


@ON_EACH_WIRE
def test_the_last_thought_answers_without_tools_and_leaves_no_call_open():
    script = [calls(("add", {"a": n, "b": n}), text=f"thought {n}") for n in range(5)]
    run = play(script, max_thoughts=3)
    assert len(run.bodies) == 3
    assert run.bodies[2]["tool_choice"] == "none"
    assert "limit of thoughts" in run.told(2)
    last = run.outcome.conversation[-1]
    assert last == {"role": "assistant", "content": "thought 2"}
    assert run.outcome.answer == "thought 2"


def test_an_agent_with_one_thought_answers_at_once():
    run = play([says("Hello.")], max_thoughts=1)
    assert run.outcome.answer == "Hello."


@ON_EACH_WIRE
def test_a_call_cut_off_by_the_length_limit_is_not_made():
    run = play([calls(("shout", '{"input": "never end'), finish="length"), says("shorter")])
    assert "cut off" in run.told(1)
    assert run.outcome.answer == "shorter"


@ON_EACH_WIRE
def test_an_answer_cut_off_by_the_length_limit_is_still_the_answer(capsys: Any):
    run = play([says("Once upon a", finish="length")])
    assert run.outcome.answer == "Once upon a"
    assert "cut off at the output limit" in capsys.readouterr().out


@ON_EACH_WIRE
def test_a_refusal_is_the_answer():
    run = play([says("", refusal="I cannot help with that.")])
    assert run.outcome.answer == "I cannot help with that."


@ON_EACH_WIRE
def test_an_empty_reply_is_asked_for_once_more():
    run = play([says(""), says("Here I am.")])
    assert run.outcome.answer == "Here I am."
    assert len(run.bodies) == 2


def test_the_given_conversation_is_never_modified():
    given = [{"role": "user", "content": [{"type": "text", "text": "Look."}]}]
    before = copy.deepcopy(given)
    run = play([calls(("add", {"a": 1, "b": 2})), says("3")], given)
    assert given == before
    run.outcome.conversation[0]["content"][0]["text"] = "changed"
    assert given == before


def test_pictures_in_the_conversation_reach_the_model_as_they_are():
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    given = [{"role": "user", "content": [{"type": "text", "text": "What is it?"}, picture]}]
    run = play([says("A dot.")], given)
    assert run.sent(0)[-1]["content"] == given[0]["content"]


@pytest.mark.parametrize("given", [[], ()])
def test_an_empty_conversation_still_asks_the_model_something(given: Any):
    run = play([says("Welcome!")], given, system_prompt="Greet people.")
    assert [x["role"] for x in run.sent(0)] == ["system", "user"]
    assert run.outcome.answer == "Welcome!"


@pytest.mark.parametrize("given", [None, "", " \n"])
def test_without_a_question_and_a_conversation_nothing_is_asked(given: Any):
    error = play([], given).error
    assert isinstance(error, BadSetting)
    assert "`question`" in str(error)


def test_a_conversation_that_ends_with_the_assistant_is_continued():
    given = [{"role": "user", "content": "Tell me more."}, {"role": "assistant", "content": "So,"}]
    run = play([says("and so on.")], given)
    assert run.sent(0)[-1]["role"] == "user"
    assert [x["role"] for x in run.outcome.conversation] == ["user", "assistant", "assistant"]


def test_several_system_messages_become_one_after_the_agents_own():
    given = [
        {"role": "system", "content": "First rule."},
        {"role": "system", "content": "Second rule."},
        {"role": "user", "content": "Hi."},
    ]
    run = play([says("ok")], given, system_prompt="You are kind.")
    assert run.sent(0)[0]["content"] == "You are kind.\n\nFirst rule.\n\nSecond rule."
    assert [x["role"] for x in run.sent(0)] == ["system", "user"]
    assert run.outcome.conversation[:3] == given


def test_a_prompt_may_place_the_given_system_message_and_hold_json():
    prompt = 'Rules: {provided_system} Answer like {"a": {b}}. {metadata}'
    given = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi."}]
    run = play([says("ok")], given, system_prompt=prompt)
    assert run.sent(0)[0]["content"].startswith('Rules: Be brief. Answer like {"a": {b}}.')


def test_the_outcome_can_be_handed_to_the_next_run():
    first = play([calls(("add", {"a": 1, "b": 2})), says("3")], "1 + 2?", system_prompt="Be exact.")
    again = [*first.outcome.conversation, {"role": "user", "content": "And doubled?"}]
    second = play([says("6")], again, system_prompt="Be exact.")
    assert [x["role"] for x in second.sent(0)] == [
        "system", "user", "assistant", "tool", "assistant", "user",
    ]  # fmt: skip


def test_a_call_left_open_in_the_given_conversation_is_closed():
    """Services refuse a conversation that has a call without an answer."""
    call = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{}"}}
    given = [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "user", "content": "Well?"},
    ]
    run = play([says("Sorry.")], given)
    assert run.sent(0)[2] == {
        "role": "tool", "tool_call_id": "c1", "content": "ERROR: this call was never answered.",
    }  # fmt: skip


@pytest.mark.parametrize("given", [42, [42], [{"content": "no role"}], [{"role": "boss"}]])
def test_what_is_no_conversation_is_refused_in_words(given: Any):
    run = play([], given)
    assert isinstance(run.error, BadConversation)


@ON_EACH_WIRE
@pytest.mark.parametrize(
    ("step", "kind"),
    [
        (fails(401, {"message": "bad key"}), ModelAuthenticationError),
        (fails(429, {"message": "slow down"}, {"x-should-retry": "false"}), ModelRateLimited),
        (
            fails(400, {"message": "too long", "code": "context_length_exceeded"}),
            ModelContextOverflow,
        ),
        (hangs(), ModelTimeout),
        (says("", finish="content_filter"), ModelContentFiltered),
    ],
)
def test_a_model_error_keeps_the_conversation_so_far(step: Any, kind: type[Exception]):
    limit = 3 if kind is ModelTimeout else 60
    run = play([calls(("add", {"a": 2, "b": 2})), step], "2 + 2?", timeout_seconds=limit)
    assert isinstance(run.error, kind)
    assert [x["role"] for x in run.outcome.conversation] == ["user", "assistant", "tool"]
    assert run.outcome.conversation[-1]["content"] == "4"


def test_the_text_protocol_uses_the_same_tools_and_ends_the_same():
    """Spec 1: TOOL: <tool_name> <args>."""
    reply = 'Let me see.\nTOOL: add {"a": 2, "b": 3}\nTOOL: shout {"input": "hey"}'
    run = play([says(reply), says("It is 5.")], tool_protocol="text")
    assert "tools" not in run.bodies[0]
    assert "- add: Adds two integers." in run.sent(0)[0]["content"]
    assert run.sent(1)[-1] == {
        "role": "user", "content": "TOOL RESULT add:\n5\n\nTOOL RESULT shout:\nHEY",
    }  # fmt: skip
    assert run.outcome.answer == "It is 5."


def test_the_text_protocol_answers_broken_json_and_unknown_names_with_hints():
    reply = 'TOOL: add {"a": 2, "b"\nTOOL: multiply {"a": 1}'
    run = play([says(reply), says("Never mind.")], tool_protocol="text")
    text = run.sent(1)[-1]["content"]
    assert "TOOL RESULT add (error):" in text
    assert "There is no tool 'multiply'" in text


@ON_EACH_WIRE
def test_a_service_that_refuses_functions_is_spoken_to_in_text():
    refusal = fails(400, {"message": "registry/tiny:latest does not support tools"})
    run = play([refusal, says('TOOL: add {"a": 4, "b": 4}'), says("8")])
    assert run.outcome.answer == "8"
    assert "tools" not in run.bodies[1]


@ON_EACH_WIRE
def test_a_native_conversation_can_be_continued_in_text():
    first = play([calls(("add", {"a": 1, "b": 2})), says("3")], "1 + 2?")
    run = play([says("Still 3.")], [*first.outcome.conversation, "Sure?"], tool_protocol="text")
    shown = json.dumps(run.sent(0))
    assert "tool_calls" not in shown
    assert 'TOOL: add {\\"a\\": 1, \\"b\\": 2}' in shown
    assert "TOOL RESULT add:" in shown


def test_a_long_result_shows_its_head_and_tail_and_can_be_read_on():
    def script(body: dict[str, Any]) -> Any:
        count = len(body["messages"])
        if count == 1:
            return calls(("long", {"input": "x"}))
        names = [x["function"]["name"] for x in body["tools"]]
        if count == 3:
            assert names[-1] == "read_result"
            return calls(("read_result", {"result_id": LONG_ID, "start": 99_990}))
        return says("Read.")

    run = play(script)
    shown = run.sent(1)[-1]["content"]
    assert len(shown) < 33_000
    assert shown.endswith("THE END")
    assert run.sent(2)[-1]["content"] == "x" * 10 + "THE END"
    assert run.outcome.answer == "Read."


def test_on_thought_gets_each_use_of_a_tool_with_the_result_at_hand():
    seen: list[tuple[str, str, str]] = []
    outcome_of: list[Run] = []

    def on_thought(event: Any) -> None:
        seen.append((event.tool, event.thought, event.result.text))

    script = [calls(("add", {"a": 1, "b": 1}), text="I will add."), says("2")]
    outcome_of.append(play(script, on_thought=on_thought))
    assert seen == [("add", "I will add.", "2")]


def test_an_error_in_the_branch_ends_the_run_at_the_node():
    def on_thought(event: Any) -> None:
        raise LookupError("the branch is broken")

    run = play([calls(("add", {"a": 1, "b": 1})), says("2")], on_thought=on_thought)
    assert isinstance(run.error, LookupError)
    assert [x["role"] for x in run.outcome.conversation] == ["user", "assistant", "tool"]


def test_an_unknown_agent_names_the_known_ones():
    ctx = new_ctx()
    init_agent(ctx, "helper")
    with pytest.raises(UnknownAgent, match="Did you mean 'helper'"):
        run_agent(ctx, "helpr", "Hi.", outcome=CanvasRun())


def test_an_agent_can_be_changed_between_runs():
    ctx = new_ctx()
    with model_endpoint([says("one"), says("two")]) as endpoint:
        init_agent(ctx, "a", provider="openai", model="m", base_url=endpoint.base_url)
        run_agent(ctx, "a", "Hi.", outcome=CanvasRun())
        update_agent(ctx, "a", system_prompt="Be brief.", model="n")
        run_agent(ctx, "a", "Hi.", outcome=CanvasRun())
        first, second = (x.body for x in endpoint.requests)
    assert (first["model"], second["model"]) == ("m", "n")
    assert second["messages"][0] == {"role": "system", "content": "Be brief."}


def test_a_tool_can_be_run_by_hand_and_stands_in_the_conversation():
    ctx = new_ctx()
    init_agent(ctx, "a", toolbelt_spec=make_toolbelt(ctx, None))
    given = [{"role": "user", "content": "Hi."}]
    outcome = run_tool(ctx, "a", "add", {"a": 1, "b": 2}, given)
    assert outcome.answer == "3"
    assert [x["role"] for x in outcome.conversation] == ["user", "assistant", "tool"]
    assert len(given) == 1
    assert run_tool(ctx, "a", "ad", "", []).answer.startswith("ERROR: There is no tool 'ad'")


def test_a_text_alone_is_enough_for_a_tool_with_one_parameter():
    ctx = new_ctx()
    init_agent(ctx, "a", toolbelt_spec=make_toolbelt(ctx, None))
    assert run_tool(ctx, "a", "shout", "hello there", None).answer == "HELLO THERE"


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        ({}, "is a required property"),
        ({"result_id": "nope", "start": 0}, "No such result"),
        ({"result_id": LONG_ID, "start": -5}, "less than the minimum"),
        ({"result_id": LONG_ID, "start": 10**9}, "has only 100007 characters"),
    ],
)
def test_a_slip_in_reading_on_is_answered_with_a_hint(arguments: dict[str, Any], hint: str):
    def script(body: dict[str, Any]) -> Any:
        count = len(body["messages"])
        if count == 1:
            return calls(("long", {"input": "x"}))
        if count == 3:
            return calls(("read_result", arguments))
        return says("ok")

    run = play(script)
    assert hint in run.sent(2)[-1]["content"]
    assert run.outcome.answer == "ok"


def test_a_model_that_calls_on_although_it_may_not_is_asked_for_words():
    """Some services do not know `tool_choice`."""
    call = calls(("add", {"a": 1, "b": 1}))
    run = play([call, call, says("It is 2.")], max_thoughts=2)
    assert run.outcome.answer == "It is 2."
    assert "tools" not in run.bodies[2]
    assert "TOOL RESULT add" in run.sent(2)[-1]["content"]


def test_in_the_text_protocol_user_and_assistant_take_turns_to_the_last():
    """Strict chat templates refuse anything else."""
    reply = 'TOOL: add {"a": 1, "b": 1}'
    run = play([says(reply), says(reply), says("2")], tool_protocol="text", max_thoughts=2)
    assert [x["role"] for x in run.sent(1)] == ["system", "user", "assistant", "user"]
    assert "limit of thoughts" in run.told(1)
    assert run.outcome.answer == "2"


def test_calls_with_ids_used_twice_are_each_answered():
    call = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{}"}}
    answer = {"role": "tool", "tool_call_id": "c1", "content": "5"}
    asked = {"role": "assistant", "content": None, "tool_calls": [call]}
    given = [{"role": "user", "content": "Go."}, asked, answer, asked, "And?", answer]
    roles = [x["role"] for x in play([says("ok")], given).sent(0)]
    assert roles == ["user", "assistant", "tool", "assistant", "tool", "user", "user"]


@pytest.mark.parametrize("odd", [[{"id": "c"}], [{"function": {"name": "x"}}], ["x"], [None]])
def test_calls_in_a_given_conversation_that_are_invalid_are_refused_in_words(odd: list[Any]):
    given = [{"role": "assistant", "content": "", "tool_calls": odd}]
    assert isinstance(play([], given).error, BadConversation)


# What breaks off


@ON_EACH_WIRE
@pytest.mark.parametrize("cleanly", [True, False])
def test_no_call_of_a_reply_that_broke_off_is_made(cleanly: bool):
    half = breaks_off(calls(("add", {"a": 1, "b": 2}), text="I add."), cleanly=cleanly)
    run = play([half] * 3)
    assert isinstance(run.error, ModelUnreachable)
    assert [x["role"] for x in run.outcome.conversation] == ["user"]
    assert run.outcome.answer == ""


@ON_EACH_WIRE
@pytest.mark.parametrize("cleanly", [True, False])
def test_a_reply_that_begins_anew_is_reported_and_only_the_whole_one_counts(
    cleanly: bool, capsys: pytest.CaptureFixture[str]
):
    half = breaks_off(says("Half of an answer, and"), cleanly=cleanly)
    run = play([half, says("The whole answer.")])
    assert run.outcome.conversation[1:] == [{"role": "assistant", "content": "The whole answer."}]
    printed = " ".join(capsys.readouterr().out.split())
    assert "Half of an answer, and" in printed
    assert "dropped the connection: asked again in" in printed
    assert "the reply starts again" in printed
    assert printed.index("starts again") < printed.index("The whole answer.")


# What a service adds to its messages

SERVICES = pytest.mark.parametrize(
    "rules", ALL_SERVICES, ids=["gemini", "deepseek", "kimi", "openrouter", "responses"]
)
SUMS = (("add", {"a": 1, "b": 2}), ("add", {"a": 3, "b": 4}))
NO_STREAM = fails(400, {"message": "This model cannot stream", "param": "stream"})


@SERVICES
@pytest.mark.parametrize("before", [[], [NO_STREAM]], ids=["streamed", "whole"])
def test_what_a_service_adds_goes_back_to_it(rules: Rules, before: list[Any]):
    """Each of them answers 400 where a field of its own is missing or changed."""
    steps = [*before, rules.calls(*SUMS, text="Two sums."), rules.calls(SUMS[0]), says("3, 7, 3.")]
    run = play(minding(rules, steps), provider=rules.provider)
    assert run.error is None
    assert run.outcome.answer == "3, 7, 3."


@SERVICES
def test_what_a_service_added_goes_back_in_the_next_run_too(rules: Rules):
    answered = says("3.") if rules.in_calls else rules.adding(says("3."))
    script = minding(rules, [rules.calls(SUMS[0]), answered, says("Yes.")])
    ctx = new_ctx()
    with model_endpoint(script) as endpoint:
        init_agent(
            ctx, "a", provider=rules.provider, model="m", base_url=endpoint.base_url,
            toolbelt_spec=make_toolbelt(ctx, ""),
        )  # fmt: skip
        first, second = CanvasRun(), CanvasRun()
        run_agent(ctx, "a", "1 + 2?", outcome=first)
        written = json.loads(json.dumps(first.conversation))
        run_agent(ctx, "a", [*written, "Sure?"], outcome=second)
    assert second.answer == "Yes."


@SERVICES
@pytest.mark.parametrize("other", ["openai", "openai_responses"])
def test_what_a_service_added_is_not_sent_to_another(rules: Rules, other: str):
    script = minding(rules, [rules.calls(SUMS[0]), says("3.")])
    first = play(script, "1 + 2?", provider=rules.provider)
    assert rules.field in json.dumps(first.outcome.conversation)
    again = [*first.outcome.conversation, "Sure?"]
    second = play(minding(STRICT, [says("Yes.")]), again, provider=other)
    assert (second.error, second.outcome.answer) == (None, "Yes.")
    assert rules.field in json.dumps(first.sent(1))
    assert rules.field not in json.dumps(second.sent(0))
    # Its own service has them again when the conversation comes back.
    assert second.outcome.conversation[: len(again) - 1] == first.outcome.conversation


def test_another_family_of_models_at_the_same_address_is_another_service():
    """Behind one address stand models of many makers."""
    ctx = new_ctx()
    script = [DEEPSEEK.calls(SUMS[0]), says("3."), says("Yes."), says("Still.")]
    with model_endpoint(script) as endpoint:
        init_agent(
            ctx, "a", provider="openai", model="deepseek/deepseek-chat",
            base_url=endpoint.base_url, toolbelt_spec=make_toolbelt(ctx, ""),
        )  # fmt: skip
        outcome = CanvasRun()
        run_agent(ctx, "a", "1 + 2?", outcome=outcome)
        for model in ("deepseek/deepseek-reasoner", "moonshot/kimi-k2"):
            update_agent(ctx, "a", model=model)
            run_agent(ctx, "a", outcome.conversation, outcome=CanvasRun())
        sent = [["reasoning_content" in x for x in r.body["messages"]] for r in endpoint.requests]
    assert [any(x) for x in sent] == [False, True, True, False]


@SERVICES
def test_what_people_and_the_text_protocol_see_stays_as_it_is(rules: Rules):
    script = minding(rules, [rules.calls(SUMS[0]), says("3.")])
    first = play(script, "1 + 2?", provider=rules.provider)
    plain = [{k: x for k, x in m.items() if k != "_added"} for m in first.outcome.conversation]
    call_id = plain[2]["tool_call_id"]
    function = {"name": "add", "arguments": json.dumps(SUMS[0][1])}
    assert plain == [
        {"role": "user", "content": "1 + 2?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": call_id, "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": call_id, "content": "3"},
        {"role": "assistant", "content": "3."},
    ]
    run = play([says("Yes.")], [*first.outcome.conversation, "Sure?"], tool_protocol="text")
    assert all(set(x) == {"role", "content"} for x in run.sent(0))


@SERVICES
def test_a_service_that_refuses_what_it_added_itself_is_asked_without_it(rules: Rules):
    """DeepSeek's first models that reason did."""
    refusal = fails(400, {"message": f"Unknown field: {rules.field}"})
    script = [rules.calls(SUMS[0]), refusal, says("3."), says("x")]
    run = play(script, provider=rules.provider)
    assert run.outcome.answer == "3."
    sent = [json.dumps(run.sent(n)) for n in range(3)]
    assert [rules.field in x for x in sent] == [False, True, False]


def test_a_long_result_of_one_node_is_read_on_by_the_next():
    """And the port has all of it; a conversation without it has no tool to read it with."""
    ctx, long = new_ctx(), "".join(f"line {n}\n" for n in range(8_000))
    define_tool(ctx, None, "much", "Gives much.", lambda *_: long)
    init_agent(ctx, "a", toolbelt_spec=make_toolbelt(ctx, None))
    first = run_tool(ctx, "a", "much", "", [{"role": "user", "content": "Hi."}])
    assert first.answer == long
    shown = first.conversation[-1]["content"]
    named = re.search(r'\{"result_id": "[^"]+", "start": (\d+)\}', shown)
    assert named is not None
    start = int(named[1])
    second = run_tool(ctx, "a", "read_result", named[0], first.conversation)
    assert second.answer.startswith(long[start : start + 1000])
    answer = run_tool(ctx, "a", "read_result", named[0], None).answer
    assert answer.startswith("ERROR: There is no tool 'read_result'")
