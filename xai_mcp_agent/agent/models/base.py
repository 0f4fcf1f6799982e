"""The seam between the agent loop and a model: what is asked, what comes back.

Messages are dicts in the Chat Completions shape (`role`, `content`,
`tool_calls`, `tool_call_id`), the common tongue of all providers. Content is a string or
a list of parts. In the text protocol the loop sends `role` and `content` only
and no `functions`; the model need not know that tools exist.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from ...core.json import JsonObject
from ...core.provider_schema import FunctionSpec
from ..messages import Message, ToolCall

OnText: TypeAlias = Callable[[str], Awaitable[None]]

_TURN_SECONDS = 600.0  # a model that reasons for long, or two attempts and the third that succeeds

INSTALL = "Install what it needs: pip install 'xai-mcp-agent[providers]'."
FinishReason: TypeAlias = Literal["stop", "tool_calls", "length", "content_filter", "refusal"]


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """What a person may set about a model. `None` is not sent, so the service's default rules.

    `max_output_tokens` is sent under the name the model knows. `extra_body` is merged into the
    request as it is, and not shown when the settings are printed: some services take a key there.
    `timeout_seconds` bounds the silence of the service, before its reply and between the pieces
    of it; `turn_timeout_seconds` bounds the whole turn, repeated attempts and pauses included.
    """

    temperature: float | None = None
    max_output_tokens: int | None = None
    reasoning_effort: str | None = None
    extra_body: JsonObject = field(default_factory=dict[str, Any], repr=False)
    timeout_seconds: float = 120.0
    turn_timeout_seconds: float | None = None

    @property
    def turn_limit_seconds(self) -> float:
        """The limit of a whole turn; what nobody set is never shorter than one silence."""
        return self.turn_timeout_seconds or max(_TURN_SECONDS, self.timeout_seconds)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one request or of many, as the service counted them; 0 when it did not.

    Of the input, `cached_tokens` were read from the service's cache; of the output,
    `reasoning_tokens` were thought and not said.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
        )


def counts(tokens: Usage, turns: int = 0, calls: int = 0, seconds: float = 0.0) -> dict[str, float]:
    """What a run used, by name, for people and programs."""
    return {**asdict(tokens), "turns": turns, "calls": calls, "seconds": round(seconds, 3)}


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One turn. `functions` is empty when there are none, and in the text protocol.

    `may_call` is False where an answer is wanted: the functions are still sent, because the
    conversation speaks of them and the request stays like the last one, but none may be called.
    `extra_temperature` is added to the model's own setting: it grows with
    consecutive failures, so that a stuck model tries something else.
    `output_schema` is the form that the answer must have, for a service that can hold a model to
    it; the messages say so too.
    """

    messages: tuple[Message, ...]
    functions: tuple[FunctionSpec, ...] = ()
    may_call: bool = True
    extra_temperature: float = 0.0
    output_schema: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class ModelReply:
    """What the model said. `refusal` is its own words when it declined to answer.

    `thinking` is what it marked as such in its text; a model itself leaves it there.
    `added` is what its service wants to see again in this message: see `messages.ADDED`.
    """

    text: str
    calls: tuple[ToolCall, ...] = ()
    finish: FinishReason = "stop"
    refusal: str = ""
    usage: Usage = field(default_factory=Usage)
    thinking: str = ""
    added: JsonObject = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class AskedAgain:
    """An attempt came to nothing, as `reason` says, and another follows after a pause.

    All text of this reply so far does not count: it begins anew.
    """

    reason: str
    pause_seconds: float


OnAgain: TypeAlias = Callable[[AskedAgain], Awaitable[None]]


class Model(Protocol):
    """One model of one service. Used from one event loop, by any number of runs at once.

    One that has a true `is_program` is no language model: its text is read as it is.
    """

    @property
    def name(self) -> str:
        """For people: the provider and the model, such as `openai gpt-5-mini`."""
        ...

    @property
    def calls_functions(self) -> bool:
        """Whether it can be offered functions; if not, the text protocol is used."""
        ...

    async def reply(
        self, request: ModelRequest, on_text: OnText, on_again: OnAgain | None = None
    ) -> ModelReply:
        """Ask for the next message; `on_text` gets its text piece by piece as it comes.

        `on_again` is told before each further attempt; the text begins anew then.

        Raises:
            ModelError: one of its kinds, with what to do next.
        """
        ...

    async def aclose(self) -> None:
        """Let go of connections. May be called more than once."""
        ...
