"""Python functions of a file or a module as tools: an entry under `functions`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self, cast

from pydantic import BeforeValidator, Field, PlainValidator, ValidationInfo

from ..core.kinds import FUNCTIONS
from .document import Place
from .entry import (
    OURS,
    START_TIMEOUT_SECONDS,
    Path,
    Reading,
    Seconds,
    SourceSettings,
    Texts,
    mistake,
    read_entry,
    read_text,
    spelled,
)
from .interpolation import Variables


def _named(value: Any) -> Any:
    if isinstance(value, str) and not value.strip():
        raise mistake("it is empty.", "Name the file that has the functions.")
    return value


def _module(value: Any, info: ValidationInfo) -> str:
    name = read_text(value, info).strip()
    is_name = bool(name) and all(x.isidentifier() for x in name.split("."))
    if not is_name and not cast(Reading, info.context).is_off:
        fix = "Write it as in an import, such as package.module."
        raise mistake("this is not the name of a module.", fix)
    return name


@dataclass(frozen=True, kw_only=True, repr=False)
class FunctionSettings(SourceSettings):
    """One file of functions, or one module. With `include` only these are tools, and never those
    in `exclude`.

    The module is looked for in `folder`, too. `start_timeout_seconds` is the limit for importing.
    """

    kind: ClassVar = FUNCTIONS
    noun: ClassVar = "file of functions"
    shapes: ClassVar = ('{"file": ...}', '{"module": ...}')

    transport: Annotated[str, OURS] = "python"
    file: Annotated[Path, BeforeValidator(_named)] = ""
    module: Annotated[str, PlainValidator(_module)] = ""
    folder: Annotated[Path, Field(validate_default=True)] = ""
    include: Texts = ()
    exclude: Texts = ()
    start_timeout_seconds: Annotated[Seconds, spelled("startTimeout")] = START_TIMEOUT_SECONDS

    @classmethod
    def read(cls, name: str, value: Any, place: Place, variables: Variables) -> Self:
        """See `SourceSettings.read`."""
        found = read_entry(cls, name, value, place, variables)
        if found.file and found.module:
            raise place.error("`file` and `module` are given at once.", "Remove one of them.")
        if not found.file and not found.module:
            fix = 'Add "file": "tools.py" or "module": "package.module".'
            raise place.error("it has neither a `file` nor a `module`.", fix)
        return found

    @property
    def origin(self) -> str:
        """Where the functions are, for a person."""
        return self.file or f"the module {self.module}"
