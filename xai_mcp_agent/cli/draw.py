"""`xai-mcp-agent plan draw`: turn a recorded run or a plan into a workflow without a model."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from ..console.text import count, one_line
from ..core.shell import shell_command
from ..core.tools import BUILTIN
from ..drawing.components import our_components
from ..drawing.copying import with_drawn_tools
from ..drawing.document import Document, document_text, read_document
from ..drawing.flow import CallToDraw
from ..drawing.flow import draw as draw_calls
from ..drawing.runs import RecordedRun
from ..drawing.tracing import OmittedCall, trace_calls
from ..drawing.workflow import WorkflowError
from ..secrets.redactor import Redactor
from ..secrets.search import is_secret
from ..settings.load import load_settings
from ..settings.models import Settings
from ..steps.references import CANVAS_SOURCE, references_in
from ..views.times import time_text
from .frame import Report, StoreFrame
from .output import compilable, write_file
from .recorded_runs import (
    NothingToDraw,
    calls_in_plan,
    is_plan,
    json_in,
    require_arguments,
    runs_in_file,
    runs_of_history,
    select_run,
)

_DEFAULT_NAME = "drawn_run"
_SUFFIX = ".xircuits"
_MAX_QUESTION_CHARS = 60  # characters of a question in the list of runs

_DRAWN_TOOL_NOTE = (
    "This tool was drawn in the workflow of the run. Copy its nodes, from AgentDefineTool on, into "
    "this one."
)


RecordedFile = Annotated[
    Path | None,
    Argument(
        help="A transcript, a run's conversation or state as JSON, or a plan. Default: the newest "
        "run of the history."
    ),
]
RunId = Annotated[str | None, Option(metavar="RUN", help="This run. Default: the newest.")]
OneAgent = Annotated[str | None, Option(metavar="NAME", help="Only the calls of this agent.")]
ListRuns = Annotated[bool, Option("--list", help="List the runs; draw nothing.")]
Out = Annotated[Path | None, Option(help="The workflow to write.")]
ToolsFrom = Annotated[
    Path | None, Option(metavar="WORKFLOW", help="Copy the drawn tools from this workflow.")
]
Overwrite = Annotated[bool, Option(help="Replace it; the old one is kept beside it.")]
PlanSource = Annotated[
    str, Option(metavar="SERVER", help="For a plan: the server of tools that name none.")
]


@dataclass(frozen=True, slots=True)
class CallsOfDrawing:
    """Calls to draw, calls to leave out, and the kinds of their sources if known."""

    calls: Sequence[CallToDraw]
    omitted: Sequence[OmittedCall] = ()
    kinds: Mapping[str, str] = field(default_factory=dict[str, str])


def draw(
    frame: StoreFrame,
    file: RecordedFile = None,
    run: RunId = None,
    agent: OneAgent = None,
    list_runs: ListRuns = False,
    out: Out = None,
    tools_from: ToolsFrom = None,
    overwrite: Overwrite = False,
    source: PlanSource = "",
) -> Report:
    """Draw what an agent did as a workflow that makes the same calls without a model.

    It draws one node for each call, and a wire wherever a result is used. A value that is not known
    is left as a literal to fill in, with a note. It starts no server.
    """
    loaded = load_settings(frame.settings)
    document = json_in(file) if file else None
    if file and is_plan(document):
        drawing = CallsOfDrawing(calls_in_plan(file, document, source))
    else:
        if file:
            runs = runs_in_file(file, document, agent or "", loaded)
        else:
            runs = runs_of_history(frame, agent or "")
        if list_runs:
            return Report(runs, "\n".join(_run_lines(runs)))
        drawing = _of_run(select_run(runs, run), loaded)
    target = _target(out, file)
    calls = drawing.calls
    if tools_from is None:
        calls = [x if x.note else replace(x, note=_note_on(x)) for x in calls]
    workflow = _document(target, calls, _nodes_before(drawing, loaded), tools_from)
    write_file(target, f"{document_text(workflow)}\n", "--out", may_replace=overwrite)
    return _report(target, calls, drawing.omitted)


def _report(file: Path, calls: Sequence[CallToDraw], omitted: Sequence[OmittedCall]) -> Report:
    wires = sum(map(_wires, calls))
    missing = [
        {"tool": x.name, "parameter": name, "why": why}
        for x in calls
        for name, why in x.missing.items()
    ]
    json_ = {
        "file": file,
        "calls": [x.name for x in calls],
        "wires": wires,
        "missing": missing,
        "notes": [f"{x.name}: {x.note}" for x in calls if x.note],
        "left_out": omitted,
    }
    return Report(json_, "\n".join(_lines(file, calls, wires, omitted)))


def _of_run(run: RecordedRun, loaded: Settings) -> CallsOfDrawing:
    """Return the calls of a run that can be repeated.

    Raises:
        NothingToDraw: there are none.
    """
    # Conversations and run states hold unmasked values.
    redact = Redactor([loaded.secrets], guesses=True, environ=os.environ)
    calls, omitted = trace_calls(
        run.calls, lambda name, text: is_secret(name, text) or redact(text) != text
    )
    require_arguments(run, calls)
    return CallsOfDrawing(calls, omitted, {x.source: x.kind for x in run.calls})


def _target(out: Path | None, file: Path | None) -> Path:
    """Return the workflow file to write."""
    target = out or Path(f"{compilable(f'{file.stem}_drawn') if file else _DEFAULT_NAME}{_SUFFIX}")
    return target if target.suffix == _SUFFIX else target.with_name(f"{target.name}{_SUFFIX}")


def _document(
    target: Path,
    calls: Sequence[CallToDraw],
    before: Sequence[tuple[str, Mapping[str, Any]]],
    tools_from: Path | None,
) -> Document:
    try:
        document = draw_calls(target.stem, calls, our_components(), before).document()
        tools = sorted({x.tool for x in calls if x.source == CANVAS_SOURCE})
        if tools_from and tools:
            return with_drawn_tools(document, read_document(tools_from), tools)
        return document
    except WorkflowError as reason:
        raise NothingToDraw(
            f"{target} cannot be a workflow: {reason}. Name another one with --out."
        ) from reason


def _wires(call: CallToDraw) -> int:
    return len({y.result for x in call.arguments.values() for y in references_in(x)})


def _lines(
    file: Path, calls: Sequence[CallToDraw], wires: int, omitted: Sequence[OmittedCall]
) -> Iterator[str]:
    also = f", {count(wires, 'wire')}" if wires else ""
    yield f"Written: {file}, {count(len(calls), 'call')}{also}"
    for call in calls:
        for name, why in call.missing.items():
            yield one_line(f"You must give {name} of {call.name}. {why}", "  ")
        if call.note:
            yield one_line(f"{call.name}: {call.note}", "  ")
    for omission, times in Counter(omitted).items():
        often = f", {times} times" if times > 1 else ""
        yield one_line(f"Left out: {omission.name}{often}: {omission.why}.", "  ")
    script = file.with_suffix(".py")
    compiled = shell_command("xircuits", "compile", str(file), str(script))
    yield f"Open it in the lab, or: {compiled} && {shell_command('python', str(script))}"


def _note_on(call: CallToDraw) -> str:
    return _DRAWN_TOOL_NOTE if call.source == CANVAS_SOURCE else ""


def _run_lines(runs: Sequence[RecordedRun]) -> Iterator[str]:
    for run in runs:
        who = f", {', '.join(run.agents)}" if run.agents else ""
        question = f": {run.question[:_MAX_QUESTION_CHARS]}" if run.question else ""
        when = f" {time_text(datetime.fromtimestamp(run.time, UTC))}" if run.time else ""
        yield f"{run.id or 'run'}{when}{who}, {count(len(run.calls), 'call')}{question}"


def _nodes_before(drawing: CallsOfDrawing, loaded: Settings) -> list[tuple[str, Mapping[str, Any]]]:
    """Return nodes for the built-in sources that the settings do not have."""
    tools: dict[str, dict[str, None]] = {}
    for call in drawing.calls:
        is_builtin = drawing.kinds.get(call.source) == BUILTIN.name
        if is_builtin and call.source not in loaded.sources:
            tools.setdefault(call.source, {})[call.tool] = None
    return [("AgentUseBuiltinTools", {"tools": ", ".join(x)}) for x in tools.values()]
