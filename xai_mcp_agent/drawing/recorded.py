"""Runs as they were recorded: by a transcript, the history, or the state of a run.

What is recorded is redacted and cut: a hidden or shortened value is told apart from a whole one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic_core import from_json

from ..core.json import JsonObject, as_list, as_object, is_object, parts_of
from ..core.tools import META, STATIC
from ..history.event import Event
from ..secrets.secrets import MASK
from ..steps.references import CANVAS_SOURCE
from ..steps.results import parsed

# Nodes that make one call, as they tell a transcript.
_CALLING_NODES = ("MCPCallTool", "MCPToolStep")
# Those of an agent itself, as conversations have them: without kinds of tools.
_OWN_TOOLS = ("tool_search", "tool_explain", "lookup_memory", "create_memory", "read_result")
_CUT = re.compile(r"\.\.\.(?: \(\d+ characters\))?\Z")
_CUT_CHARS = 4_000  # what is shorter and ends in three dots was written so


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A call and what came of it.

    `arguments` is None where they were not recorded, `value` (the result as data where it is any,
    else as text) where that was not. `kind` is that of the tool's source; empty: not known. The
    calls that one `is_made_of_others` made stand before it: it is a drawn tool.
    """

    source: str
    tool: str
    arguments: JsonObject | None = None
    value: Any = None
    kind: str = ""
    is_error: bool = False
    is_made_of_others: bool = False

    @property
    def name(self) -> str:
        """The tool, to read."""
        return f"{self.source}/{self.tool}" if self.source else self.tool

    @property
    def is_own(self) -> bool:
        """Whether it is a tool of the agent itself: to search, to remember, to read on."""
        return self.kind == META.name or (not self.kind and self.tool in _OWN_TOOLS)


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """The calls of one run in their order. `asked` is what its agents were asked first."""

    id: str
    calls: tuple[RecordedCall, ...] = ()
    asked: str = ""
    agents: tuple[str, ...] = ()
    time: float = 0.0


def runs_in_transcript(lines: Iterable[JsonObject], agent: str = "") -> list[RecordedRun]:
    """The runs of a transcript that called anything; the one that ended last comes last.

    With `agent`, only what this one did.
    """
    found: dict[str, _Transcribed] = {}
    for line in lines:
        name = str(line.get("run", ""))
        run = found.pop(name, None) or _Transcribed(name)
        found[name] = run
        if not agent or line.get("agent") == agent:
            run.read(line)
    return [x.whole() for x in found.values() if x.calls]


def runs_in_history(events: Iterable[Event]) -> list[RecordedRun]:
    """The runs of a history that called anything; the one that ended last comes last.

    A call that is of no run of an agent or a node is of its process.
    """
    found: dict[str, list[Event]] = {}
    for event in events:
        if event.change == "called":
            run = str(event.payload.get("run_id") or event.run)
            found[run] = [*found.pop(run, ()), event]
    return [
        RecordedRun(
            run,
            tuple(_of_event(x) for x in calls),
            agents=tuple(
                dict.fromkeys(str(x.payload["agent"]) for x in calls if "agent" in x.payload)
            ),
            time=calls[0].time.timestamp(),
        )
        for run, calls in found.items()
    ]


def run_in_conversation(
    messages: Sequence[Any], names: Mapping[str, tuple[str, str, str]], sources: Collection[str]
) -> RecordedRun:
    """The run whose conversation this is; `names` are kind, source and tool by shown names.

    What has no name there is taken for a tool of the source with whose name it begins.
    """
    answers = {
        str(x.get("tool_call_id")): x.get("content")
        for x in _objects(messages)
        if x.get("role") == "tool"
    }
    calls: list[RecordedCall] = []
    for message in _objects(messages):
        for asked in _objects(message.get("tool_calls")):
            function = _dict(asked.get("function")) or {}
            shown = str(function.get("name", ""))
            kind, source, tool = names.get(shown) or ("", *_split(shown, sources))
            given = parsed(function.get("arguments"))
            value = data_of(answers.get(str(asked.get("id"))))
            calls.append(RecordedCall(_source(kind, source), tool, _dict(given), value, kind))
    asked = (str(x.get("content")) for x in _objects(messages) if x.get("role") == "user")
    return RecordedRun("", tuple(calls), next(asked, ""))


def run_in_state(state: JsonObject, sources: Collection[str]) -> RecordedRun:
    """The run that was written as JSON, as `RunState.to_json` does."""
    names: dict[str, tuple[str, str, str]] = {}
    for known in map(as_list, as_list(state.get("names"))):
        if len(known) == 4:
            kind, source, tool, shown = map(str, known)
            names[shown] = (kind, source, tool)
    kept = _dict(state.get("kept")) or {}
    messages = [
        {**x, "content": kept.get(str(x.get("tool_call_id")), x.get("content"))}
        for x in _objects([*as_list(state.get("given")), *as_list(state.get("said"))])
    ]
    return run_in_conversation(messages, names, sources)


def data_of(value: Any) -> Any:
    """A recorded result as data: what is JSON in a text, as far as that was recorded."""
    if not isinstance(value, str):
        return value
    if not is_cut(value) or value.lstrip()[:1] not in ("{", "["):
        return parsed(value)
    try:
        return from_json(_CUT.sub("", value), allow_partial=True) or value
    except ValueError:
        return value


def is_cut(value: Any) -> bool:
    """Whether only the beginning of a recorded text is there."""
    return isinstance(value, str) and len(value) >= _CUT_CHARS and bool(_CUT.search(value))


def is_hidden(value: Any) -> bool:
    """Whether something in a recorded value was hidden as a secret."""
    return any(isinstance(x, str) and MASK in x for x in parts_of(value))


@dataclass
class _Transcribed:
    """A run as its lines are read."""

    id: str
    calls: list[RecordedCall] = field(default_factory=list[RecordedCall])
    asked: str = ""
    agents: dict[str, None] = field(default_factory=dict[str, None])
    time: float = 0.0
    # The drawn tools that run just now, by agent and call: whether they called anything.
    _drawn: dict[tuple[str, str], bool] = field(default_factory=dict[tuple[str, str], bool])

    def read(self, line: JsonObject) -> None:
        """Take in one line of a transcript."""
        event = line.get("event")
        at = line.get("time")
        self.time = self.time or (float(at) if isinstance(at, int | float) else 0.0)
        if agent := line.get("agent"):
            self.agents[str(agent)] = None
        if event == "RunStarted":
            self.asked = self.asked or str(line.get("asked", ""))
        elif event == "ToolStarted" and line.get("source") == CANVAS_SOURCE:
            self._drawn[_of(line)] = False
        elif event == "ToolFinished":
            has_called = self._drawn.pop(_of(line), False)
            call = _of_agent(line)
            self._add(call and replace(call, is_made_of_others=has_called), line)
        elif event == "NodeFinished" and line.get("node") in _CALLING_NODES:
            source, tool = str(line.get("server", "")), str(line.get("tool", ""))
            self._add(_of_line(line, source, tool), line)

    def whole(self) -> RecordedRun:
        return RecordedRun(self.id, tuple(self.calls), self.asked, tuple(self.agents), self.time)

    def _add(self, call: RecordedCall | None, line: JsonObject) -> None:
        if call is None:
            return
        self.calls.append(call)
        # Of the same agent are the other calls of the turn, which go on beside it.
        for agent, call_id in self._drawn:
            if str(line.get("agent")) != agent:
                self._drawn[agent, call_id] = True


def _of(line: JsonObject) -> tuple[str, str]:
    """Whose call a line is about, and which: agents count their calls for themselves."""
    return str(line.get("agent")), str(line.get("call_id"))


def _of_agent(line: JsonObject) -> RecordedCall | None:
    if not (key := as_object(line.get("key"))):
        return None  # there is no such tool
    kind = str(key.get("kind", ""))
    source = _source(kind, str(key.get("source", "")))
    return _of_line(line, source, str(key.get("name", "")), kind)


def _of_line(line: JsonObject, source: str, tool: str, kind: str = "") -> RecordedCall:
    said = line.get("structured")
    value = data_of(line.get("text") if said is None else said)
    given = line.get("arguments")
    return RecordedCall(source, tool, _dict(given), value, kind, bool(line.get("is_error")))


def _of_event(event: Event) -> RecordedCall:
    kind, told = event.subject.kind.name, event.payload
    said = told.get("structured")
    return RecordedCall(
        _source(kind, event.subject.source),
        event.subject.tool or "",
        _dict(told.get("arguments")),
        data_of(told.get("result") if said is None else said),
        kind,
        told.get("status") == "error",
    )


def _source(kind: str, source: str) -> str:
    return CANVAS_SOURCE if kind == STATIC.name else source


def _split(shown: str, sources: Collection[str]) -> tuple[str, str]:
    known = [x for x in sources if shown.startswith(f"{x}_")]
    source = max(known, key=len, default="")
    return source, shown.removeprefix(f"{source}_") if source else shown


def _objects(value: Any) -> list[JsonObject]:
    return [x for x in as_list(value) if is_object(x)]


def _dict(value: Any) -> JsonObject | None:
    return value if is_object(value) else None
