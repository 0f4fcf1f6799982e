"""What a source offers beside its tools, over whichever session can be used."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

from ...core.resources import Completion, Prompt, PromptMessage, Resource
from ...core.results import ResourcePart
from ..base import LISTS, Completed, OnUpdate
from .offers.updates import Updates

if TYPE_CHECKING:
    from .session import McpSession

T = TypeVar("T")


class Offered(ABC):
    """The part of an `McpSource` that makes it a `ResourceSource`."""

    def __init__(self, updates: Updates) -> None:
        self.updates = updates

    @abstractmethod
    async def over_a_session(self, do: Callable[[McpSession], Awaitable[T]]) -> T:
        """Do something with the session; once more where the server cannot have seen it."""

    @property
    @abstractmethod
    def usable(self) -> McpSession | None:
        """The session, if there is one now."""

    async def list_resources(self) -> list[Resource]:
        """Every resource and template."""
        return await self.over_a_session(lambda session: session.content.list_resources())

    async def read_resource(self, uri: str) -> list[ResourcePart]:
        """The contents of one resource."""
        return await self.over_a_session(lambda session: session.content.read_resource(uri))

    async def list_prompts(self) -> list[Prompt]:
        """Every prompt."""
        return await self.over_a_session(lambda session: session.content.list_prompts())

    async def get_prompt(self, name: str, arguments: Mapping[str, str]) -> list[PromptMessage]:
        """One prompt, filled in."""
        return await self.over_a_session(
            lambda session: session.content.get_prompt(name, arguments)
        )

    async def complete(
        self, kind: Completed, of: str, argument: str, value: str, given: Mapping[str, str]
    ) -> Completion:
        """How an argument may go on after `value`."""
        return await self.over_a_session(
            lambda session: session.content.complete(kind, of, argument, value, given)
        )

    async def ping(self) -> float:
        """Have the server answer; how many seconds that took, once it was connected."""

        async def ping(session: McpSession) -> float:
            started = monotonic()
            await session.content.ping()
            return monotonic() - started

        return await self.over_a_session(ping)

    async def subscribe(self, what: str, tell: OnUpdate) -> None:
        """Tell this listener of changes, also over later sessions, until `unsubscribe`."""

        async def subscribe(session: McpSession) -> None:
            # Not earlier: a session that begins tells everybody that anything may have changed.
            self.updates.add(what, tell)
            try:
                if what not in LISTS:
                    await session.subscriptions.open(what)
            except BaseException:
                self.updates.remove(what, tell)
                raise

        await self.over_a_session(subscribe)

    async def unsubscribe(self, what: str, tell: OnUpdate) -> None:
        """Do not tell it any more; where nobody else listens, neither should the server."""
        if self.updates.remove(what, tell) and self.usable is not None:
            await self.usable.subscriptions.close(what)
