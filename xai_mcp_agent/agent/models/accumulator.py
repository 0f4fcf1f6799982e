"""Replies assembled from the pieces of an answer, streamed or whole.

Services differ in what they omit, repeat and number wrongly; this module absorbs all of it. (The
client library's own accumulator raises or merges on calls without an index, calls all numbered 0,
repeated ids, `choices: null` and lists as content, and takes a truncated stream for a complete
one.)
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ...core.json import JsonObject, as_list, as_object, as_text, is_list, is_object
from ..messages import ToolCall
from .base import FinishReason, ModelReply, TokenUsage

BETWEEN_TEXTS = "\n\n"  # joins the messages of one Responses answer
_FINISHES: dict[str, FinishReason] = {
    "stop": "stop",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "length": "length",
    "max_tokens": "length",
    "content_filter": "content_filter",
}
# Fields that the protocol defines; the service added all others and may want them back.
_MESSAGE_FIELDS = {
    "role", "content", "refusal", "tool_calls", "function_call", "annotations", "audio"
}  # fmt: skip
_CALL_FIELDS = {"id", "type", "index", "function"}
_FUNCTION_FIELDS = {"name", "arguments"}
# Fields streamed in pieces within list parts, such as OpenRouter's `reasoning_details`.
_STREAMED_FIELDS = ("text", "summary")
_PLAIN_FIELDS = {"type", "id", "call_id", "text"}
_STANDARD_ITEM_FIELDS = {"message": {"role", "content"}, "function_call": {"name", "arguments"}}
_RESPONSE_ENDS = {"response.completed", "response.incomplete"}
_UNFINISHED = {"queued", "in_progress", "cancelled"}


@dataclass
class _CallSoFar:
    id: str = ""
    name: str = ""
    arguments: str = ""
    added: JsonObject = field(default_factory=dict[str, Any])

    def add(self, delta: JsonObject, function: JsonObject) -> None:
        """Add one piece. Services repeat a call's extra fields with each piece."""
        self.id = self.id or str(delta.get("id") or "")
        self.name = self.name or str(function.get("name") or "")
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            self.arguments += arguments
        elif arguments is not None:
            self.arguments = json.dumps(arguments, ensure_ascii=False)
        self.added = _add_unknown(self.added, delta, _CALL_FIELDS, joins_texts=False)
        # LiteLLM puts Gemini's thought signatures here.
        beside = as_object(self.added.get("function"))
        if beside := _add_unknown(beside, function, _FUNCTION_FIELDS, joins_texts=False):
            self.added["function"] = beside

    def is_other(self, call_id: str, name: str, arguments: Any) -> bool:
        """Return whether a named piece at a used index begins a new call; some reuse 0."""
        if not name or not self.name:
            return False
        if call_id and self.id and call_id != self.id:
            return True
        # Named again after complete arguments, and with new arguments. A name that is merely
        # repeated with each piece belongs to the same call.
        return bool(arguments) and _is_object_text(self.arguments)


@dataclass
class ChatReply:
    """A Chat Completions reply that is still arriving."""

    has_answer: bool = False
    _text: str = ""
    _refusal: str = ""
    _calls: list[_CallSoFar] = field(default_factory=list[_CallSoFar])
    _by_index: dict[int, _CallSoFar] = field(default_factory=dict[int, _CallSoFar])
    _added: JsonObject = field(default_factory=dict[str, Any])
    _finish: str = ""
    _usage: TokenUsage = field(default_factory=TokenUsage)

    @property
    def is_whole(self) -> bool:
        """Return whether the service marked the end of its reply."""
        return bool(self._finish)

    def add(self, chunk: Any) -> str:
        """Add a chunk of a stream, or a whole answer, and return its new text."""
        if usage := as_object(as_object(chunk).get("usage")):
            self._usage = _usage(usage, "prompt", "completion")
        for choice in map(as_object, as_list(as_object(chunk).get("choices"))):
            if not choice.get("index"):
                return self._add_choice(choice)
        return ""

    def build(self, new_id: Callable[[], str], service: str) -> ModelReply:
        """Return this service's whole reply. `new_id` makes ids for calls without their own."""
        calls: dict[str, ToolCall] = {}
        of_calls: JsonObject = {}
        for call in self._calls:
            if call.name or call.arguments.strip():
                call_id = call.id if call.id and call.id not in calls else new_id()
                calls[call_id] = ToolCall(call_id, call.name, call.arguments)
                of_calls |= {call_id: call.added} if call.added else {}
        finish = _FINISHES.get(self._finish, "stop")
        if self._refusal and not calls:
            finish = "refusal"
        elif finish in {"stop", "tool_calls"}:
            # Many services say "stop" although they ask for calls.
            finish = "tool_calls" if calls else "stop"
        added = {k: x for k, x in {"message": self._added, "calls": of_calls}.items() if x}
        return ModelReply(
            self._text, tuple(calls.values()), finish, self._refusal, self._usage,
            added={"service": service, **added} if added else {},
        )  # fmt: skip

    def _add_choice(self, choice: JsonObject) -> str:
        self.has_answer = True
        message = choice.get("message")
        delta = as_object(choice.get("delta") if message is None else message)
        text = _text(delta.get("content"))
        self._text += text
        self._refusal += _text(delta.get("refusal"))
        self._added = _add_unknown(self._added, delta, _MESSAGE_FIELDS)
        for position, call in enumerate(map(as_object, as_list(delta.get("tool_calls")))):
            self._add_call(call if message is None else {**call, "index": position})
        self._finish = str(choice.get("finish_reason") or self._finish)
        return text

    def _add_call(self, delta: JsonObject) -> None:
        """Add a piece to the call at its index, unless it belongs to a new call."""
        function = as_object(delta.get("function"))
        index, call_id = delta.get("index"), str(delta.get("id") or "")
        name = str(function.get("name") or "")
        if isinstance(index, int):
            call = self._by_index.get(index)
        elif call_id:
            call = next((x for x in self._calls if x.id == call_id), None)
        else:
            call = None if name or not self._calls else self._calls[-1]
        if call is None or call.is_other(call_id, name, function.get("arguments")):
            call = _CallSoFar()
            self._calls.append(call)
        if isinstance(index, int):
            self._by_index[index] = call
        call.add(delta, function)


@dataclass
class ResponsesReply:
    """A Responses answer that is still arriving.

    The items of the final event count. The pieces before it serve streaming, and services whose
    final event has no items.
    """

    _response: JsonObject = field(default_factory=dict[str, Any])
    _items: dict[int, JsonObject] = field(default_factory=dict[int, JsonObject])
    _texts: dict[int, str] = field(default_factory=dict[int, str])
    _arguments: dict[int, str] = field(default_factory=dict[int, str])

    @property
    def is_whole(self) -> bool:
        """Return whether the service marked the end of its reply."""
        return bool(self._response)

    has_answer = is_whole

    def add(self, chunk: Any) -> str:
        """Add an event of a stream, or a whole answer, and return its new text."""
        event = as_object(chunk)
        kind, at = str(event.get("type") or ""), event.get("output_index")
        if kind in _RESPONSE_ENDS:
            status = kind.removeprefix("response.")
            return self._end({"status": status, **as_object(event.get("response"))})
        if is_list(event.get("output")):
            return self._end(event)
        delta = str(event.get("delta") or "")
        if isinstance(at, int) and kind == "response.output_text.delta":
            begins_anew = at not in self._texts and any(self._texts.values())
            self._texts[at] = self._texts.get(at, "") + delta
            return f"{BETWEEN_TEXTS}{delta}" if begins_anew else delta
        if isinstance(at, int) and kind == "response.function_call_arguments.delta":
            self._arguments[at] = self._arguments.get(at, "") + delta
        elif isinstance(at, int) and kind.startswith("response.output_item."):
            self._items[at] = as_object(event.get("item"))
        return ""

    def build(self, new_id: Callable[[], str], service: str) -> ModelReply:
        """Return this service's whole reply. `new_id` makes ids for calls without their own."""
        output = self._output()
        calls: dict[str, ToolCall] = {}
        for item in output:
            if item.get("type") == "function_call":
                own_id = str(item.get("call_id") or item.get("id") or "")
                call_id = own_id if own_id and own_id not in calls else new_id()
                arguments = item.get("arguments") or ""
                if not isinstance(arguments, str):
                    arguments = json.dumps(arguments, ensure_ascii=False)
                calls[call_id] = ToolCall(call_id, str(item.get("name") or ""), arguments)
        items = _items_to_keep(output, calls)
        refusal = "".join(texts_in(x, "refusal") for x in output)
        finish: FinishReason = "tool_calls" if calls else "refusal" if refusal else "stop"
        if self._response.get("status") == "incomplete":
            reason = as_object(self._response.get("incomplete_details")).get("reason")
            finish = "content_filter" if reason == "content_filter" else "length"
        return ModelReply(
            _message_text(output), tuple(calls.values()), finish, refusal,
            _usage(as_object(self._response.get("usage")), "input", "output"),
            added={"service": service, "items": items} if items else {},
        )  # fmt: skip

    def _end(self, response: JsonObject) -> str:
        if response.get("status") in _UNFINISHED:
            return ""
        self._response = response
        streamed = BETWEEN_TEXTS.join(self._texts.values())
        text = _message_text(self._output())
        return text.removeprefix(streamed) if text.startswith(streamed) else ""

    def _output(self) -> list[JsonObject]:
        """Return the final items, else the streamed ones, completed from the pieces."""
        items = dict(enumerate(map(as_object, as_list(self._response.get("output")))))
        if not items:
            messages: dict[int, JsonObject] = {at: {"type": "message"} for at in self._texts}
            items = dict(sorted({**messages, **self._items}.items()))
        return [self._fill(at, x) for at, x in items.items()]

    def _fill(self, at: int, item: JsonObject) -> JsonObject:
        kind = item.get("type")
        if kind == "function_call" and not item.get("arguments"):
            return {**item, "arguments": self._arguments.get(at, "")}
        if kind == "message" and not item.get("content") and at in self._texts:
            return {**item, "content": [{"type": "output_text", "text": self._texts[at]}]}
        return item


ReplySoFar: TypeAlias = ChatReply | ResponsesReply


def texts_in(item: JsonObject, kind: str = "output_text") -> str:
    """Return the text of a message item, or with the kind `refusal` the text of its refusal."""
    parts = [x for x in map(as_object, as_list(item.get("content"))) if x.get("type") == kind]
    return "".join(str(x.get("text" if kind == "output_text" else kind) or "") for x in parts)


def _items_to_keep(output: list[JsonObject], call_ids: Iterable[str]) -> list[JsonObject]:
    """Return the items of an answer to send back; `call_ids` are our ids of its calls.

    Messages and calls keep only their ids and positions, which the conversation lacks. An answer
    with nothing but ids has no items to send back: no service misses them.
    """
    ids = iter(call_ids)
    items: list[JsonObject] = []
    has_texts = sum(x.get("type") == "message" for x in output) > 1
    for item in output:
        kind = str(item.get("type"))
        omitted = {"status", *_STANDARD_ITEM_FIELDS.get(kind, ())}
        fields = {name: x for name, x in item.items() if x is not None and name not in omitted}
        if kind == "function_call":
            fields["call_id"] = next(ids)
        if kind == "message" and has_texts:
            fields["text"] = texts_in(item)
        # A service that stores nothing does not know reasoning that came as a summary only.
        if kind != "reasoning" or "encrypted_content" in fields or "content" in fields:
            items.append(fields)
    return items if any(x.keys() - _PLAIN_FIELDS for x in items) else []


def _message_text(output: list[JsonObject]) -> str:
    texts = [texts_in(x) for x in output if x.get("type") == "message"]
    return BETWEEN_TEXTS.join(x for x in texts if x)


def _text(content: Any) -> str:
    """Return the text of a content: a string, or the text parts of a list."""
    if isinstance(content, str):
        return content
    parts = map(as_object, as_list(content))
    return "".join(str(x.get("text") or "") for x in parts if x.get("type") == "text")


def _usage(usage: Mapping[str, Any], input_name: str, output_name: str) -> TokenUsage:
    """Return a service's token counts, by its API's names for input and output."""
    of_input, of_output = (
        as_object(usage.get(f"{x}_tokens_details")) for x in (input_name, output_name)
    )
    counts = (
        usage.get(f"{input_name}_tokens"),
        usage.get(f"{output_name}_tokens"),
        of_input.get("cached_tokens"),
        of_output.get("reasoning_tokens"),
    )
    return TokenUsage(*(x if isinstance(x, int) else 0 for x in counts))


def _add_unknown(
    added: JsonObject, piece: JsonObject, standard: Collection[str], *, joins_texts: bool = True
) -> JsonObject:
    """Return the fields outside the protocol, merged with those of another piece."""
    unknown = {k: x for k, x in piece.items() if k not in standard and x is not None}
    return {**added, **{k: _join(added.get(k), x, joins_texts) for k, x in unknown.items()}}


def _join(old: Any, new: Any, joins_texts: bool) -> Any:
    """Concatenate texts and lists, merge objects; of other values the last one counts."""
    if old is None or (new in (None, "") and not is_list(new)):
        return new if old is None else old
    if isinstance(old, str) and isinstance(new, str):
        return old + new if joins_texts else new
    if is_object(old) and is_object(new):
        return {**old, **{k: _join(old.get(k), x, False) for k, x in new.items()}}
    if not is_list(old) or not is_list(new):
        return new
    parts = [*old]
    for part in new:
        if parts and _continues(as_object(parts[-1]), as_object(part)):
            texts = {k: as_text(parts[-1].get(k)) + as_text(part.get(k)) for k in _STREAMED_FIELDS}
            whole = _join(parts[-1], part, False)
            parts[-1] = whole | {k: x for k, x in texts.items() if k in whole}
        else:
            parts.append(part)
    return parts


def _continues(last: JsonObject, part: JsonObject) -> bool:
    """Return whether two streamed list parts are one. Encrypted parts come whole."""
    alike = all(last.get(x) == part.get(x) for x in ("type", "index"))
    return bool(part) and "data" not in part and alike


def _is_object_text(text: str) -> bool:
    try:
        return is_object(json.loads(text))
    except (ValueError, RecursionError):
        return False
