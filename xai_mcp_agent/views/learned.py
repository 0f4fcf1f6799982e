"""What runs taught, as text and as JSON: there is no value in it, so all of it can be shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

from ..console.text import count, wrap
from ..core.json import JsonObject
from ..core.visible import visible_text
from .history import subject_text
from .times import time_text, utc_text

if TYPE_CHECKING:
    from ..planning.learned_runs import LearnedCall, LearnedRun, LearnedShape, Learnings

_INDENT = " " * 4
_NO_WORDS = "(what was asked for is not kept)"
_MOST_SHOWN = 2_000  # characters of one shape


def learned_text(found: Learnings, width: int, *, is_forgotten: bool = False) -> str:
    """All of it for a person; the runs made last come first."""
    runs, shapes = count(len(found.runs), "run"), count(len(found.shapes), "shape")
    did = "Forgotten" if is_forgotten else "Learned"
    lines = [f"{did}: {runs}, {shapes} of results."]
    for run in found.runs:
        lines += _run_lines(run, width)
    for one in found.shapes:
        said = f"{subject_text(one.tool)} ({one.toolbelt}) gave {_often(one.times)}:"
        lines += wrap(f"{said} {shape_text(one.shape)}", width, "", _INDENT)
    return "\n".join(lines)


def learned_json(found: Learnings) -> JsonObject:
    """The same for programs. Calls are counted from 0, as in a plan."""
    return {
        "runs": [_run_json(x) for x in found.runs],
        "shapes": [_shape_json(x) for x in found.shapes],
    }


def shape_text(shape: Any) -> str:
    """A shape, as JSON has it, in short: `{orders: [{id: string}]}`."""
    return visible_text(_shape_text(shape), _MOST_SHOWN)


def _shape_text(shape: Any) -> str:
    if not isinstance(shape, Mapping) or not shape:
        return str(cast("object", shape)).replace("?", " or null")
    told = cast("Mapping[str, Any]", shape)
    (kind, inner), *_ = told.items()
    match kind.rstrip("?"), inner:
        case "array", _:
            text = f"[{'any' if inner is None else _shape_text(inner)}]"
        case "object", _:
            fields = cast("Mapping[str, Any]", inner or {})
            named = [f"{x}: {_shape_text(y)}" for x, y in fields.items()]
            named += [f"any name: {_shape_text(told['extra'])}"] if "extra" in told else []
            text = f"{{{', '.join(named)}}}"
        case "union", [*several]:
            text = " or ".join(map(_shape_text, several))
        case _:
            text = kind.rstrip("?")
    return f"{text} or null" if kind.endswith("?") else text


def _run_lines(run: LearnedRun, width: int) -> Iterator[str]:
    when = f"{time_text(run.used)}  "
    said = f"{run.words or _NO_WORDS} ({run.toolbelt}, {_often(run.times)})"
    yield from wrap(said, width, when, _INDENT)
    for number, call in enumerate(run.calls, 1):
        sources = ", ".join(_source_text(call, name) for name in call.sources)
        text = f"{subject_text(call.tool)}({sources})"
        yield from wrap(text, width, f"{_INDENT}{number}. ", _INDENT * 2)


def _source_text(call: LearnedCall, name: str) -> str:
    source = call.sources[name]
    if source is None:
        return f"{name}: given"
    place, field = source
    return f"{name}: {field or 'a part'} of {place + 1}"


def _often(times: int) -> str:
    return "once" if times == 1 else f"{times:,} times"


def _run_json(run: LearnedRun) -> JsonObject:
    return {
        "toolbelt": run.toolbelt,
        "request": run.words,
        "times": run.times,
        "learned": utc_text(run.learned),
        "used": utc_text(run.used),
        "calls": [
            {**_tool_json(x), "arguments": {y: _source_json(z) for y, z in x.sources.items()}}
            for x in run.calls
        ],
    }


def _source_json(source: tuple[int, str | None] | None) -> JsonObject | str:
    return "given" if source is None else {"call": source[0], "field": source[1]}


def _shape_json(one: LearnedShape) -> JsonObject:
    told = {"toolbelt": one.toolbelt, **_tool_json(one), "times": one.times}
    return {**told, "used": utc_text(one.used), "shape": one.shape}


def _tool_json(one: LearnedCall | LearnedShape) -> JsonObject:
    return {"kind": one.tool.kind.name, "server": one.tool.source, "tool": one.tool.tool}
