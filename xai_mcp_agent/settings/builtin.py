"""Tools of our own: an entry under `builtin`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Self, cast

from pydantic import AfterValidator, ValidationInfo

from ..core.kinds import BUILTIN
from ..core.names import did_you_mean
from .document import Place
from .entry import OURS, Reading, SourceSettings, Texts, mistake, read_entry
from .entry import Path as WrittenPath
from .interpolation import Variables

PLAIN_TOOLS = ("current_time", "calculate")
FILE_TOOLS = ("list_files", "read_file", "write_file")
"""Those that need a workspace."""

ALL_BUILTIN_TOOLS = (*PLAIN_TOOLS, *FILE_TOOLS)


def _known(found: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
    is_off = cast(Reading, info.context).is_off
    for name in found:
        if name not in ALL_BUILTIN_TOOLS and not is_off:
            hint = did_you_mean(name, ALL_BUILTIN_TOOLS)
            fix = f"{hint} {_there_are()}".strip()
            raise mistake(f"there is no built-in tool {name[:40]!r}.", fix)
    if not found and not is_off:
        raise mistake("it names no tool.", _there_are())
    return tuple(dict.fromkeys(found))


def _there_are() -> str:
    return f"There are {', '.join(ALL_BUILTIN_TOOLS)}."


@dataclass(frozen=True, kw_only=True, repr=False)
class BuiltinSettings(SourceSettings):
    """Some of our tools; those for files work in the folder `workspace`, and nowhere else."""

    kind: ClassVar = BUILTIN
    noun: ClassVar = "set of built-in tools"
    shapes: ClassVar = ('{"tools": ["calculate"]}',)

    transport: Annotated[str, OURS] = "built in"
    tools: Annotated[Texts, AfterValidator(_known)]
    workspace: WrittenPath = ""

    @property
    def origin(self) -> object:
        """See `SourceSettings.origin`: with other tools it is another one."""
        return self.tools, self.workspace

    @classmethod
    def read(cls, name: str, value: object, place: Place, variables: Variables) -> Self:
        """See `SourceSettings.read`."""
        found = read_entry(cls, name, value, place, variables)
        files = [x for x in FILE_TOOLS if x in found.tools]
        if found.disabled or not files:
            return found
        if not found.workspace:
            fix = 'Add "workspace": "notes", a folder that these tools may use.'
            raise place.error(f"{files[0]} needs a `workspace`.", fix)
        if "write_file" in files and _holds(found.workspace, variables.folder):
            raise place.at("workspace").error(
                "it holds the settings: who writes to them decides which programs are started.",
                "Name a folder beside or below that of the settings, such as notes.",
            )
        return found


def _holds(folder: str, inner: str) -> bool:
    return Path(os.path.realpath(inner)).is_relative_to(os.path.realpath(folder))
