"""The tools that a run used with success, with arguments and results: what it may teach.

Held while the run lasts, and in bounds: its conversation has most of it as well.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..core.results import TextPart, ToolResult
from .calls import Answered
from .learning import UsedTool
from .toolsets import Available

_MOST_CALLS = 60
_MOST_CHARS = 20_000_000  # of the results of one run
_NOTHING = ToolResult()


class UsedTools:
    """Those of one run, turn by turn."""

    def __init__(self) -> None:
        self.turns: list[list[UsedTool]] = []
        self._calls = self._chars = 0

    def add(self, answers: Iterable[Answered], available: Available) -> None:
        """Take in the calls of one turn."""
        turn: list[UsedTool] = []
        for answer in answers:
            definition = available.find(answer.event.tool)
            if answer.is_error or definition is None or self._calls >= _MOST_CALLS:
                continue
            self._calls += 1
            used = UsedTool(definition.tool, answer.event.arguments or {}, answer.event.result)
            turn.append(self._within_bounds(used))
        if turn:
            self.turns.append(turn)

    def _within_bounds(self, used: UsedTool) -> UsedTool:
        """Without its result, where those of the run are too long already."""
        texts = (x.text for x in used.result.parts if isinstance(x, TextPart))
        self._chars += sum(map(len, texts))
        return used if self._chars <= _MOST_CHARS else replace(used, result=_NOTHING)
