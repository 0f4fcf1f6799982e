"""Which operations of a document the settings choose, and what in them is wrong or names nothing.

It takes a while for thousands of operations, and templates are compiled: it is done in the thread
that reads the document, when that has changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ...core.errors import BadSetting
from ...core.events import Inventory
from ...core.names import did_you_mean
from ...core.patterns import Patterns, guard, unmatched, unmatched_guards
from ...settings.openapi import OpenApiSettings
from .conversion.operations import Operation, Problem
from .requests.overrides import check_templates

_MOST_PROBLEMS = 20  # in the status; a document that is wrong everywhere is said to be
_MOST_UNKNOWN = 20  # the same; to find what was meant takes a while for each


def inventory_of(
    settings: OpenApiSettings,
    operations: Mapping[str, Operation],
    problems: tuple[Problem, ...],
) -> Inventory:
    """What a source with these settings offers of these operations."""
    include, exclude = settings.include or ("*",), settings.exclude
    chosen = _fitting(include, operations) - _fitting(exclude, operations)
    off = tuple(filter(guard(*settings.disabled_tools), (x for x in operations if x in chosen)))
    chosen -= set(off)
    tools = tuple(x.tool for n, x in operations.items() if n in chosen)
    notes = (*_problems(problems), *_unknown(settings, operations), *_unusable(settings))
    return Inventory(settings.name, tools, notes=notes, disabled=off)


def _fitting(patterns: Iterable[str], names: Iterable[str]) -> set[str]:
    known = Patterns.of(patterns)
    return {x for x in names if known.fit_any((x,))}


def _problems(found: tuple[Problem, ...]) -> list[str]:
    shown = [f"no tool: {x}" for x in found[:_MOST_PROBLEMS]]
    more = len(found) - len(shown)
    return [*shown, f"and {more:,} more operations are no tools."] if more > 0 else shown


def _unknown(settings: OpenApiSettings, operations: Mapping[str, Operation]) -> list[str]:
    """What the settings name and the document does not have."""
    idle_names = {
        "include": unmatched(settings.include, operations),
        "exclude": unmatched(settings.exclude, operations),
        "disabledTools": unmatched_guards(settings.disabled_tools, operations),
        "operations": unmatched(settings.operations, operations),
    }
    missing = [(key, x) for key, names in idle_names.items() for x in names]
    known = list(operations)
    shown = [
        f"`{key}` names {x!r}, which the document does not have. {did_you_mean(x, known)}".rstrip()
        for key, x in missing[:_MOST_UNKNOWN]
    ]
    more = len(missing) - len(shown)
    return [*shown, f"and {more:,} more names are not in the document."] if more > 0 else shown


def _unusable(settings: OpenApiSettings) -> Iterator[str]:
    """What is wrong in templates of the settings; calls of those operations are refused."""
    for name, operation in settings.operations.items():
        try:
            check_templates(operation)
        except BadSetting as wrong:
            yield f"`operations`, at {name}: {wrong}"
