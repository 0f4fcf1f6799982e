"""The messages of one connection, whoever reads them from the wire, in one stream."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from contextvars import Context
from typing import TYPE_CHECKING, Any, Self

import anyio

if TYPE_CHECKING:
    from anyio.abc import TaskGroup
    from mcp.shared.message import SessionMessage


class Arriving:
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
