"""Puts the pieces of a Chat Completions answer together, streamed or whole.

Services differ in what they leave out, repeat and number wrongly; all of that ends here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...core.json import JsonObject
from ..messages import ToolCall
from .base import FinishReason, ModelReply, Usage
from .chat_added import AddedFields, AddedToCall
from .fields import mapping, sequence, usage_of

_FINISHES: dict[str, FinishReason] = {
    "stop": "stop",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "length": "length",
    "max_tokens": "length",
    "content_filter": "content_filter",
}


@dataclass
class _CallSoFar:
    id: str = ""
    name: str = ""
    arguments: str = ""
    added: AddedToCall = field(default_factory=AddedToCall)


@dataclass
class ChatReply:
    """A reply that is still arriving. `answered` tells whether any choice came at all."""

    answered: bool = False
    _text: list[str] = field(default_factory=list[str])
    _refusal: list[str] = field(default_factory=list[str])
    _calls: list[_CallSoFar] = field(default_factory=list[_CallSoFar])
    _by_index: dict[int, _CallSoFar] = field(default_factory=dict[int, _CallSoFar])
    _added: AddedFields = field(default_factory=AddedFields)
    _finish: str = ""
    _usage: Usage = field(default_factory=Usage)

    @property
    def is_whole(self) -> bool:
        """Whether the service said that it ended here."""
        return bool(self._finish)

    def add(self, chunk: Any) -> str:
        """Take in one chunk of a stream, or a whole answer; gives the new text in it."""
        chunk = mapping(chunk)
        if chunk.get("usage"):
            self._usage = usage_of(mapping(chunk["usage"]), "prompt", "completion")
        for choice in map(mapping, sequence(chunk.get("choices"))):
            if not choice.get("index"):
                return self._add_choice(choice)
        return ""

    def finished(self, new_id: Callable[[], str], service: str) -> ModelReply:
        """The whole reply of this service. `new_id` names calls without an id of their own."""
        calls, of_calls = self._tool_calls(new_id)
        refusal = "".join(self._refusal)
        finish = _FINISHES.get(self._finish, "stop")
        if refusal and not calls:
            finish = "refusal"
        elif finish in {"stop", "tool_calls"}:
            # Many services say "stop" although they ask for calls.
            finish = "tool_calls" if calls else "stop"
        added = self._added_by(service, of_calls)
        return ModelReply("".join(self._text), calls, finish, refusal, self._usage, added=added)

    def _added_by(self, service: str, of_calls: JsonObject) -> JsonObject:
        found = {"message": self._added.whole(), "calls": of_calls}
        found = {name: x for name, x in found.items() if x}
        return {"service": service, **found} if found else {}

    def _add_choice(self, choice: Mapping[str, Any]) -> str:
        self.answered = True
        whole = choice.get("message") is not None
        delta = mapping(choice.get("message") if whole else choice.get("delta"))
        text = _text(delta.get("content"))
        self._text.append(text)
        self._refusal.append(_text(delta.get("refusal")))
        self._added.add(delta)
        for position, call in enumerate(sequence(delta.get("tool_calls"))):
            self._add_call({**mapping(call), "index": position} if whole else mapping(call))
        self._finish = str(choice.get("finish_reason") or self._finish)
        return text

    def _add_call(self, delta: Mapping[str, Any]) -> None:
        function = mapping(delta.get("function"))
        call_id, name = str(delta.get("id") or ""), str(function.get("name") or "")
        arguments = function.get("arguments")
        call = self._call_of(delta.get("index"), call_id, name, arguments)
        call.id = call.id or call_id
        call.added.add(delta, function)
        if not call.name:
            call.name = name
        if isinstance(arguments, str):
            call.arguments += arguments
        elif arguments is not None:
            call.arguments = json.dumps(arguments, ensure_ascii=False)

    def _call_of(self, index: Any, call_id: str, name: str, arguments: Any) -> _CallSoFar:
        """The call that a piece belongs to: by index, except where that cannot be meant."""
        if isinstance(index, int):
            call = self._by_index.get(index)
        elif call_id:
            call = next((x for x in self._calls if x.id == call_id), None)
        else:
            call = None if name or not self._calls else self._calls[-1]
        if call is None or _is_another(call, call_id, name, arguments):
            call = _CallSoFar()
            self._calls.append(call)
        if isinstance(index, int):
            self._by_index[index] = call
        return call

    def _tool_calls(self, new_id: Callable[[], str]) -> tuple[tuple[ToolCall, ...], JsonObject]:
        """The calls, and by their ids what the service added to them."""
        calls: dict[str, ToolCall] = {}
        added: JsonObject = {}
        for call in self._calls:
            if not call.name and not call.arguments.strip():
                continue
            call_id = call.id if call.id and call.id not in calls else new_id()
            calls[call_id] = ToolCall(call_id, call.name, call.arguments)
            if fields := call.added.whole():
                added[call_id] = fields
        return tuple(calls.values()), added


def _is_another(call: _CallSoFar, call_id: str, name: str, arguments: Any) -> bool:
    """Whether a named piece with a used index begins a new call; some services number all 0."""
    if not name or not call.name:
        return False
    if call_id and call.id and call_id != call.id:
        return True
    # Named again after complete arguments, and with arguments of its own. A name that is only
    # repeated with each piece is the same call.
    return bool(arguments) and _is_object(call.arguments)


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _text(content: Any) -> str:
    """The text of a content: a string, or a list of parts of which only text is for reading."""
    if isinstance(content, str):
        return content
    parts = map(mapping, sequence(content))
    return "".join(str(x.get("text") or "") for x in parts if x.get("type") == "text")
