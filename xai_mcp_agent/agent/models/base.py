"""The seam between the agent loop and a model: requests and replies.

Messages are dicts in the Chat Completions shape (`role`, `content`, `tool_calls`, `tool_call_id`),
the lingua franca of all providers. Content is a string or a list of parts. In the text protocol a
request has `role` and `content` only and no `functions`; the model need not know that tools exist.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from ...core.json import JsonObject
from ...core.provider_schema import FunctionSpec
from ..messages import Message, ToolCall

OnText: TypeAlias = Callable[[str], Awaitable[None]]

# a model that reasons for long, or two failed attempts and a third that succeeds
_TURN_SECONDS = 600.0

INSTALL = "Install what it needs: pip install 'xai-mcp-agent[providers]'."
FinishReason: TypeAlias = Literal["stop", "tool_calls", "length", "content_filter", "refusal"]


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """Settings of a model. `None` is not sent, so the service's default applies.

    `max_output_tokens` is sent under the name the model knows. `extra_body` is merged into the
    request unchanged, and left out when the settings are printed: some services take a key there.
    `timeout_seconds` bounds the service's silence, before its reply and between pieces;
    `turn_timeout_seconds` bounds the whole turn, including retries and pauses.
    """

    temperature: float | None = None
    max_output_tokens: int | None = None
    reasoning_effort: str | None = None
    extra_body: JsonObject = field(default_factory=dict[str, Any], repr=False)
    timeout_seconds: float = 120.0
    turn_timeout_seconds: float | None = None

    @property
    def turn_limit_seconds(self) -> float:
        """Return the limit of a whole turn; the default is never below one silence."""
        return self.turn_timeout_seconds or max(_TURN_SECONDS, self.timeout_seconds)


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens of one or more requests, as the service counted them; 0 if it did not.

    `cached_tokens` is the part of the input read from the service's cache; `reasoning_tokens` is
    the part of the output spent on reasoning.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0

    def __add__(self, other: TokenUsage) -> TokenUsage:
        return TokenUsage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
        )


def counts(
    tokens: TokenUsage, turns: int = 0, calls: int = 0, seconds: float = 0.0
) -> dict[str, float]:
    """Return the tokens and counts of a run by name, for people and programs."""
    return {**asdict(tokens), "turns": turns, "calls": calls, "seconds": round(seconds, 3)}


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One turn. `functions` is empty if there are none, and in the text protocol.

    `may_call` is False if the model must answer: the functions are still sent, because the
    conversation mentions them and the request stays like the last one, but none may be called.
    `extra_temperature` is added to the model's own setting: it grows with consecutive failures, so
    that a stuck model tries something else. `output_schema` is the answer's required form, for
    services that can enforce it; the messages state it too.
    """

    messages: tuple[Message, ...]
    functions: tuple[FunctionSpec, ...] = ()
    may_call: bool = True
    extra_temperature: float = 0.0
    output_schema: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class ModelReply:
    """The model's reply. `refusal` holds its own words if it declined to answer.

    `thinking` is the text it marked as such; a model itself leaves it in `text`. `added` holds the
    fields its service wants back with this message: see `messages.ADDED`.
    """

    text: str
    calls: tuple[ToolCall, ...] = ()
    finish: FinishReason = "stop"
    refusal: str = ""
    usage: TokenUsage = field(default_factory=TokenUsage)
    thinking: str = ""
    added: JsonObject = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class AskedAgain:
    """An attempt failed for `reason`, and another follows after a pause.

    All text of this reply so far is void: it begins anew.
    """

    reason: str
    pause_seconds: float


OnAgain: TypeAlias = Callable[[AskedAgain], Awaitable[None]]


async def ignore_text(_: str) -> None:
    """Ignore streamed text, for a reply that is not shown as it arrives."""


class Model(Protocol):
    """One model of one service. Used from one event loop, by any number of runs at once.

    A model with a true `is_program` is no language model: its text is taken verbatim.
    """

    @property
    def name(self) -> str:
        """Return the provider and the model for people, such as `openai gpt-5-mini`."""
        ...

    @property
    def calls_functions(self) -> bool:
        """Return whether the model takes functions; if not, the text protocol is used."""
        ...

    async def reply(
        self, request: ModelRequest, on_text: OnText, on_again: OnAgain | None = None
    ) -> ModelReply:
        """Ask for the next message; `on_text` gets its text piece by piece.

        `on_again` is called before each further attempt; the text then begins anew.

        Raises:
            ModelError: a subclass of it, with the next step.
        """
        ...

    async def aclose(self) -> None:
        """Close connections. May be called more than once."""
        ...
