"""The protocol of sources: what every kind of them implements.

One task owns a source: it runs `own` and is the only one that opens and closes
its session. Everything else calls in from other tasks of the same event loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, Protocol, TypeAlias

from ..core.calls import PROGRAM, Caller, ToolInvocation
from ..core.events import Inventory, Observer, SourceState, SourceStatus
from ..core.results import Completion, Prompt, PromptMessage, Resource, ResourcePart, ToolResult

OnUpdate: TypeAlias = Callable[[str], None]
"""Told what changed: a resource's URI, or one of `LISTS`. Called on the bridge's loop."""

Completed: TypeAlias = Literal["prompt", "template"]


class Source(Protocol):
    """Anything that offers tools."""

    @property
    def name(self) -> str:
        """Unique among the sources of a bridge."""
        ...

    @property
    def state(self) -> SourceState:
        """What it is doing now; `status` tells more."""
        ...

    def status(self) -> SourceStatus:
        """How it is doing now. Never blocks."""
        ...

    async def own(self, observer: Observer) -> None:
        """Open, serve and heal the source until `stop` is called. Run by exactly one task."""
        ...

    def stop(self) -> None:
        """Ask the owner task to close and end. May be called more than once."""
        ...

    async def ready(self, caller: Caller = PROGRAM) -> Inventory:
        """Wait for the source to be usable, within its own limit, and say what it offers.

        Raises:
            SourceFailed: it cannot be used now; the message has the cause and the next step.
        """
        ...

    async def refresh(self, caller: Caller = PROGRAM) -> Inventory:
        """Ask the source anew what it offers.

        Raises:
            SourceError: one of its kinds.
        """
        ...

    async def call(self, invocation: ToolInvocation) -> ToolResult:
        """Call one tool and wait for its result, connecting first where that is needed.

        Its arguments were checked against the tool's schema. A result that the source marks as an
        error is returned, not raised: the model should read it.

        Raises:
            SourceFailed: it cannot be reached.
            SourceClosed: the connection was lost before the answer came.
            ToolTimeout: no answer within the limit; the source was told to stop.
            ServerError: the source answered with a protocol error.
        """
        ...

    def features(self, caller: Caller) -> SourceFeatures | None:
        """What it offers beside tools, asked for by this caller; None for a kind without."""
        ...


class SourceFeatures(Protocol):
    """Resources and prompts of a source. All methods raise `SourceError` kinds."""

    async def list_resources(self) -> list[Resource]:
        """Every resource, then every resource template; from its inventory."""
        ...

    async def read_resource(self, uri: str) -> list[ResourcePart]:
        """The contents of one resource; a resource may have several."""
        ...

    async def list_prompts(self) -> list[Prompt]:
        """Every prompt; from its inventory."""
        ...

    async def get_prompt(self, name: str, arguments: Mapping[str, str]) -> list[PromptMessage]:
        """One prompt, filled in."""
        ...

    async def complete(
        self, kind: Completed, of: str, argument: str, value: str, given: Mapping[str, str]
    ) -> Completion:
        """How an argument of a prompt, or of a resource template, may go on after `value`."""
        ...

    async def subscribe(self, what: str, tell: OnUpdate) -> None:
        """Tell this listener when a resource changes, or one of `LISTS`, until `unsubscribe`."""
        ...

    async def unsubscribe(self, what: str, tell: OnUpdate) -> None:
        """Do not tell it any more."""
        ...

    def doubt(self) -> None:
        """Check the connection in the background; the next request waits for the outcome."""
        ...

    async def ping(self) -> float:
        """Have the source answer now; how many seconds that took."""
        ...
