"""Questions that servers ask during a call: forms, pages, sampling and sign-in."""

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
"""accept: with an answer. decline: no. cancel: no decision either way."""

ANSWER_SECONDS = 300.0
"""Default limit for an answer: enough time to look something up."""


_MESSAGE_CHARS = 4000  # a page; longer ones would not be read
_WORDS_CHARS = 1000  # description of one field
_LABEL_CHARS = 200  # a field, or one of the values to choose
_TEXTS = {"title": _LABEL_CHARS, "description": _WORDS_CHARS}


@dataclass(frozen=True, slots=True)
class Question:
    """A form to fill in, or a page to open: `schema` describes the form, `url` is the page.

    `server` is its name in the settings; `message` is the server's own and not to be trusted. A
    form's schema is an object of texts, numbers, booleans and choices. After `limit_seconds`
    nothing waits for the answer any longer.

    `is_sign_in` means that the page is for signing in to the server. A host that shows it may
    accept at once: the browser returns the outcome itself, which ends the question.

    `heading`, `yes` and `no` are our own: a title, and the labels of the two buttons.
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
    def from_server(
        server: str,
        message: str,
        schema: JsonObject | None = None,
        url: str = "",
        limit_seconds: float = ANSWER_SECONDS,
    ) -> Question:
        """Return a question from a server's text, which is cut and has no invisible characters.

        Names of fields and values to choose stay as they are, because they are sent back.
        """
        form = None if schema is None else rewrite(schema, _clean_texts)
        return Question(server, visible_text(message, _MESSAGE_CHARS), form, url, limit_seconds)


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a question. `content` has the values of a form that was accepted.

    `reason` says why it was not accepted, for the log and for the notes of the call's result.
    """

    action: Action
    content: JsonObject | None = None
    reason: str = ""

    @staticmethod
    def accepted(content: JsonObject | None = None) -> Answer:
        """Accept, with the values of the form if it is one."""
        return Answer("accept", content)

    @staticmethod
    def declined(reason: str) -> Answer:
        """Decline."""
        return Answer("decline", reason=reason)

    @staticmethod
    def cancelled(reason: str) -> Answer:
        """Return an answer without a decision."""
        return Answer("cancel", reason=reason)


def too_late(question: Question) -> Answer:
    """Return the answer to a question that timed out."""
    return Answer.cancelled(f"nobody answered within {question.limit_seconds:g} s")


def visible_label(text: str) -> str:
    """Return a name or value of a server's form on one line, shortened, for a person."""
    return " ".join(visible_text(text, _LABEL_CHARS).split())


Answerer: TypeAlias = Callable[[Question], Answer]
"""Answers questions. It runs in a thread of its own, so it may take its time."""


def answer_with_defaults(question: Question) -> Answer:
    """Accept a form with its own defaults; decline any other question."""
    if question.schema is None:
        return Answer.declined("a page is to be opened, and defaults cannot do that")
    fields = properties(question.schema)
    content = {name: spec["default"] for name, spec in fields.items() if "default" in spec}
    missing = [name for name in required(question.schema) if name not in content]
    if missing:
        return Answer.declined(f"these have no default: {', '.join(missing)}")
    return Answer.accepted(content)


def _clean_texts(schema: JsonObject) -> JsonObject:
    """Return a form, a field or a value with visible, shortened titles and descriptions."""
    texts = {name: schema[name] for name in _TEXTS if isinstance(schema.get(name), str)}
    cleaned: JsonObject = {name: visible_text(x, _TEXTS[name]) for name, x in texts.items()}
    if names := as_list(schema.get("enumNames")):
        cleaned["enumNames"] = [visible_label(x) if isinstance(x, str) else x for x in names]
    return {**schema, **cleaned}


Stop: TypeAlias = Literal["endTurn", "maxTokens", "toolUse"]
"""Why the model stopped, in the protocol's own words."""


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A request of the model to call one of the request's tools, which the server does."""

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
    """One message of the server's conversation. `role` is `user` or `assistant`."""

    role: str
    parts: tuple[ResultPart | ToolUse | ToolUseResult, ...]


@dataclass(frozen=True, slots=True)
class SamplingRequest:
    """A conversation for a model to continue, written by the server and not to be trusted.

    `max_tokens` is the server's limit, or the limit of the settings if that is lower.
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
"""Default limit: time to find a password and a second factor."""


@dataclass(frozen=True, slots=True)
class SignInRequest:
    """A request to open `url` in a browser and sign in.

    `server` is its name in the settings; `host` is the host of the page, for a person to judge. The
    page redirects the browser to `redirect_uri`, with the outcome in that address. After
    `limit_seconds` nothing waits for it any longer.
    """

    server: str
    url: str
    host: str
    redirect_uri: str
    limit_seconds: float = SIGN_IN_SECONDS


SignIn: TypeAlias = Callable[[SignInRequest], str | Awaitable[str | None] | None]
"""Asks a person to sign in. Returns the final address of the browser, or the code in it, or None
once the person has the link: the browser then returns the outcome itself. A plain function runs in
a thread of its own, a coroutine function on the bridge's event loop."""
