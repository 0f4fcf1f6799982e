"""The methods of `Bridge` as coroutines, for programs that own an asyncio loop.

See docs/python.md. Kept stable.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping
from concurrent.futures import Future
from typing import Any, Protocol, TypeVar

from ..core.errors import XaiMcpError
from ..core.events import SourceStatus
from ..core.results import OnProgress, ToolResult
from ..core.sign_in import SignIn
from ..core.tools import JsonObject, Tool
from . import access
from .awaiting import outcome_of
from .content import AioContent
from .deciding.face import AioDeciding
from .engine import Engine
from .past.face import AioPast

T = TypeVar("T")


class Owner(Protocol):
    """What is needed of the bridge whose methods these are."""

    @property
    def is_own_loop(self) -> bool:
        """Whether the caller runs on the bridge's loop."""
        ...

    def usable_servers(self) -> tuple[str, ...]:
        """See `Bridge.usable_servers`."""
        ...

    def do(
        self, do: Callable[..., Coroutine[Any, Any, T]], *args: Any, **options: Any
    ) -> Coroutine[Any, Any, T]:
        """An engine's coroutine method, to be awaited on the bridge's own loop."""
        ...

    def submit(
        self, do: Callable[..., Coroutine[Any, Any, T]], *args: Any, **options: Any
    ) -> Future[T]:
        """Start an engine's coroutine method on the bridge's loop."""
        ...


class AioBridge(AioContent, AioPast, AioDeciding):
    """The methods of `Bridge` as coroutines, for callers that own an asyncio loop.

    The servers still live on the bridge's own loop: yours is never blocked.
    Cancelling a call cancels it on the server.
    """

    def __init__(self, bridge: Owner) -> None:
        self._bridge = bridge

    async def servers(self) -> list[SourceStatus]:
        """See `Bridge.servers`."""
        return await self.run(Engine.servers)

    async def connect(self, *names: str, wait: bool = False) -> None:
        """See `Bridge.connect`."""
        wanted = names or self._bridge.usable_servers()
        raise_first(await self.run(Engine.start, wanted))
        if wait:
            await self.run(Engine.connect, wanted)

    async def list_tools(self, server: str) -> list[Tool]:
        """See `Bridge.list_tools`."""
        return await self.run(Engine.list_tools, server)

    async def find_server(self, tool: str, servers: Iterable[str]) -> str | None:
        """See `Bridge.find_server`."""
        return await self.run(Engine.find_server, tool, servers)

    async def call_tool(
        self,
        server: str,
        tool: str,
        arguments: JsonObject | None = None,
        *,
        timeout_seconds: float | None = None,
        on_progress: Callable[[float, float | None, str], None] | None = None,
        meta: JsonObject | None = None,
    ) -> ToolResult:
        """See `Bridge.call_tool`."""
        return await self.run(
            Engine.call_tool,
            server,
            tool,
            arguments,
            timeout_seconds=timeout_seconds,
            on_progress=as_async(on_progress),
            meta=meta,
        )

    async def sign_in(self, server: str, sign_in: SignIn | None = None) -> list[Tool]:
        """See `Bridge.sign_in`."""
        return await self.run(access.sign_in, server, sign_in)

    async def sign_out(self, server: str) -> bool:
        """See `Bridge.sign_out`."""
        return await self.run(access.sign_out, server)

    async def disconnect(self, server: str) -> None:
        """See `Bridge.disconnect`."""
        await self.run(Engine.disconnect, server)

    async def run(self, do: Callable[..., Coroutine[Any, Any, T]], *args: Any, **options: Any) -> T:
        """Run an engine's coroutine method on the bridge's loop and await it here."""
        if self._bridge.is_own_loop:
            return await self._bridge.do(do, *args, **options)
        return await outcome_of(self._bridge.submit(do, *args, **options))


def as_async(on_progress: Callable[[float, float | None, str], None] | None) -> OnProgress | None:
    """The listener of a program as the sources want it."""
    if on_progress is None:
        return None

    async def tell(done: float, total: float | None, message: str) -> None:
        on_progress(done, total, message)

    return tell


def raise_first(refused: Mapping[str, XaiMcpError]) -> None:
    """Raise the first of the errors, if there is one."""
    first = next(iter(refused.values()), None)
    try:
        if first is not None:
            raise first
    finally:
        del first, refused  # as in `Portal.call`: an error must not hold itself
