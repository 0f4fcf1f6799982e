"""Talks with the offline model: tools, calls and answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from xai_mcp_agent.agent.conversation import call_message, result_messages
from xai_mcp_agent.agent.messages import Message
from xai_mcp_agent.agent.models.base import ModelReply, ModelRequest
from xai_mcp_agent.agent.models.offline import OfflineModel
from xai_mcp_agent.core.provider_schema import FunctionSpec
from xai_mcp_agent.core.results import ToolResult

TODAY = date(2026, 3, 12)  # A Thursday.
MOST_TURNS = 8

Answer = Callable[[str, dict[str, Any]], str]
Call = tuple[str, dict[str, Any]]


def tool(name: str, description: str, /, *, optional: str = "", **parameters: Any) -> FunctionSpec:
    """Return a tool; a parameter is a JSON type or a schema, required unless in `optional`."""
    properties = {k: {"type": v} if isinstance(v, str) else v for k, v in parameters.items()}
    required = [x for x in properties if x not in optional.split()]
    schema = {"type": "object", "properties": properties, "required": required}
    return FunctionSpec(name, description, schema)


def text(description: str, **more: Any) -> dict[str, Any]:
    """Return the schema of a described string."""
    return {"type": "string", "description": description, **more}


@dataclass
class Talk:
    """One run: the calls of each turn, their texts, and the answer."""

    turns: list[list[Call]] = field(default_factory=list[list[Call]])
    thoughts: list[str] = field(default_factory=list[str])
    answer: str = ""
    messages: list[Message] = field(default_factory=list[Message])

    @property
    def calls(self) -> list[Call]:
        """All calls, in order."""
        return [call for turn in self.turns for call in turn]


async def ask(
    messages: Sequence[Message], functions: Sequence[FunctionSpec], *, may_call: bool = True,
) -> ModelReply:  # fmt: skip
    """Make one turn."""
    pieces: list[str] = []

    async def on_text(piece: str) -> None:
        pieces.append(piece)

    request = ModelRequest(tuple(messages), tuple(functions), may_call)
    reply = await OfflineModel(today=lambda: TODAY).reply(request, on_text)
    assert "".join(pieces) == reply.text
    return reply


async def talk(
    request: str, functions: Sequence[FunctionSpec], answer: Answer | None = None, *,
    before: Sequence[Message] = (),
) -> Talk:  # fmt: skip
    """Make a run as the loop does. A text from `answer` that begins with ERROR is an error."""
    run = Talk(messages=[*before, {"role": "user", "content": request}])
    for _ in range(MOST_TURNS):
        reply = await ask(run.messages, functions)
        thought, calls = reply.text, reply.calls
        if not calls:
            run.answer = thought
            return run
        run.thoughts.append(thought)
        run.turns.append([(x.name, json.loads(x.arguments)) for x in calls])
        texts = [(answer or _answer_done)(x.name, json.loads(x.arguments)) for x in calls]
        outcomes = [ToolResult.of_text(x, is_error=x.startswith("ERROR")) for x in texts]
        results = zip(calls, texts, outcomes, strict=True)
        run.messages += [call_message(thought, calls)]
        run.messages += result_messages(results)
    raise AssertionError(f"no answer after {MOST_TURNS} turns: {run.turns}")


async def first_calls(request: str, functions: Sequence[FunctionSpec]) -> list[Call]:
    """Return the calls of the first turn."""
    reply = await ask([{"role": "user", "content": request}], functions)
    return [(x.name, json.loads(x.arguments)) for x in reply.calls]


def _answer_done(_name: str, _arguments: dict[str, Any]) -> str:
    return "done"
