"""Answers of a certain form: told to the model, read from its words, and checked."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from ..core.errors import BadSetting, ModelAnswerInvalid
from ..core.json import JsonObject
from ..core.schemas import SchemaCheck
from ..core.threads import beside_loop
from .models.base import ModelReply
from .protocols.arguments import NOT_JSON, read_json
from .protocols.extents import closing, without_fence

AskAgain: TypeAlias = Callable[[ModelReply, str, str], Awaitable[ModelReply]]
"""Asks for another reply: the one so far, what is wrong with it, what the model is to be told."""

_INSTRUCTION = (
    "Your answer must be one JSON value that fits the following JSON Schema, with no words and no "
    "code fence around it. Use tools first where you need them.\n{schema}"
)
_AGAIN = (
    "This answer does not fit the JSON Schema that you were given:\n{problems}\n"
    "Give it again, corrected: one JSON value and nothing else."
)
_EXCERPT_CHARS = 40
_NEXT_STEP = "Make `output_schema` simpler, or use a model that keeps to it."
# Any of these, or it is no schema but something that a person took for one.
_TELLING = {
    "$ref", "allOf", "anyOf", "const", "enum", "items", "not", "oneOf", "prefixItems", "properties",
    "required", "type",
}  # fmt: skip


class OutputSchema:
    """The form that an agent's answer must have, as a JSON Schema.

    Raises:
        BadSetting: it is no JSON Schema, or one that would take too long to check anything with.
    """

    def __init__(self, schema: JsonObject) -> None:
        self.schema = schema
        self._check = SchemaCheck(schema)
        self._check.problems(None)  # compiles it
        why = self._check.broken
        if not why and not _TELLING & schema.keys():
            why = "it says nothing of `type` or `properties`"
        if why:
            raise BadSetting(
                f"`output_schema` of AgentRun is no JSON Schema to check answers with: {why}. One "
                'looks like {"type": "object", "properties": {"city": {"type": "string"}}}.'
            )

    @property
    def instruction(self) -> str:
        """What the model is told of it. Services that are told too may not heed it."""
        return _INSTRUCTION.format(schema=json.dumps(self.schema, ensure_ascii=False))

    async def fitted(self, reply: ModelReply, ask_again: AskAgain) -> tuple[ModelReply, Any]:
        """The reply and the value that it gives; or those of the one that was asked for instead.

        Raises:
            ModelAnswerInvalid: that one does not fit either.
        """
        value, problems = await self._read(reply)
        if problems:
            told = _AGAIN.format(problems="\n".join(f"- {x}" for x in problems))
            reply = await ask_again(reply, f"the answer does not fit: {problems[0]}", told)
            if reply.refusal:
                return reply, None
            value, problems = await self._read(reply)
        if problems:
            wrong = "; ".join(problems)
            raise ModelAnswerInvalid(
                f"The model's answer does not fit `output_schema`, also when asked again: {wrong}. "
                f"{_NEXT_STEP}",
                problems,
            )
        return reply, value

    async def _read(self, reply: ModelReply) -> tuple[Any, list[str]]:
        value, problems = await beside_loop(len(reply.text), lambda: self._value_in(reply.text))
        if problems and reply.finish == "length":
            problems = ["it was cut off at the limit of its length", *problems]
        return value, problems

    def _value_in(self, text: str) -> tuple[Any, list[str]]:
        """The JSON value of an answer, and what is wrong with it."""
        plain = without_fence(text)
        if not plain:
            return None, ["it is empty"]
        value = json_in(plain)
        if value is NOT_JSON:
            return None, [f"it is not JSON, it begins with {plain[:_EXCERPT_CHARS]!r}"]
        return value, self._check.problems(value)


def json_in(text: str) -> Any:
    """The JSON value of an answer, in a fence and among sentences perhaps; else `NOT_JSON`."""
    plain = without_fence(text)
    value = read_json(plain)
    return read_json(_object_in(plain)) if value is NOT_JSON else value


def _object_in(text: str) -> str:
    """The JSON object in a sentence or in a fence between sentences; the text if there is none."""
    start = text.find("{")
    end = closing(text, start) if start >= 0 else None
    return text[start:end] if end else text
