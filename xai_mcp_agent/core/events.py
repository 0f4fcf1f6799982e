"""Events of sources, as values. A source reports them to its observer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from .results import Prompt, Resource
from .tools import MCP, SourceKind, Tool

LISTS = ("tools", "prompts", "resources")
"""The lists of a source that can change, as fields of its `Inventory`."""

SourceState: TypeAlias = Literal[
    "idle", "connecting", "ready", "retrying", "failed", "disabled", "closed"
]
"""idle: not requested yet. retrying: lost or failed, tries again after a pause.
failed: given up until the next request. disabled: by the settings or an error in them."""


CLOSED = "it was closed."
"""The reason of an intended loss."""


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """Status of one source, for a person.

    `era` is the protocol version in use. `connect_seconds` is the time from start to the first
    listing. `error` and `next_step` are empty while all is well; `stderr_tail` is newest last.
    `signed_in` is the service where a person signed in for it. `instructions` are its own words on
    how to use it (masked and cut), and `tells_instructions` says whether agents read them.
    `breaker` says why its calls are refused after many failures, and until when; otherwise empty.
    `sessions` counts its open sessions; clients of the gateway may have their own.
    """

    name: str
    kind: str
    state: SourceState
    transport: str = ""
    era: str = ""
    server: str = ""
    tool_count: int | None = None
    prompt_count: int = 0
    resource_count: int = 0
    connect_seconds: float | None = None
    error: str = ""
    next_step: str = ""
    stderr_tail: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    signed_in: str = ""
    instructions: str = ""
    tells_instructions: bool = True
    breaker: str = ""
    sessions: int = 0


@dataclass(frozen=True, slots=True)
class Inventory:
    """What a source offers right now. `notes` report what was left out or repaired, and why.

    `disabled` are the names of its tools that the settings leave out. Resource templates come last
    in `resources`.
    """

    source: str
    tools: tuple[Tool, ...]
    instructions: str = ""
    notes: tuple[str, ...] = ()
    disabled: tuple[str, ...] = ()
    prompts: tuple[Prompt, ...] = ()
    resources: tuple[Resource, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceConnected:
    """A session opened; the first inventory follows. `title` is what the source calls itself."""

    source: str
    transport: str
    era: str
    kind: SourceKind = MCP
    title: str = ""


@dataclass(frozen=True, slots=True)
class InventoryChanged:
    """A source listed what it offers: after connecting, after a notice, or on request."""

    source: str
    inventory: Inventory


@dataclass(frozen=True, slots=True)
class SourceLost:
    """The session ended, never opened, or was closed on purpose (`reason` says which)."""

    source: str
    reason: str
    on_purpose: bool = False


@dataclass(frozen=True, slots=True)
class SourceUnreachable:
    """A session did not open, or a source could not be listed again; its inventory stays."""

    source: str
    problem: str
    kind: SourceKind = MCP


SourceEvent: TypeAlias = SourceConnected | InventoryChanged | SourceLost | SourceUnreachable


class Observer(Protocol):
    """Receives all events of sources, on the bridge's loop; must not block."""

    def notice(self, event: SourceEvent) -> None:
        """Receive one event. Must not raise."""
        ...
