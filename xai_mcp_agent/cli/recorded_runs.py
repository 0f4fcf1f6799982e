"""Input of `plan draw`: plans in files, and recorded runs of agents."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeGuard, cast

from ..bridge.transcript import read_transcript
from ..console.text import count
from ..core.errors import XaiMcpError
from ..core.json import JsonObject
from ..drawing.flow import CallToDraw
from ..drawing.plans import calls_of_plan
from ..drawing.runs import (
    RecordedRun,
    run_in_conversation,
    run_in_state,
    runs_in_history,
    runs_in_transcript,
    state_in,
)
from ..drawing.tracing import NOT_RECORDED
from ..history.event import Range
from ..planning.plan import BadPlan, plan_from_json
from ..settings.models import Settings
from .frame import NothingYet, StoreFrame

_MAX_CALLS = 2_000  # of the history, searched for the newest runs
_WHAT_TO_NAME = (
    "Name a transcript (XAI_MCP_TRANSCRIPT writes one), the conversation or the state of a run as "
    "JSON, or a plan."
)
_HOW_TO_RECORD = (
    'Record both: "record": ["arguments", "results"] in mcp_settings.json, or '
    "XAI_MCP_RECORD=arguments,results in the environment; or write a transcript, with "
    "XAI_MCP_TRANSCRIPT=runs.jsonl. Then let the agent do it again, and draw that."
)


class NothingToDraw(XaiMcpError):
    """There are no calls to draw; the message names the searched place and the next step."""


def is_plan(document: Any) -> TypeGuard[JsonObject]:
    """Return whether the JSON of a file is a plan."""
    return isinstance(document, dict) and "calls" in document


def calls_in_plan(file: Path, document: JsonObject, source: str) -> list[CallToDraw]:
    """Return the calls of the plan in a file.

    Raises:
        NothingToDraw: the plan has no calls.
        BadPlan: the plan cannot be drawn; the message names the file.
    """
    try:
        calls = calls_of_plan(plan_from_json(document), source)
    except BadPlan as reason:
        raise BadPlan(f"{file}: {reason}") from reason
    if not calls:
        raise NothingToDraw(f"The plan in {file} has no calls: `calls` is empty.")
    return calls


def json_in(file: Path) -> Any:
    """Return the JSON of a whole file, or None if it has several lines of JSON.

    Raises:
        NothingToDraw: the file cannot be read.
    """
    try:
        return json.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as cause:
        raise NothingToDraw(
            f"{file} cannot be read: {cause.strerror}. Name another one."
        ) from cause
    except (ValueError, RecursionError):
        return None


def runs_in_file(file: Path, document: Any, agent: str, loaded: Settings) -> list[RecordedRun]:
    """Return the runs in a file with this JSON, the newest last.

    Raises:
        NothingToDraw: there is none.
    """
    if isinstance(document, list):
        runs = [run_in_conversation(cast(list[Any], document), {}, loaded.sources)]
    elif (state := state_in(document)) is not None:
        runs = [run_in_state(state, loaded.sources)]
    else:
        runs = runs_in_transcript(read_transcript(file), agent)
    if not any(x.calls for x in runs):
        raise NothingToDraw(f"{file} has no calls of tools. {_WHAT_TO_NAME}")
    return runs


def runs_of_history(frame: StoreFrame, agent: str) -> list[RecordedRun]:
    """Return the newest runs of the history, the newest last.

    Raises:
        NothingToDraw: there is none.
    """
    try:
        with frame.history() as history:
            history.check_agent(agent or None)
            calls = Range(changes=("called",), agent=agent or None, limit=_MAX_CALLS)
            events = history.events(calls)
    except NothingYet as nothing:
        raise NothingToDraw(f"{nothing} So there is no run to draw. {_HOW_TO_RECORD}") from nothing
    runs = runs_in_history(events)
    if not runs:
        raise NothingToDraw(f"The history has no calls yet. {_HOW_TO_RECORD}")
    return runs


def select_run(runs: Sequence[RecordedRun], run_id: str | None) -> RecordedRun:
    """Return the run with this id, or the newest.

    Raises:
        NothingToDraw: no run has this id.
    """
    if run_id is None:
        return runs[-1]
    matches = [x for x in runs if x.id == run_id]
    if not matches:
        newest = ", ".join(x.id for x in runs[-10:])
        raise NothingToDraw(f"There is no run {run_id!r}. The newest are: {newest}; see --list.")
    return matches[0]


def require_arguments(run: RecordedRun, calls: Sequence[CallToDraw]) -> None:
    """Refuse a run whose calls cannot be repeated.

    Raises:
        NothingToDraw: no call can be repeated, or the arguments are unknown.
    """
    if not calls:
        raise NothingToDraw(
            f"The run {run.id} has no call that can be repeated: "
            f"{count(len(run.calls), 'call')} failed, or of the agent's own tools."
        )
    if all(x.note == NOT_RECORDED for x in calls):
        raise NothingToDraw(
            f"The run {run.id} made {count(len(calls), 'call')}, but no arguments were recorded, "
            f"so nothing can be repeated. {_HOW_TO_RECORD}"
        )
