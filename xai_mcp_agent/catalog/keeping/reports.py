"""What is reported to the catalog's memory: what sources did, what was called, what was decided."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from ...core.kinds import SourceKind
from ...core.tools import JsonObject, Tool
from ...history.event import Teller
from ...history.subject import Subject


@dataclass(frozen=True, slots=True)
class Listed:
    """A source listed its tools: right after it `connected`, or again.

    With `is_forced` every tool is written down, though nothing may have changed. `disabled` are
    names that the settings leave out.
    """

    source: Subject
    time: datetime
    tools: tuple[Tool, ...]
    connected: bool = False
    transport: str = ""
    title: str = ""
    is_forced: bool = False
    disabled: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Lost:
    """A run let go of a source, or lost it; `reason` says why. `run` is empty for this run."""

    source: Subject
    time: datetime
    reason: str
    run: str = ""


@dataclass(frozen=True, slots=True)
class Failed:
    """A source could not be reached, or not listed. What was known of it stays."""

    source: Subject
    time: datetime
    problem: str


@dataclass(frozen=True, slots=True)
class Seeded:
    """Tools that are there from the start. One of the same name takes the place of another."""

    kind: SourceKind
    time: datetime
    tools: tuple[Tool, ...]


@dataclass(frozen=True, slots=True)
class Called:
    """A call that is over. `error` is empty when it went well.

    `arguments` and `result` are None unless somebody asked for them to be kept. They are without
    secrets; what is long is the beginning of a text.
    """

    tool: Subject
    time: datetime
    seconds: float
    error: str = ""
    arguments: JsonObject | str | None = None
    result: str | None = None


@dataclass(frozen=True, slots=True)
class Decided:
    """What is to be done with a tool from now on. `accepted` goes with a definition's digest.

    Decided by a person, or by its first use, which accepts the definition it has.
    """

    tool: Subject
    time: datetime
    decision: Literal["enabled", "disabled", "accepted"]
    definition: str = ""
    reason: str = ""
    teller: Teller = "user"


Report: TypeAlias = Listed | Lost | Failed | Seeded | Called | Decided
