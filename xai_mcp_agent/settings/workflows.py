"""Workflows as tools: an entry under `workflows`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Self, cast

from pydantic import BeforeValidator, PlainValidator, ValidationInfo

from ..core.kinds import WORKFLOW
from ..secrets.redactor import secrets_in_env
from .document import Place
from .entry import (
    OURS,
    START_TIMEOUT_SECONDS,
    Environment,
    Path,
    Seconds,
    SourceSettings,
    Text,
    as_dict,
    mistake,
    read_text,
    spelled,
)
from .interpolation import Variables

SUFFIXES = (".xircuits", ".py")
WORKFLOW_TIMEOUT_SECONDS = 300.0  # an agent may run in it, with a model that thinks for long


def _named(value: Any) -> Any:
    if isinstance(value, str) and not value.strip().lower().endswith(SUFFIXES):
        problem = "this is no workflow."
        raise mistake(problem, "Name a file that ends in .xircuits, or its compiled .py.")
    return value


def _value(value: Any, info: ValidationInfo) -> Any:
    """Any JSON; the variables in its texts are replaced."""
    if isinstance(value, dict):
        return {k: _value(x, info) for k, x in cast(dict[str, Any], value).items()}
    if isinstance(value, list | tuple):
        return [_value(x, info) for x in cast(list[Any], value)]
    if value is None or isinstance(value, bool | int | float):
        return value
    return read_text(value, info)


@dataclass(frozen=True, kw_only=True, repr=False)
class WorkflowSettings(SourceSettings):
    """One workflow. No model is asked for what is in `arguments`; these are given with every call.

    `start_timeout_seconds` is the limit for compiling it. `env` comes beside our own variables.
    """

    kind: ClassVar = WORKFLOW
    noun: ClassVar = "workflow"
    shapes: ClassVar = ('{"file": ...}',)

    transport: Annotated[str, OURS] = "process"
    file: Annotated[Path, BeforeValidator(_named)]
    description: Text = ""
    arguments: Annotated[
        dict[str, Annotated[Any, PlainValidator(_value)]], BeforeValidator(as_dict)
    ] = field(default_factory=dict[str, Any], hash=False, repr=False)
    env: Environment = field(default_factory=dict[str, str], hash=False, repr=False)
    call_timeout_seconds: Annotated[Seconds, spelled("timeout")] = WORKFLOW_TIMEOUT_SECONDS
    start_timeout_seconds: Annotated[Seconds, spelled("startTimeout")] = START_TIMEOUT_SECONDS

    @classmethod
    def read(cls, name: str, value: Any, place: Place, variables: Variables) -> Self:
        """As every entry; what is secret in its texts is remembered, too."""
        source = super().read(name, value, place, variables)
        texts = {key: x for key, x in source.arguments.items() if isinstance(x, str)}
        variables.secrets.update(secrets_in_env(source.env | texts))
        return source

    @property
    def origin(self) -> object:
        """The file."""
        return self.file
