"""A toolbelt: the named choice of tools an agent has, and what it comes to at this moment."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from ..core.names import ShownNames
from ..core.tools import Tool
from .catalog import Catalog


@dataclass(frozen=True)
class OfferedTool:
    """A tool under the name the model reads."""

    shown_name: str
    tool: Tool


@dataclass(frozen=True)
class Offer:
    """What a model is offered at one step. `instructions` are the servers' own, by server.

    `reads_results`: and the tool to read long results with, once there is one.
    """

    tools: tuple[OfferedTool, ...]
    instructions: dict[str, str] = field(default_factory=dict[str, str])
    reads_results: bool = True

    def names(self) -> list[str]:
        """The shown names, in order."""
        return [x.shown_name for x in self.tools]

    def __iter__(self) -> Iterator[OfferedTool]:
        return iter(self.tools)


AsOffered: TypeAlias = Callable[[Tool], Tool | None]


def _as_it_is(tool: Tool) -> Tool:
    return tool


class Toolbelt:
    """Which tools an agent may use: some drawn on the canvas, and all of some sources.

    Shown names are given in a stable order and kept, and new tools come last,
    so that the start of a request to the model stays the same from step to step.
    """

    def __init__(self, drawn: tuple[Tool, ...], sources: tuple[str, ...]) -> None:
        self.sources = sources
        self._drawn = drawn
        self._names = ShownNames()
        self._order: dict[str, None] = {}

    def shown_name(self, tool: Tool) -> str:
        """What the model calls this tool."""
        return self._names.show(tool.key)

    def tools(self, catalog: Catalog) -> Iterator[Tool]:
        """All that exist now, in no order that stays."""
        yield from self._drawn
        for source in self.sources:
            yield from catalog.tools(source)

    def offer(self, catalog: Catalog, as_offered: AsOffered = _as_it_is) -> Offer:
        """The tools that exist now, those offered before first.

        `as_offered` may leave a tool out, or have another definition of it offered.
        """
        # Also those left out are named: should they be offered one day, no name has to change.
        named = [(self._names.show(tool.key), as_offered(tool)) for tool in self.tools(catalog)]
        now = {name: tool for name, tool in named if tool is not None}
        self._order.update(dict.fromkeys(now))
        offered = tuple(OfferedTool(name, now[name]) for name in self._order if name in now)
        words = {source: catalog.instructions(source) for source in self.sources}
        return Offer(offered, {source: text for source, text in words.items() if text})
