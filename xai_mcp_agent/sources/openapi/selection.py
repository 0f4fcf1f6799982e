"""Which operations of a document the settings choose, and what in them is wrong or names nothing.

It takes a while for thousands of operations, and templates are compiled: it is done in the thread
that reads the document, when that has changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from ...core.errors import BadSetting
from ...core.events import Inventory
from ...core.patterns import unmatched
from ...settings.openapi import OpenApiSettings
from ..choice import choose
from .operations import Operation, Problem
from .templates import check_templates

_MAX_NOTES = 20  # of a kind, in the status


def inventory_of(
    settings: OpenApiSettings,
    operations: Mapping[str, Operation],
    problems: tuple[Problem, ...],
) -> Inventory:
    """Return what a source with these settings offers of these operations."""
    choice = choose(operations, settings, "which the document does not have")
    unknown = [f"`operations` names {x!r}, which the document does not have."
               for x in unmatched(settings.operations, operations)]  # fmt: skip
    notes = (
        *_first((f"no tool: {x}" for x in problems), "operations are no tools"),
        *_first((*choice.notes, *unknown), "names are not in the document"),
        *_template_notes(settings),
    )
    tools = tuple(operations[x].tool for x in choice.names)
    return Inventory(settings.name, tools, notes=notes, disabled=choice.disabled)


def _first(notes: Iterable[str], others: str) -> Iterator[str]:
    """Yield the first notes, and how many more there are."""
    several = iter(notes)
    yield from islice(several, _MAX_NOTES)
    if more := sum(1 for _ in several):
        yield f"and {more:,} more {others}."


def _template_notes(settings: OpenApiSettings) -> Iterator[str]:
    """Tell what is wrong in templates of the settings; calls of those operations are refused."""
    for name, operation in settings.operations.items():
        try:
            check_templates(operation)
        except BadSetting as wrong:
            yield f"`operations`, at {name}: {wrong}"
