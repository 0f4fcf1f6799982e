"""What people say to an agent, as far as it may be kept: short, and without what may be a secret.

Words are remembered to find tools by. So what only might give access, or tell who somebody is, is
left out: what is lost with it, such as numbers, finds no tool anyway.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from .redactor import redact_beginning
from .secrets import MASK

_CHARS = 300
"""Of one text: what somebody wants is said in its first sentences."""
_SEARCHED_CHARS = 3 * _CHARS  # masks may be shorter than what they hide
_CONTEXT_CHARS = 100  # at the end of those: what they are may be said in the next word
_WORD = (
    "pass(?:word|wort|phrase|code|wd)s?|pwd|pins?|secrets?|tokens?|credentials?|"
    "(?:api|access|auth|private|secret|ssh)[ _-]?keys?|otps?|cv[cv]2?|"
    "(?:kenn|pass)w(?:o|\u00f6)rte?r?n?|contrase\u00f1as?|mots? de passe|senhas?|wachtwoord(?:en)?|"
    "l\u00f6senord|passord|adgangskode|salasana|has\u0142[oa]|hesl[oa]|\u015fifre\\w*|"
    "\u043f\u0430\u0440\u043e\u043b\\w*"
)
# Password in Chinese, Japanese and Korean, which need no spaces around it; in Arabic, Hebrew and
# Hindi, which may write other words together with it.
_SYLLABLES = (
    "\u5bc6\u7801|\u5bc6\u78bc|\u30d1\u30b9\u30ef\u30fc\u30c9|\ube44\ubc00\ubc88\ud638|"
    "\u0643\u0644\u0645\u0629 (?:\u0627\u0644)?(?:\u0633\u0631|\u0645\u0631\u0648\u0631)|"
    "\u05e1\u05d9\u05e1\u05de|\u092a\u093e\u0938\u0935\u0930\u094d\u0921"
)
_NAME = rf"(?:(?<![^\W_])(?:{_WORD})(?![^\W_])|{_SYLLABLES})"
# "The password of ada is ..." in whatever words: nothing of the sentence that follows.
_AFTER_NAME = re.compile(rf"(?i)({_NAME})[^.!?]*(?:[.!?](?!\s|$)[^.!?]*)*")
# "... is my password", "use ... as the password".
_BEFORE_NAME = re.compile(rf"(?i)\S+(\s+(?:is|as|for|=)\s+(?:\w+\s+){{0,2}}{_NAME})")
_LEAST_CODE = 6  # characters; a shorter one, such as `mp3`, is a word
_CODE = re.compile(rf"(?=\S*\d)(?=\S*[^\W\d_])\S{{{_LEAST_CODE},}}")
# With whatever people write between its parts: `(0) 30-12`, or the dashes of a word processor.
_LONG_NUMBER = re.compile(rf"\d(?:[\W_]{{0,2}}\d){{{_LEAST_CODE - 1},}}")
_ADDRESS = re.compile(r"\S+@\S+")


def kept_speech(text: str, redact: Callable[[str], str]) -> str:
    """The beginning of it, without secrets and the like; empty where no word is left."""
    begin = redact_beginning(text, redact, _SEARCHED_CHARS)
    shown = " ".join(begin[:_SEARCHED_CHARS].split())
    shown = _BEFORE_NAME.sub(rf"{MASK}\1", shown)
    shown = _AFTER_NAME.sub(rf"\1 {MASK}", shown)
    for pattern in (_ADDRESS, _LONG_NUMBER, _CODE):
        shown = pattern.sub(MASK, shown)
    is_part = max(len(begin), len(text)) > _SEARCHED_CHARS
    shown = _cut(shown, min(_CHARS, len(shown) - _CONTEXT_CHARS) if is_part else _CHARS)
    return shown if any(x.isalpha() for x in shown) else ""


def _cut(text: str, most: int) -> str:
    """Between two words; a word without an end is none."""
    return text if len(text) <= most else text[: max(most, 0)].rpartition(" ")[0]
