"""A run in a lesson's folder: its events are judged at its end, and the result is printed.

Recording begins when a run takes its claim on a bridge or makes a toolbelt. It ends with the cell
that ran it, in a notebook or the lab, or with a script's process: after an error too. In other
folders nothing is recorded.
"""

from __future__ import annotations

import atexit
import inspect
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ...console.notebook import at_end_of_cell, kernel, last_error, shell
from ...console.surface import surface_of
from ...console.text import wrap
from ...core.errors import node_in
from ...core.json import JsonObject
from ..panel.channel import tell
from .goals import GoalResult, judge_run
from .lessons import LESSONS, Lesson, lesson_of_file
from .problems import why_stopped

_KEY = "lesson_run"
_MOST_EVENTS = 2_000  # of a workflow in a circle, which would fill the memory
_MOST_CHARS = 2_000  # of Print's text: more than a goal looks for


class LessonRun:
    """The events of one run of a lesson's workflow. Holds neither its `ctx` nor its bridge.

    `first` is the first node of its main flow.
    """

    def __init__(self, lesson: Lesson, first: Any) -> None:
        self._lesson = lesson
        self._first = first
        self._events: list[JsonObject] = []
        self._error_before = last_error()

    def note(self, event: JsonObject) -> None:
        """Record an event of the transcript."""
        if len(self._events) < _MOST_EVENTS:
            self._events.append(event)

    def report(self) -> None:
        """Print the goals, each met or with its next step."""
        results = self.judge()
        _show("\n".join(goal_lines(self._lesson, results)))
        title = f"Lesson {self._lesson.number}, {self._lesson.title}"
        following = _next_lesson(self._lesson) if all(x.is_met for x in results) else ""
        tell("Goals", title=title, goals=[asdict(x) for x in results], next=following)

    def judge(self) -> list[GoalResult]:
        """Return the results of the goals, after the run's end or the error that stopped it."""
        error = last_error()
        if error is not None and error is not self._error_before:
            return judge_run(self._lesson.goals, self._events, _problem_of(error))
        return judge_run(self._lesson.goals, [*self._events, *_node_events(self._first)], None)

    def __deepcopy__(self, memo: dict[int, Any]) -> LessonRun:
        """Return this object: a copied `ctx` belongs to the same run."""
        return self

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        """Reduce to None: this process gets no events of another one."""
        return type(None), ()


def watch(ctx: Any) -> None:
    """Print the goals at the end of this run, if it is a run of a lesson's workflow."""
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    lesson = lesson_of_file(Path(script).absolute()) if isinstance(script, str) else None
    if lesson is not None and _KEY not in ctx:
        ctx[_KEY] = run = LessonRun(lesson, _first_node())
        _at_end_of_run(run.report)


def lesson_run(ctx: Any) -> LessonRun | None:
    """Return the run that is being recorded, or None."""
    run = ctx.get(_KEY)
    return run if isinstance(run, LessonRun) else None


def goal_lines(lesson: Lesson, goals: list[GoalResult]) -> Iterator[str]:
    """Yield the goals after a run, each with its next step; if all are met, the next lesson."""
    width = surface_of(sys.stdout).width
    met_count = sum(x.is_met for x in goals)
    yield ""
    yield f"== Lesson {lesson.number}, {lesson.title}: {met_count} of {len(goals)} goals met"
    for goal in goals:
        yield from wrap(goal.sentence, width, "[x] " if goal.is_met else "[ ] ", "    ")
        if goal.missing:
            yield from wrap(goal.missing, width, "    ", "    ")
    if met_count == len(goals):
        yield from wrap(_next_lesson(lesson), width, "Next: ", "      ")


def _next_lesson(lesson: Lesson) -> str:
    following = next((x for x in LESSONS if x.number == lesson.number + 1), None)
    if following is None:
        return "nothing. This was the last lesson: you have built an agent with tools."
    return f"lesson {following.number}, {following.folder}/{following.workflow}"


def _show(text: str) -> None:
    """Print a text; in the lab as a separate output, to which the panel scrolls after a card."""
    if kernel() is None:
        print(text, flush=True)
        return
    # Imported here: only a kernel needs it, and has it already.
    from IPython.display import display  # pyright: ignore[reportUnknownVariableType]

    display({"text/plain": text.encode("utf-8", "replace").decode()}, raw=True)


def _at_end_of_run(do: Callable[[], None]) -> None:
    """Call `do` once at the end of the current cell, or of the process if there is no cell."""
    if shell() is None:
        atexit.register(do)
    else:
        at_end_of_cell(lambda _: do())


def _first_node() -> Any:
    """Return the first node of the main flow that runs in this thread; None outside a flow."""
    frame, first = inspect.currentframe(), None
    while frame is not None:
        me = frame.f_locals.get("self") if frame.f_code.co_name == "do" else None
        if type(me).__name__ == "SubGraphExecutor":
            first = getattr(me, "comp", None)
        frame = frame.f_back
    return first


def _node_events(first: Any) -> Iterator[JsonObject]:
    """Yield an event for every node of the main flow, which has finished; Print's with its text."""
    node, visited = first, set[int]()
    while node is not None and id(node) not in visited:
        visited.add(id(node))
        name = type(node).__name__
        text = str(node.msg.value)[:_MOST_CHARS].strip() if name == "Print" else ""
        yield {"event": "Executed", "node": name, "text": text}
        node = getattr(node, "next", None)


def _problem_of(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "It was stopped before its end. Is there a dashed line back to an earlier node?"
    words = "".join(traceback.format_exception_only(error))
    return why_stopped(words, f"Executing: {node_in(error.__traceback__) or 'Something'}")
