"""The calls of a run that went well, without values, and as they are written down."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..core.tools import kind_named
from .event import Subject

Sources: TypeAlias = Mapping[str, tuple[int, str | None] | None]
"""By parameter: None where it was given, else the place of a call before and the field there."""


@dataclass(frozen=True, slots=True)
class KeptCall:
    """One call of a run that went well, without values."""

    tool: Subject
    sources: Sources


def calls_as_json(calls: Iterable[KeptCall]) -> str:
    """Small, in ASCII: each call is its tool and its sources, 0 for what was given."""
    told = [
        [x.tool.kind.name, x.tool.source, x.tool.tool or "", _sources_as_json(x.sources)]
        for x in calls
    ]
    return json.dumps(told, separators=(",", ":"))


def calls_from_json(value: Any) -> tuple[KeptCall, ...]:
    """The calls that were written so.

    Raises:
        ValueError, TypeError, AttributeError, IndexError: they are none.
    """
    return tuple(
        KeptCall(Subject(kind_named(kind), source, tool), _sources_from_json(sources))
        for kind, source, tool, sources in value
    )


def checked_calls(value: Any) -> tuple[KeptCall, ...]:
    """As `calls_from_json`, of calls that each take from earlier ones only.

    Raises:
        ValueError, TypeError, AttributeError, IndexError: they are none.
    """
    calls = calls_from_json(value)
    for number, call in enumerate(calls):
        if any(x is not None and not 0 <= x[0] < number for x in call.sources.values()):
            raise ValueError("a call takes from one that does not come before it")
    return calls


def _sources_as_json(sources: Sources) -> dict[str, Any]:
    return {name: 0 if x is None else list(x) for name, x in sources.items()}


def _sources_from_json(value: Any) -> Sources:
    return {
        str(name): None if x == 0 else (int(x[0]), None if x[1] is None else str(x[1]))
        for name, x in value.items()
    }
