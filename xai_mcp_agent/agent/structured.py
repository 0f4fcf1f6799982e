"""JSON answers from a model: it gets the schema, and a second chance if its answer does not fit.

Agents, routes and plans all use this.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

from ..core.errors import BadSetting, ModelAnswerInvalid
from ..core.json import JsonObject
from ..core.schema_check import SchemaCheck
from ..core.threads import beside_loop
from .arguments import NOT_JSON, read_json, without_fence
from .messages import Message, join_paragraphs
from .models.base import Model, ModelReply, ModelRequest, ignore_text

AskAgain: TypeAlias = Callable[[ModelReply, str, str], Awaitable[ModelReply]]
"""Asks for another reply: takes the last one, what is wrong with it, and a text for the model."""
Check: TypeAlias = Callable[[Any], Sequence[str]]
"""Returns problems of a value that fits the schema."""

_INSTRUCTION = (
    "Your answer must be one JSON value that fits the following JSON Schema, with no words and no "
    "code fence around it. Use tools first where you need them.\n{schema}"
)
_AGAIN = (
    "This answer does not fit the JSON Schema that you were given:\n{problems}\n"
    "Give it again, corrected: one JSON value and nothing else."
)
_END_OF_THOUGHTS = re.compile(r"</(?:think|thinking|thought|reasoning)>|\[/THINK\]")
# A JSON Schema has at least one of these words; `{"city": "string"}` is no schema.
_SCHEMA_WORDS = {
    "$ref", "allOf", "anyOf", "const", "enum", "items", "not", "oneOf", "prefixItems", "properties",
    "required", "type",
}  # fmt: skip


class OutputSchema:
    """The schema of a model's answer, as a JSON Schema.

    Raises:
        BadSetting: it is not a JSON Schema, or checking values with it would take too long.
    """

    def __init__(self, schema: JsonObject, check: Check = lambda _: ()) -> None:
        self.schema = schema
        self._check = check
        self._schema_check = SchemaCheck(schema)
        why = self._schema_check.broken
        if not why and not _SCHEMA_WORDS & schema.keys():
            why = "it has neither `type` nor `properties`"
        if why:
            raise BadSetting(
                f"`output_schema` of AgentRun is not a JSON Schema to check answers with: {why}. "
                'One looks like {"type": "object", "properties": {"city": {"type": "string"}}}.'
            )

    @property
    def instruction(self) -> str:
        """The instruction for the model. Services that get the schema too may ignore it."""
        return _INSTRUCTION.format(schema=json.dumps(self.schema, ensure_ascii=False))

    async def fit_reply(self, reply: ModelReply, ask_again: AskAgain) -> tuple[ModelReply, Any]:
        """Return the reply and its value, or the second reply if the first does not fit.

        Raises:
            ModelAnswerInvalid: the second reply does not fit either.
        """
        value, problems = await self._read(reply)
        if problems:
            correction = _AGAIN.format(problems="\n".join(f"- {x}" for x in problems))
            reply = await ask_again(reply, f"the answer does not fit: {problems[0]}", correction)
            if reply.refusal:
                return reply, None
            value, problems = await self._read(reply)
        if problems:
            raise ModelAnswerInvalid(
                "The model's answer does not fit `output_schema`, even when asked again: "
                f"{'; '.join(problems)}. Make `output_schema` simpler, or use a model that keeps "
                "to it.",
                problems,
            )
        return reply, value

    async def _read(self, reply: ModelReply) -> tuple[Any, list[str]]:
        """Return the value of an answer, and its problems."""
        value, problems = await beside_loop(len(reply.text), lambda: self._value_in(reply.text))
        if problems and reply.finish == "length":
            problems = ["it was cut off at the limit of its length", *problems]
        return value, problems

    def _value_in(self, text: str) -> tuple[Any, list[str]]:
        plain = without_fence(_END_OF_THOUGHTS.split(text)[-1])
        if not plain:
            return None, ["it is empty"]
        value = read_json(plain)
        if value is NOT_JSON:  # an object among sentences, or in a fence between them
            value = read_json(plain[plain.find("{") : plain.rfind("}") + 1])
        if value is NOT_JSON:
            return None, ["it is not JSON"]
        return value, self._schema_check.problems(value) or list(self._check(value))


async def ask_for_json(
    model: Model, messages: Sequence[Message], schema: JsonObject, check: Check = lambda _: ()
) -> Any:
    """Return a model's answer to these messages, as a value that fits the schema and the `check`.

    If the answer does not fit, the model is asked once more, with its problems. Wait with a limit.

    Raises:
        ModelAnswerInvalid: it declined, or its second answer does not fit either; see `problems`.
        ModelError: the model's service failed.
    """
    form = OutputSchema(schema, check)
    system = [str(x["content"]) for x in messages if x["role"] == "system"]
    first: Message = {"role": "system", "content": join_paragraphs(*system, form.instruction)}
    conversation = [first, *(x for x in messages if x["role"] != "system")]

    async def ask() -> ModelReply:
        request = ModelRequest(tuple(conversation), may_call=False, output_schema=schema)
        return await model.reply(request, ignore_text)

    async def ask_again(reply: ModelReply, _: str, correction: str) -> ModelReply:
        conversation.append({"role": "assistant", "content": reply.text or "(nothing)"})
        conversation.append({"role": "user", "content": correction})
        return await ask()

    reply = await ask()
    if not reply.refusal:
        reply, value = await form.fit_reply(reply, ask_again)
        if not reply.refusal:
            return value
    raise ModelAnswerInvalid(
        f"{model.name} declined: {reply.refusal}", [f"declined: {reply.refusal}"]
    )
