"""A run in the folder of a lesson: what happens in it is judged when it has ended, and printed.

It begins where a run takes its claim on a bridge or makes a toolbelt. It ends with the cell that
ran it, in a notebook or the lab, or with the process of a script: after an error too. Elsewhere
nothing of this is done.
"""

from __future__ import annotations

import atexit
import inspect
import logging
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ...console.surface import surface_of
from ...console.text import wrap
from ...core.errors import node_in
from ...core.json import JsonObject
from ..lab_channel import at_end_of_cell, kernel, last_error, shell, tell
from .goals import Judged, judge_run
from .lessons import LESSONS, Lesson, lesson_of_file
from .problems import why_stopped

logger = logging.getLogger(__name__)

_KEY = "lesson_run"
_MOST_EVENTS = 2_000  # of a workflow in a circle, which would fill the memory
_MOST_NODES = 1_000
_MOST_CHARS = 2_000  # of what Print showed: more than a goal looks for


class LessonRun:
    """What happens in one run of a lesson's workflow. Holds neither its `ctx` nor its bridge.

    `first` is the node with which its main flow begins.
    """

    def __init__(self, lesson: Lesson, first: Any) -> None:
        self._lesson = lesson
        self._first = first
        self._events: list[JsonObject] = []
        self._error_before = last_error()

    def note(self, event: JsonObject) -> None:
        """Note an event of the transcript."""
        if len(self._events) < _MOST_EVENTS:
            self._events.append(event)

    def report(self) -> None:
        """Print which goals are met and what to do next. Nothing fails for it."""
        try:
            judged = self.judged()
            _show("\n".join(goal_lines(self._lesson, judged)))
            title = f"Lesson {self._lesson.number}, {self._lesson.title}"
            met = all(x.is_met for x in judged)
            following = _next_lesson(self._lesson) if met else ""
            tell("Goals", title=title, goals=[asdict(x) for x in judged], next=following)
        except Exception:
            logger.debug("The goals of %s could not be shown", self._lesson.folder, exc_info=True)

    def judged(self) -> list[Judged]:
        """Its goals, after its end or the error that stopped it."""
        error = last_error()
        if error is not None and error is not self._error_before:
            return judge_run(self._lesson.goals, self._events, _problem_of(error))
        return judge_run(self._lesson.goals, [*self._events, *_executed(self._first)], None)

    def __deepcopy__(self, memo: dict[int, Any]) -> LessonRun:
        """Itself: whoever copies a `ctx` has one run still."""
        return self

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        """Nothing: what happens in another process is not seen here."""
        return type(None), ()


def watch(ctx: Any) -> None:
    """Have the goals printed at the end of this run, if it is one of a lesson's workflow."""
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    lesson = lesson_of_file(Path(script).absolute()) if isinstance(script, str) else None
    if lesson is not None and _KEY not in ctx:
        ctx[_KEY] = run = LessonRun(lesson, _first_node())
        _at_end_of_run(run.report)


def lesson_run(ctx: Any) -> LessonRun | None:
    """The run that is watched, if it is."""
    run = ctx.get(_KEY)
    return run if isinstance(run, LessonRun) else None


def goal_lines(lesson: Lesson, goals: list[Judged]) -> Iterator[str]:
    """The goals of a lesson after a run, each with the step to it; after all, what comes next."""
    width = surface_of(sys.stdout).width
    met = sum(x.is_met for x in goals)
    yield ""
    yield f"== Lesson {lesson.number}, {lesson.title}: {met} of {len(goals)} goals met"
    for goal in goals:
        yield from wrap(goal.sentence, width, "[x] " if goal.is_met else "[ ] ", "    ")
        if goal.missing:
            yield from wrap(goal.missing, width, "    ", "    ")
    if met == len(goals):
        yield from wrap(_next_lesson(lesson), width, "Next: ", "      ")


def _next_lesson(lesson: Lesson) -> str:
    following = next((x for x in LESSONS if x.number == lesson.number + 1), None)
    if following is None:
        return "nothing. This was the last lesson: you have built an agent with tools."
    return f"lesson {following.number}, {following.folder}/{following.workflow}"


def _show(text: str) -> None:
    """Print it; in the lab as an output of its own, to which the panel scrolls after a card."""
    if kernel() is None:
        print(text, flush=True)
        return
    # Here: only a kernel needs it, and has it already.
    from IPython.display import display  # pyright: ignore[reportUnknownVariableType]

    display({"text/plain": text.encode("utf-8", "replace").decode()}, raw=True)


def _at_end_of_run(do: Callable[[], None]) -> None:
    """Call this once when the cell that runs now has ended; elsewhere when the process ends."""
    if shell() is None:
        atexit.register(do)
    else:
        at_end_of_cell(lambda _: do())


def _first_node() -> Any:
    """The first node of the main flow that runs in this thread; None outside of a flow."""
    frame, first = inspect.currentframe(), None
    while frame is not None:
        me = frame.f_locals.get("self") if frame.f_code.co_name == "do" else None
        if type(me).__name__ == "SubGraphExecutor":
            first = getattr(me, "comp", None)
        frame = frame.f_back
    return first


def _executed(first: Any) -> Iterator[JsonObject]:
    """An event for every node of the main flow, which came to its end; for Print with its text."""
    node, seen = first, set[int]()
    while node is not None and id(node) not in seen and len(seen) < _MOST_NODES:
        seen.add(id(node))
        name = type(node).__name__
        text = str(node.msg.value)[:_MOST_CHARS].strip() if name == "Print" else ""
        yield {"event": "Executed", "node": name, "text": text}
        node = getattr(node, "next", None)


def _problem_of(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "It was stopped before its end. Is there a dashed line back to an earlier node?"
    words = "".join(traceback.format_exception_only(error))
    return why_stopped(words, f"Executing: {node_in(error.__traceback__) or 'Something'}")
