"""What a server offers beside its tools: resources, prompts, completions, and news of changes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar

from ...core.invocation import PROGRAM, Caller
from ...core.resources import Completion, Prompt, PromptMessage, Resource
from ...core.results import ResourcePart
from ..base import LISTS, Completed, OnUpdate
from . import results
from .requests import Requests
from .server_features.subscriptions import UpdateListeners

if TYPE_CHECKING:
    from .session import McpSession

T = TypeVar("T")


class SessionOwner(Protocol):
    """What is needed of the source whose features these are."""

    updates: UpdateListeners

    async def over_a_session(
        self, do: Callable[[McpSession], Awaitable[T]], caller: Caller = PROGRAM
    ) -> T:
        """Do something with the session; once more where the server cannot have seen it."""
        ...

    @property
    def usable(self) -> McpSession | None:
        """The session, if there is one now."""
        ...


class McpFeatures:
    """The `SourceFeatures` of an MCP server, for one caller, over whichever session can be used."""

    def __init__(self, source: SessionOwner, caller: Caller) -> None:
        self._source = source
        self._caller = caller

    async def _over_a_session(self, do: Callable[[McpSession], Awaitable[T]]) -> T:
        return await self._source.over_a_session(do, self._caller)

    async def _content(self, do: Callable[[Content], Awaitable[T]]) -> T:
        return await self._over_a_session(
            lambda session: do(Content(session.requests_of(self._caller)))
        )

    async def list_resources(self) -> list[Resource]:
        """Every resource and template."""
        return await self._content(Content.list_resources)

    async def read_resource(self, uri: str) -> list[ResourcePart]:
        """The contents of one resource."""
        return await self._content(lambda content: content.read_resource(uri))

    async def list_prompts(self) -> list[Prompt]:
        """Every prompt."""
        return await self._content(Content.list_prompts)

    async def get_prompt(self, name: str, arguments: Mapping[str, str]) -> list[PromptMessage]:
        """One prompt, filled in."""
        return await self._content(lambda content: content.get_prompt(name, arguments))

    async def complete(
        self, kind: Completed, of: str, argument: str, value: str, given: Mapping[str, str]
    ) -> Completion:
        """How an argument may go on after `value`."""
        return await self._content(
            lambda content: content.complete(kind, of, argument, value, given)
        )

    async def ping(self) -> float:
        """Have the server answer; how many seconds that took, once it was connected."""
        return await self._over_a_session(lambda session: session.requests_of(self._caller).ping())

    async def subscribe(self, what: str, tell: OnUpdate) -> None:
        """Tell this listener of changes, also over later sessions, until `unsubscribe`."""
        updates = self._source.updates

        async def subscribe(session: McpSession) -> None:
            # Not earlier: a session that begins tells everybody that anything may have changed.
            updates.add(what, tell)
            try:
                if what not in LISTS:
                    await session.subscriptions.open(what)
            except BaseException:
                updates.remove(what, tell)
                raise

        await self._over_a_session(subscribe)

    async def unsubscribe(self, what: str, tell: OnUpdate) -> None:
        """Do not tell it any more; where nobody else listens, neither should the server."""
        session = self._source.usable
        if self._source.updates.remove(what, tell) and session is not None:
            await session.subscriptions.close(what)


class Content:
    """Of one server, asked for over the connection of `requests`."""

    def __init__(self, requests: Requests) -> None:
        self._requests = requests

    async def list_resources(self) -> list[Resource]:
        """Every resource and every template; empty for a server that has none."""
        client = self._requests.connected()
        if client.server_capabilities.resources is None:
            return []
        ask = client.list_resource_templates
        resources = await self._requests.listed(
            "resources/list", client.list_resources, "resources"
        )
        templates = await self._requests.listed(
            "resources/templates/list", ask, "resource_templates"
        )
        return [
            *(results.resource_of(x, x.uri) for x in resources),
            *(results.resource_of(x, x.uri_template, is_template=True) for x in templates),
        ]

    async def read_resource(self, uri: str) -> list[ResourcePart]:
        """The contents of one resource."""
        ask = partial(self._requests.connected().read_resource, uri)
        result = await self._content(f"reading {uri!r}", ask)
        return [results.resource_part_of(x) for x in result.contents]

    async def list_prompts(self) -> list[Prompt]:
        """Every prompt; empty for a server that has none."""
        client = self._requests.connected()
        if client.server_capabilities.prompts is None:
            return []
        listed = await self._requests.listed("prompts/list", client.list_prompts, "prompts")
        return [results.prompt_of(x) for x in listed]

    async def get_prompt(self, name: str, arguments: Mapping[str, str]) -> list[PromptMessage]:
        """One prompt, filled in."""
        ask = partial(self._requests.connected().get_prompt, name, dict(arguments))
        result = await self._content(f"the prompt {name!r}", ask)
        return [results.prompt_message_of(x) for x in result.messages]

    async def complete(
        self, kind: Completed, of: str, argument: str, value: str, given: Mapping[str, str]
    ) -> Completion:
        """How an argument may go on after `value`; nothing for a server that cannot tell."""
        import mcp_types as types  # as heavy as the SDK, which is loaded by now

        client = self._requests.connected()
        if client.server_capabilities.completions is None:
            return Completion()
        is_prompt = kind == "prompt"
        ref = (
            types.PromptReference(name=of) if is_prompt else types.ResourceTemplateReference(uri=of)
        )
        begun = {"name": argument, "value": value}
        ask = partial(client.complete, ref, begun, dict(given) or None)
        what = f"completing {argument!r} of {of!r}"
        result = await self._content(what, ask)
        return results.completion_of(result.completion)

    async def _content(self, what: str, ask: Callable[[], Awaitable[T]]) -> T:
        return await self._requests.ask(what, ask, self._requests.seconds, may_ask=True)
