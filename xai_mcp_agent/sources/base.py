"""The protocol that every kind of source implements.

One task owns a source: it runs `own` and is the only one that opens and closes its session.
Everything else calls in from other tasks of the same event loop.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Generic, Literal, Protocol, TypeAlias, TypeVar

import anyio

from ..core.calls import PROGRAM, Caller, ToolInvocation
from ..core.errors import SourceError, SourceFailed
from ..core.events import CLOSED, Inventory, Observer, SourceState, SourceStatus
from ..core.results import Completion, Prompt, PromptMessage, Resource, ResourcePart, ToolResult

T = TypeVar("T")

OnUpdate: TypeAlias = Callable[[str], None]
"""Called on the bridge's loop with the topic that changed: a resource's URI, or one of `LISTS`."""

CompletionKind: TypeAlias = Literal["prompt", "template"]


class Source(Protocol):
    """Anything that offers tools."""

    @property
    def name(self) -> str:
        """The name, unique among the sources of a bridge."""
        ...

    @property
    def state(self) -> SourceState:
        """State of the source; `status` returns more."""
        ...

    def status(self) -> SourceStatus:
        """Return the current status. Never blocks."""
        ...

    async def own(self, observer: Observer) -> None:
        """Open, serve and heal the source until `stop` is called. Run by exactly one task."""
        ...

    def stop(self) -> None:
        """Ask the owner task to close and end. May be called more than once."""
        ...

    async def ready(self, caller: Caller = PROGRAM) -> Inventory:
        """Wait until the source is usable, within its own limit, and return its inventory.

        Raises:
            SourceFailed: it cannot be used now; the message has the cause and the next step.
        """
        ...

    async def refresh(self, caller: Caller = PROGRAM) -> Inventory:
        """Ask the source for its inventory again.

        Raises:
            SourceError: the source failed, in one of the subclasses.
        """
        ...

    async def call(self, invocation: ToolInvocation) -> ToolResult:
        """Call one tool and wait for its result, connecting first if needed.

        Its arguments were checked against the tool's schema. A result that the source marks as an
        error is returned, not raised: the model should read it.

        Raises:
            SourceFailed: the source cannot be reached.
            SourceClosed: the connection was lost before the answer came.
            ToolTimeout: no answer within the limit; the source was asked to stop.
            ServerError: the source answered with a protocol error.
        """
        ...

    def features(self, caller: Caller) -> SourceFeatures | None:
        """Return its resources and prompts for this caller; None for a kind without any."""
        ...


class SourceFeatures(Protocol):
    """Resources and prompts of a source. All methods raise subclasses of `SourceError`."""

    async def list_resources(self) -> list[Resource]:
        """Return every resource, then every resource template, from the inventory."""
        ...

    async def read_resource(self, uri: str) -> list[ResourcePart]:
        """Return the contents of one resource; a resource may have several."""
        ...

    async def list_prompts(self) -> list[Prompt]:
        """Return every prompt from the inventory."""
        ...

    async def get_prompt(self, name: str, arguments: Mapping[str, str]) -> list[PromptMessage]:
        """Return one prompt, filled in."""
        ...

    async def complete(
        self, kind: CompletionKind, of: str, argument: str, value: str, arguments: Mapping[str, str]
    ) -> Completion:
        """Return completions for an argument of a prompt or resource template after `value`."""
        ...

    async def subscribe(self, topic: str, on_update: OnUpdate) -> None:
        """Notify this listener when a resource or one of `LISTS` changes, until `unsubscribe`."""
        ...

    async def unsubscribe(self, topic: str, on_update: OnUpdate) -> None:
        """Stop notifying this listener."""
        ...

    def doubt(self) -> None:
        """Check the connection in the background; the next request waits for the outcome."""
        ...

    async def ping(self) -> float:
        """Wait for the source to answer a ping, and return the seconds it took."""
        ...


class Shared(Generic[T]):
    """The outcome of one attempt for all tasks waiting for it; the first sets `has_waiter`."""

    def __init__(self) -> None:
        self.has_waiter = anyio.Event()
        self._settled = anyio.Event()
        self._outcome: T | SourceError | None = None

    def settle(self, outcome: T | SourceError) -> None:
        """Hand the outcome to all waiting tasks; an error is raised there."""
        self._outcome = outcome
        self._settled.set()

    async def wait(self) -> T:
        """Wait for the outcome.

        Raises:
            SourceError: the attempt failed.
        """
        self.has_waiter.set()
        await self._settled.wait()
        if isinstance(self._outcome, SourceError):
            raise copy_error(self._outcome)
        assert self._outcome is not None
        return self._outcome


def copy_error(error: SourceError) -> SourceError:
    """Return a fresh copy of an error for another waiting task, of a type that callers expect.

    A raised exception collects the traceback of every task that raises it.
    """
    kind = SourceFailed if isinstance(error, SourceFailed) else type(error)
    return kind(error.source, error.problem, error.next_step, error.stderr_tail)


@contextmanager
def ready_within(source: Source, seconds: float | None, elapsed: float = 0.0) -> Generator[None]:
    """Limit a wait for a source; `elapsed` of the `seconds` have passed already.

    Raises:
        SourceFailed: the time ran out.
    """
    try:
        with anyio.fail_after(seconds and seconds - elapsed):
            yield
    except TimeoutError as cause:
        problem = f"it was not ready within {seconds:g} s."
        next_step = "Give the call more time, or connect it before calling."
        raise SourceFailed(source.name, problem, next_step, source.status().stderr_tail) from cause


def closed_error(source: str) -> SourceFailed:
    """Return the error for the use of a source that was closed for good."""
    return SourceFailed(source, CLOSED, "Run the workflow again.")
