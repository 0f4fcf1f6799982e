"""`Secret` hides one value; `Secrets` masks all known ones in any text."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias
from urllib.parse import quote, quote_plus

from ..core.json import clip
from ..core.visible import visible

MASK = "***"

Mask: TypeAlias = Callable[[str], str]
"""Returns a text without its secrets."""

# More takes time to mask, and nobody reads it.
_MAX_CHARS = 64 * 1024


def mask_and_cut(text: str, mask: Mask, at_most: int = 300) -> str:
    """Return the beginning of untrusted text on one line, so that none of it looks like ours.

    Hidden characters are removed first and the text is cut last: a secret is not recognised with
    hidden characters in it, nor by its half.
    """
    masked = mask(visible(text[:_MAX_CHARS]).replace("\n", " "))
    return clip(masked, at_most)


# Shorter texts occur in ordinary words: masking them hides little and spoils the text.
MIN_SECRET_LENGTH = 6
# A log shows a line of a private key on its own; a shorter line may be any word.
_MIN_LINE_LENGTH = 16
# These may stand in place of a secret, hide nothing, and occur in many messages.
_COMMON_WORDS = frozenset((
    "basic", "bearer", "cookie", "default", "development", "digest", "disabled", "enabled",
    "localhost", "oauth2", "optional", "private", "production", "public", "required", "session",
    "staging", "stdio", "undefined",
))  # fmt: skip


class Secret:
    """Text that shows itself as `***` wherever it is printed; `reveal()` returns it.

    It is not a `str`, so nothing that only accepts text can show it by accident. Copying and
    pickling keep the value: a pickle of it is as secret as the value itself.
    """

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """Return the text itself."""
        return self._value

    def __repr__(self) -> str:
        return MASK

    def __format__(self, spec: str) -> str:
        return format(MASK, spec)

    def __bool__(self) -> bool:
        return bool(self._value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(("Secret", self._value))


class Secrets:
    """Set of secret texts, the keys of `texts`. It only grows, and any thread may use it."""

    def __init__(self, texts: Iterable[str | Secret] = ()) -> None:
        self.texts: dict[str, None] = {}
        # The forms of all texts, longest first, and the number of texts they come from.
        self._forms: tuple[int, list[str]] = (0, [])
        self.update(texts)

    def add(self, text: str | Secret) -> None:
        """Add one secret text. Common words and masked texts are ignored."""
        plain = text.reveal() if isinstance(text, Secret) else text
        if plain.strip("* \t\r\n") and plain.strip().casefold() not in _COMMON_WORDS:
            self.texts[plain] = None

    def update(self, texts: Iterable[str | Secret]) -> None:
        """Add several secret texts."""
        for text in texts:
            self.add(text)

    def knows(self, text: str) -> bool:
        """Return whether exactly this text was added, however short it is."""
        return text in self.texts

    def redact(self, text: str) -> str:
        """Return the text with `***` for every secret of at least `MIN_SECRET_LENGTH` characters.

        It finds a secret as it is, URL-quoted, escaped as in JSON or a Python literal, in base64
        (alone or within a longer text, as in Basic authentication), and line by line.
        """
        forms = self._current_forms()
        # A search for each form in turn is several times faster than one regular expression of all.
        # It repeats until there is no match: a mask can complete a secret with stars in it. It ends
        # because every form is longer than the mask.
        while matches := [form for form in forms if form in text]:
            for form in matches:
                text = text.replace(form, MASK)
        return text

    def __repr__(self) -> str:
        return f"<Secrets: {len(self.texts)} known>"

    def _current_forms(self) -> list[str]:
        count, forms = self._forms
        if count != len(self.texts):
            texts = list(self.texts)
            distinct = {form for text in texts for form in _forms_of(text)}
            forms = sorted(distinct, key=lambda form: (-len(form), form))
            self._forms = (len(texts), forms)
        return forms


def _forms_of(text: str) -> Iterator[str]:
    """Yield every form in which a secret is searched; none if it is too short."""
    if len(text) < MIN_SECRET_LENGTH:
        return
    yield text
    yield from _escape(text)
    data = text.encode("utf-8", "surrogatepass")
    yield from _quote_for_url(data)
    yield from _encode_base64(data)
    lines = [line.strip() for line in text.splitlines()]
    if len(lines) > 1:
        # The first and last line of a key in PEM form are the same for everybody.
        yield from (x for x in lines if len(x) >= _MIN_LINE_LENGTH and not x.startswith("-----"))


def _escape(text: str) -> Iterator[str]:
    yield repr(text)[1:-1]
    for ascii_only in (True, False):
        once = json.dumps(text, ensure_ascii=ascii_only)[1:-1]
        yield once
        # Some languages escape the slash as well.
        yield once.replace("/", "\\/")
        # A tool's result is often JSON inside a JSON text.
        yield json.dumps(once, ensure_ascii=ascii_only)[1:-1]


def _quote_for_url(data: bytes) -> Iterator[str]:
    # Strictest; Python's default; JavaScript's encodeURIComponent; its encodeURI.
    for safe in ("", "/", "!*'()", "!*'();/?:@&=+$,#"):
        quoted = quote(data, safe=safe)
        yield quoted
        yield re.sub("%..", lambda code: code[0].lower(), quoted)
    yield quote_plus(data)


def _encode_base64(data: bytes) -> Iterator[str]:
    """Yield the base64 forms of `data` within a longer text, without the edges.

    Three bytes give four letters, so there are three alignments; letters that depend on the
    neighbours are omitted.
    """
    for shift in range(3):
        encoded = base64.b64encode(b"\0" * shift + data).decode()
        core = encoded[(shift * 8 + 5) // 6 : (shift + len(data)) * 8 // 6]
        yield core
        yield core.replace("+", "-").replace("/", "_")
