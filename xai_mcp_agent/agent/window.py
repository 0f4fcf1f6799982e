"""How large a model's context window is, and what of a conversation is folded to fit it."""

from __future__ import annotations

import math
from dataclasses import dataclass

DEFAULT_WINDOW_TOKENS = 128_000
_LEAST_ROOM = 0.125  # of the window, however much the tools and the system message take
_ANSWER = 0.125  # of the window


@dataclass(frozen=True, slots=True)
class ContextWindow:
    """How much a model takes in, answer included, as it is set; `tokens` 0: nobody says.

    `sums_up` says that the model is asked to sum up what is left out.
    """

    tokens: int = DEFAULT_WINDOW_TOKENS
    answer_tokens: int | None = None
    sums_up: bool = True

    def size(self, folding: Folding) -> int:
        """The tokens of the whole window; 0 when it is not known."""
        return min((x for x in (self.tokens, folding.window_tokens) if x), default=0)

    def room(self, folding: Folding, fixed_tokens: int) -> float:
        """What is left for the conversation beside what every request holds, as we count."""
        size = self.size(folding)
        if not size:
            return math.inf
        answer = min(self.answer_tokens or size * _ANSWER, size / 2)
        return max((size - answer) / folding.scale - fixed_tokens, size * _LEAST_ROOM)


@dataclass(frozen=True, slots=True)
class Folding:
    """What of a conversation is not sent as it is, and what was learned of its model's window.

    Of the turns those before `left_out` are not sent but as `summary`, and no text before
    `cut_before` is longer than `cut_chars`. `window_tokens` is what the service said; it counts
    `scale` tokens for one of ours.
    """

    left_out: int = 0
    cut_before: int = 0
    cut_chars: int = 0
    summary: str = ""
    window_tokens: int = 0
    scale: float = 1.0
