"""Hides what is secret in JSON that is to be kept."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, cast


def masked_text(text: str, mask: Callable[[str], str]) -> str:
    """The JSON text, with every text in it masked; itself if there is nothing to hide.

    Masked as a whole it might be JSON no more: a secret of digits may be part of a number.
    """
    return text if mask(text) == text else json.dumps(masked_json(json.loads(text), mask))


def masked_json(value: Any, mask: Callable[[str], str]) -> Any:
    """The JSON value, with every text and every number in it masked."""
    match value:
        case str():
            return mask(value)
        case bool() | None:
            return value
        case int() | float():
            digits = json.dumps(value)
            return value if mask(digits) == digits else mask(digits)
        case dict():
            fields = cast(dict[str, Any], value)
            return {mask(name): masked_json(x, mask) for name, x in fields.items()}
        case list():
            return [masked_json(x, mask) for x in cast(list[Any], value)]
        case _:
            return value
