"""Learning from runs that went well: their tools, where arguments came from, shapes of results.

It has no values, see `planning.observed`, and is kept in the history of the project by toolbelt;
plans use it. Where it cannot be written or read, runs and plans go on without.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio.to_thread

from ..core.json import JsonObject
from ..core.results import TextPart, ToolResult
from ..core.schemas import properties
from ..core.tools import META, ToolKey
from ..history.recording.recorder import HistoryRecorder
from ..planning.live import Teaching
from ..search.usage import DEFAULT_TOOLBELT
from ..settings.models import Settings

if TYPE_CHECKING:
    from ..agent.learning import UsedTool
    from ..history.event import Subject
    from ..history.history import History
    from ..history.learned_rows import LearnedState, Learning
    from ..planning.learned_runs import LearnedCall, LearnedRun, Learnings, Sources
    from ..planning.observed import ObservedRun, SeenCall, TracedCall
    from ..planning.plan import Plan
    from ..planning.planner import Planner
    from ..planning.shapes import Shape

logger = logging.getLogger(__name__)

_MOST_TIMES = 10  # that one run counts, however often it was made
_PATIENCE_SECONDS = 2.0  # for the store, which answers in milliseconds unless it is locked
_READ_CHARS = 500_000  # parsing longer JSON would hold up other threads
_SHAPE_CHARS = 8_000  # deeper parts of a shape are left out
_ages = itertools.count(1)  # never the same twice, also of a toolbelt that is read again
_DEPTHS = (8, 5, 3, 2, 1)


@dataclass(frozen=True, slots=True)
class Remembered:
    """What runs taught a toolbelt, or all. A new `age` means that something was forgotten.

    `runs` are plans for `Planner.learn` by id, the latest last, with how often they were made;
    `shapes` are those of results.
    """

    runs: Mapping[str, tuple[JsonObject, int]]
    shapes: Mapping[str, tuple[ToolKey, Shape]]
    age: int = 0


NOTHING_LEARNED = Remembered({}, {})


def bring_up_to_date(
    planner: Planner, now: Remembered, before: Remembered = NOTHING_LEARNED
) -> Teaching:
    """Teach a planner what is new `now`, step by step; it has learned `before` already.

    Not on a loop: hundreds of new runs take a while.
    """
    if now.age != before.age:
        planner.forget()
        before = NOTHING_LEARNED
    for name, (plan, times) in now.runs.items():
        _, times_before = before.runs.get(name, ({}, 0))
        for _ in range(min(times, _MOST_TIMES) - min(times_before, _MOST_TIMES)):
            planner.learn([plan])
            yield
    for name, (key, shape) in now.shapes.items():
        if name not in before.shapes:
            planner.observe_shape(key, shape)
            yield
    return now


class RunMemory:
    """What runs over one bridge teach, by toolbelt. Used on the bridge's loop.

    `tell` gets one line if it cannot be read. The settings can switch it off; without
    `toolSearch.learn` no words of requests are written.
    """

    def __init__(
        self,
        recorder: HistoryRecorder,
        settings: Settings,
        tell: Callable[[str], None] = logger.warning,
    ) -> None:
        self._recorder = recorder
        self._learns = settings.planning.learns and not recorder.place.is_off
        self._keeps_words = settings.search.learns
        self._tell = tell
        self._has_told = False
        self._toolbelts = defaultdict[str | None, _Toolbelt](_Toolbelt)

    async def learn_run(
        self, toolbelt: str, request: str, turns: Sequence[Sequence[UsedTool]]
    ) -> None:
        """Learn from the calls of a successful run, turn by turn. Does not raise."""
        if turns:
            await self._learn(toolbelt, request, partial(_observed, request, turns))

    async def learn_plan(
        self, toolbelt: str, plan: Plan, tools: Sequence[ToolKey], results: Sequence[Any]
    ) -> None:
        """Learn from a plan that ran to its end. Does not raise."""
        await self._learn(toolbelt, plan.request, partial(_observed_plan, plan, tools, results))

    async def _learn(self, toolbelt: str, request: str, observe: Callable[[], ObservedRun]) -> None:
        if not self._learns:
            return
        try:
            # In a thread: results have any size.
            run = await anyio.to_thread.run_sync(observe)
            self.learn_traced(toolbelt, request, run)
        except Exception:
            logger.exception("Learning from a run failed")

    def learn_traced(self, toolbelt: str, request: str, run: ObservedRun) -> None:
        """Learn from a run whose references are traced already; its tools are keys.

        From any thread. Returns at once.
        """
        calls = [(self._recorder.subject(tool), x) for tool, x in _without_meta(run.calls)]
        if not self._learns or not calls:
            return
        subject_of = self._recorder.subject
        shapes = ((key, _text_of(x)) for key, several in run.shapes.items() for x in several)
        texts = [(subject_of(x), text) for x, text in shapes if text and x.kind != META.name]
        words = request if self._keeps_words else ""
        belt = toolbelt or DEFAULT_TOOLBELT
        self._recorder.learn(partial(_learn, belt, words, calls, texts))

    async def remembered(self, toolbelt: str | None) -> Remembered:
        """What runs with a toolbelt taught, or all of the project."""
        if not self._learns:
            return NOTHING_LEARNED
        cache = self._toolbelts[toolbelt]
        if cache.reading is None:
            future = self._recorder.read(partial(_update, toolbelt, cache), NOTHING_LEARNED)
            cache.reading = asyncio.wrap_future(future)
            cache.reading.add_done_callback(partial(self._finish_reading, cache))
        await asyncio.wait([cache.reading], timeout=_PATIENCE_SECONDS)
        return cache.remembered

    def _finish_reading(self, cache: _Toolbelt, reading: asyncio.Future[Remembered]) -> None:
        cache.reading = None
        if reading.cancelled() or (reason := reading.exception()) is None:
            return
        logger.debug("What runs taught cannot be read", exc_info=reason)
        if not self._has_told:
            self._has_told = True
            self._tell(f"Plans are made without what runs taught: {reason}")


@dataclass
class _Toolbelt:
    """The cache of one toolbelt. Changed by the thread that reads the store."""

    remembered: Remembered = NOTHING_LEARNED
    state: LearnedState = ()
    reading: asyncio.Future[Remembered] | None = None


# The functions below run in threads.


def _observed(request: str, turns: Sequence[Sequence[UsedTool]]) -> ObservedRun:
    from ..planning.observed import SeenCall, observed_run  # only agents need it

    def seen(used: UsedTool) -> SeenCall:
        # The name of an argument that the tool does not declare may be a value.
        parameters = properties(used.tool.input_schema)
        return SeenCall(used.tool.key, used.arguments, _data_of(used.result), tuple(parameters))

    return observed_run(request, [[seen(x) for x in turn] for turn in turns])


def _observed_plan(plan: Plan, tools: Sequence[ToolKey], results: Sequence[Any]) -> ObservedRun:
    from ..planning.observed import observed_plan

    return observed_plan(plan, tools, results)


def _data_of(result: ToolResult) -> Any:
    """A result as data, else as text; None for pictures and the like."""
    from ..steps.results import parsed

    if result.structured is not None:
        return result.structured
    if not any(isinstance(x, TextPart) for x in result.parts):
        return None
    text = result.text
    return parsed(text) if len(text) <= _READ_CHARS else text


def _without_meta(calls: Sequence[TracedCall]) -> Iterator[tuple[ToolKey, Sources]]:
    """The calls of tools that a plan may have, with their places among those."""
    numbers = [n for n, call in enumerate(calls) if call.tool.kind != META.name]
    places = {number: place for place, number in enumerate(numbers)}
    for call in map(calls.__getitem__, numbers):
        sources = call.sources.items()
        yield (
            call.tool,
            {name: (places[x[0]], x[1]) if x and x[0] in places else None for name, x in sources},
        )


def _text_of(shape: Shape) -> str:
    """The shape as JSON, as deep as there is room for."""
    from ..planning.shape_json import cut_at, shape_as_json

    for depth in _DEPTHS:
        text = json.dumps(shape_as_json(cut_at(shape, depth)), separators=(",", ":"))
        if len(text) <= _SHAPE_CHARS:
            return text
    return ""


def _learn(
    toolbelt: str,
    request: str,
    calls: Sequence[tuple[Subject, Sources]],
    shapes: Sequence[tuple[Subject, str]],
    learning: Learning,
    time: datetime,
) -> None:
    from ..planning.learned_runs import LearnedCall, learn_run  # loads SQLAlchemy

    learned = [LearnedCall(tool, sources) for tool, sources in calls]
    learn_run(learning, toolbelt, request, learned, shapes, time)


def _update(toolbelt: str | None, cache: _Toolbelt, history: History) -> Remembered:
    """Read what is in the store, if it is not as it was."""
    from ..planning.learned_runs import news_of  # loads SQLAlchemy

    news = news_of(history, toolbelt, cache.state)
    if news is not None:
        is_grown = bool(cache.state) and cache.state[-1] == news.forgotten
        cache.remembered = _remembered(news, cache.remembered, is_grown=is_grown)
        cache.state = news.state
    return cache.remembered


def _remembered(news: Learnings, before: Remembered, *, is_grown: bool) -> Remembered:
    """Of the same age as before while no run of then is gone."""
    from ..planning.shape_json import shape_from_json

    runs = {x.id: (_plan_of(x), x.times) for x in reversed(news.runs)}
    shapes = {x.id: (x.tool.key, shape_from_json(x.shape)) for x in reversed(news.shapes)}
    is_grown = is_grown and before.runs.keys() <= runs.keys()
    is_empty = not (runs or shapes or before.runs or before.shapes)
    return Remembered(runs, shapes, before.age if is_grown or is_empty else next(_ages))


def _plan_of(run: LearnedRun) -> JsonObject:
    calls = [{"tool": x.tool.key, "args": dict(_arguments(x))} for x in run.calls]
    return {"request": run.words, "calls": calls}


def _arguments(call: LearnedCall) -> Iterable[tuple[str, JsonObject]]:
    for name, source in call.sources.items():
        if source is None:
            yield name, {"value": None}
        else:
            yield name, {"call": source[0], "field": source[1]}
