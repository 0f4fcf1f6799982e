"""The Python face of the library: everything the nodes can do, without a canvas.

See docs/python.md. Kept stable.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Coroutine, Iterable, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

import anyio

from ..catalog.keeping.memory import Memory
from ..core.events import SourceStatus
from ..core.questions import Answer, Answerer, Question, answer_with_defaults
from ..core.results import ToolResult
from ..core.sign_in import SignIn
from ..core.tools import JsonObject, Tool
from ..history.place import find_place
from ..settings.load import load_settings, settings_from, user_token_folder
from ..settings.models import Settings
from ..sources.mcp.auth.store import Access, TokenStore
from . import access
from .aio import AioBridge, as_async, raise_first
from .content import Content
from .deciding.face import Deciding
from .engine import Engine
from .masking import mask_of
from .past.face import Past
from .people.program import host_for
from .portal import Portal
from .screen.aside import warn_beside_runs

T = TypeVar("T")

__all__ = ["AioBridge", "Answer", "Bridge", "Question", "answer_with_defaults"]


class Bridge(Content, Past, Deciding):
    """Connects to the configured servers and calls their tools, from any thread.

    Servers are started when they are first needed, kept, healed when they
    break, and ended when the bridge is closed: at the end of its `with`
    block, by `close`, or at the latest when Python exits.

    `settings` is what a settings file holds, such as `{"mcpServers": {...}}`;
    without it the file is looked for (see README.md). `answer` is given the questions that servers
    ask during a call, in a thread of its own; without it they are declined. `sign_in` gets somebody
    to sign in where a server wants that; tokens are kept in `token_folder` (see
    docs/authorization.md). `store` is where the history is kept: a file, the URL of a database,
    or `memory` (see docs/history.md). All methods raise `RuntimeError` once the bridge is closed,
    and in a fork of its process.

    Raises:
        SettingsError: the file is unreadable. What is wrong with one server
            disables that server only, and is raised when it is used.
    """

    def __init__(
        self,
        settings: Mapping[str, Any] | None = None,
        *,
        answer: Answerer | None = None,
        sign_in: SignIn | None = None,
        token_folder: str | Path | None = None,
        store: str | Path | None = None,
        loaded: Settings | None = None,
    ) -> None:
        if loaded is None:
            loaded = load_settings() if settings is None else settings_from(settings)
        self.settings = loaded
        folder = Path(token_folder) if token_folder else user_token_folder()
        place, mask = find_place(loaded, store), mask_of([loaded.secrets])
        memory = Memory(place, mask, loaded.record, loaded.secrets, warn_beside_runs)
        room = _EngineRoom(loaded, answer, Access(TokenStore(folder), sign_in), memory)
        self._portal = Portal(room.serve)
        self._engine = room.engine
        # One that was forgotten ends its servers all the same.
        weakref.finalize(self, self._portal.begin_to_close).atexit = False

    @classmethod
    def open(
        cls,
        path: str | Path | None = None,
        *,
        answer: Answerer | None = None,
        sign_in: SignIn | None = None,
        token_folder: str | Path | None = None,
        store: str | Path | None = None,
    ) -> Bridge:
        """A bridge for this settings file; without a path the file is looked for.

        Raises:
            SettingsError: the file does not exist or cannot be read.
        """
        loaded = load_settings(path)
        return cls(
            answer=answer, sign_in=sign_in, token_folder=token_folder, store=store, loaded=loaded
        )

    @property
    def aio(self) -> AioBridge:
        """The same methods as coroutines, for callers that own a loop."""
        return AioBridge(self)  # not kept: they would hold each other

    @property
    def is_open(self) -> bool:
        """False once it was closed."""
        return self._portal.is_open

    def servers(self) -> list[SourceStatus]:
        """How every configured server is doing; the disabled ones say why. Connects nothing."""
        return self.run(Engine.servers)

    def connect(self, *names: str, wait: bool = False) -> None:
        """Start these servers in the background, or all usable ones if none is named.

        With `wait`, return when each is ready or has failed within its own
        limit; `servers()` then tells which. Calling a tool connects what it needs by itself.

        Raises:
            UnknownServer, SettingsError: a name that cannot be used; the others are started.
        """
        wanted = names or self.usable_servers()
        raise_first(self.run(Engine.start, wanted))
        if wait:
            self.run(Engine.connect, wanted)

    def usable_servers(self) -> tuple[str, ...]:
        """The names of the servers that are neither disabled nor wrong in the settings."""
        return tuple(n for n, s in self.settings.servers.items() if not s.disabled)

    def list_tools(self, server: str) -> list[Tool]:
        """The tools of one server.

        Raises:
            UnknownServer, SettingsError, SourceFailed: it cannot be used; the message says why.
        """
        return self.run(Engine.list_tools, server)

    def find_server(self, tool: str, servers: Iterable[str]) -> str | None:
        """The first of these servers that offers a tool of that name, or None.

        Servers that cannot be used offer nothing, and are not an error here.
        """
        return self.run(Engine.find_server, tool, servers)

    def call_tool(
        self,
        server: str,
        tool: str,
        arguments: JsonObject | None = None,
        *,
        timeout_seconds: float | None = None,
        on_progress: Callable[[float, float | None, str], None] | None = None,
        meta: JsonObject | None = None,
    ) -> ToolResult:
        """Call a tool and wait for its result. `timeout_seconds` covers connecting too.

        `on_progress(done, total, message)` is called on the bridge's own
        thread: it should return at once. `meta` goes along for programs at the far side. A result
        with `is_error` is returned, not raised.

        Raises:
            UnknownServer, SettingsError, UnknownTool, InvalidArguments: nothing was sent.
            DefinitionChanged: the same; the tool is pinned and is not what was accepted.
            SourceFailed, SourceClosed, ToolTimeout, ServerError: the far side.
        """
        return self.run(
            Engine.call_tool,
            server,
            tool,
            arguments,
            timeout_seconds=timeout_seconds,
            on_progress=as_async(on_progress),
            meta=meta,
        )

    def disconnect(self, server: str) -> None:
        """Close one server; the next use connects it again.

        Raises:
            UnknownServer, SettingsError: a name that cannot be used.
        """
        self.run(Engine.disconnect, server)

    def sign_in(self, server: str, sign_in: SignIn | None = None) -> list[Tool]:
        """Forget the access to a server behind a URL and sign in to it anew; its tools.

        `sign_in` gets somebody to do it; without it, the one that the bridge was given.

        Raises:
            UnknownServer, SettingsError, SourceFailed: it cannot be had; the message says why.
        """
        return self.run(access.sign_in, server, sign_in)

    def sign_out(self, server: str) -> bool:
        """Forget the access to a server behind a URL; whether there was any.

        Raises:
            UnknownServer, SettingsError, SourceFailed: it is none that one signs in to.
        """
        return self.run(access.sign_out, server)

    def close(self) -> None:
        """End all servers and the bridge's thread, within seconds. May be called more than once."""
        self._portal.close()

    def __enter__(self) -> Bridge:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def run(self, do: Callable[..., Coroutine[Any, Any, T]], *args: Any, **options: Any) -> T:
        """Run an engine's coroutine method on the bridge's loop and wait for it."""
        return self._portal.call(do, self._engine, *args, **options)

    @property
    def is_own_loop(self) -> bool:
        """Whether the caller runs on the bridge's loop, as a progress listener does."""
        return self._portal.is_here

    def do(
        self, do: Callable[..., Coroutine[Any, Any, T]], *args: Any, **options: Any
    ) -> Coroutine[Any, Any, T]:
        """An engine's coroutine method, to be awaited on the bridge's own loop."""
        return do(self._engine, *args, **options)

    def submit(
        self, do: Callable[..., Coroutine[Any, Any, T]], *args: Any, **options: Any
    ) -> Future[T]:
        """Start an engine's coroutine method on the bridge's loop."""
        return self._portal.submit(do, self._engine, *args, **options)


class _EngineRoom:
    """Where the engine is made and runs. Does not know the bridge, so that one can be forgotten."""

    engine: Engine

    def __init__(
        self, settings: Settings, answer: Answerer | None, access: Access, memory: Memory
    ) -> None:
        self._settings = settings
        self._answer = answer
        self._access = access
        self._memory = memory

    async def serve(self, ready: Callable[[], None], stop: anyio.Event) -> None:
        host = host_for(self._answer)
        self.engine = Engine(self._settings, host, self._access, self._memory)
        await self.engine.serve(ready, stop)
