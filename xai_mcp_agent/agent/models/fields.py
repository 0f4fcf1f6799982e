"""Values in what a service sent, read with care: services leave out and mix up what they like."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast


def mapping(value: Any) -> Mapping[str, Any]:
    """The value if it is an object, else an empty one."""
    return cast(Mapping[str, Any], value) if isinstance(value, Mapping) else {}


def sequence(value: Any) -> Sequence[Any]:
    """The value if it is a list, else an empty one."""
    return cast(list[Any], value) if isinstance(value, list) else []


def counts(*values: Any) -> tuple[int, ...]:
    """The numbers among these, 0 for anything else."""
    return tuple(x if isinstance(x, int) else 0 for x in values)
