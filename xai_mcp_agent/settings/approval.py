"""Approval words for patterns of tools, in settings and on ports.

`policy.approvals` applies them, and has the defaults.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, cast

from ..core.names import did_you_mean
from ..core.patterns import fits

EVERY_TOOL = "*"
METHOD = "method:"
"""Prefix of an HTTP method, in place of a pattern: matches the tools of OpenAPI services."""

METHODS = ("GET", "HEAD", "QUERY", "POST", "PUT", "PATCH", "DELETE")

ApprovalWord: TypeAlias = Literal["allow", "ask_unless_read_only", "ask", "deny"]
"""allow: the tool may be called. ask: a person is asked first. deny: the tool is not called.

ask_unless_read_only: a person is asked unless the source says that the tool only reads, which is
the default of MCP.
"""

ApprovalWords: TypeAlias = Mapping[str, ApprovalWord]
"""Approval words by pattern (see `core.patterns`) or by method, such as `method:PUT`."""

UNLESS_READ_ONLY: ApprovalWord = "ask_unless_read_only"

WORDS: tuple[ApprovalWord, ...] = ("allow", UNLESS_READ_ONLY, "ask", "deny")
"""All words, from the mildest to the strictest."""

HOW_TO_WRITE = 'Write "ask", or {"delete_*": "ask", "drop_all": "deny"}.'


def read_words(value: Any) -> dict[str, ApprovalWord]:
    """Return the words by pattern, from an object or from one word for every tool.

    Raises:
        ValueError: the value is neither; the message says what is wrong.
    """
    if isinstance(value, str):
        return {EVERY_TOOL: _word(value)}
    if not isinstance(value, Mapping):
        raise ValueError("must be a word, or an object of patterns and words.")
    words: dict[str, ApprovalWord] = {
        str(pattern): _word(word, f"the word for {str(pattern)!r} ")
        for pattern, word in cast(Mapping[Any, Any], value).items()
    }
    for pattern in words:
        _require_pattern(pattern)
    return words


def words_in_text(text: str) -> dict[str, ApprovalWord]:
    """Return the words by pattern from one text: `ask`, or `delete_*: ask, files: deny`.

    Raises:
        ValueError: the text is neither; the message says what is wrong.
    """
    parts = [x.strip() for x in text.split(",") if x.strip()]
    if len(parts) == 1 and ":" not in parts[0]:
        return read_words(parts[0])
    pairs = [x.rpartition(":") for x in parts]
    return read_words({pattern.strip(): word.strip() for pattern, _, word in pairs})


def _word(value: Any, subject: str = "") -> ApprovalWord:
    for word in WORDS:
        if word == value:
            return word
    raise ValueError(f"{subject}must be one of {', '.join(WORDS)}.")


def _require_pattern(pattern: str) -> None:
    if not pattern.strip():
        raise ValueError("a pattern must not be empty.")
    method = pattern.removeprefix(METHOD).upper()
    if pattern.startswith(METHOD) and method not in METHODS:
        hint = did_you_mean(method, METHODS) or f"Known: {', '.join(METHODS)}."
        raise ValueError(f"{pattern!r} has no HTTP method. {hint}")
    try:
        fits(pattern)
    except ValueError as why:
        raise ValueError(f"{pattern!r} is not a valid pattern: {why}.") from None
