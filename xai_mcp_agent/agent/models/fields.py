"""Values in what a service sent, read with care: services leave out and mix up what they like."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from .base import Usage


def mapping(value: Any) -> Mapping[str, Any]:
    """The value if it is an object, else an empty one."""
    return cast(Mapping[str, Any], value) if isinstance(value, Mapping) else {}


def sequence(value: Any) -> Sequence[Any]:
    """The value if it is a list, else an empty one."""
    return cast(list[Any], value) if isinstance(value, list) else []


def usage_of(usage: Mapping[str, Any], input_name: str, output_name: str) -> Usage:
    """What a service counted, with the names that its API has for what goes in and comes out."""
    details = [mapping(usage.get(f"{x}_tokens_details")) for x in (input_name, output_name)]
    counted = (
        usage.get(f"{input_name}_tokens"),
        usage.get(f"{output_name}_tokens"),
        details[0].get("cached_tokens"),
        details[1].get("reasoning_tokens"),
    )
    return Usage(*(x if isinstance(x, int) else 0 for x in counted))
