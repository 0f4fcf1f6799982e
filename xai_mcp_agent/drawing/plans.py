"""Plans as JSON: calls with a source for each argument.

    {"calls": [{"tool": "library/search_books", "args": {"query": {"value": "sea"}}},
               {"tool": "library/get_book", "args": {"book_id": {"call": 0, "field": "[].id"}}}]}

A source of an argument is `{"value": ...}`, a part of an earlier call's result, `{"parts": [...]}`
(a list of sources) or `{"missing": "why"}`; anything else is a value itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

from ..core.errors import XaiMcpError
from ..core.step_reading import BadStep, read_path
from ..core.steps import Reference
from ..core.tools import JsonObject
from .calls import DrawnCall

_ODD_NAME = re.compile(r"(?:^|(?<=[.\]]))([^.\[\]{}]*[^\w.\[\]{}-][^.\[\]{}]*)(?=$|[.\[])")


class BadPlan(XaiMcpError):
    """A plan cannot be drawn; the message says which call."""


def calls_of_plan(plan: JsonObject, source: str = "") -> list[DrawnCall]:
    """The calls of a plan; `source` is that of tools that name none.

    Raises:
        BadPlan: it is none, or one of its calls is not known well enough.
    """
    calls: Any = plan.get("calls")
    if not isinstance(calls, list):
        raise BadPlan("This plan has no `calls`: a list of tools, each with its `args`.")
    return [_call(n, x, source) for n, x in enumerate(cast(list[Any], calls))]


def _call(number: int, call: Any, source: str) -> DrawnCall:
    place = f"Call {number + 1} of the plan"
    if not isinstance(call, dict) or not isinstance(cast(JsonObject, call).get("tool"), str):
        raise BadPlan(f"{place} has no `tool`. Write its name there.")
    known = cast(JsonObject, call)
    named, tool = _named(known, source)
    if not named:
        raise BadPlan(
            f"{place}, {tool}, does not say whose tool it is. Write `source/{tool}`, or name the "
            "source of all with --source."
        )
    given: Any = known.get("args", known.get("arguments"))
    if not isinstance(given, Mapping):
        raise BadPlan(f"{place}, {named}/{tool}, has no arguments, so it cannot be made.")
    arguments, missing = dict[str, Any](), dict[str, str]()
    for name, x in cast(Mapping[str, Any], given).items():
        if isinstance(x, dict) and list(cast(JsonObject, x)) == ["missing"]:
            missing[name] = str(cast(JsonObject, x)["missing"])
        else:
            arguments[name] = _argument(x, number, f"{place}, {named}/{tool}: `{name}`")
    return DrawnCall(named, tool, arguments, missing, str(known.get("note") or ""))


def _named(call: JsonObject, source: str) -> tuple[str, str]:
    tool = str(call["tool"])
    if named := call.get("source"):
        return str(named), tool
    before, slash, after = tool.partition("/")
    return (before, after) if slash and not source else (source, tool)


def _argument(given: Any, number: int, place: str) -> Any:
    if not isinstance(given, dict):
        return given
    known = cast(JsonObject, given)
    names = set(known)
    if names == {"value"}:
        return known["value"]
    if names == {"parts"} and isinstance(known["parts"], list):
        return [_argument(x, number, place) for x in cast(list[Any], known["parts"])]
    if "call" in names <= {"call", "field"}:
        earlier: Any = known["call"]
        if not isinstance(earlier, int) or not 0 <= earlier < number:
            raise BadPlan(f"{place} uses call {earlier}, from 0 on, which does not come before it.")
        return Reference(earlier, _path(known.get("field"), place))
    return known


def _path(written: Any, place: str) -> tuple[Any, ...]:
    # Names with spaces and the like have no quotation marks in plans.
    text = _ODD_NAME.sub(lambda found: f'["{found[1]}"]', str(written or ""))
    try:
        return read_path(text.replace('.["', '["'))
    except BadStep as reason:
        raise BadPlan(f"{place}: `{written}` is no path in a result. {reason}") from reason
