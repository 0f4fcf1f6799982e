"""Errors as facts: the class, the sentence and the fields that programs read."""

from __future__ import annotations

from typing import Any

_FIELDS = ("source", "problem", "next_step", "stderr_tail", "code", "status", "is_of_tool")


def error_facts(error: BaseException) -> dict[str, Any]:
    """The class of an error, its whole message, and those of its fields that have a value."""
    fields = {name: getattr(error, name, None) for name in _FIELDS}
    facts = {name: x for name, x in fields.items() if x not in (None, "", (), False)}
    # The message of a source's error is made of these fields.
    message = {} if "problem" in facts else {"message": str(error)}
    return {"error": type(error).__name__, **message, **facts}
