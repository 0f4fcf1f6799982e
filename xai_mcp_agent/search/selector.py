"""Selection: what one request to a model shows of the tools that are available."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ..catalog.definitions import ToolDefinition
from ..core.json import JsonObject
from ..core.tools import ToolKey
from .meta_tools import is_meta_tool

ALL_FIT = "all tools fit"


@dataclass(frozen=True, slots=True)
class Shown:
    """A tool in a request. `definition` is as it is shown there: `shortened` in so many steps."""

    definition: ToolDefinition
    why: str
    shortened: int = 0

    @property
    def tokens(self) -> int:
        """What it costs, estimated."""
        return self.definition.tokens


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A tool that would have been shown, had there been room for it. It can be called, too."""

    definition: ToolDefinition
    why: str


@dataclass(frozen=True, slots=True)
class Selection:
    """What a request shows, in the order of the request; also what is not shown can be called.

    `deferred` are the tools that `tool_search` finds, and `left_out` those that should have been
    shown. `budget_tokens` is 0 where there is none.
    """

    shown: tuple[Shown, ...]
    deferred: tuple[ToolDefinition, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    budget_tokens: int = 0

    @property
    def tokens(self) -> int:
        """What the shown definitions cost, estimated."""
        return sum(x.tokens for x in self.shown)

    @property
    def in_short(self) -> str:
        """How many are shown of all, and what that costs, in a few words."""
        total = len(self.shown) + len(self.deferred) + len(self.left_out)
        of_budget = f" of {self.budget_tokens:,}" if self.budget_tokens else ""
        return f"{len(self.shown)} of {total:,} tools shown, {self.tokens:,}{of_budget} tokens"

    def as_json(self, *, deferred_names: bool = True) -> JsonObject:
        """All of it; of the deferred ones only their number, where their names are not wanted."""
        deferred = [_named(x) for x in self.deferred] if deferred_names else len(self.deferred)
        return {
            "budget_tokens": self.budget_tokens,
            "tokens": self.tokens,
            "shown": [_shown_json(x) for x in self.shown],
            "deferred": deferred,
            "left_out": [{**_named(x.definition), "why": x.why} for x in self.left_out],
        }

    @property
    def is_whole(self) -> bool:
        """Whether all that is available is shown."""
        return not self.deferred and not self.left_out


class Selector(Protocol):
    """Decides for every request of one run, one after the other; perhaps in a worker thread."""

    def select(
        self, available: Sequence[ToolDefinition], found: Sequence[ToolKey] = ()
    ) -> Selection:
        """What the next request shows of these.

        `found` are tools that the run has found, explained or used, the newest last.
        """
        ...


class ShowEverything:
    """Shows all that is available."""

    def select(
        self, available: Sequence[ToolDefinition], found: Sequence[ToolKey] = ()
    ) -> Selection:
        """All of them, but those with which others are found."""
        others = (x for x in available if not is_meta_tool(x.tool.key))
        return Selection(tuple(Shown(x, ALL_FIT) for x in others))


def _shown_json(shown: Shown) -> JsonObject:
    found = {**_named(shown.definition), "why": shown.why}
    return {**found, "shortened": shown.shortened} if shown.shortened else found


def _named(definition: ToolDefinition) -> JsonObject:
    tool = definition.tool
    return {"name": definition.name, "server": tool.source, "tokens": definition.tokens}
