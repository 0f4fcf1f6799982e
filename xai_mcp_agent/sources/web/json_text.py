"""JSON from other programs."""

from __future__ import annotations

import json
from typing import Any

from pydantic_core import from_json

LONG_BYTES = 128 * 1024
"""JSON longer than this is read in a thread, so that the event loop goes on."""


def read_json(data: bytes | str) -> Any:
    """Return the value that the JSON holds.

    Raises:
        ValueError: it is not JSON, or nested too deeply.
    """
    try:
        return from_json(data)
    except ValueError:
        # Servers that cut a text anywhere send half a character, which only Python's reader takes.
        try:
            return json.loads(data, strict=False)
        except RecursionError:
            raise ValueError("it is nested too deeply") from None
