"""The Responses API of a scripted model: steps as its events or as one answer, and its rules.

Its rules are those of a service that stores nothing: a request that breaks one is refused with
status 400, in OpenAI's words where it has some.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

USAGE = {
    "input_tokens": 20,
    "input_tokens_details": {"cached_tokens": 8},
    "output_tokens": 5,
    "output_tokens_details": {"reasoning_tokens": 3},
    "total_tokens": 25,
}
REASONING = "encrypted_content"
"""Key of a message with a thought before its text; the value is the thought."""

_INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}
_FIELDS = {
    "message": {"type", "id", "role", "status", "phase", "content"},
    "function_call": {"type", "id", "call_id", "name", "arguments"},
    "function_call_output": {"type", "call_id", "output"},
    "reasoning": {"type", "id", "summary", REASONING},
}
_PARTS = {"user": {"input_text", "input_image"}, "assistant": {"output_text"}}
_EMPTY: dict[str, dict[str, Any]] = {
    "message": {"content": []},
    "function_call": {"arguments": ""},
    "reasoning": {REASONING: "gA"},
}
_ids = itertools.count(1)


def whole(message: Mapping[str, Any], finish: str | None, model: Any) -> dict[str, Any]:
    """Return the answer with the text and calls of a message in the form of Chat Completions."""
    reason = _INCOMPLETE.get(finish or "")
    return {
        "id": "resp_scripted",
        "object": "response",
        "status": "incomplete" if reason else "completed",
        "incomplete_details": {"reason": reason} if reason else None,
        "error": None,
        "model": model,
        "output": list(_items(message)),
        "usage": USAGE,
    }


def events(
    answer: Mapping[str, Any], pieces: Callable[[str], list[str]], *, ends: bool
) -> Iterator[dict[str, Any]]:
    """Yield an answer as the events of a stream, without the last one unless it `ends`."""
    first = {**answer, "status": "in_progress", "output": [], "usage": None}
    yield {"type": "response.created", "response": first}
    for at, item in enumerate(answer["output"]):
        empty_item = {**item, **_EMPTY[item["type"]]}
        yield {"type": "response.output_item.added", "output_index": at, "item": empty_item}
        for kind, text in _texts(item):
            for piece in pieces(text):
                yield {"type": f"response.{kind}.delta", "output_index": at, "delta": piece}
        if ends or item["type"] == "reasoning":
            yield {"type": "response.output_item.done", "output_index": at, "item": item}
    if ends:
        yield {"type": f"response.{answer['status']}", "response": answer}


def complaint(body: Mapping[str, Any]) -> str:
    """Return the mistake in a request, or ""."""
    items: Sequence[Mapping[str, Any]] = body["input"]
    if body.get("store") is not False:
        return "Responses are not stored here: `store` is to be false."
    for tool in body.get("tools") or ():
        if {*tool} != {"type", "name", "description", "parameters", "strict"}:
            return f"Unknown parameter in tools: {sorted(tool)}"
    for n, item in enumerate(items):
        kind = item.get("type") or "message"
        if odd := {*item} - _FIELDS.get(kind, set()):
            return f"Unknown parameter: 'input[{n}].{sorted(odd)[0]}'."
        if kind == "message" and (odd_part := _odd_parts(item)):
            return f"Invalid value: '{odd_part}' in input[{n}]."
        after = items[n + 1].get("type") if n + 1 < len(items) else None
        if kind == "reasoning" and after not in {"reasoning", "message", "function_call"}:
            return f"Item '{item['id']}' of type 'reasoning' was provided without its required item"
    call_ids = [x["call_id"] for x in items if x.get("type") == "function_call"]
    output_ids = [x["call_id"] for x in items if x.get("type") == "function_call_output"]
    if sorted(call_ids) != sorted(output_ids):
        return f"No tool output found for function calls {call_ids}, only {output_ids}."
    return ""


def _odd_parts(item: Mapping[str, Any]) -> str:
    content = item["content"]
    if isinstance(content, str):
        return ""
    kinds = {x["type"] for x in content}
    return " ".join(sorted(kinds - _PARTS.get(item["role"], {"input_text"})))


def _items(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    if REASONING in message:
        thought: dict[str, Any] = {"summary": [], REASONING: message[REASONING]}
        yield {"type": "reasoning", "id": f"rs_{next(_ids)}", **thought}
    text, refusal = message.get("content"), message.get("refusal")
    parts: list[dict[str, Any]] = []
    parts += [{"type": "output_text", "text": text, "annotations": []}] if text else []
    parts += [{"type": "refusal", "refusal": refusal}] if refusal else []
    if parts:
        fields = {"role": "assistant", "status": "completed", "content": parts}
        yield {"type": "message", "id": f"msg_{next(_ids)}", **fields}
    for call in message.get("tool_calls") or ():
        function = {**call["function"], "call_id": call["id"], "status": "completed"}
        yield {"type": "function_call", "id": f"fc_{next(_ids)}", **function}


def _texts(item: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if item["type"] == "function_call":
        yield "function_call_arguments", item["arguments"]
    for part in item.get("content") or ():
        if part["type"] == "refusal":
            yield "refusal", part["refusal"]
        else:
            yield "output_text", part["text"]
