"""Arguments, results and numbers as a person reads them: short, or whole up to a bound."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from ...agent.models.base import Usage
from ...core.tools import JsonObject
from .text import Mask, as_it_is, clean, wrap

_ARGUMENT_CHARS = 60
# Longer texts are cut even where all is wanted: nobody reads them, and a browser shows them slowly.
MOST_CHARS = 100_000


@dataclass(frozen=True)
class Excerpt:
    """The first lines of a text; `more` says how much is left out, and is empty if nothing is."""

    lines: list[str]
    more: str = ""


def excerpt(text: str, width: int, most_lines: int | None) -> Excerpt:
    """A text of strangers in lines of so many columns; at most `MOST_CHARS` of it."""
    room = MOST_CHARS if most_lines is None else min(MOST_CHARS, 4 * width * most_lines)
    head = clean(text[:room])
    lines, whole, seen = list[str](), 0, 0
    for line in head.split("\n"):
        free = len(head) if most_lines is None else most_lines - len(lines)
        wrapped = wrap(line, width)
        lines += wrapped[:free]
        if len(wrapped) > free:
            seen += sum(len(x) for x in wrapped[:free])
            break
        whole += 1
        seen += len(line) + 1
    else:
        if len(text) <= room:
            return Excerpt(lines)
    left = text.count("\n") + 1 - whole
    if left > 1 or whole:
        return Excerpt(lines, f"... {count(left, 'more line')}")
    return Excerpt(lines, f"... {count(max(len(text) - seen, 1), 'more character')}")


def opening(text: str, most_lines: int, most_chars: int) -> str:
    """The beginning of a text, and how much more there is."""
    kept = "\n".join(text[:most_chars].split("\n")[:most_lines])
    left = len(text) - len(kept)
    return f"{kept}\n... {count(left, 'more character')}" if left else kept


def short_arguments(arguments: JsonObject | None, mask: Mask = as_it_is) -> str:
    """Arguments in one line to read; long values are cut, when `mask` has hidden what it must."""
    return _arguments(arguments, _ARGUMENT_CHARS, mask)


def whole_arguments(arguments: JsonObject | None, mask: Mask = as_it_is) -> str:
    """Arguments in one long line, as `mask` leaves them."""
    return _arguments(arguments, MOST_CHARS, mask)


def progress_text(done: float, total: float | None, message: str) -> str:
    """How far a call is, to read."""
    share = f"{done:g} of {total:g}" if total else f"{done:g}"
    return f"{share} {message}".rstrip()


def compact_json(text: str) -> str:
    """JSON on one line; any other text, and a long one, as it is."""
    return _as_json(text, None)


def spread_json(text: str) -> str:
    """JSON on many lines; any other text, and a long one, as it is."""
    return _as_json(text, 2)


def tokens_text(usage: Usage) -> str:
    """Tokens in and out; empty if the service counted none."""
    if not usage.input_tokens + usage.output_tokens:
        return ""
    cached = f" ({usage.cached_tokens} cached)" if usage.cached_tokens else ""
    return f"{usage.input_tokens}{cached} + {usage.output_tokens} tokens"


def count(number: int, thing: str) -> str:
    """A number of things: `1 turn`, `2 turns`."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def _arguments(arguments: JsonObject | None, most_chars: int, mask: Mask) -> str:
    given = (arguments or {}).items()
    return ", ".join(f"{name}={_value(value, most_chars, mask)}" for name, value in given)


def _value(value: Any, most_chars: int, mask: Mask) -> str:
    value = mask(value) if isinstance(value, str) else value
    if isinstance(value, str) and len(value) > most_chars:
        return f"{json.dumps(value[:most_chars], ensure_ascii=False)}..."
    text = mask(json.dumps(value, ensure_ascii=False, default=str))
    return text if len(text) <= most_chars else f"{text[:most_chars]}..."


def _as_json(text: str, indent: int | None) -> str:
    if text[:1] not in ("{", "[") or len(text) > MOST_CHARS:
        return text
    try:
        return json.dumps(json.loads(text), ensure_ascii=False, indent=indent)
    except (ValueError, RecursionError):
        return text
