"""Lenient reader of JSON-RPC: broken encodings, several messages in a line, odd ids.

Only read after the strict reader refused a line, so it may take its time, within bounds.
"""

from __future__ import annotations

import json
import re
from typing import Any, cast

from ....core.tools import JsonObject
from ...web.large_json import integer
from .streams import INTERNAL_ERROR

# Inside a text of valid JSON its quotes would have backslashes, so this is never part of one.
_BEGINNING = re.compile(r'\{\s*"(?:jsonrpc|id|method|result|error)"\s*:')
# Each attempt may read to the end of the line.
_MAX_ATTEMPTS = 50
# Escapes from left to right; of those only half a pair is caught by the group.
_ESCAPES = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\.",
    re.DOTALL,
)


def lenient_messages(line: bytes) -> list[JsonObject]:
    """The messages in a line, in their order; what is between them is passed over."""
    text = line.decode("utf-8", "replace")
    if "\\ud" in text or "\\uD" in text:  # to look for halves takes long, and holds everybody up
        text = _ESCAPES.sub(_whole, text)
    found: list[JsonObject] = []
    at = 0
    for _ in range(_MAX_ATTEMPTS):
        begin = _BEGINNING.search(text, at)
        if begin is None:
            break
        try:
            value, at = _DECODER.raw_decode(text, begin.start())
        except (ValueError, RecursionError):
            at = begin.end()
            continue
        if (message := _message_of(value)) is not None:
            found.append(message)
    return found


def _whole(escape: re.Match[str]) -> str:
    return "\\ufffd" if escape[1] else escape[0]


_DECODER = json.JSONDecoder(parse_int=integer, strict=False)


def _message_of(value: Any) -> JsonObject | None:
    """The object as a message of JSON-RPC, if it is meant as one."""
    message = cast(JsonObject, value)
    is_answer = "id" in message and ("result" in message or "error" in message)
    if not is_answer and message.get("jsonrpc") != "2.0":
        return None
    message["jsonrpc"] = "2.0"
    if isinstance(number := message.get("id"), float) and number.is_integer():
        message["id"] = int(number)
    if is_answer:
        _mend_answer(message)
    return message


def _mend_answer(message: JsonObject) -> None:
    """One of result and error, each an object."""
    error: Any = message.pop("error", None)
    if error is None:
        message["result"] = {} if message.get("result") is None else message["result"]
        return
    message.pop("result", None)
    said = cast(JsonObject, error) if isinstance(error, dict) else {"message": error}
    code, words = said.get("code"), said.get("message")
    message["error"] = {
        **said,
        "code": code if isinstance(code, int) else INTERNAL_ERROR,
        "message": words if isinstance(words, str) else json.dumps(words),
    }
