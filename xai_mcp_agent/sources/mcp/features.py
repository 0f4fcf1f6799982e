"""Resources, prompts, completions and subscriptions of a server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from ...core.calls import PROGRAM, Caller
from ...core.events import LISTS, Inventory
from ...core.json import JsonObject, as_list, as_object
from ...core.results import Completion, Prompt, PromptMessage, Resource, ResourcePart
from ..base import CompletionKind, OnUpdate
from . import convert
from .requests import McpRequest
from .subscriptions import UpdateListeners

if TYPE_CHECKING:
    from mcp import Client

    from .session import McpSession

T = TypeVar("T")


class SessionOwner(Protocol):
    """The part of the source that its features use."""

    updates: UpdateListeners

    async def with_session(
        self, do: Callable[[McpSession], Awaitable[T]], caller: Caller = PROGRAM
    ) -> T:
        """Run `do` with the session; retry once if the server cannot have seen the request."""
        ...

    @property
    def usable(self) -> McpSession | None:
        """The session, if one is ready."""
        ...


class McpFeatures:
    """`SourceFeatures` of an MCP server for one caller, over whichever session is ready."""

    def __init__(self, source: SessionOwner, caller: Caller) -> None:
        self._source = source
        self._caller = caller

    async def list_resources(self) -> list[Resource]:
        """Return all resources and templates; empty if the server has none."""
        return list((await self._inventory("resources")).resources)

    async def read_resource(self, uri: str) -> list[ResourcePart]:
        """Return the contents of one resource."""
        method = "resources/read"
        raw, note = await self._get(method, f"reading {uri!r}", lambda x: x.read_resource(uri))
        parts = [convert.resource_part_of(x) for x in as_list(raw.get("contents"))]
        if None in parts:
            note("Contents without a uri, or with nothing in them, were left out.")
        return [x for x in parts if x is not None]

    async def list_prompts(self) -> list[Prompt]:
        """Return all prompts; empty if the server has none."""
        return list((await self._inventory("prompts")).prompts)

    async def get_prompt(self, name: str, arguments: Mapping[str, str]) -> list[PromptMessage]:
        """Return one prompt, filled in."""
        method, operation = "prompts/get", f"the prompt {name!r}"
        raw, note = await self._get(
            method, operation, lambda x: x.get_prompt(name, dict(arguments))
        )
        raw_messages = as_list(raw.get("messages"))
        messages = [x for x in map(as_object, raw_messages) if x]
        if len(messages) < len(raw_messages):
            note("Invalid messages of a prompt were left out.")
        return [convert.prompt_message_of(x) for x in messages]

    async def complete(
        self, kind: CompletionKind, of: str, argument: str, value: str, arguments: Mapping[str, str]
    ) -> Completion:
        """Return completions of `value`; none if the server offers no completions."""

        async def complete(client: Client) -> Any:
            import mcp_types as types  # as heavy as the SDK, which is loaded by now

            if client.server_capabilities.completions is None:
                return None
            prompt, template = types.PromptReference, types.ResourceTemplateReference
            ref = prompt(name=of) if kind == "prompt" else template(uri=of)
            argument_value = {"name": argument, "value": value}
            return await client.complete(ref, argument_value, dict(arguments) or None)

        operation = f"completing {argument!r} of {of!r}"
        raw, _ = await self._get("completion/complete", operation, complete)
        return convert.completion_of(raw)

    def doubt(self) -> None:
        """Have the server pinged before the next request; see `Health.suspect`."""
        if session := self._source.usable:
            session.connection.health.suspect()

    async def ping(self) -> float:
        """Ping the server; return the seconds it took, without those for connecting."""
        return await self._source.with_session(
            lambda session: session.requests.ping(caller=self._caller), self._caller
        )

    async def subscribe(self, topic: str, on_update: OnUpdate) -> None:
        """Add a listener for changes, also of later sessions, until `unsubscribe`."""
        updates = self._source.updates

        async def subscribe(session: McpSession) -> None:
            # Not earlier, because a new session notifies every listener that anything may have
            # changed.
            updates.add(topic, on_update)
            try:
                if topic not in LISTS:
                    await session.subscriptions.open(topic)
            except BaseException:
                updates.remove(topic, on_update)
                raise

        await self._source.with_session(subscribe, self._caller)

    async def unsubscribe(self, topic: str, on_update: OnUpdate) -> None:
        """Remove a listener; if it was the last one, end the subscription at the server."""
        session = self._source.usable
        if self._source.updates.remove(topic, on_update) and session is not None:
            await session.subscriptions.close(topic)

    async def _inventory(self, name: str) -> Inventory:
        """Return the inventory for the list `name`, one of `LISTS`."""
        return await self._source.with_session(
            lambda session: session.listings.fresh_with(name, self._caller), self._caller
        )

    async def _get(
        self, method: str, operation: str, send: Callable[[Client], Awaitable[Any]]
    ) -> tuple[JsonObject, Callable[[str], None]]:
        """Return the result as the server sent it, and a function that adds notes on it."""

        async def get(session: McpSession) -> tuple[JsonObject, Callable[[str], None]]:
            client = session.requests.require_client()
            request = McpRequest(self._caller, may_ask=True)
            await session.requests.send(operation, partial(send, client), request)
            return request.answer, partial(session.connection.note, method=method)

        return await self._source.with_session(get, self._caller)
