"""Messages of people to an agent, cut and masked for the memory of the tool search.

It masks everything that might give access or identify a person, and numbers, which find no tool
anyway.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from .redactor import redact_beginning
from .secrets import MASK

_CHARS = 300  # of one text: people say what they want in the first sentences
_MAX_CHARS = 3 * _CHARS  # masks may be shorter than what they hide
_CONTEXT_CHARS = 100  # dropped at the end of a cut text: the next word may mark a secret here
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
_IDENTIFYING = re.compile(r"\S+@\S+|\d(?:[\W_]{0,2}\d){5,}|(?<!\S)(?=\S*\d)(?=\S*[^\W\d_])\S{6,}")


def mask_speech(text: str, redact: Callable[[str], str]) -> str:
    """Return the masked beginning of a message, or "" if no word remains."""
    beginning = redact_beginning(text, redact, _MAX_CHARS)
    masked = " ".join(beginning[:_MAX_CHARS].split())
    masked = _AFTER_NAME.sub(rf"\1 {MASK}", _BEFORE_NAME.sub(rf"{MASK}\1", masked))
    masked = _IDENTIFYING.sub(MASK, masked)
    is_part = max(len(beginning), len(text)) > _MAX_CHARS
    masked = _cut(masked, min(_CHARS, len(masked) - _CONTEXT_CHARS) if is_part else _CHARS)
    return masked if any(x.isalpha() for x in masked) else ""


def _cut(text: str, most: int) -> str:
    """Cut a text between two words."""
    return text if len(text) <= most else text[: max(most, 0)].rpartition(" ")[0]
