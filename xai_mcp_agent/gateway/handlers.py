"""Handlers of the protocol's methods, for the SDK's low-level server.

Import this module only when the SDK is loaded.
"""

from __future__ import annotations

import base64
from functools import partial
from typing import Any, TypeAlias, cast

import anyio
import mcp_types as types
from mcp import MCPError
from mcp.server.caching import CacheableMethod, CacheHint
from mcp.server.lowlevel import Server
from mcp.server.lowlevel.server import RequestHandler
from mcp.server.subscriptions import ListenHandler

from ..core.calls import Caller
from ..core.errors import ServerError, UnknownTool, XaiMcpError
from ..core.json import JsonObject
from .client import Client, Notices, Request, meta_of
from .content import (
    completion_json,
    contents_json,
    error_json,
    messages_json,
    prompt_json,
    resource_json,
    result_json,
    tool_json,
)
from .repair import allowed_result
from .service import EndpointService, protocol_errors

Page: TypeAlias = types.PaginatedRequestParams
"""Parameters of a listing."""

_PAGE = 1000  # large, because many clients read only the first page
_OF_CONNECTION = "io.modelcontextprotocol/"  # prefix of names in `_meta`
_CACHED: tuple[CacheableMethod, ...] = (
    "tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read",
    "server/discover",
)  # fmt: skip


def sdk_server(service: EndpointService, client: Client | None = None) -> Server[Any]:
    """Return a server of the SDK, for one `client` or for all that come over HTTP."""
    title, version = service.endpoint.title
    server = Server[Any](
        "xai-mcp-agent",
        version=version,
        title=title,
        instructions=service.instructions or None,
        cache_hints={method: CacheHint(ttl_ms=0, scope="private") for method in _CACHED},
        get_tool_input_schema=service.endpoint.schema,
    )
    server.middleware.clear()  # it only records spans, which nothing collects
    handlers, page = _Handlers(service, client), Page
    for method, params, handler in (
        ("tools/list", page, handlers.list_tools),
        ("tools/call", types.CallToolRequestParams, handlers.call_tool),
        ("prompts/list", page, handlers.list_prompts),
        ("prompts/get", types.GetPromptRequestParams, handlers.get_prompt),
        ("resources/list", page, handlers.list_resources),
        ("resources/templates/list", page, handlers.list_templates),
        ("resources/read", types.ReadResourceRequestParams, handlers.read_resource),
        ("resources/subscribe", types.SubscribeRequestParams, handlers.subscribe),
        ("resources/unsubscribe", types.UnsubscribeRequestParams, handlers.unsubscribe),
        ("subscriptions/listen", types.SubscriptionsListenRequestParams, handlers.listen),
        ("completion/complete", types.CompleteRequestParams, handlers.complete),
        ("logging/setLevel", types.SetLevelRequestParams, handlers.set_log_level),
    ):
        server.add_request_handler(method, params, partial(_complete, cast(Any, handler)))
    return server


async def _complete(handler: RequestHandler[Any, Any], context: Request, params: Any) -> Any:
    """Return a handler's result, marked as complete unless it asks for input (2026-07-28)."""
    result = await handler(context, params)
    if not isinstance(result, dict):
        return result
    complete = {"resultType": "complete", **result}
    return allowed_result(context.method, context.protocol_version, complete)


class _Handlers:
    """Methods of the protocol, for one client or for all over HTTP."""

    def __init__(self, service: EndpointService, client: Client | None) -> None:
        self._service = service
        self._endpoint = service.endpoint
        self._operations = service.operations
        self._client = client
        self._listen = ListenHandler(service.bus)

    async def list_tools(self, context: Request, params: Page) -> JsonObject:
        """Handle tools/list."""
        self._service.client_of(context, self._client)
        tools = [tool_json(name, x) for name, x in await self._endpoint.list_tools()]
        return _page(tools, "tools", params)

    async def call_tool(self, context: Request, params: types.CallToolRequestParams) -> JsonObject:
        """Handle tools/call. What a model can correct is a result; the rest is an error."""
        request_meta = meta_of(context)
        meta = {x: y for x, y in request_meta.items() if not x.startswith(_OF_CONNECTION)}
        if (level := request_meta.get(types.LOG_LEVEL_META_KEY)) is not None:
            meta[types.LOG_LEVEL_META_KEY] = level  # for this request only
        token = meta.pop("progressToken", None)

        async def call(caller: Caller, notices: Notices) -> JsonObject:
            progress = None if token is None else notices.progress(token)
            arguments = dict(params.arguments or {})
            try:
                result = await self._endpoint.call(
                    params.name, arguments, caller, progress, meta or None
                )
            except (UnknownTool, ServerError):
                raise
            except XaiMcpError as error:
                return error_json(str(error))
            return result_json(result)

        return await self._service.run(context, self._client, call)

    async def list_prompts(self, context: Request, params: Page) -> JsonObject:
        """Handle prompts/list."""
        prompts = await self._endpoint.prompts()
        items = [prompt_json(name, x) for name, (_, x) in prompts.items()]
        return _page(items, "prompts", params)

    async def get_prompt(
        self, context: Request, params: types.GetPromptRequestParams
    ) -> JsonObject:
        """Handle prompts/get."""

        async def get(caller: Caller, _: Notices) -> JsonObject:
            source, prompt = await self._endpoint.prompt(params.name)
            operations = self._operations.for_caller(caller)
            arguments = dict(params.arguments or {})
            messages = await operations.get_prompt(source, prompt.name, arguments)
            return messages_json(prompt, messages)

        return await self._service.run(context, self._client, get)

    async def list_resources(self, context: Request, params: Page) -> JsonObject:
        """Handle resources/list."""
        return await self._resources("resources", params)

    async def list_templates(self, context: Request, params: Page) -> JsonObject:
        """Handle resources/templates/list."""
        return await self._resources("resourceTemplates", params)

    async def _resources(self, field: str, params: Page) -> JsonObject:
        resources = await self._endpoint.resources(templates=field == "resourceTemplates")
        return _page([resource_json(x, r) for x, (_, r) in resources.items()], field, params)

    async def read_resource(
        self, context: Request, params: types.ReadResourceRequestParams
    ) -> JsonObject:
        """Handle resources/read."""
        uri = str(params.uri)

        async def read(caller: Caller, _: Notices) -> JsonObject:
            source, own_uri = await self._endpoint.resource(uri)
            parts = await self._operations.for_caller(caller).read_resource(source, own_uri)
            return contents_json(parts, uri)

        return await self._service.run(context, self._client, read)

    async def subscribe(
        self, context: Request, params: types.SubscribeRequestParams
    ) -> types.EmptyResult:
        """Handle resources/subscribe."""
        client, uri = self._service.client_of(context, self._client), str(params.uri)
        with protocol_errors():
            await self._service.subscribe(client, uri, partial(self._service.notify, client))
        return types.EmptyResult()

    async def unsubscribe(
        self, context: Request, params: types.UnsubscribeRequestParams
    ) -> types.EmptyResult:
        """Handle resources/unsubscribe."""
        client = self._service.client_of(context, self._client)
        await self._service.unsubscribe(client, str(params.uri))
        return types.EmptyResult()

    async def listen(
        self, context: Request, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Handle subscriptions/listen of 2026-07-28, until the client ends it."""
        subscriber = Client()
        try:
            with protocol_errors():
                for uri in params.notifications.resource_subscriptions or ():
                    await self._service.subscribe(subscriber, str(uri), self._service.publish)
            return await self._listen(context, params)
        finally:
            with anyio.CancelScope(shield=True):
                for uri in list(subscriber.subscriptions):
                    await self._service.unsubscribe(subscriber, uri)

    async def complete(self, context: Request, params: types.CompleteRequestParams) -> JsonObject:
        """Handle completion/complete."""
        argument, reference = params.argument, params.ref
        arguments = dict(params.context.arguments or {}) if params.context else {}
        with protocol_errors():
            if isinstance(reference, types.PromptReference):
                source, of = await self._endpoint.prompt(reference.name)
            else:
                source, of = await self._endpoint.template(reference.uri)
            completion = await self._operations.complete(
                source, of, argument.name, argument.value, arguments
            )
        return completion_json(completion)

    async def set_log_level(
        self, context: Request, params: types.SetLevelRequestParams
    ) -> types.EmptyResult:
        """Handle logging/setLevel of the handshake era."""
        self._service.client_of(context, self._client).log_level = params.level
        return types.EmptyResult()


def _page(items: list[JsonObject], field: str, params: Page) -> JsonObject:
    """Return one page of a listing; the cursor is the position of its first item."""
    start, cursor = 0, params.cursor
    if cursor is not None:
        try:
            start = int(base64.urlsafe_b64decode(cursor.encode()))
        except ValueError:
            raise MCPError(types.INVALID_PARAMS, f"There is no cursor {cursor!r}.") from None
    page: JsonObject = {field: items[start : start + _PAGE]}
    if start + _PAGE < len(items):
        page["nextCursor"] = base64.urlsafe_b64encode(str(start + _PAGE).encode()).decode()
    return page
