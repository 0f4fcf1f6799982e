"""The events of a run, as values, in order. The screen, `on_thought` and transcripts read them.

Facts only: each consumer decides how to show them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import PlainSerializer, PlainValidator

from ..core.json import JsonObject
from ..core.results import ToolResult, result_as_json, result_from_json
from ..core.tools import ToolKey
from ..search.selector import Selection
from .models.base import ModelRequest, TokenUsage

ToolProtocol: TypeAlias = Literal["native", "text"]
Stopped: TypeAlias = Literal["answered", "max_thoughts", "limit", "length", "refused", "waiting"]
"""Why a run with an answer ended, or waits; any other ends with an error, `RunFailed`."""


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A run begins. `left_out` has a line for each source that could not be used.

    `asked` is the person's last message before the run.
    """

    agent: str
    model: str
    protocol: ToolProtocol
    tool_names: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    asked: str = ""


@dataclass(frozen=True, slots=True)
class ProtocolChanged:
    """The service turned out to take no functions: from now on, calls are made in text."""

    protocol: ToolProtocol


@dataclass(frozen=True, slots=True)
class ToolsChanged:
    """The offered tools differ from the last step's."""

    added: tuple[str, ...]
    removed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ToolsSelected:
    """The tools that requests show from this step until the next such event, with reasons."""

    step: int
    selection: Selection


@dataclass(frozen=True, slots=True)
class ConversationFolded:
    """Part of the conversation is no longer sent as it is, to fit the model's window.

    `shortened` messages are sent in part, `left_out` messages not at all, or as a summary if
    `summed_up`. The request then takes about `tokens`; `window_tokens` is what fits. The stored
    conversation stays whole.
    """

    step: int
    shortened: int
    left_out: int
    summed_up: bool
    tokens: int
    window_tokens: int


@dataclass(frozen=True, slots=True)
class ModelAsked:
    """The model is asked for its next turn, or again for the same one: the run waits for it."""

    step: int
    request: ModelRequest


@dataclass(frozen=True, slots=True)
class ModelAskedAgain:
    """An attempt failed, as `reason` says; the turn is requested again after a pause.

    Text of this turn that has arrived so far does not count.
    """

    step: int
    reason: str
    pause_seconds: float


@dataclass(frozen=True, slots=True)
class TextArrived:
    """A piece of the model's text, as it streams."""

    text: str


@dataclass(frozen=True, slots=True)
class ThoughtFinished:
    """The model ended a turn. `text` is its whole text without the calls."""

    step: int
    text: str
    call_count: int
    usage: TokenUsage


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A tool is being called. `source` is the tool's source, if the tool exists."""

    call_id: str
    tool: str
    arguments: JsonObject | None
    source: str | None = None


@dataclass(frozen=True, slots=True)
class ToolProgressed:
    """A running tool reports progress; `total` may be unknown."""

    call_id: str
    tool: str
    done: float
    total: float | None
    message: str


@dataclass(frozen=True, slots=True)
class ToolReturned:
    """A started call has ended; `ToolFinished` follows when all calls of the turn have."""

    call_id: str


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A call has its result, from the tool or in place of it; `thought` led to the call.

    `arguments` is None if they could not be read, `source` and `key` if there is no such tool.
    """

    call_id: str
    tool: str
    arguments: JsonObject | None
    result: Annotated[ToolResult, PlainValidator(result_from_json), PlainSerializer(result_as_json)]
    seconds: float
    thought: str
    source: str | None = None
    key: ToolKey | None = None


@dataclass(frozen=True, slots=True)
class RunFinished:
    """The run ended with `answer`. `stopped` says why; a waiting run has no answer yet.

    `structured` is the value of the answer, if a schema was set.
    """

    answer: str
    stopped: Stopped
    steps: int
    tool_calls: int
    seconds: float
    usage: TokenUsage
    structured: Any = None


@dataclass(frozen=True, slots=True)
class RunFailed:
    """The run ended with an error, which is raised too.

    `no_tools`: it ended before the model was asked, because none of the agent's sources has a
    usable tool, or a required source has none.
    """

    error: str
    stopped: Literal["error", "no_tools"] = "error"


RunEvent: TypeAlias = (
    RunStarted
    | ProtocolChanged
    | ToolsChanged
    | ToolsSelected
    | ConversationFolded
    | ModelAsked
    | ModelAskedAgain
    | TextArrived
    | ThoughtFinished
    | ToolStarted
    | ToolProgressed
    | ToolReturned
    | ToolFinished
    | RunFinished
    | RunFailed
)

Emit: TypeAlias = Callable[[RunEvent], Awaitable[None]]
"""Consumes an event; the run goes on when it returns."""
