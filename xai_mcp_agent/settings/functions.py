"""Python functions of a file as tools: an entry under `functions`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator

from ..core.kinds import FUNCTIONS
from .entry import (
    OURS,
    START_TIMEOUT_SECONDS,
    Path,
    Seconds,
    SourceSettings,
    Texts,
    mistake,
    spelled,
)


def _named(value: Any) -> Any:
    if isinstance(value, str) and not value.strip():
        raise mistake("it is empty.", "Name the file that has the functions.")
    return value


@dataclass(frozen=True, kw_only=True, repr=False)
class FunctionSettings(SourceSettings):
    """One file of functions. With `include` only these are tools, and never those in `exclude`.

    `start_timeout_seconds` is the limit for importing the file.
    """

    kind: ClassVar = FUNCTIONS
    noun: ClassVar = "file of functions"
    shapes: ClassVar = ('{"file": ...}',)

    transport: Annotated[str, OURS] = "python"
    file: Annotated[Path, BeforeValidator(_named)]
    include: Texts = ()
    exclude: Texts = ()
    start_timeout_seconds: Annotated[Seconds, spelled("startTimeout")] = START_TIMEOUT_SECONDS

    @property
    def origin(self) -> object:
        """The file."""
        return self.file
