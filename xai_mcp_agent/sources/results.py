"""Return values of user code as results: JSON with a size limit."""

from __future__ import annotations

import json
from typing import Any

from pydantic_core import PydanticSerializationError, from_json, to_json

from ..core.results import TextPart, ToolResult

NO_RESULT_TEXT = "The tool ran and returned nothing."
"""Text for a model when user code returned nothing."""

# A longer result should have been saved to a file: it is unreadable. Writing as much JSON stops
# everything else for a tenth of a second.
_MAX_BYTES = 8 * 1024**2


class ResultTooLarge(ValueError):
    """The result is too large to be useful; says what to do."""

    def __init__(self) -> None:
        super().__init__(
            "its result has more than 8 MB. Save it to a file and return the file's name."
        )


def result_of(value: Any) -> ToolResult:
    """Return a value as a result. What JSON does not have becomes a similar value, or a text.

    Raises:
        ResultTooLarge: it is larger than a model or a program can use.
        ValueError: it contains itself, or is nested too deeply.
    """
    if isinstance(value, ToolResult):
        return value
    if isinstance(value, str):
        if len(value) > _MAX_BYTES:
            raise ResultTooLarge
        return ToolResult.of_text(value)
    try:
        data = to_json(value, fallback=str, inf_nan_mode="strings")
    except PydanticSerializationError:  # perhaps for bytes that are no text
        data = to_json(value, fallback=str, inf_nan_mode="strings", bytes_mode="base64")
    if len(data) > _MAX_BYTES:
        raise ResultTooLarge
    return result_of_json(from_json(data))


def result_of_json(value: Any) -> ToolResult:
    """Return a JSON value as a result."""
    if value is None:
        return ToolResult.of_text(NO_RESULT_TEXT)
    if isinstance(value, str):
        return ToolResult.of_text(value)
    return ToolResult((TextPart(json.dumps(value, ensure_ascii=False)),), structured=value)
