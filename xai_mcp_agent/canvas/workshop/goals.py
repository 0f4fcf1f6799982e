"""Goals of a lesson as values, judged by the events of a run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, cast

from ...core.json import JsonObject

_QUOTE_CHARS = 160  # characters of a text that a hint quotes: two lines
_WHOLE = ("problem", "error", "left_out")  # these end with what to do, and are not cut


@dataclass(frozen=True)
class Like:
    """A text that matches this pattern, in any case; `^` and `$` are the ends of a line."""

    pattern: str


@dataclass(frozen=True)
class Other:
    """A non-empty value other than these."""

    than: tuple[Any, ...]


FieldPattern: TypeAlias = Like | Other | str | int | float | bool | list[Any]
"""The value of a field, or a pattern for it."""


@dataclass(frozen=True)
class EventPattern:
    """A pattern for events of one type with these fields; `a__b` is `b` in the field `a`."""

    event: str
    fields: tuple[tuple[str, FieldPattern], ...]

    def fits(self, event: JsonObject) -> bool:
        """Return whether the event matches."""
        return event.get("event") == self.event and all(
            _is(_field(event, name), expected) for name, expected in self.fields
        )


@dataclass(frozen=True)
class Hint:
    """A text for a goal that is not met, if `when` matches an event; `{field}` quotes the event."""

    say: str
    when: EventPattern


@dataclass(frozen=True)
class Goal:
    """A sentence that is true if all of `needs` match events; else the first fitting hint helps.

    A hint that is a text always matches.
    """

    sentence: str
    needs: tuple[EventPattern, ...]
    hints: tuple[Hint | str, ...]


@dataclass(frozen=True)
class GoalResult:
    """A goal after a run; `missing` says what to do next if it is not met."""

    sentence: str
    is_met: bool
    missing: str = ""


def event(name: str, /, **fields: FieldPattern) -> EventPattern:
    """Return a pattern for an event of this type with these fields."""
    return EventPattern(name, tuple(fields.items()))


def goal(sentence: str, needs: EventPattern | tuple[EventPattern, ...], *hints: Hint | str) -> Goal:
    """Return a goal with its hints in order."""
    return Goal(sentence, needs if isinstance(needs, tuple) else (needs,), hints)


RUN_GOAL = goal(
    "The workflow ran to its end.",
    event("WorkflowFinished"),
    Hint("{problem}", event("WorkflowFailed")),
)
"""The first goal of every lesson."""


def judge_run(
    goals: Sequence[Goal], events: Sequence[JsonObject], problem: str | None
) -> list[GoalResult]:
    """Judge `RUN_GOAL` and a lesson's goals by the events; `problem` is why the run did not finish.

    A problem is the only next step: other gaps show once the workflow runs.
    """
    last: JsonObject = {"event": "WorkflowFinished"}
    if problem is not None:
        last = {"event": "WorkflowFailed", "problem": problem}
    first, *others = (judge(x, [*events, last]) for x in (RUN_GOAL, *goals))
    return [first, *(others if problem is None else [replace(x, missing="") for x in others])]


def judge(goal: Goal, events: Sequence[JsonObject]) -> GoalResult:
    """Return whether a goal is met, and if not, what to do."""
    if all(any(need.fits(event) for event in events) for need in goal.needs):
        return GoalResult(goal.sentence, True)
    return GoalResult(goal.sentence, False, next(_hints(goal, events), ""))


def _hints(goal: Goal, events: Sequence[JsonObject]) -> Iterator[str]:
    for hint in goal.hints:
        if isinstance(hint, str):
            yield hint
        elif event := next((x for x in events if hint.when.fits(x)), None):
            yield _fill(hint.say, event)


def _fill(say: str, event: JsonObject) -> str:
    return re.sub(r"\{(\w+)\}", lambda match: _quote(event, match[1]), say)


def _quote(event: JsonObject, name: str) -> str:
    text = " ".join(_as_text(_field(event, name)).split())
    is_short = len(text) <= _QUOTE_CHARS or name in _WHOLE
    return text if is_short else f"{text[:_QUOTE_CHARS].rsplit(' ', 1)[0]} ..."


def _field(event: JsonObject, name: str) -> Any:
    value: Any = event
    for part in name.split("__"):
        value = cast(Mapping[str, Any], value).get(part) if isinstance(value, Mapping) else None
    return value


def _is(value: Any, expected: FieldPattern) -> bool:
    match expected:
        case Like(pattern):
            return re.search(pattern, _as_text(value), re.IGNORECASE | re.MULTILINE) is not None
        case Other(than):
            return bool(_as_text(value).strip()) and value not in than
        case _:
            return value == expected


def _as_text(value: Any) -> str:
    if isinstance(value, list):
        return "\n".join(_as_text(x) for x in cast(list[Any], value))
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False)
