"""Requests and answers over HTTP: tool calls posted around the SDK, answers matched with requests.

The SDK believes the number in a JSON answer, so that a wrong one leaves its request waiting, and
says of an unusable one only that. It takes every message through two streams and three tasks, for
what may come back: a stream of events, a redirect, a refusal. One JSON text needs none of that, so
a call to a server that answers so is posted here; any other answer to it is given to the SDK.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from contextvars import Context
from typing import TYPE_CHECKING, Any, Self, cast

import anyio
import anyio.to_thread
from pydantic_core import from_json

from ...web.large_json import SHORT_BYTES, read_large
from ..wire.streams import (
    PARSE_ERROR,
    Wrapped,
    is_modern,
    message_reader,
    param_of,
    unreadable_answer,
)
from .body_problems import why_no_message
from .facts import SESSION_HEADER, HttpFacts, RequestContext, Taken, context_in, current_request
from .sse import TAKEN_OUT

if TYPE_CHECKING:
    from anyio.abc import TaskGroup
    from mcp.shared.message import SessionMessage

    from .client import ServerClient

    Deliver = Callable[[SessionMessage], Awaitable[None]]

logger = logging.getLogger(__name__)

_VERSION = "mcp-protocol-version"


class ResponseMatcher(Wrapped):
    """A read stream of the SDK's, whose JSON answers are answers to what was asked."""

    def __init__(self, inner: Any, facts: HttpFacts) -> None:
        super().__init__(inner)
        self._facts = facts

    async def __anext__(self) -> SessionMessage | Exception:
        item: SessionMessage | Exception = await self._inner.__anext__()
        if isinstance(item, Exception):
            return item
        context = context_in(self._inner.last_context)
        if context is not None and context.body is not None:
            return await _checked(item, context, self._facts)
        _put_back(item.message, context.large if context is not None else self._facts.large)
        return item


async def answer_in(content: bytes, context: RequestContext, facts: HttpFacts) -> SessionMessage:
    """The answer that this body is; `context.body` is how it came."""
    try:
        item = message_reader()(from_json(content))
    except ValueError as cause:
        item = unreadable_answer(context.id, str(cause))
    return await _checked(item, context, facts)


async def _checked(
    item: SessionMessage, context: RequestContext, facts: HttpFacts
) -> SessionMessage:
    """The same message with the number that was asked with, or what is wrong with it."""
    body, context.body = context.body or b"", None
    if _is_unread(item.message, context) and len(body) <= SHORT_BYTES:
        with suppress(ValueError):  # others are told why below
            # What no other reader takes: it is nested very deeply, or has an absurd number in it.
            item = message_reader()(await anyio.to_thread.run_sync(read_large, body))
    if (problem := _problem(item.message, context, body, facts)) is not None:
        return unreadable_answer(context.id, problem)
    item.message.id = context.id  # pyright: ignore[reportAttributeAccessIssue]
    _put_back(item.message, context.large)
    return item


def _put_back(message: Any, held: Taken) -> None:
    """A large result, in place of what stands for it."""
    result = getattr(message, "result", None)
    if isinstance(result, dict) and TAKEN_OUT in result:
        message.result = held.pop(cast("dict[str, Any]", result)[TAKEN_OUT]) or result


def _is_unread(message: Any, context: RequestContext) -> bool:
    error = getattr(message, "error", None)
    return error is not None and error.code == PARSE_ERROR and message.id == context.id


def _problem(message: Any, context: RequestContext, body: bytes, facts: HttpFacts) -> str | None:
    if hasattr(message, "method"):
        return "it is not an answer but a message of its own"
    if _is_unread(message, context):
        return why_no_message(body, facts.mask)
    return context.why_not_mine(message.id) or None


class Posts:
    """Tool calls of one connection that are posted around the SDK, in `tasks`.

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
        context = current_request()
        if context is None or method != "tools/call" or not self._facts.answers_in_json:
            return False
        # Many new connections at the same moment are lost: a server lets only so many wait for it.
        # On the SDK's way they are opened more slowly.
        if not self._client.connections.is_one_idle:
            return False
        self._client.connections.begin()
        # One of the same number, whose answer nobody could tell apart.
        self._is_given_up(context.id)
        self._tasks.start_soon(
            self._post, item, content.encode(), context, self._scope_of(item, context)
        )
        return True

    def _scope_of(self, item: SessionMessage, context: RequestContext) -> anyio.CancelScope:
        """Around its post. Its end gives the call up, in the newer era; a message in the older."""
        scope = anyio.CancelScope()
        if is_modern(_headers_of(item).get(_VERSION, "")):
            self._under_way[context.id] = scope
        return scope

    def _is_given_up(self, request: Any) -> bool:
        scope = self._under_way.pop(request, None)
        if scope is not None:
            scope.cancel()  # the end of its connection tells the server
        return scope is not None

    async def _post(
        self,
        item: SessionMessage,
        content: bytes,
        context: RequestContext,
        scope: anyio.CancelScope,
    ) -> None:
        try:
            with scope:
                response = await self._client.post_message(content, self._headers(item))
                if context.body is not None:
                    content = await response.aread()
                    await self._arrived(await answer_in(content, context, self._facts))
                else:
                    await self._hand_over(item, context, response)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            logger.debug("an answer came when its connection was closed")
        finally:
            self._client.connections.end()
            if self._under_way.get(context.id) is scope:
                del self._under_way[context.id]

    def _headers(self, item: SessionMessage) -> dict[str, str]:
        session = self._facts.session_id
        return {**_headers_of(item), SESSION_HEADER: session} if session else _headers_of(item)

    async def _hand_over(
        self, item: SessionMessage, context: RequestContext, response: Any
    ) -> None:
        context.answer = response
        try:
            await self._to_the_sdk(item)
        except BaseException:  # nobody will read it
            await response.aclose()
            raise


def _headers_of(item: SessionMessage) -> dict[str, str]:
    return getattr(item.metadata, "headers", None) or {}


class IncomingMessages:
    """A read stream for the SDK: what comes from a stream of its own, and what is put in here.

    `last_context` is that of the sender, where the SDK knew it: what a server asks because of a
    call is answered in the name of that call.
    """

    def __init__(self) -> None:
        self.last_context: Context | None = None
        self._put, self._taken = anyio.create_memory_object_stream[Any](0)

    async def put(self, message: SessionMessage) -> None:
        """Hand over a message; returns when it was taken.

        Raises:
            BrokenResourceError, ClosedResourceError: nobody takes any more.
        """
        await self._put.send((message, None))

    @asynccontextmanager
    async def passing_on(self, stream: Any) -> AsyncGenerator[TaskGroup]:
        """Pass on that stream's messages within the block, and its end. Tasks in it end with it."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._pass_on, stream)
            try:
                yield tasks
            finally:
                tasks.cancel_scope.cancel()
                self._put.close()
                self._taken.close()

    async def _pass_on(self, stream: Any) -> None:
        try:
            async with stream:
                async for message in stream:
                    await self._put.send((message, stream.last_context))
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            pass  # the connection is being closed, from either side
        finally:
            self._put.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        message, self.last_context = await self._taken.__anext__()
        return message

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._taken.close()
