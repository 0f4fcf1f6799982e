"""Host for calls of a far client: passes the questions of servers and approvals to its person."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import anyio

from ..core.approval import ApprovalAnswer, ApprovalRequest, approval_too_late
from ..core.errors import XaiMcpError
from ..core.json import JsonObject, as_list, as_object
from ..core.questions import (
    ANSWER_SECONDS,
    Answer,
    Question,
    SamplingMessage,
    SamplingRefused,
    SamplingReply,
    SamplingRequest,
    ToolUse,
    ToolUseResult,
    too_late,
)
from .content import part_json, tool_json

Ask: TypeAlias = Callable[[str, JsonObject], Awaitable[JsonObject]]
"""Sends the client a request and returns its response.

Raises:
    XaiMcpError: it refused, or cannot be asked.
"""

_NO_FORMS = "the program {!r}, which makes the call, cannot show a person a form"
_NO_PAGES = "the program {!r}, which makes the call, cannot open a page for a person"
_NO_MODEL = "the program {!r}, which makes the call, offers no model"
_SCOPES = {
    "once": "Allow this call",
    "run": "Allow this tool until the program ends",
    "no": "Do not allow it",
}
_MOST_ARGUMENT_CHARS = 2000  # of the question; a person reads no more


class FarHost:
    """Asks the person in front of the client `name`, which has these `capabilities`."""

    def __init__(self, name: str, capabilities: JsonObject, ask: Ask) -> None:
        self._name = name
        self._capabilities = capabilities
        self._ask = ask

    @property
    def why_nobody(self) -> str:
        """Return why no person can be asked, or ""."""
        return "" if self._can_show("form") else _NO_FORMS.format(self._name)

    async def answer(self, question: Question) -> Answer:
        """Pass on a question of a server."""
        kind = "url" if question.url else "form"
        if not self._can_show(kind):
            reason = _NO_PAGES if question.url else _NO_FORMS
            return Answer.declined(reason.format(self._name))
        params: JsonObject = {"message": f"{question.server}: {question.message}"}
        if question.url:
            params |= {"mode": "url", "url": question.url, "elicitationId": question.url}
        else:
            params["requestedSchema"] = question.schema or {"type": "object", "properties": {}}
        return await self._elicit(params, question.limit_seconds) or too_late(question)

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Ask for an approval. Anything but a clear yes is a no."""
        if self.why_nobody:
            return ApprovalAnswer.nobody(self.why_nobody)
        arguments = json.dumps(request.arguments, ensure_ascii=False)[:_MOST_ARGUMENT_CHARS]
        choice = {
            "type": "string", "title": "Decision", "enum": list(_SCOPES),
            "enumNames": list(_SCOPES.values()),
        }  # fmt: skip
        params: JsonObject = {
            "message": f"{request.title}, because {request.reason}. Arguments: {arguments}",
            "requestedSchema": {
                "type": "object", "properties": {"decision": choice}, "required": ["decision"],
            },
        }  # fmt: skip
        answer = await self._elicit(params, request.limit_seconds)
        if answer is None:
            return approval_too_late(request)
        decision = (answer.content or {}).get("decision") if answer.action == "accept" else "no"
        if decision == "once" or decision == "run":
            return ApprovalAnswer(decision, by=self._name)
        return ApprovalAnswer.no(answer.reason or "the person said no", by=self._name)

    async def sample(self, request: SamplingRequest) -> SamplingReply:
        """Ask the client's model to continue a conversation."""
        sampling = self._capabilities.get("sampling")
        if not isinstance(sampling, dict):
            raise SamplingRefused(_NO_MODEL.format(self._name))
        params = _sampling_params(request, with_tools="tools" in sampling)
        try:
            with anyio.fail_after(ANSWER_SECONDS):
                return _reply_of(await self._ask("sampling/createMessage", params))
        except TimeoutError:
            raise SamplingRefused(f"no answer within {ANSWER_SECONDS:g} s") from None
        except XaiMcpError as refusal:
            raise SamplingRefused(str(refusal)) from None

    async def _elicit(self, params: JsonObject, limit_seconds: float) -> Answer | None:
        """Return the answer of the client's person, or None if there is none in time."""
        with anyio.move_on_after(limit_seconds):
            try:
                response = await self._ask("elicitation/create", params)
            except XaiMcpError as refusal:
                return Answer.cancelled(str(refusal))
            if response.get("action") == "accept":
                return Answer.accepted(as_object(response.get("content")))
            person = f"the person at {self._name!r}"
            if response.get("action") == "decline":
                return Answer.declined(f"{person} said no")
            return Answer.cancelled(f"{person} closed the question without an answer")
        return None

    def _can_show(self, kind: str) -> bool:
        """Return whether it shows forms or pages; a client that names neither shows forms."""
        elicitation = self._capabilities.get("elicitation")
        if not isinstance(elicitation, dict):
            return False
        return kind in elicitation or (kind == "form" and "url" not in elicitation)


def _sampling_params(request: SamplingRequest, *, with_tools: bool) -> JsonObject:
    params: JsonObject = {
        "messages": [_message_json(x) for x in request.messages],
        "maxTokens": request.max_tokens,
    }
    if request.system:
        params["systemPrompt"] = request.system
    if request.temperature is not None:
        params["temperature"] = request.temperature
    if request.stop_sequences:
        params["stopSequences"] = list(request.stop_sequences)
    if request.tools and with_tools:
        params["tools"] = [tool_json(x.name, x) for x in request.tools]
        params["toolChoice"] = {"mode": "auto" if request.may_use_tools else "none"}
    return params


def _message_json(message: SamplingMessage) -> JsonObject:
    blocks: list[JsonObject] = []
    for part in message.parts:
        match part:
            case ToolUse(id_, name, arguments):
                use = {"type": "tool_use", "id": id_, "name": name, "input": arguments}
                blocks.append(use)
            case ToolUseResult(id_, parts, is_error):
                content = list(map(part_json, parts))
                result = {"type": "tool_result", "toolUseId": id_, "content": content}
                blocks.append({**result, "isError": is_error})
            case _:
                blocks.append(part_json(part))
    content: Any = blocks[0] if len(blocks) == 1 else blocks
    return {"role": message.role, "content": content}


def _reply_of(response: JsonObject) -> SamplingReply:
    content = response.get("content")
    blocks = [as_object(content)] if isinstance(content, dict) else map(as_object, as_list(content))
    texts, uses = list[str](), list[ToolUse]()
    for block in blocks:
        if block.get("type") == "tool_use":
            uses.append(ToolUse(block["id"], block["name"], as_object(block.get("input"))))
        elif isinstance(text := block.get("text"), str):
            texts.append(text)
    stop = response.get("stopReason")
    reason = stop if stop in ("endTurn", "maxTokens", "toolUse") else "endTurn"
    return SamplingReply("\n".join(texts), str(response.get("model", "")), tuple(uses), reason)
