"""Size of a model's context window, and the parts of a conversation folded to fit it."""

from __future__ import annotations

import math
from dataclasses import dataclass

DEFAULT_WINDOW_TOKENS = 128_000
_MIN_ROOM = 0.125  # of the window, however much the tools and the system message take
_ANSWER = 0.125  # of the window


@dataclass(frozen=True, slots=True)
class ContextWindow:
    """A model's window, answer included, as set; `tokens` is 0 if it is not set.

    With `sums_up` the model is asked to summarise the messages that are left out.
    """

    tokens: int = DEFAULT_WINDOW_TOKENS
    answer_tokens: int | None = None
    sums_up: bool = True

    def size(self, folding: Folding) -> int:
        """Return the tokens of the whole window; 0 if unknown."""
        return min((x for x in (self.tokens, folding.window_tokens) if x), default=0)

    def room(self, folding: Folding, fixed_tokens: int) -> float:
        """Return the room for the conversation beside a request's fixed part, by our count."""
        size = self.size(folding)
        if not size:
            return math.inf
        answer = min(self.answer_tokens or size * _ANSWER, size / 2)
        return max((size - answer) / folding.scale - fixed_tokens, size * _MIN_ROOM)


@dataclass(frozen=True, slots=True)
class Folding:
    """The folded parts of a conversation, and the facts learned about its model's window.

    Turns before `left_out` are sent only as `summary`, and no text before `cut_before` is longer
    than `cut_chars`. `window_tokens` comes from the service; it counts `scale` tokens for one of
    ours.
    """

    left_out: int = 0
    cut_before: int = 0
    cut_chars: int = 0
    summary: str = ""
    window_tokens: int = 0
    scale: float = 1.0
