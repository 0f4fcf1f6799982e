"""Tools that the caller of an engine brings along, such as those that are drawn in its workflow."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

from ..core.errors import UnknownTool
from ..core.kinds import STATIC, SourceKind
from ..core.names import did_you_mean
from ..core.steps import CANVAS_SOURCE
from ..core.tools import Tool
from ..settings.entry import SourceSettings
from ..settings.models import Settings
from .calls import Perform


@dataclass(frozen=True)
class OwnTools:
    """The tools, which plans name as those of `canvas`, and what makes a call that may be made."""

    tools: tuple[Tool, ...]
    perform: Perform

    def tool(self, name: str) -> Tool:
        """The tool of that name.

        Raises:
            UnknownTool: there is none; the message has the nearest.
        """
        found = next((x for x in self.tools if x.name == name), None)
        if found is None:
            meant = did_you_mean(name, [x.name for x in self.tools])
            raise UnknownTool(
                f"No tool {name!r} is drawn in this workflow, or it is not in the toolbelt. "
                f"{meant or 'Draw it, from AgentDefineTool on.'}"
            )
        return found


class _OwnSettings(SourceSettings):
    kind: ClassVar[SourceKind] = STATIC
    noun: ClassVar[str] = "tool"
    shapes: ClassVar[tuple[str, ...]] = ()


def settings_with(settings: Settings) -> Settings:
    """The settings with `canvas` as a source."""
    own = _OwnSettings(name=CANVAS_SOURCE, transport="canvas", secrets=settings.secrets)
    return replace(settings, sources={**settings.sources.copy(), CANVAS_SOURCE: own})


def without_own(names: Iterable[str]) -> list[str]:
    """The sources among these that are connected."""
    return [x for x in names if x != CANVAS_SOURCE]
