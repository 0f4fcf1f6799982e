"""Tokens of a text, estimated without any model's tokenizer: rather too many than too few."""

from __future__ import annotations

import math

# UTF-8 bytes for a token: measured on five catalogs to be hardly ever too few for twenty tools.
BYTES_PER_TOKEN = 3.5


def tokens_in(text: str) -> int:
    """How many tokens a model may see in this text."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    return math.ceil(size / BYTES_PER_TOKEN)
