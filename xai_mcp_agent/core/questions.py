"""Questions that servers ask during a call: forms and pages, sampling, signing in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from .json import JsonObject, as_list
from .results import ResultPart
from .schemas import properties, required, rewrite
from .tools import Tool
from .visible import visible_text

Action: TypeAlias = Literal["accept", "decline", "cancel"]
"""accept: here is the answer. decline: no. cancel: no answer either way."""

ANSWER_SECONDS = 300.0
"""The longest wait for an answer where nothing else was said: time to look something up."""


_MESSAGE_CHARS = 4000  # a page; nobody reads more before they answer
_WORDS_CHARS = 1000  # what is said of one field
_LABEL_CHARS = 200  # a field, or one of the values to choose
_TEXTS = {"title": _LABEL_CHARS, "description": _WORDS_CHARS}


@dataclass(frozen=True, slots=True)
class Question:
    """A form to fill in, or a page to open: `schema` describes the form, `url` is the page.

    `server` is its name in the settings, `message` its own words and not to be trusted. A form's
    schema is an object of texts, numbers, yes or no, and choices. After `limit_seconds` the
    answer is not waited for any longer.

    `is_sign_in`: the page is one to sign in at for the server. Whoever shows it may accept at
    once: the browser brings the outcome by itself, and the question is given up when it has.

    `heading`, `yes` and `no` are words of ours: a title, and what the two buttons say.
    """

    server: str
    message: str
    schema: JsonObject | None = None
    url: str = ""
    limit_seconds: float = ANSWER_SECONDS
    is_sign_in: bool = False
    heading: str = ""
    yes: str = ""
    no: str = ""

    @staticmethod
    def of_stranger(
        server: str,
        message: str,
        schema: JsonObject | None = None,
        url: str = "",
        limit_seconds: float = ANSWER_SECONDS,
    ) -> Question:
        """A question in a server's words, as they look: nothing hidden in them, nothing endless.

        The names of fields, and values to choose, stay as they are: they are sent back.
        """
        seen = None if schema is None else rewrite(schema, _seen_words)
        return Question(server, visible_text(message, _MESSAGE_CHARS), seen, url, limit_seconds)


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a question. `content` has the values of a form that was accepted.

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
    """The answer to a question whose time is over."""
    return Answer.cancelled(f"nobody answered within {question.limit_seconds:g} s")


def seen_label(text: str) -> str:
    """A name or a value of a server's form as a person reads it: on one line, and not endless."""
    return " ".join(visible_text(text, _LABEL_CHARS).split())


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


def _seen_words(schema: JsonObject) -> JsonObject:
    """A form, a field, or one of its values, with its words for people as they look."""
    texts = {name: schema[name] for name in _TEXTS if isinstance(schema.get(name), str)}
    seen: JsonObject = {name: visible_text(x, _TEXTS[name]) for name, x in texts.items()}
    if names := as_list(schema.get("enumNames")):
        seen["enumNames"] = [seen_label(x) if isinstance(x, str) else x for x in names]
    return {**schema, **seen}


Stop: TypeAlias = Literal["endTurn", "maxTokens", "toolUse"]
"""Why the model stopped, in the protocol's own words."""


@dataclass(frozen=True, slots=True)
class ToolUse:
    """The model wants one of the request's tools called; the server does that."""

    id: str
    name: str
    arguments: JsonObject


@dataclass(frozen=True, slots=True)
class ToolUseResult:
    """The result of a tool use."""

    id: str
    parts: tuple[ResultPart, ...]
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class SamplingMessage:
    """One message of the conversation that the server made up. `role` is `user` or `assistant`."""

    role: str
    parts: tuple[ResultPart | ToolUse | ToolUseResult, ...]


@dataclass(frozen=True, slots=True)
class SamplingRequest:
    """A conversation that a model is to go on with, all of it the server's and not to be trusted.

    `max_tokens` is what the server wants, or what the settings allow if that is less.
    """

    server: str
    messages: tuple[SamplingMessage, ...]
    max_tokens: int
    system: str = ""
    temperature: float | None = None
    stop_sequences: tuple[str, ...] = ()
    tools: tuple[Tool, ...] = ()
    may_use_tools: bool = True


@dataclass(frozen=True, slots=True)
class SamplingReply:
    """The reply of the model; `model` is its name."""

    text: str
    model: str
    uses: tuple[ToolUse, ...] = ()
    stop: Stop = "endTurn"


class SamplingRefused(Exception):
    """No model is asked; the message says why, for the server and for the notes of the call."""


SIGN_IN_SECONDS = 300.0
"""The longest wait where nothing else was said: time to find a password and a second factor."""


@dataclass(frozen=True, slots=True)
class SignInRequest:
    """Somebody should open `url` in a browser and agree.

    `server` is its name in the settings, `host` where the page is, for a person to judge. The page
    sends the browser on to `redirect_uri`, with the outcome in that address. After
    `limit_seconds` it is not waited for any longer.
    """

    server: str
    url: str
    host: str
    redirect_uri: str
    limit_seconds: float = SIGN_IN_SECONDS


SignIn: TypeAlias = Callable[[SignInRequest], str | Awaitable[str | None] | None]
"""Gets somebody to sign in. Returns the address the browser was sent to in the end, or the code in
it; or None once the person has the link: the browser then brings the outcome by itself. A plain
function is called in a thread of its own, a coroutine function on the bridge's event loop."""
