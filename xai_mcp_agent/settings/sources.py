"""The entries of functions, built-in tools, agents and workflows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Annotated, Any, ClassVar, Self, cast

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, model_validator

from ..core.names import did_you_mean
from ..core.tools import AGENT, BUILTIN, FUNCTIONS, WORKFLOW
from ..secrets.search import secrets_in_env, secrets_in_text
from .entry import (
    START_TIMEOUT_SECONDS,
    Environment,
    Headers,
    HeaderText,
    NotNegative,
    Path,
    Seconds,
    SourceSettings,
    Text,
    Texts,
    Url,
    read_text,
    remembering,
    trimmed_text,
)
from .validation import INTERNAL, context_of, file_keys, mistake, read_by

PLAIN_TOOLS = ("current_time", "calculate")
FILE_TOOLS = ("list_files", "read_file", "write_file")
"""The built-in tools that need a workspace."""

ALL_BUILTIN_TOOLS = (*PLAIN_TOOLS, *FILE_TOOLS)
WORKFLOW_SUFFIXES = (".xircuits", ".py")

# Agents and workflows think, and call tools of their own.
AGENT_TIMEOUT_SECONDS = 300.0
WORKFLOW_TIMEOUT_SECONDS = 300.0
# These sources start at once, and the state of functions belongs to one run.
_KEEP_WARM_SECONDS = 0.0


def _function_file(value: Any) -> Any:
    if isinstance(value, str) and not value.strip():
        raise mistake("it is empty.", "Name the file that has the functions.")
    return value


def _module(value: Any, info: ValidationInfo) -> str:
    name = trimmed_text(value, info)
    is_name = bool(name) and all(x.isidentifier() for x in name.split("."))
    if not is_name and not context_of(info).is_off:
        fix = "Write it as in an import, such as package.module."
        raise mistake("this is not a valid name of a module.", fix)
    return name


@dataclass(frozen=True, kw_only=True, repr=False)
class FunctionSettings(SourceSettings):
    """One file of functions, or one module, which may be in `folder`.

    `include` and `exclude` select the functions. `start_timeout_seconds` limits the import.
    """

    kind: ClassVar = FUNCTIONS
    noun: ClassVar = "file of functions"
    example: ClassVar = '{"file": ...} or {"module": ...}'

    transport: Annotated[str, INTERNAL] = "python"
    keep_warm_seconds: NotNegative | None = _KEEP_WARM_SECONDS
    file: Annotated[Path, BeforeValidator(_function_file)] = ""
    module: Annotated[str, read_by(_module)] = ""
    folder: Annotated[Path, Field(validate_default=True)] = ""
    include: Texts = ()
    exclude: Texts = ()
    start_timeout_seconds: Seconds = START_TIMEOUT_SECONDS

    @model_validator(mode="after")
    def _check_origin(self) -> Self:
        if self.file and self.module:
            raise mistake("`file` and `module` are both set.", "Remove one of them.")
        if not self.file and not self.module:
            fix = 'Add "file": "tools.py" or "module": "package.module".'
            raise mistake("it has neither a `file` nor a `module`.", fix)
        return self

    @property
    def origin(self) -> str:
        """The file or the module of the functions, for a person to read."""
        return self.file or f"the module {self.module}"


def _builtin_tools(names: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
    choices = f"Known: {', '.join(ALL_BUILTIN_TOOLS)}."
    if context_of(info).is_off:
        return tuple(dict.fromkeys(names))
    for name in (x for x in names if x not in ALL_BUILTIN_TOOLS):
        fix = f"{did_you_mean(name, ALL_BUILTIN_TOOLS)} {choices}".strip()
        raise mistake(f"unknown built-in tool {name[:40]!r}.", fix)
    if not names:
        raise mistake("must name at least one tool.", choices)
    return tuple(dict.fromkeys(names))


@dataclass(frozen=True, kw_only=True, repr=False)
class BuiltinSettings(SourceSettings):
    """Built-in tools; file tools work only in the folder `workspace`."""

    kind: ClassVar = BUILTIN
    noun: ClassVar = "set of built-in tools"
    example: ClassVar = '{"tools": ["calculate"]}'

    transport: Annotated[str, INTERNAL] = "built in"
    keep_warm_seconds: NotNegative | None = _KEEP_WARM_SECONDS
    tools: Annotated[Texts, AfterValidator(_builtin_tools)]
    workspace: Path = ""

    @model_validator(mode="after")
    def _check_workspace(self, info: ValidationInfo) -> Self:
        files = [x for x in FILE_TOOLS if x in self.tools]
        if context_of(info).is_off or not files:
            return self
        if not self.workspace:
            fix = 'Add "workspace": "notes", a folder that these tools may use.'
            raise mistake(f"{files[0]} needs a `workspace`.", fix)
        settings = FilePath(os.path.realpath(context_of(info).variables.folder))
        if "write_file" in files and settings.is_relative_to(os.path.realpath(self.workspace)):
            raise mistake(
                "this folder contains the settings, and whoever writes those decides what starts.",
                "Name a folder beside or below that of the settings, such as notes.",
                "workspace",
            )
        return self

    @property
    def origin(self) -> object:
        """The tools and the workspace."""
        return self.tools, self.workspace


def _whole(text: str) -> tuple[str]:
    return (text,)


@dataclass(frozen=True, kw_only=True, repr=False)
class AgentSettings(SourceSettings):
    """One agent. Its card may send calls to its own host and to `allowed_hosts`.

    `bearer` is a token for `Authorization`. `include` and `exclude` select its skills.
    `start_timeout_seconds` limits reading the card.
    """

    kind: ClassVar = AGENT
    noun: ClassVar = "agent"
    example: ClassVar = '{"url": ...}'

    url: Annotated[Url, remembering(secrets_in_text)]
    headers: Headers = field(default_factory=dict[str, str], hash=False)
    bearer: Annotated[HeaderText, remembering(_whole)] = ""
    allowed_hosts: Texts = ()
    include: Texts = ()
    exclude: Texts = ()
    call_timeout_seconds: Annotated[Seconds, file_keys("timeout")] = AGENT_TIMEOUT_SECONDS
    start_timeout_seconds: Seconds = START_TIMEOUT_SECONDS

    def __post_init__(self) -> None:
        object.__setattr__(self, "transport", "a2a")

    @model_validator(mode="after")
    def _check_access(self) -> Self:
        if self.bearer and any(x.lower() == "authorization" for x in self.headers):
            problem = "`bearer` and the header `Authorization` are both set."
            raise mistake(problem, "Remove one of them.")
        return self

    @property
    def origin(self) -> object:
        """The URL of the agent."""
        return self.url

    @property
    def request_headers(self) -> dict[str, str]:
        """The headers of every request to the agent."""
        return self.headers | ({"Authorization": f"Bearer {self.bearer}"} if self.bearer else {})


def _workflow_file(value: Any) -> Any:
    if isinstance(value, str) and not value.strip().lower().endswith(WORKFLOW_SUFFIXES):
        fix = "Name a file that ends in .xircuits, or its compiled .py."
        raise mistake("this is not a workflow.", fix)
    return value


def _json_value(value: Any, info: ValidationInfo) -> Any:
    """Read any JSON value and replace the variables in its texts."""
    if isinstance(value, dict):
        return {k: _json_value(x, info) for k, x in cast(dict[str, Any], value).items()}
    if isinstance(value, list | tuple):
        return [_json_value(x, info) for x in cast(list[Any], value)]
    if value is None or isinstance(value, bool | int | float):
        return value
    return read_text(value, info)


def _secrets_in_arguments(arguments: dict[str, Any]) -> Iterator[str]:
    return secrets_in_env({name: x for name, x in arguments.items() if isinstance(x, str)})


@dataclass(frozen=True, kw_only=True, repr=False)
class WorkflowSettings(SourceSettings):
    """One workflow. Every call gets its `arguments`, which are hidden from models.

    `start_timeout_seconds` limits its compilation. `env` is added to this process's environment.
    """

    kind: ClassVar = WORKFLOW
    noun: ClassVar = "workflow"
    example: ClassVar = '{"file": ...}'

    transport: Annotated[str, INTERNAL] = "process"
    keep_warm_seconds: NotNegative | None = _KEEP_WARM_SECONDS
    file: Annotated[Path, BeforeValidator(_workflow_file)]
    description: Text = ""
    arguments: Annotated[
        dict[str, Annotated[Any, read_by(_json_value, Any)]], remembering(_secrets_in_arguments)
    ] = field(default_factory=dict[str, Any], hash=False)
    env: Environment = field(default_factory=dict[str, str], hash=False)
    call_timeout_seconds: Annotated[Seconds, file_keys("timeout")] = WORKFLOW_TIMEOUT_SECONDS
    start_timeout_seconds: Seconds = START_TIMEOUT_SECONDS

    @property
    def origin(self) -> object:
        """The file of the workflow."""
        return self.file
