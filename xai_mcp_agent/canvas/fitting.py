"""The calls in a workflow's file, for checks before it runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..core.json import JsonObject
from ..drawing.reading import NoWorkflow, ReadCall, calls_in_file
from ..planning.answered import CheckedCalls, NamedCall
from ..planning.plan import FromResult, Given, Missing, Parts, Source
from ..steps.references import Reference, path_text, references_in
from ..views.fitting import wire_problem_json


def problems_json(checked: CheckedCalls, calls: Sequence[NamedCall]) -> list[JsonObject]:
    """The problems as dicts."""
    return [wire_problem_json(x, calls) for x in checked.problems]


def calls_of_workflow(file: Path) -> list[NamedCall]:
    """The calls in a workflow's file.

    Raises:
        NoWorkflow: it is none.
    """
    try:
        return [_named(x) for x in calls_in_file(file)]
    except RecursionError as cause:
        raise NoWorkflow(
            f"{file} has arguments that are too deep to be looked at. Name another file."
        ) from cause


def _named(call: ReadCall) -> NamedCall:
    arguments = {
        name: Missing("nobody gave it yet") if name in call.missing else _source(x)
        for name, x in call.arguments.items()
    }
    return NamedCall(call.source, call.tool, arguments, call.is_open, call.problem)


def _source(value: Any) -> Source | None:
    """What an argument is; what is joined, or taken out of a text, is its parts."""
    references = references_in(value)
    if not references:
        return Given(value)
    found = tuple(_from(x) for x in references if x.result >= 0)
    if isinstance(value, Reference) and not (value.after or value.before):
        return found[0] if found else None
    return Parts(found)


def _from(reference: Reference) -> FromResult:
    return FromResult(reference.result, path_text(reference.path).removeprefix(".") or None)
