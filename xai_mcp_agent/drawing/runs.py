"""Recorded runs: from a transcript, the history, a conversation or the state of a run.

Records mask secrets and cut long values; `is_hidden` and `is_cut` recognise such values.
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
from ..steps.results import parse_json_text

# Nodes that make one call, by their names in a transcript.
_CALLING_NODES = ("MCPCallTool", "MCPToolStep")
# An agent's own tools, as conversations name them: without a kind.
_OWN_TOOLS = (
    "tool_search", "tool_explain", "select_tool", "plan_tools", "list_tools", "lookup_memory",
    "create_memory", "read_result",
)  # fmt: skip
_EXECUTE = "execute_tool"  # a call of it is a call of the tool in its arguments
_CUT = re.compile(r"\.\.\.(?: \(\d+ characters\))?\Z")
_CUT_CHARS = 4_000  # a shorter text that ends in three dots is whole


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """Recorded call and its outcome.

    `arguments` is None if they were not recorded, and so is `value` (the result as data, else as
    text). `kind` is the kind of the tool's source, "" if unknown. A drawn tool `has_inner_calls`,
    which come before it.
    """

    source: str
    tool: str
    arguments: JsonObject | None = None
    value: Any = None
    kind: str = ""
    is_error: bool = False
    has_inner_calls: bool = False

    @property
    def name(self) -> str:
        """Return the readable name of the tool."""
        return f"{self.source}/{self.tool}" if self.source else self.tool

    @property
    def is_own(self) -> bool:
        """Return whether it is a tool of the agent itself, such as its search or its memory."""
        return self.kind == META.name or (not self.kind and self.tool in _OWN_TOOLS)


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """Calls of one run in order. `question` is the first one to its agents."""

    id: str
    calls: tuple[RecordedCall, ...] = ()
    question: str = ""
    agents: tuple[str, ...] = ()
    time: float = 0.0


def runs_in_transcript(lines: Iterable[JsonObject], agent: str = "") -> list[RecordedRun]:
    """Return the runs of a transcript that made calls; the one that ended last comes last.

    With `agent`, it returns only the calls of that agent.
    """
    runs: dict[str, _TranscriptRun] = {}
    for line in lines:
        name = str(line.get("run", ""))
        run = runs.pop(name, None) or _TranscriptRun(name)
        runs[name] = run
        if not agent or line.get("agent") == agent:
            run.read(line)
    return [x.recorded_run() for x in runs.values() if x.calls]


def runs_in_history(events: Iterable[Event]) -> list[RecordedRun]:
    """Return the runs of a history that made calls; the one that ended last comes last.

    A call outside a run of an agent or a node belongs to its process.
    """
    runs: dict[str, list[Event]] = {}
    for event in events:
        if event.change == "called":
            run = str(event.payload.get("run_id") or event.run)
            runs[run] = [*runs.pop(run, ()), event]
    return [
        RecordedRun(
            run,
            tuple(_event_call(x) for x in calls),
            agents=tuple(
                dict.fromkeys(str(x.payload["agent"]) for x in calls if "agent" in x.payload)
            ),
            time=calls[0].time.timestamp(),
        )
        for run, calls in runs.items()
    ]


def run_in_conversation(
    messages: Sequence[Any], names: Mapping[str, tuple[str, str, str]], sources: Collection[str]
) -> RecordedRun:
    """Return the run of a conversation; `names` are kind, source and tool by shown names."""
    answers = {
        str(x.get("tool_call_id")): x.get("content")
        for x in _objects(messages)
        if x.get("role") == "tool"
    }
    calls: list[RecordedCall] = []
    for message in _objects(messages):
        for tool_call in _objects(message.get("tool_calls")):
            function = as_object(tool_call.get("function"))
            name, arguments = str(function.get("name", "")), _arguments_in(function)
            if name == _EXECUTE and arguments:
                name, arguments = str(arguments.get("tool", "")), _arguments_in(arguments)
            kind, source, tool = _find_tool(name, names, sources)
            value = data_of(answers.get(str(tool_call.get("id"))))
            calls.append(RecordedCall(_source(kind, source), tool, arguments, value, kind))
    questions = (str(x.get("content")) for x in _objects(messages) if x.get("role") == "user")
    return RecordedRun("", tuple(calls), next(questions, ""))


def state_in(document: Any) -> JsonObject | None:
    """Return the state of a run in its JSON, or in the JSON of a file of a waiting run."""
    fields = as_object(document)
    state = as_object(as_object(fields.get("run")).get("state")) or fields
    return state if is_object(state.get("conversation")) else None


def run_in_state(state: JsonObject, sources: Collection[str]) -> RecordedRun:
    """Return the run in the JSON of `RunState.to_json`."""
    names: dict[str, tuple[str, str, str]] = {}
    for entry in map(as_list, as_list(state.get("names"))):
        if len(entry) == 2:
            key = as_object(entry[0])
            kind, source, tool = (str(key.get(x, "")) for x in ("kind", "source", "name"))
            names[str(entry[1])] = (kind, source, tool)
    conversation, texts = as_object(state.get("conversation")), as_object(state.get("long_results"))
    messages = [
        {**x, "content": _whole_text(x.get("content"), texts)}
        for part in ("start", "additions")
        for x in _objects(conversation.get(part))
    ]
    return run_in_conversation(messages, names, sources)


def _whole_text(content: Any, texts: Mapping[str, Any]) -> Any:
    """Return the whole text of a result, if its excerpt names the id of one."""
    if not isinstance(content, str):
        return content
    return next((text for id_, text in texts.items() if f'"{id_}"' in content), content)


def data_of(value: Any) -> Any:
    """Return a recorded result as data: the JSON in a text, if it was recorded whole."""
    if not isinstance(value, str):
        return value
    if not is_cut(value) or value.lstrip()[:1] not in ("{", "["):
        return parse_json_text(value)
    try:
        return from_json(_CUT.sub("", value), allow_partial=True) or value
    except ValueError:
        return value


def is_cut(value: Any) -> bool:
    """Return whether a recorded text is cut."""
    return isinstance(value, str) and len(value) >= _CUT_CHARS and bool(_CUT.search(value))


def is_hidden(value: Any) -> bool:
    """Return whether a recorded value has masked secrets."""
    return any(isinstance(x, str) and MASK in x for x in parts_of(value))


@dataclass
class _TranscriptRun:
    """Run of a transcript, built up line by line."""

    id: str
    calls: list[RecordedCall] = field(default_factory=list[RecordedCall])
    question: str = ""
    agents: dict[str, None] = field(default_factory=dict[str, None])
    time: float = 0.0
    # Drawn tools in progress, by agent and call: whether they have made calls.
    _open_tools: dict[tuple[str, str], bool] = field(default_factory=dict[tuple[str, str], bool])

    def read(self, line: JsonObject) -> None:
        """Process one line of a transcript."""
        event = line.get("event")
        at = line.get("time")
        self.time = self.time or (float(at) if isinstance(at, int | float) else 0.0)
        if agent := line.get("agent"):
            self.agents[str(agent)] = None
        if event == "RunStarted":
            self.question = self.question or str(line.get("asked", ""))
        elif event == "ToolStarted" and line.get("source") == CANVAS_SOURCE:
            self._open_tools[_call_key(line)] = False
        elif event == "ToolFinished":
            has_inner_calls = self._open_tools.pop(_call_key(line), False)
            call = _agent_call(line)
            self._add(call and replace(call, has_inner_calls=has_inner_calls), line)
        elif event == "NodeFinished" and line.get("node") in _CALLING_NODES:
            source, tool = str(line.get("server", "")), str(line.get("tool", ""))
            self._add(_line_call(line, source, tool), line)

    def recorded_run(self) -> RecordedRun:
        return RecordedRun(self.id, tuple(self.calls), self.question, tuple(self.agents), self.time)

    def _add(self, call: RecordedCall | None, line: JsonObject) -> None:
        if call is None:
            return
        self.calls.append(call)
        # The same agent's calls are others of the same turn, which run beside the drawn tool.
        for agent, call_id in self._open_tools:
            if str(line.get("agent")) != agent:
                self._open_tools[agent, call_id] = True


def _call_key(line: JsonObject) -> tuple[str, str]:
    """Return the agent and the id of a line's call: agents count their calls separately."""
    return str(line.get("agent")), str(line.get("call_id"))


def _agent_call(line: JsonObject) -> RecordedCall | None:
    if not (key := as_object(line.get("key"))):
        return None  # the model named a tool that does not exist
    kind = str(key.get("kind", ""))
    source = _source(kind, str(key.get("source", "")))
    return _line_call(line, source, str(key.get("name", "")), kind)


def _line_call(line: JsonObject, source: str, tool: str, kind: str = "") -> RecordedCall:
    structured = line.get("structured")
    value = data_of(line.get("text") if structured is None else structured)
    arguments = line.get("arguments")
    return RecordedCall(source, tool, _dict(arguments), value, kind, bool(line.get("is_error")))


def _event_call(event: Event) -> RecordedCall:
    kind, payload = event.subject.kind.name, event.payload
    structured = payload.get("structured")
    return RecordedCall(
        _source(kind, event.subject.source),
        event.subject.tool or "",
        _dict(payload.get("arguments")),
        data_of(payload.get("result") if structured is None else structured),
        kind,
        payload.get("status") == "error",
    )


def _source(kind: str, source: str) -> str:
    return CANVAS_SOURCE if kind == STATIC.name else source


def _arguments_in(fields: JsonObject) -> JsonObject | None:
    """Return the arguments of a call; models may leave them out if there are none."""
    return _dict(parse_json_text(fields.get("arguments") or {}))


def _find_tool(
    name: str, names: Mapping[str, tuple[str, str, str]], sources: Collection[str]
) -> tuple[str, str, str]:
    """Return kind, source and tool of a shown name, of `server/tool`, or of a tool's own name.

    Any other name belongs to the source whose name it begins with.
    """
    if name in names:
        return names[name]
    for kind, source, tool in names.values():
        if name in (f"{source}/{tool}", tool):
            return kind, source, tool
    owners = [x for x in sources if name.startswith((f"{x}_", f"{x}/"))]
    source = max(owners, key=len, default="")
    return "", source, name[len(source) + 1 :] if source else name


def _objects(value: Any) -> list[JsonObject]:
    return [x for x in as_list(value) if is_object(x)]


def _dict(value: Any) -> JsonObject | None:
    return value if is_object(value) else None
