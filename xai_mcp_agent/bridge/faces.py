"""The Python face of the library: `Bridge`, and `AioBridge` with the same methods as coroutines.

Both pass every operation to the bridge's own loop; `operations` says what each does. See
docs/python.md. This interface is kept stable.
"""

from __future__ import annotations

import logging
import weakref
from asyncio import AbstractEventLoop, get_running_loop
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from functools import partial, wraps
from pathlib import Path
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

import anyio

from ..core.approval import Approver
from ..core.events import LISTS
from ..core.questions import Answerer, SignIn
from ..history.place import find_place
from ..history.recording.recorder import HistoryRecorder
from ..policy.lockfile import find_lock
from ..search.embeddings import Embed
from ..secrets.redactor import Redactor
from ..settings.load import load_settings, settings_from, user_token_folder
from ..settings.models import Settings
from ..settings.trust import without_untrusted
from ..sources.mcp.auth.token_store import Access, TokenStore
from ..sources.warm import WarmRoute
from .callback_host import CallbackHost
from .engine import Engine
from .operations import Operations
from .portal import Portal
from .streams import AioSubscription, Changes, OnChange, Subscription

logger = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")


class FaceMethod(Generic[P, T]):
    """One of the `Operations` as a method of both faces: `Bridge` waits, `AioBridge` does not.

    Each face gets its function when its class is made; `__get__` is for type checkers.
    """

    def __init__(self, do: Callable[Concatenate[Operations, P], Coroutine[Any, Any, T]]) -> None:
        self.do = do

    @overload
    def __get__(self, face: Bridge, kind: type[Bridge]) -> Callable[P, T]: ...
    @overload
    def __get__(
        self, face: AioBridge, kind: type[AioBridge]
    ) -> Callable[P, Coroutine[Any, Any, T]]: ...
    @overload
    def __get__(self, face: None, kind: type[Bridge]) -> Callable[Concatenate[Bridge, P], T]: ...
    def __get__(self, face: object, kind: type) -> Any:
        return self


class _Face:
    """Every operation, by topic, for both faces."""

    def __init_subclass__(cls, adapt: Callable[..., Any]) -> None:
        for name, operation in vars(_Face).items():
            if isinstance(operation, FaceMethod):
                do: Callable[..., Any] = operation.do
                method: Any = wraps(do)(adapt(do))
                method.__qualname__ = f"{cls.__name__}.{name}"
                setattr(cls, name, method)

    servers = FaceMethod(Operations.servers)
    connect = FaceMethod(Operations.connect)
    start = FaceMethod(Operations.start)
    wait_for = FaceMethod(Operations.wait_for)
    disconnect = FaceMethod(Operations.disconnect)
    reset_breaker = FaceMethod(Operations.reset_breaker)
    add_source = FaceMethod(Operations.add_source)
    instructions = FaceMethod(Operations.instructions)
    marks = FaceMethod(Operations.marks)
    ping = FaceMethod(Operations.ping)
    refresh = FaceMethod(Operations.refresh)
    sign_in = FaceMethod(Operations.sign_in)
    sign_out = FaceMethod(Operations.sign_out)

    tool = FaceMethod(Operations.tool)
    list_tools = FaceMethod(Operations.list_tools)
    find_server = FaceMethod(Operations.find_server)
    call_tool = FaceMethod(Operations.call_tool)
    execute_tool = FaceMethod(Operations.execute_tool)

    search_tools = FaceMethod(Operations.search_tools)
    select_tool = FaceMethod(Operations.select_tool)
    select_tools = FaceMethod(Operations.select_tools)
    explain_tool = FaceMethod(Operations.explain_tool)
    explain_choice = FaceMethod(Operations.explain_choice)
    suggest_tools = FaceMethod(Operations.suggest_tools)

    plan_tools = FaceMethod(Operations.plan_tools)
    check_wires = FaceMethod(Operations.check_wires)
    run_plan = FaceMethod(Operations.run_plan)

    disable = FaceMethod(Operations.disable)
    enable = FaceMethod(Operations.enable)
    review = FaceMethod(Operations.review)
    accept = FaceMethod(Operations.accept)
    locked_servers = FaceMethod(Operations.locked_servers)
    decisions_trouble = FaceMethod(Operations.decisions_trouble)
    unused_decisions = FaceMethod(Operations.unused_decisions)

    review_to_approve = FaceMethod(Operations.review_to_approve)
    approve = FaceMethod(Operations.approve)
    withdraw = FaceMethod(Operations.withdraw)
    approvals = FaceMethod(Operations.approvals)

    rules = FaceMethod(Operations.rules)
    ruled_tools = FaceMethod(Operations.ruled_tools)
    ruled_call = FaceMethod(Operations.ruled_call)
    stored_rules = FaceMethod(Operations.stored_rules)
    put_rules = FaceMethod(Operations.put_rules)
    remove_rules = FaceMethod(Operations.remove_rules)

    history = FaceMethod(Operations.history)
    records = FaceMethod(Operations.records)
    stats = FaceMethod(Operations.stats)
    tool_record = FaceMethod(Operations.tool_record)
    difference = FaceMethod(Operations.difference)
    versions = FaceMethod(Operations.versions)
    graph = FaceMethod(Operations.graph)
    store = FaceMethod(Operations.store)
    record_canvas_tools = FaceMethod(Operations.record_canvas_tools)

    list_resources = FaceMethod(Operations.list_resources)
    read_resource = FaceMethod(Operations.read_resource)
    list_prompts = FaceMethod(Operations.list_prompts)
    prompts = FaceMethod(Operations.prompts)
    resources = FaceMethod(Operations.resources)
    get_prompt = FaceMethod(Operations.get_prompt)
    complete = FaceMethod(Operations.complete)


def _waits(do: Callable[..., Coroutine[Any, Any, T]]) -> Callable[..., T]:
    def wait(self: Bridge, *args: Any, **options: Any) -> T:
        return self.aio.portal.call(do, self.aio.operations, *args, **options)

    return wait


def _awaits(do: Callable[..., Coroutine[Any, Any, T]]) -> Callable[..., Coroutine[Any, Any, T]]:
    async def wait(self: AioBridge, *args: Any, **options: Any) -> T:
        return await self.portal.call_async(do, self.operations, *args, **options)

    return wait


class AioBridge(_Face, adapt=_awaits):
    """Methods of `Bridge` as coroutines, for callers that own an asyncio loop.

    The servers still live on the bridge's own loop: yours is never blocked. Cancelling a call
    cancels it on the server.
    """

    def __init__(self, portal: Portal, engine: Engine) -> None:
        self.portal = portal
        self.engine = engine
        self.operations = Operations(engine)
        # A bridge that is garbage-collected ends its servers, too.
        weakref.finalize(self, portal.begin_to_close).atexit = False

    async def subscribe(
        self, server: str, uri: str, on_updated: OnChange | None = None
    ) -> AioSubscription:
        """See `Bridge.subscribe`; `on_updated` is called on your loop."""
        return await self._listen(server, (uri,), on_updated)

    async def watch(self, server: str, on_changed: OnChange | None = None) -> AioSubscription:
        """See `Bridge.watch`; `on_changed` is called on your loop."""
        return await self._listen(server, LISTS, on_changed)

    async def run(
        self, do: Callable[Concatenate[Operations, P], Coroutine[Any, Any, T]],
        *args: P.args, **options: P.kwargs,
    ) -> T:  # fmt: skip
        """Run a coroutine function of the operations on the bridge's loop; for our own parts."""
        return await self.portal.call_async(do, self.operations, *args, **options)

    async def _listen(
        self, server: str, topics: Sequence[str], on_change: OnChange | None
    ) -> AioSubscription:
        tell = None if on_change is None else partial(_on_loop, get_running_loop(), on_change)
        changes = await self.run(Operations.listen, server, topics, tell)
        return AioSubscription(self.portal, changes, partial(_leave, self, server, topics, changes))


class Bridge(_Face, adapt=_waits):
    """Connects to the configured servers and calls their tools, from any thread.

    Servers are started when they are first needed, kept, healed when they break, and ended when the
    bridge is closed: at the end of its `with` block, by `close`, or at the latest when Python
    exits.

    `settings` is the content of a settings file, such as `{"mcpServers": {...}}`, or a `Settings`
    value, which is used as it is. Without it the settings file is searched (see README.md), and
    what it starts or reaches is used once you have agreed to it (see docs/settings.md). `answer`
    gets the questions that servers ask during a call, in a thread of its own; without it they are
    declined. `approve` gets agents' calls that wait for approval, if nobody sits in front of the
    run. `sign_in` asks a person to sign in if a server wants that; tokens are in `token_folder`
    (see docs/authorization.md). `store` is the place of the history: a file, the URL of a database,
    or `memory` (see docs/history.md). `embed` makes a vector for each of a list of texts, to search
    tools by meaning, too (see docs/search.md); it is called in threads. `lock` is the file of
    decisions (see docs/decisions.md); the default is beside the settings file, and in memory for
    settings from Python. All methods raise `RuntimeError` once the bridge is closed, and in a fork
    of its process.

    Raises:
        SettingsError: the file is unreadable. A mistake in the entry of one server disables only
            that server, and is raised when it is used.
    """

    def __init__(
        self,
        settings: Mapping[str, Any] | Settings | None = None,
        *,
        answer: Answerer | None = None,
        approve: Approver | None = None,
        sign_in: SignIn | None = None,
        token_folder: str | Path | None = None,
        store: str | Path | None = None,
        embed: Embed | None = None,
        lock: str | Path | None = None,
        warn: Callable[[str], None] = logger.warning,
    ) -> None:
        if settings is None:
            settings = _load()
        loaded = settings if isinstance(settings, Settings) else settings_from(settings)
        self.settings = loaded
        folder = Path(token_folder) if token_folder else user_token_folder()
        place, mask = find_place(loaded, store), Redactor([loaded.secrets])
        recorder = HistoryRecorder(
            place, mask, loaded.record, loaded.secrets, warn, loaded.retention
        )
        access = Access(TokenStore(folder), sign_in)
        host, lock = CallbackHost(answer, approve), find_lock(loaded, lock)
        route = WarmRoute(loaded, warn)
        self.aio = _open(lambda: Engine(loaded, host, access, recorder, embed, lock, warn, route))
        """The same methods as coroutines, for callers that own a loop."""

    @classmethod
    def open(
        cls,
        path: str | Path | None = None,
        *,
        answer: Answerer | None = None,
        approve: Approver | None = None,
        sign_in: SignIn | None = None,
        token_folder: str | Path | None = None,
        store: str | Path | None = None,
        embed: Embed | None = None,
        lock: str | Path | None = None,
    ) -> Bridge:
        """Return a bridge for this settings file; without a path the file is searched.

        Raises:
            SettingsError: the file does not exist or cannot be read.
        """
        loaded = _load() if path is None else replace(load_settings(path), is_vouched=True)
        return cls(
            loaded,
            answer=answer,
            approve=approve,
            sign_in=sign_in,
            token_folder=token_folder,
            store=store,
            embed=embed,
            lock=lock,
        )

    @property
    def is_open(self) -> bool:
        """Return whether it is open."""
        return self.aio.portal.is_open

    def usable_servers(self) -> tuple[str, ...]:
        """Return the names of the servers that are neither disabled nor wrong in the settings."""
        return self.settings.usable

    def subscribe(self, server: str, uri: str, on_updated: OnChange | None = None) -> Subscription:
        """Listen for changes of a resource: `on_updated(uri)`, or `wait`. See `Subscription`.

        `on_updated` is called on the bridge's own thread: it should return at once.
        """
        return self._listen(server, (uri,), on_updated)

    def watch(self, server: str, on_changed: OnChange | None = None) -> Subscription:
        """Listen for changes of the server's list of `tools`, `prompts` or `resources`, by name.

        `on_changed` is called on the bridge's own thread: it should return at once.
        """
        return self._listen(server, LISTS, on_changed)

    def close(self) -> None:
        """End all servers and the bridge's thread, within seconds. May be called more than once."""
        self.aio.portal.close()

    def __enter__(self) -> Bridge:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # For other parts of the package

    def run(
        self, do: Callable[Concatenate[Operations, P], Coroutine[Any, Any, T]],
        *args: P.args, **options: P.kwargs,
    ) -> T:  # fmt: skip
        """Run a coroutine function of the operations on the bridge's loop and wait for it."""
        return self.aio.portal.call(do, self.aio.operations, *args, **options)

    def submit(
        self, do: Callable[Concatenate[Operations, P], Coroutine[Any, Any, T]],
        *args: P.args, **options: P.kwargs,
    ) -> Future[T]:  # fmt: skip
        """Start a coroutine function of the operations on the bridge's loop."""
        return self.aio.portal.submit(do, self.aio.operations, *args, **options)

    def _listen(
        self, server: str, topics: Sequence[str], on_change: OnChange | None
    ) -> Subscription:
        aio, changes = self.aio, self.run(Operations.listen, server, topics, on_change)
        return Subscription(aio.portal, changes, partial(_leave, aio, server, topics, changes))


async def _leave(aio: AioBridge, server: str, topics: Sequence[str], changes: Changes) -> None:
    await aio.run(Operations.stop_listening, server, topics, changes)


def _on_loop(loop: AbstractEventLoop, on_change: OnChange, what: str) -> None:
    with suppress(RuntimeError):  # that loop was closed
        loop.call_soon_threadsafe(on_change, what)


def _load() -> Settings:
    """Return the settings of this folder; unlike a named file, they may be a stranger's."""
    return without_untrusted(load_settings())


def _open(make: Callable[[], Engine]) -> AioBridge:
    """Start an engine on its own loop. Neither knows the bridge, so it can be garbage-collected."""
    engines: list[Engine] = []

    async def serve(ready: Callable[[], None], stop: anyio.Event) -> None:
        engines.append(make())
        await engines[0].serve(ready, stop)

    portal = Portal(serve)
    return AioBridge(portal, engines[0])
