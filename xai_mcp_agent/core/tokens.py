"""Tokens of a text, estimated without any model's tokenizer: rather too many than too few."""

from __future__ import annotations

import math
import re

# UTF-8 bytes for a token of prose. In schemas, which have more signs than words, it is less.
BYTES_PER_TOKEN = 3.5

# What tokenizers hardly ever divide further: words of usual length, capitals in twos, digits in
# threes, signs in threes; of other scripts one character, or two where they have words of letters.
_WORDS_OF_LETTERS = r"\u0370-\u0fff\u10a0-\u10ff"
_PIECE = re.compile(
    r"[A-Z]?[a-z]{1,8}|[A-Z]{1,2}|[0-9]{1,3}|[^\w\s\\\x80-\U0010ffff]{1,3}|[\\_]|\s{2,}|\n"
    rf"|[{_WORDS_OF_LETTERS}]{{1,2}}|[^\x00-\x7f]"
)
# Pictures, and scripts that tokenizers hardly know: two tokens and more for a character.
_RARE = re.compile(r"[\u1200-\u1fff\u2600-\u27bf\ua000-\uabff\U00010000-\U0010ffff]")


def tokens_in(text: str) -> int:
    """How many tokens a model may see in this text: quick, for conversations of any length."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    return math.ceil(size / BYTES_PER_TOKEN)


def tokens_at_most(text: str) -> int:
    """The same for what must stay within a budget, schemas too; takes fifty times as long."""
    rare = 0 if text.isascii() else len(_RARE.findall(text))
    return len(_PIECE.findall(text)) + rare
