"""The part of the Python face about what servers offer beside tools: resources and prompts.

See docs/python.md. Kept stable.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from typing import Any, TypeVar

from ..core.resources import Completion, Prompt, PromptMessage, Resource
from ..core.results import ResourcePart
from ..sources.base import LISTS, Completed
from .engine import Engine
from .subscription import AioNews, AioSubscription, News, OnChange, Subscription

T = TypeVar("T")


class Content(ABC):
    """These methods of `Bridge`.

    All of them raise:
        UnknownServer, SettingsError, SourceFailed: it cannot be used; the message says why.
        SourceClosed, ToolTimeout, ServerError: the far side.
    """

    @abstractmethod
    def run(self, do: Callable[..., Coroutine[Any, Any, T]], *args: Any, **options: Any) -> T:
        """Run an engine's coroutine method on the bridge's loop and wait for it."""

    @property
    @abstractmethod
    def is_open(self) -> bool:
        """False once it was closed."""

    def list_resources(self, server: str) -> list[Resource]:
        """Every resource and resource template of one server."""
        return self.run(Engine.list_resources, server)

    def read_resource(
        self, server: str, uri: str, values: Mapping[str, Any] | None = None
    ) -> list[ResourcePart]:
        """The contents of one resource. With `values`, `uri` is a template to be filled in.

        Raises:
            InvalidArguments: the template needs other values; nothing was sent.
        """
        return self.run(Engine.read_resource, server, uri, values)

    def list_prompts(self, server: str) -> list[Prompt]:
        """Every prompt of one server."""
        return self.run(Engine.list_prompts, server)

    def get_prompt(
        self, server: str, name: str, arguments: Mapping[str, str] | None = None
    ) -> list[PromptMessage]:
        """One prompt of one server, filled in with these arguments."""
        return self.run(Engine.get_prompt, server, name, arguments)

    def complete(
        self,
        server: str,
        of: str | Prompt | Resource,
        argument: str,
        value: str = "",
        given: Mapping[str, str] | None = None,
    ) -> Completion:
        """How the value of an argument may go on, as the server says; nothing if it cannot tell.

        `of` is a prompt or a resource template, or the name of the one or the URI of the other.
        `given` are the arguments that are known already.
        """
        return self.run(Engine.complete, server, *_completed(of), argument, value, given)

    def subscribe(self, server: str, uri: str, on_updated: OnChange | None = None) -> Subscription:
        """Hear when a resource changes: `on_updated(uri)`, or `wait` for it. See `Subscription`.

        `on_updated` is called on the bridge's own thread: it should return at once.
        """
        return self._subscribed(server, (uri,), on_updated)

    def watch(self, server: str, on_changed: OnChange | None = None) -> Subscription:
        """Hear when the server's list of `tools`, `prompts` or `resources` changes, by that name.

        `on_changed` is called on the bridge's own thread: it should return at once.
        """
        return self._subscribed(server, LISTS, on_changed)

    def instructions(self, server: str) -> str:
        """How the server says it wants to be used; empty where it says nothing."""
        return self.run(Engine.instructions, server)

    def ping(self, server: str) -> float:
        """How many seconds the server needs to answer anything at all, once it is connected."""
        return self.run(Engine.ping, server)

    def _subscribed(
        self, server: str, whats: tuple[str, ...], on_change: OnChange | None
    ) -> Subscription:
        news = News(on_change)
        self.run(Engine.subscribe, server, whats, news.tell)

        def leave() -> None:
            if self.is_open:
                self.run(Engine.unsubscribe, server, whats, news.tell)

        return Subscription(news, leave)


class AioContent(ABC):
    """The methods of `Content` as coroutines."""

    @abstractmethod
    async def run(self, do: Callable[..., Coroutine[Any, Any, T]], *args: Any, **options: Any) -> T:
        """Run an engine's coroutine method on the bridge's loop and await it."""

    async def list_resources(self, server: str) -> list[Resource]:
        """See `Bridge.list_resources`."""
        return await self.run(Engine.list_resources, server)

    async def read_resource(
        self, server: str, uri: str, values: Mapping[str, Any] | None = None
    ) -> list[ResourcePart]:
        """See `Bridge.read_resource`."""
        return await self.run(Engine.read_resource, server, uri, values)

    async def list_prompts(self, server: str) -> list[Prompt]:
        """See `Bridge.list_prompts`."""
        return await self.run(Engine.list_prompts, server)

    async def get_prompt(
        self, server: str, name: str, arguments: Mapping[str, str] | None = None
    ) -> list[PromptMessage]:
        """See `Bridge.get_prompt`."""
        return await self.run(Engine.get_prompt, server, name, arguments)

    async def complete(
        self,
        server: str,
        of: str | Prompt | Resource,
        argument: str,
        value: str = "",
        given: Mapping[str, str] | None = None,
    ) -> Completion:
        """See `Bridge.complete`."""
        return await self.run(Engine.complete, server, *_completed(of), argument, value, given)

    async def subscribe(
        self, server: str, uri: str, on_updated: OnChange | None = None
    ) -> AioSubscription:
        """See `Bridge.subscribe`; `on_updated` is called on your loop."""
        return await self._subscribed(server, (uri,), on_updated)

    async def watch(self, server: str, on_changed: OnChange | None = None) -> AioSubscription:
        """See `Bridge.watch`; `on_changed` is called on your loop."""
        return await self._subscribed(server, LISTS, on_changed)

    async def instructions(self, server: str) -> str:
        """See `Bridge.instructions`."""
        return await self.run(Engine.instructions, server)

    async def ping(self, server: str) -> float:
        """See `Bridge.ping`."""
        return await self.run(Engine.ping, server)

    async def _subscribed(
        self, server: str, whats: tuple[str, ...], on_change: OnChange | None
    ) -> AioSubscription:
        news = AioNews(on_change)
        await self.run(Engine.subscribe, server, whats, news.tell)

        async def leave() -> None:
            with suppress(RuntimeError):  # the bridge is closed, and with it all of this
                await self.run(Engine.unsubscribe, server, whats, news.tell)

        return AioSubscription(news, leave)


def _completed(of: str | Prompt | Resource) -> tuple[Completed, str]:
    match of:
        case Prompt(name):
            return "prompt", name
        case Resource(uri):
            return "template", uri
        case str(text):
            # Only a template has anything to fill in, and no prompt is called like that.
            return ("template" if "{" in text else "prompt"), text
