"""`xai-mcp-agent draw`: a recorded run, or a plan, as a workflow that needs no model."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from ..canvas.transcript import read_transcript
from ..console.text import count
from ..core.errors import XaiMcpError
from ..core.kinds import BUILTIN, kind_named
from ..core.shell import shown_command
from ..core.steps import CANVAS_SOURCE, references_in
from ..core.tools import JsonObject
from ..drawing.calls import DrawnCall
from ..drawing.components import our_components
from ..drawing.copying import with_drawn_tools
from ..drawing.flow import draw as draw_calls
from ..drawing.plans import calls_of_plan
from ..drawing.recorded import (
    RecordedRun,
    run_in_conversation,
    run_in_state,
    runs_in_history,
    runs_in_transcript,
)
from ..drawing.rules import Document
from ..drawing.tracing import Hides, LeftOut, traced
from ..drawing.workflow import WorkflowError
from ..planning.plan_file import plan_from_json
from ..secrets.redactor import Redactor, is_secret
from ..settings.load import load_settings
from ..settings.models import Settings
from ..views.times import time_text
from .history import opened, say_nothing_yet
from .output import (
    AsJson,
    SettingsFile,
    StoreOption,
    echo_json,
    folded,
    replace_text,
    say,
)

_DEFAULT_NAME = "drawn_run"
_SUFFIX = ".xircuits"
_MOST_CALLS = 2_000  # of the history, in which the newest runs are looked for
_MOST_ASKED = 60  # characters of a request in the list of runs
_HOW_TO_RECORD = (
    'Have both kept: "record": ["arguments", "results"] in mcp_settings.json, or '
    "XAI_MCP_RECORD=arguments,results in the environment; or have a transcript written, with "
    "XAI_MCP_TRANSCRIPT=runs.jsonl. Then let the agent do it again, and draw that."
)
_DRAWN_TOOL = (
    "This tool was drawn in the workflow of the run. Copy its nodes, from AgentDefineTool on, into "
    "this one."
)


class NothingToDraw(XaiMcpError):
    """There are no calls to draw; the message says where was looked, and what to do."""


class NotRecorded(XaiMcpError):
    """Nothing is known of the arguments of calls, so they cannot be made again."""


@dataclass(frozen=True)
class Drawn:
    """What was drawn: the calls, how many wires join them, and what is not in it."""

    file: Path
    calls: list[DrawnCall]
    wires: int
    left_out: list[LeftOut]


def draw(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]",
            help="A transcript, a run's conversation or state as JSON, or a plan. Default: the "
            "newest run of the history.",
        ),
    ] = None,
    run: Annotated[str | None, typer.Option(help="This run. Default: the newest.")] = None,
    agent: Annotated[str | None, typer.Option(help="Only the calls of this agent.")] = None,
    list_runs: Annotated[bool, typer.Option("--list", help="List the runs; draw nothing.")] = False,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="The workflow to write.")
    ] = None,
    tools_from: Annotated[
        Path | None,
        typer.Option(
            "--tools-from", metavar="WORKFLOW", help="Copy the tools that were drawn out of this."
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace it; the old one is kept beside it.")
    ] = False,
    source: Annotated[
        str, typer.Option(help="Of a plan: whose tools those are that name no source.")
    ] = "",
    store: StoreOption = None,
    settings: SettingsFile = None,
    as_json: AsJson = False,
) -> None:
    """Draw what an agent did as a workflow that makes the same calls without a model.

    One node a call, and a wire where a result is used. What cannot be known is an empty port with a
    note. Starts no server.
    """
    plan = None if file is None else _plan_in(file)
    loaded, kinds, left_out = load_settings(settings), dict[str, str](), list[LeftOut]()
    if plan is not None:
        calls = calls_of_plan(plan_from_json(plan), source)
    else:
        runs = _runs(file, agent or "", store, settings, loaded)
        if list_runs:
            echo_json(runs) if as_json else _say_runs(runs)
            return
        chosen = _chosen(runs, run)
        calls, left_out = traced(chosen.calls, _hides(loaded))
        kinds = {x.source: x.kind for x in chosen.calls}
        _check(chosen, calls)
    copied = {x.tool for x in calls if tools_from and x.source == CANVAS_SOURCE}
    calls = list(_with_notes(calls, kinds, loaded, copied))
    before = _nodes_before(calls, kinds, loaded)
    target = out or Path(f"{_DEFAULT_NAME if file is None else _name_for(file)}{_SUFFIX}")
    if target.suffix != _SUFFIX:
        target = target.with_name(f"{target.name}{_SUFFIX}")
    document = _document(target, calls, before)
    if tools_from and copied:
        document = with_drawn_tools(document, _workflow_in(tools_from), sorted(copied))
    _write(target, document, overwrite=overwrite)
    drawn = Drawn(target, calls, sum(map(_wires, calls)), left_out)
    echo_json(_for_programs(drawn)) if as_json else _say(drawn)


# What is drawn


def _plan_in(file: Path) -> JsonObject | None:
    known = _json_in(file)
    return cast(JsonObject, known) if isinstance(known, dict) and "calls" in known else None


def _hides(loaded: Settings) -> Hides:
    """What is taken for a secret: in a conversation or a state nothing was hidden yet."""
    redact = Redactor([loaded.secrets], guesses=True, environ=os.environ)
    return lambda name, text: is_secret(name, text) or redact(text) != text


def _json_in(file: Path) -> Any:
    """The JSON that a file holds as a whole; None where it has several lines of it."""
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except OSError as cause:
        raise NothingToDraw(
            f"{file} cannot be read: {cause.strerror}. Name another one."
        ) from cause
    except (ValueError, RecursionError):
        return None


def _runs(
    file: Path | None, agent: str, store: str | None, settings: Path | None, loaded: Settings
) -> list[RecordedRun]:
    if file is None and agent:
        raise NothingToDraw(
            "The history does not know which agent made a call. Name a transcript, too."
        )
    if file is None:
        return _runs_of_history(store, settings)
    known = _json_in(file)
    if isinstance(known, list):
        found = [run_in_conversation(cast(list[Any], known), {}, loaded.sources)]
    elif isinstance(known, dict) and "said" in known:
        found = [run_in_state(cast(JsonObject, known), loaded.sources)]
    else:
        found = runs_in_transcript(read_transcript(file), agent)
    if not any(x.calls for x in found):
        raise NothingToDraw(
            f"{file} has no calls of tools. Name a transcript (XAI_MCP_TRANSCRIPT writes one), the "
            "conversation or the state of a run as JSON, or a plan."
        )
    return found


def _runs_of_history(store: str | None, settings: Path | None) -> list[RecordedRun]:
    with opened(store, settings) as found:
        if found is None:
            say_nothing_yet(store, settings)
            raise NothingToDraw(f"So there is no run to draw. {_HOW_TO_RECORD}")
        # Loads SQLAlchemy, as opening it did.
        from ..history.log import Range
        from ..history.queries import events_in

        wanted = Range(changes=("called",), limit=_MOST_CALLS, newest_first=True)
        events = events_in(found, wanted)
    runs = runs_in_history(sorted(events, key=lambda x: x.position))
    if not runs:
        raise NothingToDraw(f"The history has no calls yet. {_HOW_TO_RECORD}")
    return runs


def _chosen(runs: Sequence[RecordedRun], wanted: str | None) -> RecordedRun:
    if wanted is None:
        return runs[-1]
    found = [x for x in runs if x.id == wanted]
    if not found:
        known = ", ".join(x.id for x in runs[-10:])
        raise NothingToDraw(f"There is no run {wanted!r}. The newest are: {known}; see --list.")
    return found[0]


def _check(run: RecordedRun, calls: Sequence[DrawnCall]) -> None:
    made = [x for x in run.calls if not (x.is_own or x.is_error or x.is_made_of_others)]
    if not made:
        raise NothingToDraw(
            f"The run {run.id} has no call that can be made again: "
            f"{count(len(run.calls), 'call')} failed, or of the agent's own tools."
        )
    if all(x.arguments is None for x in made):
        raise NotRecorded(
            f"The run {run.id} made {count(len(calls), 'call')}, but with which arguments was not "
            f"recorded, so they cannot be made again. {_HOW_TO_RECORD}"
        )


# What is told beside it


def _with_notes(
    calls: Sequence[DrawnCall],
    kinds: Mapping[str, str],
    loaded: Settings,
    copied: Collection[str],
) -> Iterator[DrawnCall]:
    """The calls, with a note at the first of each tool or source that this workflow lacks."""
    told: set[str] = set()
    for call in calls:
        what, note = "", ""
        is_known = call.source in loaded.sources or kinds.get(call.source) == BUILTIN.name
        if is_known or not (loaded.file or call.source == CANVAS_SOURCE):
            pass
        elif call.source == CANVAS_SOURCE:
            what, note = ("", "") if call.tool in copied else (call.name, _DRAWN_TOOL)
        else:
            noun = kind_named(kinds.get(call.source) or "mcp").noun
            what = call.source
            note = f"The settings have no {noun} {what}. Add it, or correct the first line."
        if what and what not in told and not call.note:
            call = replace(call, note=note)
        told.add(what)
        yield call


def _nodes_before(
    calls: Sequence[DrawnCall], kinds: Mapping[str, str], loaded: Settings
) -> list[tuple[str, Mapping[str, Any]]]:
    """The nodes that bring sources along which the settings do not have."""
    used = {x.source for x in calls if kinds.get(x.source) == BUILTIN.name} - {*loaded.sources}
    return [
        ("AgentUseBuiltinTools", {"tools": ", ".join(dict.fromkeys(_tools_of(calls, name)))})
        for name in sorted(used)
    ]


def _tools_of(calls: Sequence[DrawnCall], source: str) -> Iterator[str]:
    yield from (x.tool for x in calls if x.source == source)


# What is written


def _document(
    target: Path, calls: Sequence[DrawnCall], before: Sequence[tuple[str, Mapping[str, Any]]]
) -> Document:
    try:
        return draw_calls(target.stem, calls, our_components(), before).document()
    except WorkflowError as reason:
        raise NothingToDraw(
            f"{target} cannot be a workflow: {reason}. Name another one with --out."
        ) from reason


def _write(target: Path, document: Document, *, overwrite: bool) -> None:
    if os.path.lexists(target) and not overwrite:  # a link, too, wherever it leads
        raise NothingToDraw(
            f"{target} is there already. Name another file with --out, or replace it with "
            "--overwrite, which keeps the old one beside it."
        )
    try:
        replace_text(target, json.dumps(document, indent=4, ensure_ascii=False) + "\n")
    except OSError as cause:
        raise NothingToDraw(
            f"{target} cannot be written: {cause.strerror}. Name another one with --out."
        ) from cause


def _workflow_in(file: Path) -> Document:
    known = _json_in(file)
    if not isinstance(known, dict) or "layers" not in known:
        raise NothingToDraw(f"{file} is no workflow. Name one for --tools-from.")
    return cast(Document, known)


def _wires(call: DrawnCall) -> int:
    return len({y.result for x in call.arguments.values() for y in references_in(x)})


def _name_for(file: Path) -> str:
    name = "".join(x if x.isascii() and x.isalnum() else "_" for x in file.stem)
    return f"{name if name[:1].isalpha() else f'run_{name}'}_drawn"


def _say(drawn: Drawn) -> None:
    wires = f", {count(drawn.wires, 'wire')}" if drawn.wires else ""
    say(f"Written: {drawn.file}, {count(len(drawn.calls), 'call')}{wires}")
    for call in drawn.calls:
        for name, why in call.missing.items():
            say("\n".join(folded(f"You must give {name} of {call.name}. {why}", "  ", "    ")))
        if call.note:
            say("\n".join(folded(f"{call.name}: {call.note}", "  ", "    ")))
    for left, times in Counter(drawn.left_out).items():
        often = f", {times} times" if times > 1 else ""
        say("\n".join(folded(f"Left out: {left.name}{often}: {left.why}.", "  ", "    ")))
    script = drawn.file.with_suffix(".py")
    compiled = shown_command("xircuits", "compile", str(drawn.file), str(script))
    say(f"Open it in the lab, or: {compiled} && {shown_command('python', str(script))}")


def _say_runs(runs: Sequence[RecordedRun]) -> None:
    for run in runs:
        who = f", {', '.join(run.agents)}" if run.agents else ""
        asked = f": {run.asked[:_MOST_ASKED]}" if run.asked else ""
        when = f" {time_text(datetime.fromtimestamp(run.time, UTC))}" if run.time else ""
        say(f"{run.id or 'run'}{when}{who}, {count(len(run.calls), 'call')}{asked}")


def _for_programs(drawn: Drawn) -> JsonObject:
    return {
        "file": drawn.file,
        "calls": [x.name for x in drawn.calls],
        "wires": drawn.wires,
        "missing": [
            {"tool": x.name, "parameter": name, "why": why}
            for x in drawn.calls
            for name, why in x.missing.items()
        ],
        "notes": [f"{x.name}: {x.note}" for x in drawn.calls if x.note],
        "left_out": drawn.left_out,
    }  # fmt: skip
