"""Masks secrets in text, JSON, URLs and arguments."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, cast
from urllib.parse import urlsplit

from ..core.json import as_object
from .search import (
    RANDOM_SEGMENT,
    URL,
    is_secret,
    named_secrets,
    secrets_in_env,
    secrets_in_json,
    secrets_in_text,
    tokens_in_text,
    with_flags,
)
from .secrets import MASK, Secrets

_SHELL_MARKS = "`;&|<>()"

# Shorter ones are words as well: DESKTOP_SESSION=ubuntu.
_LEAST_CHARS_IN_ENVIRONMENT = 12
_MOST_CHARS = 4_000  # of one recorded value: enough for a person to read
# The rest is not searched, but a secret that begins before the cut is at most this long.
_SECRET_CHARS = 16_000
_DEEPEST = 20  # limit for hostile nesting


class Redactor:
    """Masks `secrets`, the secrets in `environ`, and tokens such as `sk-...`.

    With `guesses` it also masks short secrets of `environ`, and texts whose name or context marks
    them as secret. That is for stored text; on a screen it would hide answers ("the key: turn it
    twice").
    """

    def __init__(
        self,
        secrets: Iterable[Secrets],
        *,
        guesses: bool = False,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        least = 0 if guesses else _LEAST_CHARS_IN_ENVIRONMENT
        environment = Secrets(x for x in secrets_in_env(environ) if len(x) >= least)
        self._secrets = (*secrets, environment)
        self._guesses = guesses

    def __call__(self, text: str) -> str:
        """Return the text without secrets."""
        # Guesses come first: they need the words around a secret before any is masked.
        guesses = list(secrets_in_text(text)) if self._guesses else tokens_in_text(text)
        for secrets in (Secrets(guesses), *self._secrets) if guesses else self._secrets:
            text = secrets.redact(text)
        return text

    def short(self, value: Any, name: str = "") -> Any:
        """Return a value as masked JSON for the record, cut if it is long. `name` is its name."""
        room = _Room(_MOST_CHARS)
        clean = self._clean(value, name, room)
        if isinstance(clean, str):
            return clean
        text = json.dumps(clean, ensure_ascii=False)
        is_short = room.chars >= 0 and len(text) <= _MOST_CHARS
        return clean if is_short else f"{text[:_MOST_CHARS]}..."

    def _clean(self, value: Any, name: str, room: _Room, depth: int = 0) -> Any:
        """Return the value without secrets and without items beyond the limit."""
        clean: Any
        match value:
            case str():
                clean = MASK if is_secret(name, value) else self._clean_text(value)
            case None | bool():
                clean = value
            case int() | float():
                text = str(value)
                is_hidden = is_secret(name, text) or self._clean_text(text) != text
                clean = MASK if value and is_hidden else value
            case Mapping() if depth < _DEEPEST:
                fields = cast(Mapping[Any, Any], value).items()
                return {
                    self._clean_text(str(key)): self._clean(x, str(key), room, depth + 1)
                    for key, x in takewhile(room.take, fields)
                }
            case list() | tuple() if depth < _DEEPEST:
                items = takewhile(room.take, cast(list[Any], value))
                return [self._clean(x, name, room, depth + 1) for x in items]
            case _:
                clean = f"<{type(value).__name__}>"
        room.chars -= len(str(clean)) + 1
        return clean

    def _clean_text(self, text: str) -> str:
        masked = redact_beginning(text, self, _MOST_CHARS)
        is_short = len(text) <= _MOST_CHARS
        return masked if is_short else f"{masked[:_MOST_CHARS]}... ({len(text)} characters)"


@dataclass
class _Room:
    """Counts the remaining characters of a long value."""

    chars: int

    def take(self, _item: object) -> bool:
        """Take one character; return whether there was one."""
        self.chars -= 1
        return self.chars >= 0


def redact_beginning(text: str, redact: Callable[[str], str], chars: int) -> str:
    """Return the masked text; a long one ends where no secret can be incomplete."""
    limit = chars + _SECRET_CHARS
    masked = redact(text[:limit])
    # The end may contain half a secret, and masks may have moved it.
    return masked[:-_SECRET_CHARS] if len(text) > limit else masked


def redact_json(text: str, redact: Callable[[str], str]) -> str:
    """Return the JSON text with every value in it masked, or unchanged if there is no secret.

    Masking the text as a whole could break the JSON: a secret of digits may be part of a number.
    """
    return text if redact(text) == text else json.dumps(redact_value(json.loads(text), redact))


def redact_args(args: Sequence[str], secrets: Secrets) -> list[str]:
    """Return the arguments for a person to read, with secrets masked, however short."""
    return [
        MASK if follows_flag or secrets.knows(arg) else _redact_arg(arg, secrets)
        for arg, follows_flag in with_flags(args)
    ]


def redact_url(url: str) -> str:
    """Return a URL for a person to read: without user, password, parameter values and fragment."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return MASK
    _, at, host = parts.netloc.rpartition("@")
    authority = f"//{MASK if at else ''}{at}{host}" if parts.netloc else ""
    scheme = f"{parts.scheme}:" if parts.scheme else ""
    path = "/".join(MASK if RANDOM_SEGMENT.fullmatch(x) else x for x in parts.path.split("/"))
    return f"{scheme}{authority}{path}{_redact_query(parts.query)}"


def redact_value(value: Any, redact: Callable[[str], str]) -> Any:
    """Return a JSON value with every text, name and number in it masked."""
    match value:
        case str():
            return redact(value)
        case bool() | None:
            return value
        case int() | float():
            digits = json.dumps(value)
            masked = redact(digits)
            return value if masked == digits else masked
        case dict():
            return {redact(name): redact_value(x, redact) for name, x in as_object(value).items()}
        case _:
            return [redact_value(x, redact) for x in value]


def _redact_arg(text: str, secrets: Secrets) -> str:
    """Return the text without secrets. Text after a secret stays, as it may be a command.

    A note lists the signs in a secret at which a shell would begin another command.
    """
    # Secrets after a name are masked only there: the same text later may be the command.
    anywhere = [*tokens_in_text(text), *secrets_in_json(text)]
    masked = secrets.redact(Secrets(anywhere).redact(text))
    masked = _redact_named_secrets(URL.sub(lambda url: redact_url(url[0]), masked))
    hidden = "".join(x for x in _SHELL_MARKS if text.count(x) > masked.count(x))
    return f"{masked} ({MASK} has {' '.join(hidden)} in it)" if hidden else masked


def _redact_named_secrets(text: str) -> str:
    masked, position = "", 0
    for begins, ends in named_secrets(text):
        masked, position = f"{masked}{text[position:begins]}{MASK}", ends
    return masked + text[position:]


def _redact_query(query: str) -> str:
    if not query:
        return ""
    pairs = [pair.partition("=") for pair in query.split("&")]
    return "?" + "&".join(f"{name}={MASK}" if mark else MASK for name, mark, _ in pairs)
