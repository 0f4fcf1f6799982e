"""A plan: the calls of tools, and the source of each argument; also as JSON.

    {"request": "Lend me a book about the sea.",
     "calls": [
       {"tool": "library/search_books", "args": {"query": {"value": "sea"}}},
       {"tool": "library/borrow_book", "args": {
          "book_id": {"call": 0, "field": "books[].id"},
          "reader": {"missing": "Who borrows it?"}}}]}

Calls count from 0; a call uses only the results of earlier ones. A `field` is a path as in `steps`.
An argument that is not an object is itself the value. A tool of a catalog has its `kind` and
`source` beside its name.
"""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from ..core.errors import XaiMcpError
from ..core.json import JsonObject, is_list, is_object
from ..core.tools import ToolKey, digest_of_value
from ..steps.references import BARE, CANVAS_SOURCE, First, Joined, Number, Reference, Somewhere

if TYPE_CHECKING:
    from pathlib import Path

_MOST_BYTES = 4 << 20  # limit for a file from a stranger
_STRICT = {"extra": "forbid"}
_FORM = 'A plan is an object with `calls`: a list of {"tool": "source/tool", "args": {...}}.'
_SOURCES = '{"value": ...}, {"call": 0, "field": "path"}, {"missing": "why"} or {"parts": [...]}'


class BadPlan(XaiMcpError):
    """Not a usable plan; the message names the call and its problem."""


@dataclass(frozen=True, slots=True)
class Value:
    """Value that the request contains, or that follows from it."""

    __pydantic_config__ = _STRICT

    value: Any
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FromResult:
    """Argument from the result of an earlier call, by its position in the plan.

    `field` is a path in that result, such as `orders[].id`, where `[]` is one of several. None
    stands for the value with the parameter's name, or else all of it. `conversion` is as in a flow.
    """

    __pydantic_config__ = _STRICT

    call: int
    field: str | None = None
    conversion: str = ""
    score: float = 0.0
    reasons: tuple[str, ...] = ()

    def step_value(self, parameter: str) -> Any:
        """Return the argument of a step: a `Reference` with its conversion.

        Raises:
            BadPlan: `field` is not a path.
        """
        # the parser is imported late: planners parse no paths
        from ..steps.reading import BadStep, read_path

        if self.field is None and BARE.fullmatch(parameter):
            return Reference(self.call, (Somewhere(parameter),))
        try:
            path = read_path(self.field or "")
        except BadStep as reason:
            raise BadPlan(f"`{self.field}` is not a path in a result. {reason}") from reason
        words = self.conversion.split(", ")
        if words[0] == "one of them":
            path = (*path, First.ITEM)
        reference = Reference(self.call, path)
        value: Any = reference
        for word in words:
            if word in ("written as text", "written as JSON"):
                value = Joined((reference,))
            elif word == "read as a number":
                value = Number(reference)
            elif word == "put in a list":
                value = [value]
        return value


@dataclass(frozen=True, slots=True)
class Missing:
    """Required argument without a value in the request or an earlier result."""

    __pydantic_config__ = _STRICT

    missing: str


@dataclass(frozen=True, slots=True)
class Parts:
    """Argument that is a list of several sources. People write these, planners do not."""

    __pydantic_config__ = _STRICT

    parts: tuple[Source, ...]


Source: TypeAlias = Value | FromResult | Missing | Parts


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """One call. `tool` is its key (a dict's `id`); `arguments` are sources by parameter.

    `confidence`, 0 to 1, is how well the words of the request fit this tool.
    """

    tool: Any
    name: str
    arguments: Mapping[str, Source]
    reasons: tuple[str, ...] = ()
    confidence: float = 0.0

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """Return the call for a file."""
        from pydantic_core import core_schema

        return core_schema.no_info_before_validator_function(_call_fields, handler(source))


@dataclass(frozen=True, slots=True)
class Edge:
    """Use of one call's result by another; both are positions in the plan."""

    producer: int
    consumer: int
    parameter: str


@dataclass(frozen=True, slots=True)
class Plan:
    """Calls in order. `problems` must be solved before it can run.

    `is_rough`: it follows from words and shapes alone; no model or person made it. `failed` says
    why servers could not be used.
    """

    request: str
    calls: tuple[PlannedCall, ...] = ()
    problems: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    is_rough: bool = False
    failed: Mapping[str, str] = field(default_factory=dict[str, str], compare=False)

    @property
    def edges(self) -> tuple[Edge, ...]:
        """Return the uses of one call's result by another."""
        return tuple(
            Edge(result.call, number, name)
            for number, call in enumerate(self.calls)
            for name, source in call.arguments.items()
            for result in results_in(source)
        )


def results_in(source: Source) -> Iterator[FromResult]:
    """Yield the parts of results that a source uses, in order."""
    if isinstance(source, FromResult):
        yield source
    elif isinstance(source, Parts):
        for part in source.parts:
            yield from results_in(part)


def why_missing(source: Source) -> str:
    """Return why an argument has no value, or ""."""
    match source:
        case Missing(reason):
            return reason or "the plan says so"
        case Parts(parts):
            return next((why for x in parts if (why := why_missing(x))), "")
        case _:
            return ""


def missing_argument_problems(calls: Sequence[PlannedCall]) -> Iterator[str]:
    """Yield a sentence for each call with missing arguments."""
    for number, call in enumerate(calls, 1):
        names = [repr(x) for x, source in call.arguments.items() if why_missing(source)]
        if names:
            yield f"Call {number}, {call.name}: you must give {', '.join(names)}."


def step_arguments(plan: Plan) -> list[JsonObject]:
    """Return the arguments of each call as those of a step, without the missing ones.

    Raises:
        BadPlan: a field is not a path, or a call uses the result of a later one.
    """
    return [
        {
            name: _step_value(source, name, number, f"Call {number + 1}, {call.name}: `{name}`")
            for name, source in call.arguments.items()
            if not why_missing(source)
        }
        for number, call in enumerate(plan.calls)
    ]


def _step_value(source: Source, parameter: str, number: int, place: str) -> Any:
    match source:
        case Value(value):
            return value
        case Parts(parts):
            return [_step_value(x, parameter, number, place) for x in parts]
        case FromResult(call) if 0 <= call < number:
            return source.step_value(parameter)
        case FromResult(call):
            raise BadPlan(
                f"{place} uses call {call}, counted from 0, which does not come before it. Put the "
                "calls in another order."
            )
        case Missing():
            return None


def tool_of(call: PlannedCall, source: str = "") -> tuple[str, str]:
    """Return source and name of a call's tool; `source` is the default.

    Raises:
        BadPlan: the call does not name its server.
    """
    if isinstance(call.tool, ToolKey):
        return call.tool.source or CANVAS_SOURCE, call.tool.name
    before, slash, after = str(call.tool).partition("/")
    if source or (slash and before and after):
        return (source, str(call.tool)) if source else (before, after)
    raise BadPlan(
        f"The tool {call.tool!s:.60} does not name its server. Write "
        f"`source/{call.tool!s:.60}`, or name the source of all with --source."
    )


def digest_of_plan(plan: Plan) -> str:
    """Return a short text that is the same for plans that make the same calls."""
    calls = plan_as_json(plan)["calls"]
    return digest_of_value({"calls": [{**x, "reasons": (), "confidence": 0} for x in calls]})


# JSON


def plan_as_json(plan: Plan) -> JsonObject:
    """Return the plan as JSON; `plan_from_json` reads back an equal one.

    Raises:
        BadPlan: JSON cannot represent a tool's key or a value.
    """
    return {
        "request": plan.request,
        "is_rough": plan.is_rough,
        "calls": [_call_as_json(x) for x in plan.calls],
        "problems": list(plan.problems),
        "reasons": list(plan.reasons),
    }


def plan_from_json(value: Any) -> Plan:
    """Read a plan from JSON; see this module for the form.

    Raises:
        BadPlan: it is not a plan; the message names the place.
    """
    from pydantic import ValidationError

    try:
        plan: Plan = _adapter(Plan).validate_python({"request": "", **_object(value)})
    except ValidationError as cause:
        raise BadPlan(_problem(cause.errors(include_url=False)[0])) from cause
    step_arguments(plan)
    return plan


def read_plan(file: str | Path) -> Plan:
    """Read the plan in a file.

    Raises:
        BadPlan: the file has no plan, or cannot be read; the message names it.
    """
    from pathlib import Path  # imported here: a planner does not need it

    from pydantic_core import from_json

    from ..secrets.private_files import open_to_read

    path = Path(os.path.expanduser(file))
    try:
        with os.fdopen(open_to_read(path), "rb") as stream:
            data = stream.read(_MOST_BYTES + 1)
    except (OSError, ValueError) as cause:
        why = cause.strerror if isinstance(cause, OSError) else cause
        raise BadPlan(f"{path} cannot be read: {why}. Name another file.") from cause
    try:
        if len(data) > _MOST_BYTES:
            raise BadPlan(f"This is too large for a plan: more than {_MOST_BYTES >> 20} MB.")
        # Windows PowerShell 5 writes this mark when it saves the output of a command.
        data = data.removeprefix(codecs.BOM_UTF8)
        return plan_from_json(from_json(data, allow_inf_nan=False))
    except BadPlan as reason:
        raise BadPlan(f"{path}: {reason}") from reason
    except ValueError as cause:
        raise BadPlan(f"{path}: This is not JSON: {cause}. {_FORM}") from cause


@cache
def _adapter(of: Any) -> Any:
    from pydantic import TypeAdapter  # imported here: it takes longer to load than a planner

    return TypeAdapter(of)


def _call_as_json(call: PlannedCall) -> JsonObject:
    from pydantic_core import PydanticSerializationError

    match call.tool:
        case ToolKey(kind, source, name):
            tool = {"kind": kind, "source": source, "tool": name}
        case str():
            tool = {"tool": call.tool}
        case _:
            raise BadPlan(f"The tool {call.tool!r:.60} has no `id` that is a text. Give it one.")
    sources = _adapter(dict[str, Source])
    try:
        args = sources.dump_python(dict(call.arguments), mode="json", exclude_defaults=True)
    except (PydanticSerializationError, ValueError) as cause:
        raise BadPlan(f"{call.name} has a value that JSON cannot hold: {cause}.") from cause
    reasons, confidence = list(call.reasons), call.confidence
    return {**tool, "name": call.name, "args": args, "reasons": reasons, "confidence": confidence}


def _call_fields(value: Any) -> Any:
    if not is_object(value):
        return value
    tool, kind, source = (value.get(x) or "" for x in ("tool", "kind", "source"))
    if not isinstance(tool, str) or not tool.strip():
        raise ValueError("it has no `tool`. Write its name there, such as `source/tool`")
    key = ToolKey(kind, source, tool) if kind else f"{source}/{tool}" if source else tool
    arguments = value.get("args", value.get("arguments"))
    if isinstance(arguments, Mapping):
        items = cast("Mapping[str, Any]", arguments).items()
        arguments = {name: _source_fields(x) for name, x in items}
    return {**value, "tool": key, "name": value.get("name") or tool, "arguments": arguments}


def _source_fields(value: Any) -> Any:
    """Treat anything but an object as a value."""
    if not isinstance(value, Mapping):
        return {"value": value}
    fields = dict(cast("Mapping[str, Any]", value))
    if is_list(parts := fields.get("parts")):
        fields["parts"] = [_source_fields(x) for x in parts]
    return fields


def _object(value: Any) -> JsonObject:
    fields = dict(cast("Mapping[str, Any]", value)) if isinstance(value, Mapping) else {}
    if not is_list(fields.get("calls")):
        raise BadPlan(f"This is not a plan: it has no `calls`. {_FORM}")
    return fields


def _problem(error: Any) -> str:
    place, problem = "The plan", error.get("ctx", {}).get("error") or error["msg"]
    match error["loc"]:
        case ("calls", number, "arguments", name, *_):
            place = f"Call {number + 1} of the plan: `{name!s:.60}`"
            problem = f"it is not a source of an argument. Write {_SOURCES}"
        case ("calls", number, *names):
            names = ["args" if x == "arguments" else x for x in names[:1]]
            place = ", ".join([f"Call {number + 1} of the plan", *(f"`{x}`" for x in names)])
        case names:
            place = ", ".join([place, *(f"`{x}`" for x in names[:1])])
    return f"{place}: {problem}. {_FORM}"
