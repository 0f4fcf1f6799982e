"""A server's questions to a person: from the SDK's types to a `Question`, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio

from ....core.elicitation import Answer, Question, answer_with_defaults
from ....core.schemas import SchemaCheck
from ....settings.server import ServerSettings
from ..pending import WHOSE_IS_IT, Pending
from .log import logger_of

if TYPE_CHECKING:
    import mcp_types as types


class Elicitation:
    """The questions of one connection's server."""

    def __init__(self, settings: ServerSettings, pending: Pending) -> None:
        self._settings = settings
        self._pending = pending

    async def answer(self, _context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        """The SDK's callback. Never raises: what goes wrong here is told to the server as no."""
        import mcp_types as types  # as heavy as the SDK, which is loaded when this is called

        question = self._question(params)
        with self._pending.paused():
            answer = _checked(question, await self._answer(question))
        if answer.action != "accept":
            self._note(answer)
        content = answer.content if question.schema is not None else None
        return types.ElicitResult(
            action=answer.action, content=content if answer.action == "accept" else None
        )

    async def open_pages(self, refusal: Exception) -> None:
        """Have the pages opened that a server wants opened before it takes a call, if any.

        The call is refused all the same, for what the person does there takes its time.
        """
        for params in _pages_in(refusal):
            if (await self.answer(None, params)).action != "accept":
                break

    def _question(self, params: types.ElicitRequestParams) -> Question:
        name, limit = self._settings.name, self._settings.elicitation_timeout_seconds
        if params.mode == "url":
            return Question.of_stranger(name, params.message, None, params.url, limit)
        schema = {"type": "object", **params.requested_schema}
        return Question.of_stranger(name, params.message, schema, limit_seconds=limit)

    async def _answer(self, question: Question) -> Answer:
        if self._settings.elicitation == "defaults":
            return answer_with_defaults(question)
        if (asker := self._pending.asker()) is None:
            return Answer.cancelled(WHOSE_IS_IT)
        with anyio.move_on_after(question.limit_seconds):
            return await asker.answer(question)
        return Answer.cancelled(f"nobody answered within {question.limit_seconds:g} s")

    def _note(self, answer: Answer) -> None:
        what = "was declined" if answer.action == "decline" else "was not answered"
        reason = answer.reason.rstrip(".")
        text = f"A question of the server {what}" + (f": {reason}." if reason else ".")
        self._pending.note(text)
        logger_of(self._settings.name).warning("%s", text)


def _pages_in(refusal: Exception) -> list[types.ElicitRequestURLParams]:
    """The pages that an error names (MCP 2025-11-25)."""
    import mcp_types as types
    from mcp import MCPError
    from pydantic import ValidationError

    if not isinstance(refusal, MCPError) or refusal.code != types.URL_ELICITATION_REQUIRED:
        return []
    try:
        return types.ElicitationRequiredErrorData.model_validate(refusal.data).elicitations
    except ValidationError:
        return []


def _checked(question: Question, answer: Answer) -> Answer:
    """The answer, or a refusal where a program answered with what the form does not allow."""
    if answer.action != "accept" or question.schema is None:
        return answer
    problems = SchemaCheck(question.schema).problems(answer.content or {})
    if problems:
        return Answer.cancelled(f"the answer does not fit the form: {'; '.join(problems)}")
    return Answer.accepted(answer.content or {})
