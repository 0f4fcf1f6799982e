"""Plans as JSON: written without loss, and read back with a clear word on what is no plan.

    {"request": "Lend me a book about the sea.",
     "calls": [
       {"tool": "library/search_books", "args": {"query": {"value": "sea"}}},
       {"tool": "library/borrow_book", "args": {
          "book_id": {"call": 0, "field": "books[].id"},
          "reader": {"missing": "Who borrows it?"}}}]}

A call is counted from 0, and uses only what comes before it. An argument is `{"value": ...}`, a
part of a call's result, `{"missing": "why"}`, or `{"parts": [...]}`, a list of these; what is no
object is a value itself. Everything else may be left out. A tool of a catalog has its `kind` and
`source` beside it. A file may come from anywhere: size, depth and number are limited.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from ..core.errors import XaiMcpError
from ..core.json import JsonObject
from ..core.tools import ToolKey, digest_of_value
from ..secrets.private_files import open_to_read
from .plans import (
    EARLIER,
    FromResult,
    Given,
    Missing,
    Parts,
    Plan,
    PlannedCall,
    Source,
    source_from,
)

_MOST_BYTES = 4 << 20  # texts of a request's size, and a document or two
_MOST_CALLS = 200
_DEEPEST = 60  # as far as a step of a workflow can be read
_SHOWN = 60
_FORM = 'A plan is an object with `calls`: a list of {"tool": "source/tool", "args": {...}}.'
_SOURCES = '{"value": ...}, {"call": 0, "field": "path"}, {"missing": "why"} or {"parts": [...]}'


class BadPlan(XaiMcpError):
    """This is no plan, or none that can be used; the message says which call, and what it lacks."""


def plan_as_json(plan: Plan) -> JsonObject:
    """The plan for a file; `plan_from_json` reads back an equal one.

    Of a careful plan, it is the calls alone: what it says of its conversation is left out.

    Raises:
        BadPlan: a tool's key or a value is nothing that JSON can hold.
    """
    told: JsonObject = {
        "request": plan.request,
        "is_rough": plan.is_rough,
        "calls": [_call_as_json(x) for x in plan.calls],
        "problems": list(plan.problems),
        "reasons": list(plan.reasons),
    }
    _check_json(told)
    return told


def plan_from_json(value: Any) -> Plan:
    """The plan that is written so; see this module for the form.

    Raises:
        BadPlan: it is none.
    """
    known = cast(JsonObject, value) if isinstance(value, Mapping) else {}
    calls: Any = known.get("calls")
    if not isinstance(calls, list):
        raise BadPlan(f"This is no plan: it has no `calls`. {_FORM}")
    _check_json(known)
    calls = cast(list[Any], calls)
    if len(calls) > _MOST_CALLS:
        raise BadPlan(f"This plan has {len(calls):,} calls, and at most {_MOST_CALLS} can be made.")
    return Plan(
        _text(known, "request", "The plan"),
        tuple(_call(number, x) for number, x in enumerate(calls)),
        _texts(known, "problems", "The plan"),
        _texts(known, "reasons", "The plan"),
        known.get("is_rough", False) is True,
    )


def read_plan(file: str | Path) -> Plan:
    """The plan in a file.

    Raises:
        BadPlan: there is none, or it cannot be read; the message names the file.
    """
    path = Path(os.path.expanduser(file))
    try:
        with os.fdopen(open_to_read(path), "rb") as opened:
            data = opened.read(_MOST_BYTES + 1)
    except (OSError, ValueError) as cause:
        why = cause.strerror if isinstance(cause, OSError) else cause
        raise BadPlan(f"{path} cannot be read: {why}. Name another file.") from cause
    try:
        return plan_from_text(data)
    except BadPlan as reason:
        raise BadPlan(f"{path}: {reason}") from reason


def plan_from_text(text: str | bytes) -> Plan:
    """The plan in a text of JSON.

    Raises:
        BadPlan: it has none.
    """
    if len(text) > _MOST_BYTES:
        raise BadPlan(_too_large())
    if not text.strip():
        raise BadPlan(f"This is empty. {_FORM}")
    try:
        value: Any = json.loads(text)
    except RecursionError as cause:
        raise BadPlan(_too_deep()) from cause
    except ValueError as cause:
        raise BadPlan(f"This is no JSON: {cause}. {_FORM}") from cause
    return plan_from_json(value)


def digest_of_plan(plan: Plan) -> str:
    """A short text that is the same for plans that make the same calls."""
    calls: list[JsonObject] = [
        {**_call_as_json(x), "reasons": (), "confidence": 0} for x in plan.calls
    ]
    return digest_of_value({"calls": calls})


# Writing


def _call_as_json(call: PlannedCall) -> JsonObject:
    return {
        **_tool_as_json(call.tool),
        "name": call.name,
        "args": {name: _source_as_json(x) for name, x in call.arguments.items()},
        "reasons": list(call.reasons),
        "confidence": call.confidence,
    }


def _tool_as_json(tool: Any) -> JsonObject:
    if isinstance(tool, ToolKey):
        return {"kind": tool.kind, "source": tool.source, "tool": tool.name}
    if isinstance(tool, str):
        return {"tool": tool}
    raise BadPlan(f"The tool {tool!r:.{_SHOWN}} cannot be written. Give it an `id` that is a text.")


def _source_as_json(source: Source) -> JsonObject:
    match source:
        case Given(value, reasons):
            return {"value": value, **_reasons(reasons)}
        case FromResult(call) if call == EARLIER:
            raise BadPlan(
                "This plan uses a result of an earlier request, which no file has. Plan without a "
                "`situation`, or say that value in the request."
            )
        case FromResult(call, field, conversion, score, reasons):
            told: JsonObject = {"call": call, "field": field, **({"score": score} if score else {})}
            return {
                **told,
                **({"conversion": conversion} if conversion else {}),
                **_reasons(reasons),
            }
        case Missing(reason):
            return {"missing": reason}
        case Parts(parts):
            return {"parts": [_source_as_json(x) for x in parts]}


def _reasons(reasons: tuple[str, ...]) -> JsonObject:
    return {"reasons": list(reasons)} if reasons else {}


# Reading


def _call(number: int, value: Any) -> PlannedCall:
    place = f"Call {number + 1} of the plan"
    tool = cast(JsonObject, value).get("tool") if isinstance(value, dict) else None
    if not isinstance(tool, str) or not tool.strip():
        raise BadPlan(f"{place} has no `tool`. Write its name there, such as `source/tool`.")
    known = cast(JsonObject, value)
    place = f"{place}, {tool:.{_SHOWN}}"
    kind, source = _text(known, "kind", place), _text(known, "source", place)
    given = known.get("args", known.get("arguments"))
    if not isinstance(given, Mapping):
        raise BadPlan(
            f"{place}, has no arguments, so it cannot be made: write `args` as an object."
        )
    arguments = {
        str(name): _argument(number, x, f"{place}: `{name!s:.{_SHOWN}}`")
        for name, x in cast("Mapping[Any, Any]", given).items()
    }
    return PlannedCall(
        ToolKey(kind, source, tool) if kind else f"{source}/{tool}" if source else tool,
        _text(known, "name", place) or tool,
        arguments,
        _texts(known, "reasons", place),
        _number(known, "confidence", place),
    )


def _argument(number: int, told: Any, place: str) -> Source:
    source = source_from(told)
    if source is None:
        raise BadPlan(f"{place} is no source of an argument. Write {_SOURCES}.")
    _check_source(source, number, place)
    return source


def _check_source(source: Source, number: int, place: str) -> None:
    match source:
        case FromResult(call) if not 0 <= call < number:
            raise BadPlan(
                f"{place} uses call {call}, counted from 0, which does not come before it. Put the "
                "calls in another order."
            )
        case Parts(parts):
            for part in parts:
                _check_source(part, number, place)
        case _:
            pass


def _text(known: Mapping[str, Any], name: str, place: str) -> str:
    value = known.get(name)
    if value is not None and not isinstance(value, str):
        raise BadPlan(f"{place} has a `{name}` that is no text.")
    return value or ""


def _texts(known: Mapping[str, Any], name: str, place: str) -> tuple[str, ...]:
    value = known.get(name)
    found = cast(list[Any], value) if isinstance(value, list) else []
    if (value is not None and not isinstance(value, list)) or not all(
        isinstance(x, str) for x in found
    ):
        raise BadPlan(f"{place} has `{name}` that are no list of texts.")
    return tuple(found)


def _number(known: Mapping[str, Any], name: str, place: str) -> float:
    value = known.get(name, 0.0)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadPlan(f"{place} has a `{name}` that is no number.")
    return value


def _check_json(value: Any) -> None:
    """See that JSON can hold it, and that nobody goes under in it."""
    _check_depth(value)
    try:
        size = len(json.dumps(value, ensure_ascii=False, allow_nan=False).encode())
    except (TypeError, ValueError, RecursionError) as cause:
        raise BadPlan(f"The plan has a value that JSON cannot hold: {cause}.") from cause
    if size > _MOST_BYTES:
        raise BadPlan(_too_large())


def _check_depth(value: Any) -> None:
    level, depth, count = [value], 0, 0
    while level:
        depth, count = depth + 1, count + len(level)
        if depth > _DEEPEST:
            raise BadPlan(_too_deep())
        if count > _MOST_BYTES:
            raise BadPlan(_too_large())
        inner: list[Any] = []
        for x in level:
            if isinstance(x, Mapping):
                inner += cast("Mapping[Any, Any]", x).values()
            elif isinstance(x, list | tuple):
                inner += cast("list[Any]", x)
        level = inner


def _too_large() -> str:
    return f"This is too large for a plan: more than {_MOST_BYTES >> 20} MB."


def _too_deep() -> str:
    return f"This is nested more than {_DEEPEST} deep, which no plan is."
