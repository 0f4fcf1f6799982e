"""Puts the events of a Responses answer together, or reads one that came whole.

The items of the answer count as they are at its end; pieces are for whoever reads along, and for
services that leave the items out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..messages import ToolCall
from .base import FinishReason, ModelReply
from .fields import mapping, sequence, usage_of
from .responses_items import BETWEEN_TEXTS, kept_items, texts_in

_ENDS = {"response.completed", "response.incomplete"}
_CUT_OFF: dict[str, FinishReason] = {"content_filter": "content_filter"}


@dataclass
class ResponsesReply:
    """A reply that is still arriving."""

    _response: Mapping[str, Any] = field(default_factory=dict[str, Any])
    _items: dict[int, Mapping[str, Any]] = field(default_factory=dict[int, Mapping[str, Any]])
    _texts: dict[int, str] = field(default_factory=dict[int, str])
    _arguments: dict[int, str] = field(default_factory=dict[int, str])

    @property
    def is_whole(self) -> bool:
        """Whether the service said that it ended here."""
        return bool(self._response)

    answered = is_whole

    def add(self, chunk: Any) -> str:
        """Take in one event of a stream, or a whole answer; gives the new text in it."""
        event = mapping(chunk)
        kind, at = str(event.get("type") or ""), event.get("output_index")
        if kind in _ENDS:
            status = kind.removeprefix("response.")
            return self._end({"status": status, **mapping(event.get("response"))})
        if isinstance(event.get("output"), list):
            return self._end(event)
        if not isinstance(at, int):
            return ""
        if kind == "response.output_text.delta":
            return self._add_text(at, str(event.get("delta") or ""))
        if kind == "response.function_call_arguments.delta":
            self._arguments[at] = self._arguments.get(at, "") + str(event.get("delta") or "")
        elif kind in {"response.output_item.added", "response.output_item.done"}:
            self._items[at] = mapping(event.get("item"))
        return ""

    def finished(self, new_id: Callable[[], str], service: str) -> ModelReply:
        """The whole reply of this service. `new_id` names calls without an id of their own."""
        output = self._output()
        calls = _calls(output, new_id)
        refusal = "".join(texts_in(x, "refusal") for x in output)
        items = kept_items(output, [x.id for x in calls])
        added = {"service": service, "items": items} if items else {}
        usage = usage_of(mapping(self._response.get("usage")), "input", "output")
        finish = self._finish(bool(calls), bool(refusal))
        return ModelReply(_text(output), calls, finish, refusal, usage, added=added)

    def _add_text(self, at: int, delta: str) -> str:
        begins_anew = at not in self._texts and any(self._texts.values())
        self._texts[at] = self._texts.get(at, "") + delta
        return f"{BETWEEN_TEXTS}{delta}" if begins_anew else delta

    def _end(self, response: Mapping[str, Any]) -> str:
        if response.get("status") in {"queued", "in_progress", "cancelled"}:
            return ""
        self._response = response
        shown = BETWEEN_TEXTS.join(self._texts.values())
        text = _text(self._output())
        return text.removeprefix(shown) if text.startswith(shown) else ""

    def _output(self) -> list[Mapping[str, Any]]:
        """The items: of the end, else as they came; what they lack is taken from the pieces."""
        ended = dict(enumerate(map(mapping, sequence(self._response.get("output")))))
        said = {at: {"type": "message"} for at in self._texts}
        items = ended or dict(sorted({**said, **self._items}.items()))
        return [self._filled(at, x) for at, x in items.items()]

    def _filled(self, at: int, item: Mapping[str, Any]) -> Mapping[str, Any]:
        kind = item.get("type")
        if kind == "function_call" and not item.get("arguments"):
            return {**item, "arguments": self._arguments.get(at, "")}
        if kind == "message" and not item.get("content") and at in self._texts:
            return {**item, "content": [{"type": "output_text", "text": self._texts[at]}]}
        return item

    def _finish(self, has_calls: bool, is_refused: bool) -> FinishReason:
        if self._response.get("status") == "incomplete":
            details = mapping(self._response.get("incomplete_details"))
            return _CUT_OFF.get(str(details.get("reason")), "length")
        if is_refused and not has_calls:
            return "refusal"
        return "tool_calls" if has_calls else "stop"


def _text(output: list[Mapping[str, Any]]) -> str:
    texts = [texts_in(x) for x in output if x.get("type") == "message"]
    return BETWEEN_TEXTS.join(x for x in texts if x)


def _calls(output: list[Mapping[str, Any]], new_id: Callable[[], str]) -> tuple[ToolCall, ...]:
    calls: dict[str, ToolCall] = {}
    for item in output:
        if item.get("type") == "function_call":
            wanted = str(item.get("call_id") or item.get("id") or "")
            call_id = wanted if wanted and wanted not in calls else new_id()
            arguments = item.get("arguments") or ""
            if not isinstance(arguments, str):
                arguments = json.dumps(arguments, ensure_ascii=False)
            calls[call_id] = ToolCall(call_id, str(item.get("name") or ""), arguments)
    return tuple(calls.values())
