"""A scripted model: the real wire protocols over loopback HTTP, Chat Completions and Responses.

    with model_endpoint([calls(("add", {"a": 1, "b": 2})), says("3")]) as endpoint:
        model = ChatModel("any", base_url=endpoint.base_url, ...)
        ...
    assert endpoint.requests[0].body["tools"]

Each request is answered by the next step, in the protocol of the address that was asked, streamed
when the request asks for it. A function of the request's body may stand in place of the list. A
request after the last step is answered with status 400 that says so, so that a test fails with a
clear message.
"""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from tests.support import responses_service
from tests.support.http_service import Received, Reply, as_json, http_service
from xai_mcp_agent import AgentModel

# Fields of a message that are streamed in their own way; services add others.
_IN_PIECES = {"role", "content", "refusal", "tool_calls"}
_PIECE_CHARS = 7  # short enough that names, numbers and escapes are cut in the middle

USAGE = {
    "prompt_tokens": 20,
    "completion_tokens": 5,
    "total_tokens": 25,
    "prompt_tokens_details": {"cached_tokens": 8},
    "completion_tokens_details": {"reasoning_tokens": 3},
}
"""The usage that a scripted reply reports by default."""


@dataclass(frozen=True)
class ReceivedRequest:
    """One request as it arrived. Header names are in lower case."""

    headers: Mapping[str, str]
    body: dict[str, Any]
    query: str = ""

    @property
    def tool_names(self) -> list[str]:
        """The names of the offered functions."""
        return [x["function"]["name"] for x in self.body.get("tools", [])]

    @property
    def results(self) -> list[str]:
        """The texts of all results of functions."""
        return [x["content"] for x in self.body["messages"] if x["role"] == "tool"]


@dataclass(frozen=True)
class Step:
    """How one request is answered; made by the functions below."""

    kind: str
    message: dict[str, Any] = field(default_factory=dict[str, Any])
    finish: str | None = "stop"
    status: int = 200
    body: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    events: Sequence[str] = ()
    pause_seconds: float = 0.0
    usage: Mapping[str, Any] = field(default_factory=lambda: USAGE)


Script: TypeAlias = Sequence[Step] | Callable[[dict[str, Any]], Step]
_ids = itertools.count(1)


def says(text: str, *, finish: str = "stop", refusal: str | None = None) -> Step:
    """Answers with text; streamed piece by piece."""
    message = {"role": "assistant", "content": text} | ({"refusal": refusal} if refusal else {})
    return Step("reply", message, finish)


def calls(
    *tools: tuple[str, Mapping[str, Any] | str], text: str = "", finish: str = "tool_calls"
) -> Step:
    """Calls tools. Arguments as text are sent as they are, broken or not."""
    tool_calls = [
        {
            "id": f"call_{next(_ids)}_scripted",
            "type": "function",
            "function": {"name": name, "arguments": x if isinstance(x, str) else json.dumps(x)},
        }
        for name, x in tools
    ]
    return Step(
        "reply", {"role": "assistant", "content": text or None, "tool_calls": tool_calls}, finish
    )


def fails(
    status: int, body: Mapping[str, Any] | str = "", headers: Mapping[str, str] | None = None
) -> Step:
    """Answers with an error. A dict that has no `error` is put under `error`, as OpenAI does."""
    if isinstance(body, Mapping):
        body = json.dumps(body if "error" in body else {"error": body})
    return Step("raw", status=status, body=body, headers=headers or {})


def raw_json(body: Any, *, status: int = 200) -> Step:
    """Answers with this JSON, streaming asked for or not."""
    return Step("raw", status=status, body=json.dumps(body))


def html(status: int = 200) -> Step:
    """Answers with a web page, as a proxy or a wrong address does."""
    page = "<!doctype html><html><title>Sign in</title><body>Please sign in</body></html>"
    return Step("raw", status=status, body=page, headers={"content-type": "text/html"})


def raw_chunks(
    chunks: Sequence[Mapping[str, Any] | str],
    *,
    end_event: bool = True,
    media_type: str | None = None,
) -> Step:
    """Streams these as they are: a dict is one event's JSON, a text is one event's data."""
    data = [x if isinstance(x, str) else json.dumps(x) for x in chunks]
    headers = {"content-type": media_type} if media_type else {}
    return Step("events", events=[*data, *(["[DONE]"] if end_event else [])], headers=headers)


def delta(value: Mapping[str, Any], *, finish: str | None = None) -> dict[str, Any]:
    """Return one chunk for `raw_chunks`, with this delta in its only choice."""
    return _chunk([{"index": 0, "delta": value, "finish_reason": finish}])


def hangs() -> Step:
    """Never answers, until the endpoint is closed."""
    return Step("hangs")


def drops_midway(text: str = "Hello, ") -> Step:
    """Streams some text, then drops the connection."""
    return Step("drops", {"role": "assistant", "content": text})


def breaks_off(step: Step, *, cleanly: bool) -> Step:
    """Streams what the step says or calls, then just stops: no reason to finish, no `[DONE]`."""
    return replace(step, kind="stops" if cleanly else "drops")


def stalls(text: str = "Hello, ") -> Step:
    """Streams some text, then nothing more, until the endpoint is closed."""
    return Step("stalls", {"role": "assistant", "content": text})


def drips(text: str, pause_seconds: float) -> Step:
    """Streams text with a pause before each piece."""
    return replace(says(text), pause_seconds=pause_seconds)


class ModelEndpoint:
    """The running endpoint. `requests` are those so far; `first_request` is set after the first."""

    def __init__(self, script: Script) -> None:
        self.requests: list[ReceivedRequest] = []
        self.first_request = threading.Event()
        self.base_url = ""
        self._next = script if callable(script) else _in_order(script)
        self._closing = threading.Event()

    @property
    def inputs(self) -> dict[str, Any]:
        """The inputs of AgentInit for this model."""
        return {
            "agent_provider": "openai", "agent_model": "scripted", "base_url": self.base_url,
            "api_key": "sk-dummy",
        }  # fmt: skip

    @property
    def model(self) -> AgentModel:
        """The same model for an agent from Python."""
        return AgentModel(
            provider="openai", name="scripted", base_url=self.base_url, api_key="sk-dummy-key"
        )

    def answer(self, got: Received) -> Reply:
        """Answer a request by the next step."""
        body = json.loads(got.body)
        self.requests.append(ReceivedRequest(got.headers, body, got.query))
        self.first_request.set()
        is_responses = got.path.endswith("/responses")
        problem = responses_service.complaint(body) if is_responses else ""
        step = fails(400, {"message": problem}) if problem else self._next(body)
        if step.kind == "hangs":
            self._closing.wait()
            return Reply(503)
        if step.kind == "raw":
            headers = {"content-type": "application/json", **step.headers}
            return Reply(step.status, step.body.encode(), headers)
        if step.kind.endswith("events"):
            return self._stream([_event(x) for x in step.events], step)
        if is_responses:
            return self._answer_responses(step, body)
        if step.kind == "reply" and not body.get("stream"):
            return as_json(_whole(step, body.get("model")))
        options: dict[str, Any] = body.get("stream_options") or {}
        wants_usage = bool(options.get("include_usage"))
        events = [_event(json.dumps(x)) for x in _chunks(step, wants_usage)]
        end_event = [_event("[DONE]")] if step.kind == "reply" else []
        return self._stream([*events, *end_event], step)

    def _answer_responses(self, step: Step, body: Mapping[str, Any]) -> Reply:
        whole = responses_service.whole(step.message, step.finish, body.get("model"))
        if step.kind == "reply" and not body.get("stream"):
            return as_json(whole)
        events = responses_service.events(whole, _pieces, ends=step.kind == "reply")
        numbered = [{**x, "sequence_number": n} for n, x in enumerate(events)]
        texts = [f"event: {x['type']}\n{_event(json.dumps(x))}" for x in numbered]
        return self._stream(texts, step)

    def _stream(self, events: Sequence[str], step: Step) -> Reply:
        def pieces() -> Iterator[bytes]:
            for event in events:
                if step.pause_seconds:
                    self._closing.wait(step.pause_seconds)
                yield event.encode()
            if step.kind.startswith("stalls"):
                self._closing.wait()
            if step.kind.startswith("drops"):
                raise ConnectionAbortedError("dropped, as the script wants it")

        headers = {"content-type": "text/event-stream", **step.headers}
        return Reply(headers=headers, pieces=pieces())

    def close(self) -> None:
        """Release the hanging requests."""
        self._closing.set()


@contextmanager
def model_endpoint(script: Script) -> Generator[ModelEndpoint]:
    """Run a scripted model on an ephemeral port of 127.0.0.1 for the length of the block."""
    endpoint = ModelEndpoint(script)
    with http_service() as http:
        endpoint.base_url = f"{http.url}/v1"
        http.replies |= dict.fromkeys(("/v1/chat/completions", "/v1/responses"), endpoint.answer)
        try:
            yield endpoint
        finally:
            endpoint.close()


def _in_order(steps: Sequence[Step]) -> Callable[[dict[str, Any]], Step]:
    remaining = iter(steps)
    over = fails(400, {"message": f"The script is over: it had {len(steps)} steps."})
    return lambda _: next(remaining, over)


def _whole(step: Step, model: Any) -> dict[str, Any]:
    choice = {"index": 0, "message": step.message, "finish_reason": step.finish}
    head = {"id": "scripted", "object": "chat.completion", "created": 1, "model": model}
    return {**head, "choices": [choice], "usage": step.usage}


def _chunks(step: Step, wants_usage: bool) -> Iterator[dict[str, Any]]:
    message = step.message
    yield delta({"role": "assistant", "content": ""})
    for name in message.keys() - _IN_PIECES:
        yield from (delta({name: x}) for x in _pieces_of(message[name]))
    for piece in _pieces(message.get("content") or ""):
        yield delta({"content": piece})
    for piece in _pieces(message.get("refusal") or ""):
        yield delta({"refusal": piece})
    for index, call in enumerate(message.get("tool_calls", [])):
        function = call["function"]
        first = {**call, "index": index, "function": {"name": function["name"], "arguments": ""}}
        yield delta({"tool_calls": [first]})
        for piece in _pieces(function["arguments"]):
            yield delta({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    if step.kind == "reply":
        yield delta({}, finish=step.finish)
        if wants_usage:
            yield {**_chunk([]), "usage": step.usage}


def _chunk(choices: list[dict[str, Any]]) -> dict[str, Any]:
    head = {"id": "scripted", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
    return {**head, "choices": choices}


def _pieces(text: str) -> list[str]:
    return [text[at : at + _PIECE_CHARS] for at in range(0, len(text), _PIECE_CHARS)]


def _pieces_of(value: Any) -> list[Any]:
    """Return a service's additions: texts in pieces, the parts of a list one by one."""
    if isinstance(value, str):
        return _pieces(value)
    if isinstance(value, list):
        return [[piece] for part in value for piece in _pieces_of_part(part)]
    return [value]


def _pieces_of_part(part: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the text of a part in pieces, then its other fields."""
    kind = {name: part[name] for name in ("type", "index") if name in part}
    rest = {name: x for name, x in part.items() if name != "text"}
    texts = [{**kind, "text": x} for x in _pieces(part.get("text") or "")]
    return [*texts, rest]


def _event(data: str) -> str:
    return f"data: {data}\n\n"
