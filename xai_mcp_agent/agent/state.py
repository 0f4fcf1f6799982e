"""The state of a run, as a value that can be written as JSON; and the limits of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Annotated, Any

from pydantic import PlainSerializer, PlainValidator, TypeAdapter

from ..core.approval import AwaitedCall
from ..core.json import JsonObject
from ..core.tools import ToolKey
from .conversation import Conversation
from .events import ToolFinished
from .messages import Message, ToolCall, join_paragraphs
from .models.base import ModelReply, TokenUsage
from .toolsets import Names
from .window import Folding

_MILLION = 1_000_000
_INCOMPLETE = (
    "Your reply was cut off at the limit of its length, so this call is incomplete and was not "
    "made. Call again with shorter arguments, or one tool at a time."
)


@dataclass(frozen=True, slots=True)
class RunLimits:
    """Limits of one run; None means no limit. Prices are per million tokens.

    Cached input tokens count at full price here: better too high than too low.
    """

    tokens: int | None = None
    cost: float | None = None
    input_price: float = 0.0
    output_price: float = 0.0

    def ends_with_next(self, usage: TokenUsage, last_turn: TokenUsage) -> bool:
        """Return whether the next turn must be the last, as one more might exceed a limit.

        `usage` is that of the run so far.
        """
        after = usage + last_turn + last_turn
        return bool(last_turn.input_tokens + last_turn.output_tokens) and (
            (self.tokens is not None and after.input_tokens + after.output_tokens > self.tokens)
            or (self.cost is not None and self._cost_of(after) > self.cost)
        )

    def _cost_of(self, usage: TokenUsage) -> float:
        money = usage.input_tokens * self.input_price + usage.output_tokens * self.output_price
        return money / _MILLION


@dataclass(frozen=True, slots=True)
class RunState:
    """A run between two steps; each step makes a new state.

    Unanswered calls are `pending`; the conversation gets them only with their answers.
    """

    conversation: Annotated[
        Conversation, PlainValidator(Conversation.from_json), PlainSerializer(Conversation.to_json)
    ]
    # The model's last reply, if it had calls: these, its text, and the fields for its service.
    pending: tuple[ToolCall, ...] = ()
    thought: str = ""
    thinking: str = ""
    added: JsonObject = field(default_factory=dict[str, Any])
    # Pending calls by position: those with a result, those that a process which ended meanwhile may
    # have carried out, and those that wait for an approval.
    made: Mapping[int, ToolFinished] = field(default_factory=dict[int, ToolFinished])
    begun: tuple[int, ...] = ()
    awaiting: Mapping[int, AwaitedCall] = field(default_factory=dict[int, AwaitedCall])
    names: Names = ()  # shown names, in their order
    discovered: tuple[ToolKey, ...] = ()  # tools found, explained or used, the newest last
    # The whole texts of results that the model read in part, by the ids that `read_result` takes.
    long_results: Mapping[str, str] = field(default_factory=dict[str, str])
    step: int = 0  # turns of the model
    calls: int = 0
    failures: int = 0  # turns in a row in which every call failed
    usage: TokenUsage = field(default_factory=TokenUsage)
    uncounted: TokenUsage = field(default_factory=TokenUsage)  # estimated: not in `usage`
    last_turn: TokenUsage = field(default_factory=TokenUsage)
    folding: Folding = field(default_factory=Folding)

    @property
    def whole_thought(self) -> str:
        """The thinking and the text of the reply with the pending calls."""
        return join_paragraphs(self.thinking, self.thought)

    def with_calls(self, reply: ModelReply) -> RunState:
        """Return the state after a turn of the model with calls."""
        calls, count = reply.calls, len(reply.calls)
        if reply.finish == "length":
            calls, count = tuple(replace(x, not_made=_INCOMPLETE) for x in calls), 0
        return replace(
            self,
            pending=calls,
            thought=reply.text,
            thinking=reply.thinking,
            added=reply.added,
            calls=self.calls + count,
        )

    def with_answers(
        self, *messages: Message, all_failed: bool, long_results: Mapping[str, str]
    ) -> RunState:
        """Return the state after these messages answered the pending calls."""
        return replace(
            self,
            conversation=self.conversation.with_messages(*messages),
            pending=(),
            thought="",
            thinking="",
            added={},
            made={},
            begun=(),
            awaiting={},
            long_results=long_results,
            failures=self.failures + 1 if all_failed else 0,
        )

    def with_discovered(self, keys: Iterable[ToolKey]) -> RunState:
        """Return the state after these tools were found or used, in this order."""
        discovered = dict.fromkeys(self.discovered)
        for key in keys:
            discovered.pop(key, None)
            discovered[key] = None
        return replace(self, discovered=tuple(discovered))

    def to_json(self) -> JsonObject:
        """Return the state for a file; `from_json` reads it back."""
        return _adapter().dump_python(self)

    @staticmethod
    def from_json(value: JsonObject) -> RunState:
        """Return the state that `to_json` wrote.

        Raises:
            KeyError, TypeError, ValueError, BadConversation: it is not a state.
        """
        return _adapter().validate_python(value)


@cache
def _adapter() -> TypeAdapter[RunState]:
    return TypeAdapter(RunState)
