"""Learning from runs that went well: which tools, with what from where, and what results look like.

What is learned has no values, see `planning.observed`, and is kept in the history of the project,
by toolbelt. Plans are made with it. Where it cannot be kept or read, runs and plans go on without.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import anyio.to_thread

from ..agent.learning import UsedTool
from ..core.json import JsonObject
from ..core.results import TextPart, ToolResult
from ..core.tools import META, Tool, ToolKey
from ..history.learned_calls import KeptCall
from ..history.recording.recorder import HistoryRecorder
from ..planning.live import Teaching
from ..planning.observed import (
    ObservedRun,
    SeenCall,
    TracedCall,
    observed_plan,
    observed_run,
)
from ..planning.plans import Plan
from ..planning.shape_json import cut_at, shape_as_json, shape_from_json
from ..planning.shapes import Shape
from ..search.usage import DEFAULT_TOOLBELT
from ..settings.models import Settings
from ..steps.results import parsed

if TYPE_CHECKING:
    from ..history.learned import KeptRun, Learnings, Revision
    from ..history.store import Store
    from ..planning.planner import Planner

logger = logging.getLogger(__name__)

MOST_TIMES = 10
"""So often one run counts at most, however often it was made: it is usual by then."""

# A plan may wait so long for the store, which answers in milliseconds when nobody holds it.
_PATIENCE_SECONDS = 2.0
# Reading JSON of more would hold up the other threads.
_READ_CHARS = 500_000
_ages = itertools.count(1)  # no two are one, also of a toolbelt that was let go of and read again
_MOST_TOOLBELTS = 16  # of which it is known at once; the others are read again when they are used
_SHAPE_CHARS = 8_000  # what is deeper than fits is left out
_DEPTHS = (8, 5, 3, 2, 1)


@dataclass(frozen=True, slots=True)
class Remembered:
    """What runs taught a toolbelt, or all. Another `age`: what was before is not all true still.

    `runs` are plans as `Planner.learn` takes them, by id, the one made last at the end, with how
    often they were made; `shapes` are what results of tools looked like.
    """

    runs: Mapping[str, tuple[JsonObject, int]] = field(
        default_factory=dict[str, tuple[JsonObject, int]]
    )
    shapes: Mapping[str, tuple[ToolKey, Shape]] = field(
        default_factory=dict[str, tuple[ToolKey, Shape]]
    )
    age: int = 0

    @property
    def plans(self) -> Iterator[JsonObject]:
        """For `Planner.learn`: each run as often as it was made, up to `MOST_TIMES`."""
        return (plan for plan, times in self.runs.values() for _ in range(_counted(times)))


NOTHING_LEARNED = Remembered()


def bring_up_to_date(
    planner: Planner, now: Remembered, before: Remembered = NOTHING_LEARNED
) -> Teaching:
    """Have a planner know what is remembered now, step by step; `before` is what it knows already.

    Gives what it knows in the end. Not on a loop: hundreds of new runs take a while.
    """
    if now.age != before.age:
        planner.forget()
        before = NOTHING_LEARNED
    for name, (plan, times) in now.runs.items():
        _, known = before.runs.get(name, ({}, 0))
        for _ in range(_counted(times) - _counted(known)):
            planner.learn([plan])
            yield
    for name, (key, shape) in now.shapes.items():
        if name not in before.shapes:
            planner.observe_shape(key, shape)
            yield
    return now


class RunMemory:
    """What runs over one bridge teach, by toolbelt. Used on the bridge's loop.

    `tell` is told once where it cannot be read. Nothing is kept and nothing known where the
    settings switch it off; without `toolSearch.learn` no words of requests are kept.
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
        self._known: OrderedDict[str | None, _Known] = OrderedDict()  # used last at the end

    async def learn_run(
        self, toolbelt: str, request: str, turns: Sequence[Sequence[UsedTool]]
    ) -> None:
        """A run went well that used these tools, one turn after the other. Does not raise."""
        if not self._learns or not turns:
            return
        try:
            # In a thread: results are strangers' words, of any size.
            run = await anyio.to_thread.run_sync(_observed, request, turns)
            self.learn_traced(toolbelt, request, run)
        except Exception:
            logger.exception("What a run taught could not be worked out")

    async def learn_plan(
        self, toolbelt: str, plan: Plan, tools: Sequence[ToolKey], results: Sequence[Any]
    ) -> None:
        """A plan was carried out whole with these tools. Does not raise."""
        if not self._learns:
            return
        try:
            run = await anyio.to_thread.run_sync(observed_plan, plan, tools, results)
            self.learn_traced(toolbelt, plan.request, run)
        except Exception:
            logger.exception("What a plan taught could not be worked out")

    def learn_traced(self, toolbelt: str, request: str, run: ObservedRun) -> None:
        """The same where it is known already what came from where; tools are known by their keys.

        From any thread. Returns at once.
        """
        calls, kept = _without_own(run.calls), list[KeptCall]()
        for call in calls:
            kept.append(KeptCall(self._recorder.subject(call.tool), call.sources))
        if not self._learns or not kept:
            return
        shapes = ((key, _text_of(x)) for key, several in run.shapes.items() for x in several)
        said = request if self._keeps_words else ""
        seen = [(key, text) for key, text in shapes if text and key.kind != META.name]
        self._recorder.learned_run(toolbelt or DEFAULT_TOOLBELT, said, kept, seen)

    async def remembered(self, toolbelt: str | None) -> Remembered:
        """What runs with a toolbelt taught, or all of the project."""
        if not self._learns:
            return NOTHING_LEARNED
        known = self._known_of(toolbelt)
        if known.reading is None:
            asked = self._recorder.read(partial(_news, toolbelt, known), NOTHING_LEARNED)
            known.reading = asyncio.wrap_future(asked)
            known.reading.add_done_callback(partial(self._take, known))
        await asyncio.wait([known.reading], timeout=_PATIENCE_SECONDS)
        return known.remembered

    def _known_of(self, toolbelt: str | None) -> _Known:
        known = self._known.setdefault(toolbelt, _Known())
        self._known.move_to_end(toolbelt)
        if len(self._known) > _MOST_TOOLBELTS:
            self._known.popitem(last=False)
        return known

    def _take(self, known: _Known, read: asyncio.Future[Remembered]) -> None:
        known.reading = None
        if read.cancelled() or (reason := read.exception()) is None:
            return
        logger.debug("What runs taught cannot be read", exc_info=reason)
        if not self._has_told:
            self._has_told = True
            self._tell(f"Plans are made without what runs taught: {reason}")


@dataclass
class _Known:
    """What is known of one toolbelt. Changed by the thread that reads the store."""

    remembered: Remembered = NOTHING_LEARNED
    revision: Revision | None = None
    reading: asyncio.Future[Remembered] | None = None


# What follows runs beside the loop.


def _observed(request: str, turns: Sequence[Sequence[UsedTool]]) -> ObservedRun:
    return observed_run(request, [[_seen(x) for x in turn] for turn in turns])


def _seen(used: UsedTool) -> SeenCall:
    names = _parameters(used.tool)
    return SeenCall(used.tool.key, used.arguments, _data_of(used.result), names)


def _parameters(tool: Tool) -> tuple[str, ...]:
    """Those that it declares. An argument that it takes besides may have a value for its name."""
    declared: Any = tool.input_schema.get("properties")
    if not isinstance(declared, Mapping):
        return ()
    return tuple(map(str, cast("Mapping[Any, Any]", declared)))


def _data_of(result: ToolResult) -> Any:
    """A result as data where it is any, else as text; None for pictures and the like."""
    if result.structured is not None:
        return result.structured
    if not any(isinstance(x, TextPart) for x in result.parts):
        return None
    text = result.text
    return parsed(text) if len(text) <= _READ_CHARS else text


def _without_own(calls: Sequence[TracedCall]) -> list[TracedCall]:
    """Without those of our own tools, which no plan has; places are counted anew."""
    places: dict[int, int] = {}
    for number, call in enumerate(calls):
        if call.tool.kind != META.name:
            places[number] = len(places)
    return [TracedCall(calls[n].tool, _counted_anew(calls[n], places)) for n in places]


def _counted_anew(
    call: TracedCall, places: Mapping[int, int]
) -> dict[str, tuple[int, str | None] | None]:
    return {
        name: (places[x[0]], x[1]) if x and x[0] in places else None
        for name, x in call.sources.items()
    }


def _text_of(shape: Shape) -> str:
    """As it is kept: as deep as there is room for."""
    for depth in _DEPTHS:
        made = shape_as_json(cut_at(shape, depth))
        text = json.dumps(made, separators=(",", ":"))
        if len(text) <= _SHAPE_CHARS:
            return text
    return ""


def _counted(times: int) -> int:
    return min(times, MOST_TIMES)


def _news(toolbelt: str | None, known: _Known, store: Store) -> Remembered:
    """What is known with what is new in the store."""
    from ..history.learned import NOTHING_YET, learnings_in

    found = learnings_in(store, toolbelt, known.revision or NOTHING_YET)
    before = known.remembered
    if found.runs or found.shapes or (found.is_whole and (before.runs or before.shapes)):
        known.remembered = _joined(before, found)
    known.revision = found.revision
    return known.remembered


def _joined(before: Remembered, found: Learnings) -> Remembered:
    runs, shapes = dict(before.runs), dict(before.shapes)
    if found.is_whole:
        runs, shapes = {}, {}
    for run in reversed(found.runs):
        runs.pop(run.id, None)  # to come last
        runs[run.id] = _plan_of(run), run.times
    for one in reversed(found.shapes):
        name = f"{one.tool.digest} {one.digest}"
        shapes.pop(name, None)
        shapes[name] = one.tool.key, shape_from_json(one.shape)
    return Remembered(runs, _newest(shapes), next(_ages) if found.is_whole else before.age)


def _newest(shapes: Mapping[str, tuple[ToolKey, Shape]]) -> dict[str, tuple[ToolKey, Shape]]:
    """As many of each tool as the store keeps."""
    from ..history.learned import MOST_SHAPES

    of_tools, kept = Counter[ToolKey](), list[str]()
    for name in reversed(list(shapes)):
        key, _ = shapes[name]
        of_tools[key] += 1
        if of_tools[key] <= MOST_SHAPES:
            kept.append(name)
    return {x: shapes[x] for x in reversed(kept)}


def _plan_of(run: KeptRun) -> JsonObject:
    calls = [{"tool": x.tool.key, "args": dict(_arguments(x))} for x in run.calls]
    return {"request": run.words, "calls": calls}


def _arguments(call: KeptCall) -> Iterable[tuple[str, JsonObject]]:
    for name, source in call.sources.items():
        if source is None:
            yield name, {"value": None}
        else:
            yield name, {"call": source[0], "field": source[1]}
