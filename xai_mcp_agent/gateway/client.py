"""One client of the gateway, and its requests as calls of ours.

Import this module only when the SDK is loaded.
"""

from __future__ import annotations

import itertools
import logging
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast, get_args

import anyio
import mcp_types as types
from anyio.abc import TaskGroup
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, ConfigDict, ValidationError

from ..bridge.streams import Changes
from ..core.approval import RunApprovals
from ..core.calls import Caller, FarClient
from ..core.errors import XaiMcpError
from ..core.json import JsonObject, as_object
from ..core.questions import ANSWER_SECONDS
from ..core.results import OnProgress
from .exchanges import Exchange
from .far_host import FarHost

logger = logging.getLogger(__name__)

Request: TypeAlias = ServerRequestContext[Any, Any]
"""Request of a client, as the SDK's server passes it on."""

_LEVELS: tuple[str, ...] = get_args(types.LoggingLevel)  # least serious first
_UNKNOWN = "unknown client"
_numbers = itertools.count(1)


@dataclass(eq=False)
class Client:
    """State of a client between its requests.

    `approvals` are its person's; `subscriptions` maps each resource URI to its source; `log_level`
    is the lowest level it wants; `capabilities` are cached from the handshake.
    """

    id: str = field(default_factory=lambda: f"client {next(_numbers)}")
    approvals: RunApprovals = field(default_factory=RunApprovals)
    subscriptions: dict[str, tuple[str, str, Changes]] = field(
        default_factory=dict[str, tuple[str, str, Changes]]
    )
    log_level: str = _LEVELS[0]
    capabilities: JsonObject | None = None


class RawResult(BaseModel):
    """Response of the client, unvalidated."""

    model_config = ConfigDict(extra="allow")


class Notices:
    """Notifications of one request, sent to its client in order.

    A result would overtake a notification in flight and end its stream.
    """

    def __init__(self, tasks: TaskGroup, client: Client, context: Callable[[], Request]) -> None:
        self._tasks = tasks
        self._client = client
        self._context = context
        self._queue = deque[types.ServerNotification]()
        self._is_flushed: anyio.Event | None = None

    def log(self, message: JsonObject) -> None:
        """Queue a server's log message, if the client wants it."""
        if self._wants(message.get("level")):
            with suppress(ValidationError):  # an unknown level
                params = types.LoggingMessageNotificationParams.model_validate(message)
                self._put(types.LoggingMessageNotification(params=params))

    def progress(self, token: Any) -> OnProgress:
        """Return a function that queues progress."""

        async def report(current: float, total: float | None, message: str) -> None:
            params = types.ProgressNotificationParams(
                progress_token=token, progress=current, total=total, message=message or None
            )
            self._put(types.ProgressNotification(params=params))

        return report

    async def flush(self) -> None:
        """Wait until all are sent."""
        if self._is_flushed is not None:
            await self._is_flushed.wait()

    def _wants(self, level: object) -> bool:
        context, lowest = self._context(), self._client.log_level
        if is_modern(context):  # the level comes with each request
            lowest = meta_of(context).get(types.LOG_LEVEL_META_KEY)
        if level not in _LEVELS or lowest not in _LEVELS:
            return False
        return _LEVELS.index(level) >= _LEVELS.index(lowest)

    def _put(self, notification: types.ServerNotification) -> None:
        self._queue.append(notification)
        if self._is_flushed is None:
            self._is_flushed = anyio.Event()
            self._tasks.start_soon(self._send_all, self._is_flushed)

    async def _send_all(self, is_flushed: anyio.Event) -> None:
        while self._queue:
            notification, context = self._queue.popleft(), self._context()
            try:
                await context.session.send_notification(notification, context.request_id)
            except Exception as cause:  # noqa: BLE001 - the client disconnected; its request ends by itself
                logger.debug("a notification was not sent: %r", cause)
        self._is_flushed = None
        is_flushed.set()


def is_modern(context: Request) -> bool:
    """Return whether the request is of 2026-07-28, which allows no questions during a request."""
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS


def meta_of(context: Request) -> JsonObject:
    """Return the request's `_meta` for programs, unchanged."""
    return as_object((context.params or {}).get("_meta"))


def name_of(context: Request) -> str:
    """Return the client's own name."""
    params = context.session.client_params
    return params.client_info.name if params is not None else _UNKNOWN


def capabilities_of(context: Request, client: Client) -> JsonObject:
    """Return the capabilities that the client declared."""
    raw = meta_of(context).get(types.CLIENT_CAPABILITIES_META_KEY)
    if raw is not None:
        return as_object(raw)
    if client.capabilities is None:
        typed = context.session.client_capabilities or types.ClientCapabilities()
        client.capabilities = typed.model_dump(by_alias=True, mode="json", exclude_none=True)
    return client.capabilities


def caller_of(
    context: Request, client: Client, toolbelt: str, notices: Notices, exchange: Exchange | None
) -> Caller:
    """Return the caller for this request, with its host and its far client."""
    name, capabilities = name_of(context), capabilities_of(context, client)

    async def ask_now(method: str, params: JsonObject) -> JsonObject:
        request: Any = types.Request[JsonObject, str](method=method, params=params)
        metadata = ServerMessageMetadata(related_request_id=context.request_id)
        try:
            answer = await context.session.send_request(request, RawResult, metadata=metadata)
        except (MCPError, ValidationError) as refusal:
            raise XaiMcpError(f"{name!r} refused: {refusal}") from None
        return answer.model_dump(by_alias=True)

    async def respond(requests: JsonObject) -> JsonObject:
        assert exchange is not None
        early, exchange.early = exchange.early, {}
        return early if requests and requests.keys() <= early.keys() else await ask(requests)

    async def ask(requests: JsonObject) -> JsonObject:
        assert exchange is not None
        try:
            with anyio.fail_after(ANSWER_SECONDS):
                return await exchange.ask(requests)
        except TimeoutError:
            raise XaiMcpError(f"{name!r} gave no answer within {ANSWER_SECONDS:g} s.") from None

    async def ask_by_result(method: str, params: JsonObject) -> JsonObject:
        responses = await ask({"question": {"method": method, "params": params}})
        answer = responses.get("question")
        return cast(JsonObject, answer) if isinstance(answer, dict) else {}

    modern = exchange is not None
    far = FarClient(
        client.id, modern, capabilities, respond=respond if modern else None, log=notices.log
    )
    return Caller(
        "gateway", name, toolbelt, run=client.id, approvals=client.approvals, far=far,
        host=FarHost(name, capabilities, ask_by_result if modern else ask_now),
    )  # fmt: skip
