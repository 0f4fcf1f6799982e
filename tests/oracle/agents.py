"""Runs of `Agent` with every kind of answer that a model's service gives.

Each row is a run with a scripted service: its events, its result or error, and the requests. The
same scripts are played by function calling and by the text protocol of Chat Completions, and by
function calling of Responses.
"""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any
from unittest import mock

from tests.support.model_endpoint import (
    ModelEndpoint,
    Step,
    breaks_off,
    calls,
    delta,
    drops_midway,
    fails,
    html,
    model_endpoint,
    raw_chunks,
    raw_json,
    says,
)
from xai_mcp_agent import Agent, AgentModel, Bridge, XaiMcpError
from xai_mcp_agent.agent.models import retries

from .tables import Rows, error_facts, stable

_AT_ONCE = 8
_FIRST_PAUSE_SECONDS = 0.02  # between attempts; each is twice as long as the one before
_LIMIT_SECONDS = 240.0
_SOON = {"retry-after-ms": "1"}
_BUSY = {"message": "busy"}
_FORM = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
_PIECES = ("TextArrived", "ToolReturned")  # their number and place do not matter
_ID = re.compile(r"\b(?:call_\d+_scripted|(?:fc|msg|rs|call)_[\w-]+)\b")
_HOW = {
    "chat": ("openai", "native"),
    "text": ("openai", "text"),
    "responses": ("openai_responses", "native"),
}


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def shout(text: str) -> str:
    """Say a text in capitals."""
    return text.upper()


def stumble(step: int) -> str:
    """Fall."""
    raise ValueError(f"no step {step}")


@dataclass(frozen=True)
class Script:
    """Answers of a service, the protocols that play them, and options of the agent."""

    steps: Callable[[], Sequence[Step]]
    how: tuple[str, ...] = tuple(_HOW)
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    protocol: str = ""


def _each(*steps: Step, **more: Any) -> Script:
    return Script(lambda: steps, **more)


def _native(*steps: Step, **more: Any) -> Script:
    return _each(*steps, how=("chat", "responses"), **more)


def _chat(*steps: Step, **more: Any) -> Script:
    return _each(*steps, how=("chat",), **more)


def _text(*replies: str, **more: Any) -> Script:
    return _each(*map(says, replies), how=("text",), **more)


_ADD = ("add", {"a": 1, "b": 2})
_TOO_LONG = {
    "message": "This model's maximum context length is 128 tokens.",
    "code": "context_length_exceeded",
}
_SCRIPTS: dict[str, Script] = {
    "text": _each(says("It is five.")),
    "text with a thought": _each(says("<think>Hm.</think>It is five.")),
    "no text": _each(says("")),
    "no reason to finish": _each(replace(says("It is five."), finish=None)),
    "refusal": _each(says("", refusal="I cannot help with that.")),
    "filtered": _each(says("It is", finish="content_filter")),
    "cut by length": _each(says("It is", finish="length")),
    "call": _native(calls(_ADD), says("3")),
    "call and text": _native(calls(_ADD, text="Let me see."), says("3")),
    "call, without the right reason to finish": _native(calls(_ADD, finish="stop"), says("3")),
    "parallel calls": _native(calls(_ADD, ("shout", {"text": "a"})), says("both")),
    "the same call twice": _native(calls(_ADD, _ADD), says("3")),
    "call of a tool that fails": _native(calls(("stumble", {"step": 1})), says("It fell.")),
    "call of no tool": _native(calls(("ad", {"a": 1})), says("sorry")),
    "call without a name": _native(calls(("", {"a": 1})), says("sorry")),
    "broken arguments": _native(calls(("add", '{"a": 1,')), says("sorry")),
    "arguments that are a list": _native(calls(("add", "[1, 2]")), says("sorry")),
    "arguments that do not fit": _native(calls(("add", {"a": "x", "c": 1})), says("sorry")),
    "empty arguments": _native(calls(("add", "")), says("sorry")),
    "call cut by length": _native(calls(("add", '{"a": 1'), finish="length"), says("sorry")),
    "a call in the text": _native(
        says('{"name": "add", "parameters": {"a": 1, "b": 2}}'), says("3")
    ),
    "a marked call in the text": _native(
        says('<tool_call>{"name": "add", "arguments": {"a": 1, "b": 2}}</tool_call>'), says("3")
    ),
    "calls without an end": _native(*[calls(_ADD)] * 3, options={"max_thoughts": 2}),
    "more tokens than allowed": _native(*[calls(_ADD)] * 3, options={"max_run_tokens": 30}),
    "form": _each(says('{"n": 3}'), options={"output_schema": _FORM}),
    "form, at the second attempt": _each(
        says("three"), says('{"n": 3}'), options={"output_schema": _FORM}
    ),
    "system prompt": _each(says("ok"), options={"system_prompt": "Be brief."}),
    "TOOL": _text('TOOL: add {"a": 1, "b": 2}', "3"),
    "TOOL in a sentence": _text('I would write TOOL: add {"a": 1, "b": 2} for that.', "3"),
    "TOOL twice": _text('TOOL: add {"a": 1, "b": 2}\nTOOL: shout {"text": "a"}', "both"),
    "TOOL with broken arguments": _text('TOOL: add {"a": 1,', "sorry"),
    "TOOL without arguments": _text("TOOL: add", "sorry"),
    "TOOL that is none": _text("TOOL: ad {}", "sorry"),
    "TOOL of one that fails": _text('TOOL: stumble {"step": 1}', "It fell."),
    "TOOL and a made up result": _text('TOOL: add {"a": 1, "b": 2}\nRESULT: 4\nIt is 4.', "3"),
    "status 400": _native(fails(400, {"message": "What is that?"})),
    "status 401": _native(fails(401, {"message": "Incorrect API key provided: sk-dummy-key"})),
    "status 403": _native(fails(403, {"message": "Not you."})),
    "status 404": _native(fails(404, {"message": "The model `m` does not exist"})),
    "status 404 without words": _native(fails(404)),
    "status 429 once": _native(fails(429, _BUSY, _SOON), says("ok")),
    "status 429 for ever": _native(*[fails(429, _BUSY, _SOON)] * 6),
    "status 429, wait an hour": _native(fails(429, _BUSY, {"retry-after": "3600"})),
    "status 500 once": _native(fails(500, _BUSY, _SOON), says("ok")),
    "status 500 for ever": _native(*[fails(500, _BUSY, _SOON)] * 6),
    "too long": _native(fails(400, _TOO_LONG)),
    "cannot call functions": _native(fails(400, {"error": "m does not support tools"}), says("ok"),
                                     protocol="auto"),
    "cannot call functions, and must": _native(fails(400, {"error": "m does not support tools"})),
    "a web page": _native(html()),
    "a web page with status 404": _native(html(404)),
    "an object without an answer": _native(*[raw_json({})] * 6),
    "an error with status 200": _native(raw_json({"error": {"message": "No.", "code": 400}})),
    "a stream of nothing": _native(*[raw_chunks([])] * 6),
    "a stream that is no JSON": _native(*[raw_chunks(["{oops"])] * 6),
    "an error in the stream": _chat(
        raw_chunks([delta({"content": "A"}), {"error": {"message": "No.", "code": 400}}])
    ),
    "a stream that stops, once": _native(breaks_off(says("It is"), cleanly=True), says("ok")),
    "a stream that stops, for ever": _native(*[breaks_off(says("It is"), cleanly=True)] * 6),
    "a stream that breaks, once": _native(drops_midway("It is"), says("ok")),
    "calls that break off, once": _native(breaks_off(calls(_ADD), cleanly=True), says("ok")),
    "a service's own fields": _chat(
        replace(calls(_ADD), message={**calls(_ADD).message, "reasoning_content": "Hm."}), says("3")
    ),
}  # fmt: skip


def record(_: Path) -> Rows:
    """Play all scripts, several at the same time."""
    plays = [(f"{how}: {name}", x, how) for name, x in _SCRIPTS.items() for how in x.how]
    pauses = mock.patch.object(retries, "_FIRST_PAUSE_SECONDS", _FIRST_PAUSE_SECONDS)
    with pauses, Bridge({}) as bridge, ThreadPoolExecutor(_AT_ONCE) as threads:
        rows = {
            name: threads.submit(_play, bridge, script, how) for name, script, how in plays
        }  # fmt: skip
        rows["chat: nobody there"] = threads.submit(_ask_nobody, bridge)
        return {name: x.result(_LIMIT_SECONDS) for name, x in rows.items()}


def _play(bridge: Bridge, script: Script, how: str) -> Any:
    provider, protocol = _HOW[how]
    with model_endpoint(script.steps()) as endpoint:
        model = AgentModel(
            provider=provider, name="m", base_url=endpoint.base_url, api_key="sk-dummy-key"
        )
        agent = Agent(
            bridge, [add, shout, stumble], model=model, tool_protocol=script.protocol or protocol,
            **script.options,
        )  # fmt: skip
        row = {**_run(agent), "asked": _request_facts(endpoint)}
        if protocol == "text" and script is _SCRIPTS["text"]:
            row["prompt"] = endpoint.requests[0].body["messages"][0]["content"].splitlines()
    return json.loads(_ID.sub("ID", json.dumps(stable(row))))


def _ask_nobody(bridge: Bridge) -> Any:
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))  # bound, but nothing listens
        url = f"http://127.0.0.1:{place.getsockname()[1]}/v1"
        model = AgentModel(provider="openai", name="m", base_url=url)
        return stable(_run(Agent(bridge, [add], model=model)))


def _run(agent: Agent) -> dict[str, Any]:
    events: list[str] = []
    try:
        with agent.stream("Go on.") as stream:
            for event in stream:
                name = type(event).__name__
                if name not in _PIECES:
                    events.append(_describe_event(event))
            result = stream.result
    except XaiMcpError as error:
        return {"events": _group_equal(events), **error_facts(error)}
    return {
        "events": _group_equal(events),
        "answer": result.answer,
        "stopped": result.stopped,
        **({"structured": result.structured} if result.structured is not None else {}),
        **({"notes": list(result.notes)} if result.notes else {}),
        "calls": [[x.tool, x.arguments, x.result.is_error, x.result.text] for x in result.calls],
        "conversation": " ".join(x["role"] for x in result.conversation),
        "usage": " ".join(f"{x}={y}" for x, y in result.usage.items() if x != "seconds" and y),
    }


def _describe_event(event: Any) -> str:
    """Return the name of an event, and those of its fields that show the course of the run."""
    fields = ("protocol", "reason", "tool", "text", "stopped")
    facts = [str(getattr(event, x, "") or "") for x in fields]
    return " ".join([type(event).__name__, *filter(None, facts)])


def _group_equal(events: Sequence[str]) -> list[str]:
    """Return the events, equal ones in a row as one with their number."""
    groups = [(event, len(list(same))) for event, same in groupby(events)]
    return [f"{number} x {event}" if number > 1 else event for event, number in groups]


def _request_facts(endpoint: ModelEndpoint) -> list[Any]:
    """Return the fields and tools of the first request, and the new messages of each later one."""
    facts: list[Any] = []
    before: list[Any] = []
    for number, request in enumerate(endpoint.requests):
        body = dict(request.body)
        messages = body.pop("messages", None) or body.pop("input", [])
        new = messages[len(before) :] if messages[: len(before)] == before else messages
        before = messages
        tools = " ".join(x.get("function", x)["name"] for x in body.pop("tools", []))
        if number == 0:
            names = sorted(body.keys() - {"model", "stream", "stream_options"})
            facts.append(" ".join([tools or "no tools", *names]))
        else:
            facts.append([_message(x) for x in new])
    return facts


def _message(message: Mapping[str, Any]) -> Any:
    return {**message, "content": "..."} if message.get("role") == "system" else dict(message)
