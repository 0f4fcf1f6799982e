"""Results of a person's or a program's searches: found, explained and selected tools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..catalog.entry import CatalogEntry
from ..core.json import JsonObject
from ..core.tools import Tool
from .ranking import Ranked


@dataclass(frozen=True, slots=True)
class FoundTool(Ranked):
    """A tool that fits, with its entry in the catalog."""

    entry: CatalogEntry


class FoundTools(list[FoundTool]):
    """The results of a search, best first; `failed` says why servers could not be searched.

    `note` says what the search lacked.
    """

    def __init__(
        self, tools: Iterable[FoundTool], failed: Mapping[str, str], note: str = ""
    ) -> None:
        super().__init__(tools)
        self.failed = failed
        self.note = note


@dataclass(frozen=True, slots=True)
class ExplainedTool:
    """A tool with the arguments of an example call, which are made up from its schema."""

    entry: CatalogEntry
    example: JsonObject


@dataclass(frozen=True, slots=True)
class SelectedTool:
    """The tool that fits a request best, why, and the other tools that may be meant.

    `confidence` is about the share of cases in which such a tool was the right one, 0 to 1.
    `reasons` also say whether an agent's call of it would need approval.
    """

    tool: Tool
    confidence: float
    reasons: tuple[str, ...]
    alternatives: tuple[Ranked, ...] = ()
