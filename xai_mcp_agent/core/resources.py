"""Resources and prompts: what a source offers besides tools."""

from __future__ import annotations

from dataclasses import dataclass

from .results import ResultPart
from .tools import Icon


@dataclass(frozen=True, slots=True)
class Resource:
    """Something a source can be asked to read. A template's `uri` has `{parameters}` to fill in."""

    uri: str
    name: str
    description: str = ""
    mime_type: str | None = None
    is_template: bool = False
    title: str | None = None
    icons: tuple[Icon, ...] = ()


@dataclass(frozen=True, slots=True)
class PromptArgument:
    """A value a prompt wants. All values are text."""

    name: str
    description: str = ""
    required: bool = False


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prepared text that a source offers."""

    name: str
    description: str = ""
    arguments: tuple[PromptArgument, ...] = ()
    title: str | None = None
    icons: tuple[Icon, ...] = ()


@dataclass(frozen=True, slots=True)
class PromptMessage:
    """One message of a filled-in prompt. `role` is `user` or `assistant`."""

    role: str
    content: ResultPart


@dataclass(frozen=True, slots=True)
class Completion:
    """How a value that was begun may go on. `total` is how many there are, if the source says so.

    A source gives a hundred at most; `has_more` says that it has more.
    """

    values: tuple[str, ...] = ()
    has_more: bool = False
    total: int | None = None
