"""Elicitation: a question of a server to the person behind a call, and its answer (MCP)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from .schemas import properties, required
from .tools import JsonObject

Action: TypeAlias = Literal["accept", "decline", "cancel"]
"""accept: here is the answer. decline: no. cancel: no answer either way."""

ANSWER_SECONDS = 300.0
"""The longest wait for an answer where nothing else was said: time to look something up."""


@dataclass(frozen=True, slots=True)
class Question:
    """A form to fill in, or a page to open: `schema` describes the form, `url` is the page.

    `server` is its name in the settings, `message` its own words and not to be trusted. A form's
    schema is an object of texts, numbers, yes or no, and choices. After `limit_seconds` the
    answer is not waited for any longer.

    `is_sign_in`: the page is one to sign in at for the server. Whoever shows it may accept at
    once: the browser brings the outcome by itself, and the question is given up when it has.
    """

    server: str
    message: str
    schema: JsonObject | None = None
    url: str = ""
    limit_seconds: float = ANSWER_SECONDS
    is_sign_in: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """What a question is answered. `content` has the values of a form that was accepted.

    `reason` says why it was not: for the log and for the notes of the call's result.
    """

    action: Action
    content: JsonObject | None = None
    reason: str = ""

    @staticmethod
    def accepted(content: JsonObject | None = None) -> Answer:
        """Yes; with the values of the form, if it is one."""
        return Answer("accept", content)

    @staticmethod
    def declined(reason: str) -> Answer:
        """No."""
        return Answer("decline", reason=reason)

    @staticmethod
    def cancelled(reason: str) -> Answer:
        """Nobody said yes or no."""
        return Answer("cancel", reason=reason)


def too_late(question: Question) -> Answer:
    """What a question comes to whose time is over."""
    return Answer.cancelled(f"nobody answered within {question.limit_seconds:g} s")


Answerer: TypeAlias = Callable[[Question], Answer]
"""Answers questions. Called in a thread of its own: it may take its time."""


def answer_with_defaults(question: Question) -> Answer:
    """Accept a form with its own defaults; decline what cannot be answered that way."""
    if question.schema is None:
        return Answer.declined("a page is to be opened, and defaults cannot do that")
    fields = properties(question.schema)
    content = {name: spec["default"] for name, spec in fields.items() if "default" in spec}
    missing = [name for name in required(question.schema) if name not in content]
    if missing:
        return Answer.declined(f"these have no default: {', '.join(missing)}")
    return Answer.accepted(content)
