"""Messages of people to an agent, cut and masked for the memory of the tool search.

Everything that might give access or identify a person is masked. Numbers are masked as well; they
find no tool anyway.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from .redactor import redact_beginning
from .secrets import MASK

_CHARS = 300  # of one text: people say what they want in the first sentences
_SEARCHED_CHARS = 3 * _CHARS  # masks may be shorter than what they hide
_CONTEXT_CHARS = 100  # at the end of these: the next word may mark this one as a secret
_NAME = (
    r"(?<![^\W_])(?:pass(?:word|phrase|code|wd)s?|pwd|pins?|secrets?|tokens?|credentials?|"
    r"(?:kenn|pass)w(?:o|\u00f6)rte?r?n?|contrase\u00f1as?|mots? de passe|senhas?|"
    r"(?:api|access|auth|private|secret|ssh)[ _-]?keys?|otps?|cv[cv]2?)(?![^\W_])"
)
# "The password of ada is ..." in any words: the rest of the sentence is masked.
_AFTER_NAME = re.compile(rf"(?i)({_NAME})[^.!?]*(?:[.!?](?!\s|$)[^.!?]*)*")
# "... is my password", "use ... as the password".
_BEFORE_NAME = re.compile(rf"(?i)\S+(\s+(?:is|as|for|=)\s+(?:\w+\s+){{0,2}}{_NAME})")
# Mail addresses; numbers of six digits and more, with separators; words of six characters and more
# that mix letters and digits.
_TELLING = re.compile(r"\S+@\S+|\d(?:[\W_]{0,2}\d){5,}|(?<!\S)(?=\S*\d)(?=\S*[^\W\d_])\S{6,}")


def mask_speech(text: str, redact: Callable[[str], str]) -> str:
    """Return the beginning of a message, masked; "" if no word is left."""
    begin = redact_beginning(text, redact, _SEARCHED_CHARS)
    shown = " ".join(begin[:_SEARCHED_CHARS].split())
    shown = _AFTER_NAME.sub(rf"\1 {MASK}", _BEFORE_NAME.sub(rf"{MASK}\1", shown))
    shown = _TELLING.sub(MASK, shown)
    is_part = max(len(begin), len(text)) > _SEARCHED_CHARS
    shown = _cut(shown, min(_CHARS, len(shown) - _CONTEXT_CHARS) if is_part else _CHARS)
    return shown if any(x.isalpha() for x in shown) else ""


def _cut(text: str, most: int) -> str:
    """Cut a text between two words."""
    return text if len(text) <= most else text[: max(most, 0)].rpartition(" ")[0]
