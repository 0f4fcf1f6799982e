"""Plans as text; `planning.plan` writes them as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ..console.text import cut, one_line
from ..core.json import clip
from ..planning.plan import FromResult, Missing, Parts, Plan, PlannedCall, Source, Value

_VALUE_CHARS = _NAME_CHARS = 200
_REQUEST_CHARS = 300
_UNDER = " " * 3
_TITLES = {True: "A rough plan", False: "A plan"}
_PICKED = "one of them"  # as flows call it
NO_CALLS = "There is nothing to call."


def plan_text(plan: Plan, *, with_reasons: bool = True) -> str:
    """Return a plan to read: its calls, the origins of their arguments, and its problems."""
    return "\n".join(_lines(plan, with_reasons=with_reasons))


def source_text(source: Source) -> str:
    """Return the origin of an argument in words; calls are counted from 1."""
    match source:
        case Value(value):
            return _value_text(value)
        case FromResult(call, field, conversion):
            origin = f"{field} of call {call + 1}" if field else f"the result of call {call + 1}"
            return ", ".join((origin, *_conversion_words(field or "", conversion)))
        case Missing(reason):
            return f"you must give it: {reason}" if reason else "you must give it"
        case Parts(parts):
            return f"[{', '.join(map(source_text, parts))}]"


def _conversion_words(field: str, conversion: str) -> Iterator[str]:
    """Yield the conversions of a value. Only one of several values is used: plans have no loops."""
    words = conversion.split(", ") if conversion else []
    if "[]" in field or "{key}" in field or _PICKED in words:
        yield "only the first of several"
    yield from (x for x in words if x != _PICKED)


def _lines(plan: Plan, *, with_reasons: bool) -> Iterator[str]:
    yield one_line(f"{_TITLES[plan.is_rough]} for: {cut(plan.request, _REQUEST_CHARS)}")
    for number, call in enumerate(plan.calls, 1):
        yield from _call_lines(number, call, with_reasons=with_reasons)
    if not plan.calls:
        yield NO_CALLS
    if plan.problems:
        yield "Fix before running:"
        yield from (one_line(x, "- ") for x in plan.problems)
    if plan.reasons and with_reasons:
        yield "About this plan:"
        yield from (one_line(x, "- ") for x in plan.reasons)


def _call_lines(number: int, call: PlannedCall, *, with_reasons: bool) -> Iterator[str]:
    yield one_line(f"{number}. {cut(str(call.tool), _NAME_CHARS)}")
    for name, source in call.arguments.items():
        why = _why(source) if with_reasons else ""
        text = f"{cut(name, _NAME_CHARS)}: {source_text(source)}"
        yield one_line(f"{text} ({why})" if why else text, _UNDER)
    if call.reasons and with_reasons:
        yield one_line("; ".join(call.reasons), f"{_UNDER}- ")


def _why(source: Source) -> str:
    if isinstance(source, Value | FromResult):
        return "; ".join(source.reasons)
    return ""


def _value_text(value: Any) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = repr(value)
    return clip(text, _VALUE_CHARS)
