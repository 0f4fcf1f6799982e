"""Which operations of a document the settings choose, and what in them is wrong or names nothing.

It takes a while for thousands of operations, and templates are compiled: it is done in the thread
that reads the document, when that has changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...core.errors import BadSetting
from ...core.events import Inventory
from ...core.names import did_you_mean
from ...core.patterns import Patterns, guard, unmatched, unmatched_guards
from ...settings.openapi import OpenApiSettings
from .operations import Operation, Problem
from .templates import check_templates

_MAX_SHOWN = 20  # in the status; to find what was meant takes a while for each


def inventory_of(
    settings: OpenApiSettings,
    operations: Mapping[str, Operation],
    problems: tuple[Problem, ...],
) -> Inventory:
    """Return what a source with these settings offers of these operations."""
    include = Patterns.of(settings.include or ("*",))
    exclude = Patterns.of(settings.exclude)
    selected = [x for x in operations if include.fit_any((x,)) and not exclude.fit_any((x,))]
    disabled = tuple(filter(guard(*settings.disabled_tools), selected))
    off = set(disabled)
    tools = tuple(operations[x].tool for x in selected if x not in off)
    notes = (
        *_problem_notes(problems), *_unknown_notes(settings, operations), *_template_notes(settings)
    )  # fmt: skip
    return Inventory(settings.name, tools, notes=notes, disabled=disabled)


def _problem_notes(problems: tuple[Problem, ...]) -> Iterator[str]:
    yield from (f"no tool: {x}" for x in problems[:_MAX_SHOWN])
    if (more := len(problems) - _MAX_SHOWN) > 0:
        yield f"and {more:,} more operations are no tools."


def _unknown_notes(settings: OpenApiSettings, operations: Mapping[str, Operation]) -> Iterator[str]:
    """Name what the settings name and the document does not have."""
    names = {
        "include": unmatched(settings.include, operations),
        "exclude": unmatched(settings.exclude, operations),
        "disabledTools": unmatched_guards(settings.disabled_tools, operations),
        "operations": unmatched(settings.operations, operations),
    }
    missing = [(key, x) for key, several in names.items() for x in several]
    for key, name in missing[:_MAX_SHOWN]:
        hint = did_you_mean(name, list(operations))
        yield f"`{key}` names {name!r}, which the document does not have. {hint}".rstrip()
    if (more := len(missing) - _MAX_SHOWN) > 0:
        yield f"and {more:,} more names are not in the document."


def _template_notes(settings: OpenApiSettings) -> Iterator[str]:
    """Tell what is wrong in templates of the settings; calls of those operations are refused."""
    for name, operation in settings.operations.items():
        try:
            check_templates(operation)
        except BadSetting as wrong:
            yield f"`operations`, at {name}: {wrong}"
