"""Notes of a run beside its turns, calls and answer, for the card and for lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..agent.events import (
    ConversationFolded,
    ModelAsked,
    ModelAskedAgain,
    ProtocolChanged,
    RunEvent,
    RunFinished,
    RunStarted,
    TextArrived,
    ThoughtFinished,
    ToolsChanged,
    ToolsSelected,
)
from ..agent.models.base import ModelRequest
from ..core.names import join_names
from ..core.schemas import signature
from ..search.selector import Selection
from .surface import Detail
from .text import count, tokens_text
from .waiting import Clock

_MOST_NAMES = 20  # names of tools in a line
_MOST_OMITTED = 3  # tools listed one per line
_STOP_TEXTS = {
    "max_thoughts": "out of thoughts: raise `max_thoughts` of AgentInit for more turns",
    "limit": "at its limit: raise `max_run_tokens` or `max_run_cost` of AgentModelLimits",
    "length": "cut off at the output limit: raise `max_output_tokens` of AgentModelLimits",
    "refused": "refused by the model",
}


@dataclass(frozen=True)
class Note:
    """A note with its mark, `!!` for trouble; it may be the title of a long `body`."""

    mark: str
    text: str
    body: str = ""


class Notes:
    """Makes the notes of one run, not masked yet."""

    def __init__(self, detail: Detail, clock: Clock) -> None:
        self._is_verbose = detail == Detail.VERBOSE
        self._clock = clock
        self._request_time = 0.0
        self._is_speaking = False
        self._visible_tools = frozenset[str]()
        self._omitted_tools = frozenset[str]()

    def of(self, event: RunEvent) -> list[Note]:
        """Return the notes of this event; most have none."""
        return list(self._of(event))

    def _of(self, event: RunEvent) -> Iterator[Note]:
        match event:
            case RunStarted(left_out=reasons):
                yield from (Note("!!", f"left out: {x}") for x in reasons)
            case ModelAsked():
                self._request_time = self._clock()
                if event.step == 1 and self._is_verbose:
                    yield from _request(event.request)
            case TextArrived():
                self._is_speaking = True
            case ModelAskedAgain():
                yield self._note_repeat(event)
            case ThoughtFinished():
                self._is_speaking = False
                if self._is_verbose:
                    took = f"took {self._clock() - self._request_time:.1f} s"
                    yield Note("--", ", ".join(filter(None, (took, tokens_text(event.usage)))))
            case ProtocolChanged(protocol):
                text = f"the service does not support functions; {protocol} protocol from here"
                yield Note("--", text)
            case ToolsChanged(added, removed):
                if added:
                    yield Note("++", f"new tools: {join_names(added, _MOST_NAMES)}")
                if removed:
                    yield Note("--", f"gone: {join_names(removed, _MOST_NAMES)}")
            case ToolsSelected(_, selection):
                yield from self._note_selection(selection)
            case ConversationFolded():
                yield _note_folding(event)
            case RunFinished(stopped=stop) if stop in _STOP_TEXTS:
                yield Note("!!", _STOP_TEXTS[stop])
            case _:
                pass

    def _note_repeat(self, event: ModelAskedAgain) -> Note:
        anew = "; the reply starts again" if self._is_speaking else ""
        self._is_speaking = False
        when = f" in {event.pause_seconds:.1f} s" if event.pause_seconds else ""
        return Note("--", f"{event.reason}: asked again{when}{anew}")

    def _note_selection(self, selection: Selection) -> Iterator[Note]:
        """Yield the number of shown tools, once, and then the tools that did not fit."""
        names = frozenset(x.definition.name for x in selection.shown)
        before, self._visible_tools = self._visible_tools, names
        if not selection.is_whole and (not before or self._is_verbose):
            yield Note("--", selection.in_short)
        omitted = [x for x in selection.left_out if x.definition.name not in self._omitted_tools]
        for one in omitted[:_MOST_OMITTED]:
            yield Note("--", f"not shown: {one.definition.name} ({one.why})")
        if (more := len(omitted) - _MOST_OMITTED) > 0:
            yield Note("--", f"nor are {more:,} more")
        self._omitted_tools |= {x.definition.name for x in omitted}


def about_text(event: RunStarted) -> str:
    """Return the model and the tools of a run, and an unusual protocol."""
    tools = count(len(event.tool_names), "tool")
    protocol = "" if event.protocol == "native" else f", {event.protocol} protocol"
    return f"{event.model}, {tools}{protocol}"


def totals_text(event: RunFinished) -> str:
    """Return turns, calls, seconds and tokens of a run."""
    parts = [
        "waits for approval" if event.stopped == "waiting" else "",
        count(event.steps, "turn"),
        count(event.tool_calls, "tool call"),
        f"{event.seconds:.1f} s",
        tokens_text(event.usage),
    ]
    return ", ".join(filter(None, parts))


def _request(request: ModelRequest) -> Iterator[Note]:
    """Yield the system prompt and the tools of the first request."""
    for message in request.messages[:1]:
        if message.get("role") == "system":
            yield Note("--", "system prompt", str(message.get("content")))
    tools = [
        f"{x.name}({signature(x.parameters)}): {' '.join(x.description.split())}"
        for x in request.functions
    ]
    if tools:
        yield Note("--", count(len(tools), "tool"), "\n".join(tools))


def _note_folding(event: ConversationFolded) -> Note:
    rest = "summed up" if event.summed_up else "not"
    ways = ((event.shortened, "in part"), (event.left_out, rest))
    parts = " and ".join(f"{count(number, 'message')} {how}" for number, how in ways if number)
    size = f"{event.tokens:,} of {event.window_tokens:,} tokens"
    return Note("--", f"to fit the model's window, {parts} sent from here: about {size}")
