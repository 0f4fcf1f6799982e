"""Runs that went well, and shapes of results: rows of the history, by toolbelt and without values.

Of a run: its tools, which argument came from which call, how often and when, and the words of the
request where words may be kept.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from ..history.event import Subject, subject_of
from ..history.history import History
from ..history.learned_rows import (
    LearnedFilter,
    LearnedRow,
    LearnedRows,
    LearnedState,
    Learning,
    last_forgotten,
)

Sources: TypeAlias = Mapping[str, tuple[int, str | None] | None]
"""By parameter: None where it was given, else the place of a call before and the field there."""

RUNS = LearnedRows("run", most_of_toolbelt=2_000)
SHAPES = LearnedRows("shape", most_of_toolbelt=4_000, most_of_topic=8)

_MOST_CHARS = 8_000  # of one run, and of one shape; a longer one is not kept
_DIGEST_CHARS = 32


@dataclass(frozen=True, slots=True)
class LearnedCall:
    """One call of a run that went well, without values."""

    tool: Subject
    sources: Sources


@dataclass(frozen=True, slots=True)
class LearnedRun:
    """Calls that did what was asked for in these `words` (empty where they are not kept)."""

    id: str
    toolbelt: str
    words: str
    calls: tuple[LearnedCall, ...]
    times: int
    learned: datetime
    used: datetime

    @property
    def tools(self) -> frozenset[Subject]:
        """The tools that it called."""
        return frozenset(x.tool for x in self.calls)


@dataclass(frozen=True, slots=True)
class LearnedShape:
    """What results of a tool looked like, so many times; `shape` is JSON of `shape_json`."""

    id: str
    toolbelt: str
    tool: Subject
    shape: Any
    times: int
    used: datetime


@dataclass(frozen=True, slots=True)
class Learnings:
    """Runs and shapes, the last used first; `state` is their cache key.

    `forgotten` is when a person had something forgotten last.
    """

    runs: tuple[LearnedRun, ...] = ()
    shapes: tuple[LearnedShape, ...] = ()
    state: LearnedState = ()
    forgotten: datetime | None = None


def learnings_in(history: History, which: LearnedFilter) -> Learnings:
    """What has to do with these tools."""
    with history.reading() as connection:
        runs = RUNS.read(connection, history.project_id, which.toolbelt)
        shapes = SHAPES.read(connection, history.project_id, which.toolbelt)
    return _matching(runs, shapes, which)


def news_of(history: History, toolbelt: str | None, state: LearnedState) -> Learnings | None:
    """All that a toolbelt learned, or all did; None while that has this state."""
    project = history.project_id
    with history.reading() as connection:
        forgotten = last_forgotten(connection, project)
        states = (x.state(connection, project, toolbelt) for x in (RUNS, SHAPES))
        now = (*states, forgotten)
        if now == state:
            return None
        runs, shapes = (x.read(connection, project, toolbelt) for x in (RUNS, SHAPES))
    return Learnings(tuple(map(_run, runs)), tuple(map(_shape, shapes)), now, forgotten)


def learn_run(
    learning: Learning,
    toolbelt: str,
    request: str,
    calls: Iterable[LearnedCall],
    shapes: Iterable[tuple[Subject, str]],
    time: datetime,
) -> None:
    """Learn from a run with these calls and results of these shapes (JSON).

    Nothing is kept of what has a secret in a name.
    """
    calls = tuple(calls)
    if any(learning.is_forgotten("runs", x.tool, toolbelt, time) for x in calls):
        return
    is_unsaid = any(learning.is_forgotten("texts", x.tool, toolbelt, time) for x in calls)
    words = "" if is_unsaid else learning.words_of(request)
    body = [
        [x.tool.kind.name, x.tool.source, x.tool.tool or "", _sources_as_json(x.sources)]
        for x in calls
    ]
    text = json.dumps(body, separators=(",", ":"))
    if len(text) <= _MOST_CHARS and learning.is_plain(text):
        topic = hashlib.sha256(text.encode()).hexdigest()[:_DIGEST_CHARS]
        tool = calls[0].tool
        learning.add(RUNS, toolbelt, tool, time, words=words, body=body, topic=topic)
    for tool, text in shapes:
        if len(text) <= _MOST_CHARS and learning.is_plain(text):
            learning.add(SHAPES, toolbelt, tool, time, body=json.loads(text))


def forget_runs(learning: Learning, which: LearnedFilter) -> Learnings:
    """Forget the runs that had any of these tools, and their shapes; what was forgotten."""
    connection, project = learning.connection, learning.project
    runs, shapes = (x.read(connection, project, which.toolbelt) for x in (RUNS, SHAPES))
    gone = _matching(runs, shapes, which)
    RUNS.remove(connection, project, [x.id for x in gone.runs])
    SHAPES.remove(connection, project, [x.id for x in gone.shapes])
    counts = Counter(dict.fromkeys(((x.tool, x.toolbelt) for x in gone.shapes), 0))
    counts.update((tool, x.toolbelt) for x in gone.runs for tool in x.tools)
    learning.note_forgotten("runs", counts)
    return gone


def forget_requests(learning: Learning, which: LearnedFilter) -> None:
    """Forget what was asked for in runs that had any of these tools; the runs stay."""
    rows = RUNS.read(learning.connection, learning.project, which.toolbelt)
    runs = _matching(rows, (), which).runs
    RUNS.forget_words(learning.connection, learning.project, [x.id for x in runs])


def _matching(
    runs: Iterable[LearnedRow], shapes: Iterable[LearnedRow], which: LearnedFilter
) -> Learnings:
    return Learnings(
        tuple(x for x in map(_run, runs) if any(map(which.matches, x.tools))),
        tuple(_shape(x) for x in shapes if which.matches(x.tool)),
    )


def _run(row: LearnedRow) -> LearnedRun:
    calls = tuple(
        LearnedCall(subject_of(kind, source, tool), _sources_from_json(sources))
        for kind, source, tool, sources in row.body
    )
    return LearnedRun(row.id, row.toolbelt, row.words, calls, row.times, row.learned, row.used)


def _shape(row: LearnedRow) -> LearnedShape:
    return LearnedShape(row.id, row.toolbelt, row.tool, row.body, row.times, row.used)


def _sources_as_json(sources: Sources) -> dict[str, Any]:
    return {name: 0 if x is None else list(x) for name, x in sources.items()}


def _sources_from_json(value: Mapping[str, Any]) -> Sources:
    return {name: None if x == 0 else (x[0], x[1]) for name, x in value.items()}
