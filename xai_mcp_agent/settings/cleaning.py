"""Values of calls as they may be written down: as JSON, without secrets, and not too long."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from .secret_rules import is_secret, secrets_in_text
from .secrets import MASK, Secrets

_MOST_CHARS = 4_000  # of one value: what a person reads, not a copy of a book
# What is cut off is not searched for secrets, but one that begins before the cut is no longer.
_SECRET_CHARS = 16_000
_DEEPEST = 20  # guards against hostile nesting


class Cleaning:
    """Knows `secrets`; what else is one it tells by its name, and by what stands around it."""

    def __init__(self, secrets: Iterable[Secrets]) -> None:
        self._secrets = list(secrets)

    def short(self, value: Any, name: str = "") -> Any:
        """The value of this name without secrets; of a long one, the beginning of its JSON."""
        clean = self._clean(value, name)
        text = "" if isinstance(clean, str) else json.dumps(clean, ensure_ascii=False)
        return clean if len(text) <= _MOST_CHARS else _cut(text, len(text))

    def _clean(self, value: Any, name: str, depth: int = 0) -> Any:
        """The value as JSON has it, without secrets."""
        match value:
            case str():
                return MASK if is_secret(name, value) else self._clean_text(value)
            case None | bool():
                return value
            case int() | float():
                text = str(value)
                is_hidden = is_secret(name, text) or self._clean_text(text) != text
                return MASK if value and is_hidden else value
            case Mapping() if depth < _DEEPEST:
                items = cast(Mapping[Any, Any], value).items()
                return {
                    self._clean_text(str(k)): self._clean(v, str(k), depth + 1) for k, v in items
                }
            case list() | tuple() if depth < _DEEPEST:
                return [self._clean(x, name, depth + 1) for x in cast(list[Any], value)]
            case _:
                return f"<{type(value).__name__}>"

    def _clean_text(self, text: str) -> str:
        return _cut(masked_beginning(text, self._mask, _MOST_CHARS), len(text))

    def _mask(self, text: str) -> str:
        # What is told by what stands around it comes first, before any of that is masked.
        for known in (Secrets(secrets_in_text(text)), *self._secrets):
            text = known.mask(text)
        return text


def masked_beginning(text: str, mask: Callable[[str], str], chars: int) -> str:
    """The masked text, or of a longer one than so many characters at least what they hold.

    Masked before it is cut: half a secret shows.
    """
    searched = chars + _SECRET_CHARS
    shown = mask(text[:searched])
    # The end may hold half a secret, wherever masks moved it.
    return shown[:-_SECRET_CHARS] if len(text) > searched else shown


def _cut(text: str, length: int) -> str:
    return text if length <= _MOST_CHARS else f"{text[:_MOST_CHARS]}... ({length} characters)"
