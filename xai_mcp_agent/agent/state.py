"""The state of a run: all it knows between two steps, as a value that can be written as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from ..core.approval import AwaitedCall, awaited_from_json
from ..core.json import JsonObject
from ..core.results import result_as_json, result_from_json
from ..core.tools import ToolKey
from .conversation import Conversation
from .events import ToolFinished
from .messages import Message, ToolCall
from .models.base import ModelReply, Usage
from .toolsets import Names
from .window import Folding

_USAGES = ("usage", "uncounted", "last_turn")


@dataclass(frozen=True, slots=True)
class RunState:
    """A run between two steps; the next step makes another one of it.

    `pending` are calls that the model asked for with the words `thought`, after `thinking`, and
    that have no answer yet; the conversation has them only together with their answers. `names` are
    the shown names in their order, `kept` the whole texts of results that were shown in part, by
    their ids. `step` counts the turns of the model so far, `failures` those in a row of which
    nothing came.
    `found` are tools that were found, explained or used, the newest last.
    `added` is what the model's service wants to see again beside the pending calls, `folding` what
    of the conversation it is not sent. `last_turn` is what the last turn used, `uncounted` an
    estimate of what the turns used that the service did not count.

    Of the pending calls, by their places: `made` are done and have results, `begun` may have been
    carried out by a process that ended meanwhile, `awaiting` wait for somebody to approve them.
    """

    conversation: Conversation
    pending: tuple[ToolCall, ...] = ()
    thought: str = ""
    thinking: str = ""
    added: JsonObject = field(default_factory=dict[str, Any])
    cut_off: bool = False  # the reply with the pending calls was too long, so they are incomplete
    names: Names = ()
    found: tuple[ToolKey, ...] = ()
    kept: Mapping[str, str] = field(default_factory=dict[str, str])
    step: int = 0
    calls: int = 0
    failures: int = 0
    usage: Usage = field(default_factory=Usage)
    uncounted: Usage = field(default_factory=Usage)
    last_turn: Usage = field(default_factory=Usage)
    folding: Folding = field(default_factory=Folding)
    made: Mapping[int, ToolFinished] = field(default_factory=dict[int, ToolFinished])
    begun: tuple[int, ...] = ()
    awaiting: Mapping[int, AwaitedCall] = field(default_factory=dict[int, AwaitedCall])

    def asking(self, reply: ModelReply) -> RunState:
        """After a turn of the model in which it asked for calls."""
        is_cut = reply.finish == "length"
        calls = self.calls if is_cut else self.calls + len(reply.calls)
        return replace(
            self,
            pending=reply.calls,
            thought=reply.text,
            thinking=reply.thinking,
            added=reply.added,
            cut_off=is_cut,
            calls=calls,
        )

    def answered(self, *messages: Message, failed: bool, kept: Mapping[str, str]) -> RunState:
        """After the pending calls were answered with these messages."""
        return replace(
            self,
            conversation=self.conversation.with_said(*messages),
            pending=(),
            thought="",
            thinking="",
            added={},
            cut_off=False,
            made={},
            begun=(),
            awaiting={},
            kept=kept,
            failures=self.failures + 1 if failed else 0,
        )

    def finding(self, keys: Iterable[ToolKey]) -> RunState:
        """After these tools were found or used, one after the other."""
        found = dict.fromkeys(self.found)
        for key in keys:
            found.pop(key, None)
            found[key] = None
        return replace(self, found=tuple(found))

    def to_json(self) -> JsonObject:
        """For a file; `from_json` reads it back."""
        plain = (
            "thought",
            "thinking",
            "cut_off",
            "step",
            "calls",
            "failures",
        )
        return {
            **{name: getattr(self, name) for name in plain},
            "given": self.conversation.given,
            "said": self.conversation.said,
            "pending": [asdict(x) for x in self.pending],
            "names": [[key.kind, key.source, key.name, name] for key, name in self.names],
            "found": [[x.kind, x.source, x.name] for x in self.found],
            "kept": dict(self.kept),
            "added": dict(self.added),
            "made": {str(n): _finished_as_json(x) for n, x in self.made.items()},
            "begun": list(self.begun),
            "awaiting": {str(n): asdict(x) for n, x in self.awaiting.items()},
            **{name: asdict(getattr(self, name)) for name in (*_USAGES, "folding")},
        }

    @staticmethod
    def from_json(value: JsonObject) -> RunState:
        """The state that was written so.

        Raises:
            KeyError, TypeError, ValueError, AttributeError, BadConversation: it is none.
        """
        fields = dict(value)
        given, said = fields.pop("given"), fields.pop("said")
        return RunState(
            Conversation(given, said),
            pending=tuple(ToolCall(**x) for x in fields.pop("pending")),
            names=tuple((ToolKey(*key), name) for *key, name in fields.pop("names")),
            found=tuple(ToolKey(*key) for key in fields.pop("found", ())),
            **{name: Usage(**fields.pop(name, {})) for name in _USAGES},
            folding=Folding(**fields.pop("folding", {})),
            made={int(n): _finished_from_json(x) for n, x in fields.pop("made", {}).items()},
            begun=tuple(map(int, fields.pop("begun", ()))),
            awaiting={int(n): awaited_from_json(x) for n, x in fields.pop("awaiting", {}).items()},
            **fields,
        )


def _finished_as_json(event: ToolFinished) -> JsonObject:
    fields = {x: getattr(event, x) for x in event.__slots__}
    return {**fields, "result": result_as_json(event.result)}


def _finished_from_json(value: JsonObject) -> ToolFinished:
    fields = dict(value)
    return ToolFinished(result=result_from_json(fields.pop("result")), **fields)
