"""What happens to sources, as values. A source tells its observer; it never asks who listens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from .tools import MCP, SourceKind, Tool

SourceState: TypeAlias = Literal[
    "idle", "connecting", "ready", "retrying", "failed", "disabled", "closed"
]
"""idle: not asked for yet. retrying: lost or failed, tries again after a pause.
failed: given up until somebody asks for it. disabled: by the settings or an error in them."""


CLOSED = "it was closed."
"""Why a source is lost that was closed on purpose."""


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """How one source is doing, for a person.

    `era` is the protocol version agreed on. `connect_seconds` is the time from start to the first
    listing. `error` and `next_step` are empty while all is well; `stderr_tail` is newest last.
    `signed_in` says where somebody has signed in for it, if that was so. `instructions` is how it
    wants to be used, in its own words (secrets hidden, the beginning of a long text), and
    `tells_instructions` whether agents are told. `breaker` says why its calls are refused after
    many failures, and until when; empty while they are not.
    """

    name: str
    kind: str
    state: SourceState
    transport: str = ""
    era: str = ""
    server: str = ""
    tool_count: int | None = None
    connect_seconds: float | None = None
    error: str = ""
    next_step: str = ""
    stderr_tail: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    signed_in: str = ""
    instructions: str = ""
    tells_instructions: bool = True
    breaker: str = ""


@dataclass(frozen=True, slots=True)
class Inventory:
    """What a source offers right now. `notes` tell what was left out or repaired, and why.

    `disabled` are the names of tools that it has and the settings leave out.
    """

    source: str
    tools: tuple[Tool, ...]
    instructions: str = ""
    notes: tuple[str, ...] = ()
    disabled: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceConnected:
    """A session opened. The first inventory follows. `title` is what the source calls itself."""

    source: str
    transport: str
    era: str
    kind: SourceKind = MCP
    title: str = ""


@dataclass(frozen=True, slots=True)
class InventoryChanged:
    """A source listed its tools: after connecting, after a change notice, or when asked."""

    source: str
    inventory: Inventory


@dataclass(frozen=True, slots=True)
class SourceLost:
    """The session ended, was never opened, or was closed on purpose (`reason` says which)."""

    source: str
    reason: str
    on_purpose: bool = False


@dataclass(frozen=True, slots=True)
class SourceUnreachable:
    """A session could not be opened, or a source not be listed again; what it offers stays."""

    source: str
    problem: str
    kind: SourceKind = MCP


SourceEvent: TypeAlias = SourceConnected | InventoryChanged | SourceLost | SourceUnreachable


class Observer(Protocol):
    """Told of everything that happens to sources. Called on the bridge's loop; must not block."""

    def notice(self, event: SourceEvent) -> None:
        """Take note of one event. Must not raise."""
        ...
