"""What one run may use of its model: tokens, and money where prices are given."""

from __future__ import annotations

from dataclasses import dataclass

from .models.base import Usage

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class RunLimits:
    """The most of one run; None is no limit. Prices are those of a million tokens.

    What came from the service's cache costs as much as the rest here: rather too much than too
    little.
    """

    tokens: int | None = None
    cost: float | None = None
    input_price: float = 0.0
    output_price: float = 0.0

    def ends_with_next(self, spent: Usage, last_turn: Usage) -> bool:
        """Whether the next turn has to be the last, as another like the last one would be too much.

        `spent` is what was used so far.
        """
        after = spent + last_turn + last_turn
        return bool(last_turn.input_tokens + last_turn.output_tokens) and (
            (self.tokens is not None and after.input_tokens + after.output_tokens > self.tokens)
            or (self.cost is not None and self._cost_of(after) > self.cost)
        )

    def _cost_of(self, usage: Usage) -> float:
        money = usage.input_tokens * self.input_price + usage.output_tokens * self.output_price
        return money / _MILLION
