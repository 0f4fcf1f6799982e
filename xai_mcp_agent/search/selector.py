"""Selection: what one request to a model shows of the tools that are available."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ..catalog.definitions import ToolDefinition


@dataclass(frozen=True, slots=True)
class Selection:
    """What a request shows, in the order of the request. What is not shown can be called, too."""

    shown: tuple[ToolDefinition, ...]

    @property
    def tokens(self) -> int:
        """What the shown definitions cost, estimated."""
        return sum(x.tokens for x in self.shown)


class Selector(Protocol):
    """Decides for every request of a run. Must be quick: it is asked on the bridge's loop."""

    def select(self, available: Sequence[ToolDefinition]) -> Selection:
        """What the next request shows of these."""
        ...


class ShowEverything:
    """Shows all that is available."""

    def select(self, available: Sequence[ToolDefinition]) -> Selection:
        """All of them."""
        return Selection(tuple(available))
