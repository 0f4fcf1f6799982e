"""Calls of tools that we post by ourselves, to a server that answers with one JSON text.

The SDK takes every message through two streams and three tasks, for what may come back: a stream
of events, a redirect, a refusal. One JSON text needs none of that. Any other answer is given to the
SDK when it comes, as if it had posted the call.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import anyio

from ..wire.eras import is_modern
from ..wire.messages import param_of
from .errand import Errand, current_errand
from .facts import SESSION_HEADER, HttpFacts
from .receiving import answer_in

if TYPE_CHECKING:
    from anyio.abc import TaskGroup
    from mcp.shared.message import SessionMessage

    from .client import ServerClient

    Deliver = Callable[[SessionMessage], Awaitable[None]]

logger = logging.getLogger(__name__)

_VERSION = "mcp-protocol-version"


class Posts:
    """Those of one connection, in `tasks`.

    `arrived` takes answers for the session, `to_the_sdk` calls whose answer is for the SDK.
    """

    def __init__(
        self,
        client: ServerClient,
        facts: HttpFacts,
        tasks: TaskGroup,
        arrived: Deliver,
        to_the_sdk: Deliver,
    ) -> None:
        self._client = client
        self._facts = facts
        self._tasks = tasks
        self._arrived = arrived
        self._to_the_sdk = to_the_sdk
        self._under_way: dict[Any, anyio.CancelScope] = {}

    def take(self, item: SessionMessage, content: str) -> bool:
        """Whether this message is seen to here: a call that is posted, or one given up."""
        message: Any = item.message
        method = getattr(message, "method", None)
        if method == "notifications/cancelled":
            return self._is_given_up(param_of(message, "requestId"))
        errand = current_errand()
        if errand is None or method != "tools/call" or not self._facts.answers_in_json:
            return False
        # Many new connections at the same moment are lost: a server lets only so many wait for it.
        # On the SDK's way they are opened more slowly.
        if not self._client.connections.is_one_idle:
            return False
        self._client.connections.begin()
        self._is_given_up(errand.id)  # one of the same number, whose answer nobody could tell apart
        self._tasks.start_soon(
            self._post, item, content.encode(), errand, self._scope_of(item, errand)
        )
        return True

    def _scope_of(self, item: SessionMessage, errand: Errand) -> anyio.CancelScope:
        """Around its post. Its end gives the call up, in the newer era; a message in the older."""
        scope = anyio.CancelScope()
        if is_modern(_headers_of(item).get(_VERSION, "")):
            self._under_way[errand.id] = scope
        return scope

    def _is_given_up(self, request: Any) -> bool:
        scope = self._under_way.pop(request, None)
        if scope is not None:
            scope.cancel()  # the end of its connection tells the server
        return scope is not None

    async def _post(
        self, item: SessionMessage, content: bytes, errand: Errand, scope: anyio.CancelScope
    ) -> None:
        try:
            with scope:
                response = await self._client.post_message(content, self._headers(item))
                if errand.body is not None:
                    await self._arrived(answer_in(await response.aread(), errand, self._facts))
                else:
                    await self._hand_over(item, errand, response)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            logger.debug("an answer came when its connection was closed")
        finally:
            self._client.connections.end()
            if self._under_way.get(errand.id) is scope:
                del self._under_way[errand.id]

    def _headers(self, item: SessionMessage) -> dict[str, str]:
        session = self._facts.session_id
        return {**_headers_of(item), SESSION_HEADER: session} if session else _headers_of(item)

    async def _hand_over(self, item: SessionMessage, errand: Errand, response: Any) -> None:
        errand.answer = response
        try:
            await self._to_the_sdk(item)
        except BaseException:  # nobody will read it
            await response.aclose()
            raise


def _headers_of(item: SessionMessage) -> dict[str, str]:
    return getattr(item.metadata, "headers", None) or {}
