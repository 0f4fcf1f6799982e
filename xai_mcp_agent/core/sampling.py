"""Sampling: a server's request to the model behind a call, and its reply (MCP)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from .results import ResultPart
from .tools import JsonObject, Tool

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
    """What came of a tool use."""

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
    """What the model said; `model` is its name."""

    text: str
    model: str
    uses: tuple[ToolUse, ...] = ()
    stop: Stop = "endTurn"


class SamplingRefused(Exception):
    """No model is asked; the message says why, for the server and for the notes of the call."""
