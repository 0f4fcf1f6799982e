"""Return values of user code as results: JSON with a size limit."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from typing import Any, cast

from pydantic_core import PydanticSerializationError, from_json, to_json

from ..core.results import TextPart, ToolResult

NO_RESULT_TEXT = "The tool ran and returned nothing."
"""Text for a model when user code returned nothing."""

# A longer result should have been saved to a file: it is unreadable. Writing as much JSON stops
# everything else for a tenth of a second.
_MAX_BYTES = 8 * 1024**2
_MAX_CELLS = 500_000  # of a table or an array; pandas writes as many in 15 s


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
    data = json_of(value)
    if len(data) > _MAX_BYTES:
        raise ResultTooLarge
    return result_of_json(from_json(data))


def json_of(value: Any) -> bytes:
    """Return a value as JSON; see `result_of`."""
    try:
        return _write(value)
    except PydanticSerializationError as cause:
        if "Circular reference" in str(cause):
            raise
        from pydantic import TypeAdapter  # here: hardly any value needs it

        return _write(_as_texts(TypeAdapter(Any).dump_python(value)))


def _write(value: Any) -> bytes:
    return to_json(value, fallback=_similar, inf_nan_mode="strings")


def _similar(value: Any) -> Any:
    """Return a value of JSON, or a text, for one that JSON does not have.

    pandas and numpy leave out the middle of what is large when it is printed, so they write it all.
    """
    for name in ("to_string", "tolist"):
        method = getattr(cast(type[Any], type(value)), name, None)
        if callable(method) and isinstance(getattr(value, "size", None), int):
            if value.size > _MAX_CELLS:
                raise ResultTooLarge
            return method(value)
    return str(value)


def _as_texts(value: Any) -> Any:
    """Return a value that can be written: bytes that are no text become base64, with `+` and `/`.

    Anything else that cannot be written, such as a missing date of pandas, becomes its text.
    """
    match value:
        case str():
            return value.encode("utf-8", "replace").decode()  # file names may have half characters
        case bytes() | bytearray():
            try:
                return value.decode()
            except UnicodeDecodeError:
                return b64encode(value).decode()
        case Mapping():
            items = cast(Mapping[Any, Any], value).items()
            return {_as_texts(k) if isinstance(k, str) else k: _as_texts(x) for k, x in items}
        case list() | tuple() | set() | frozenset():
            return [_as_texts(x) for x in cast(list[Any], value)]
        case _:
            try:
                _write(value)
            except PydanticSerializationError:
                return _as_texts(_similar(value))
            return value


def result_of_json(value: Any) -> ToolResult:
    """Return a JSON value as a result."""
    if value is None:
        return ToolResult.of_text(NO_RESULT_TEXT)
    if isinstance(value, str):
        return ToolResult.of_text(value)
    return ToolResult((TextPart(json.dumps(value, ensure_ascii=False)),), structured=value)
