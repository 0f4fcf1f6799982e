"""Tools that a person or a program found, or has explained."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..catalog.entry import CatalogEntry
from ..core.json import JsonObject
from ..core.tools import Tool
from .ranking import Ranked


@dataclass(frozen=True, slots=True)
class FoundTool:
    """A tool that fits what somebody wants, with all that is known of it."""

    entry: CatalogEntry
    ranked: Ranked[Tool]


@dataclass(frozen=True, slots=True)
class FoundTools:
    """What a search came to, best first; and the servers that could not be searched, and why.

    `note` says what it had to do without, as in `RankedTools`.
    """

    tools: tuple[FoundTool, ...]
    failed: Mapping[str, str]
    note: str = ""


@dataclass(frozen=True, slots=True)
class ExplainedTool:
    """A tool with the arguments of an example call, which are made up from its schema."""

    entry: CatalogEntry
    example: JsonObject


@dataclass(frozen=True, slots=True)
class SelectedTool:
    """The tool that fits best what somebody wants, why, and which others may be meant.

    `confidence` is about the share of cases in which such a tool was the right one, 0 to 1.
    `reasons` also tell whether an agent's call of it would be asked for.
    """

    tool: Tool
    confidence: float
    reasons: tuple[str, ...]
    alternatives: tuple[Ranked[Tool], ...] = ()
