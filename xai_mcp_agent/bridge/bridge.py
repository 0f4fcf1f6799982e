"""The Python face of the library for callers that wait: `AioBridge`, from any thread.

See docs/python.md. Kept stable.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import anyio

from ..core.approval import Approver
from ..core.elicitation import Answerer
from ..core.sign_in import SignIn
from ..history.place import find_place
from ..history.recording.recorder import HistoryRecorder
from ..policy.lockfile import find_lock
from ..search.embeddings import Embed
from ..secrets.redactor import Redactor
from ..settings.load import load_settings, settings_from, user_token_folder
from ..settings.models import Settings
from ..settings.trust import without_untrusted
from ..sources.base import LISTS
from ..sources.mcp.auth.token_store import Access, TokenStore
from .aio import AioBridge, listen
from .callback_host import host_for
from .engine import Engine
from .portal import Portal
from .subscription import News, OnChange, Subscription

logger = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")


def waits(
    method: Callable[Concatenate[AioBridge, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[Bridge, P], T]:
    """The same method for a thread, which waits for it: it runs on the bridge's loop."""

    @wraps(method)
    def wait(self: Bridge, *args: P.args, **options: P.kwargs) -> T:
        return self.aio.portal.call(method, self.aio, *args, **options)

    wait.__qualname__ = f"Bridge.{method.__name__}"
    return wait


class Bridge:
    """Connects to the configured servers and calls their tools, from any thread.

    Servers are started when they are first needed, kept, healed when they
    break, and ended when the bridge is closed: at the end of its `with`
    block, by `close`, or at the latest when Python exits.

    `settings` is what a settings file holds, such as `{"mcpServers": {...}}`;
    without it the file is looked for (see README.md), and what it starts or reaches is used once
    you have agreed to it (see docs/settings.md). `answer` is given the questions that servers
    ask during a call, in a thread of its own; without it they are declined. `approve` is given the
    calls of agents that wait for approval, where nobody sits in front of the run. `sign_in` gets
    somebody to sign in where a server wants that; tokens are kept in `token_folder` (see
    docs/authorization.md). `store` is where the history is kept: a file, the URL of a database,
    or `memory` (see docs/history.md). `embed` gives a vector for each of a list of texts, to search
    tools by meaning, too (see docs/search.md); it is called in threads. `lock` is the file of what
    people decided (see docs/decisions.md), which is else beside the settings file, and in memory
    for settings from Python. All methods raise
    `RuntimeError` once the bridge is closed, and in a fork of its process.

    Raises:
        SettingsError: the file is unreadable. What is wrong with one server
            disables that server only, and is raised when it is used.
    """

    def __init__(
        self,
        settings: Mapping[str, Any] | None = None,
        *,
        answer: Answerer | None = None,
        approve: Approver | None = None,
        sign_in: SignIn | None = None,
        token_folder: str | Path | None = None,
        store: str | Path | None = None,
        embed: Embed | None = None,
        lock: str | Path | None = None,
        loaded: Settings | None = None,
        warn: Callable[[str], None] = logger.warning,
    ) -> None:
        if loaded is None:
            loaded = _found() if settings is None else settings_from(settings)
        self.settings = loaded
        folder = Path(token_folder) if token_folder else user_token_folder()
        place, mask = find_place(loaded, store), Redactor([loaded.secrets])
        recorder = HistoryRecorder(
            place, mask, loaded.record, loaded.secrets, warn, loaded.retention
        )
        access = Access(TokenStore(folder), sign_in)
        host, lock = host_for(answer, approve), find_lock(loaded, lock)
        self.aio = _opened(lambda: Engine(loaded, host, access, recorder, embed, lock, warn))
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
        """A bridge for this settings file; without a path the file is looked for.

        Raises:
            SettingsError: the file does not exist or cannot be read.
        """
        loaded = _found() if path is None else replace(load_settings(path), is_vouched=True)
        return cls(
            answer=answer,
            approve=approve,
            sign_in=sign_in,
            token_folder=token_folder,
            store=store,
            embed=embed,
            lock=lock,
            loaded=loaded,
        )

    @property
    def is_open(self) -> bool:
        """False once it was closed."""
        return self.aio.portal.is_open

    def usable_servers(self) -> tuple[str, ...]:
        """The names of the servers that are neither disabled nor wrong in the settings."""
        return self.settings.usable

    servers = waits(AioBridge.servers)
    connect = waits(AioBridge.connect)
    disconnect = waits(AioBridge.disconnect)
    reset_breaker = waits(AioBridge.reset_breaker)
    instructions = waits(AioBridge.instructions)
    marks = waits(AioBridge.marks)
    ping = waits(AioBridge.ping)
    refresh = waits(AioBridge.refresh)
    sign_in = waits(AioBridge.sign_in)
    sign_out = waits(AioBridge.sign_out)

    list_tools = waits(AioBridge.list_tools)
    find_server = waits(AioBridge.find_server)
    call_tool = waits(AioBridge.call_tool)
    search_tools = waits(AioBridge.search_tools)
    select_tool = waits(AioBridge.select_tool)
    plan_tools = waits(AioBridge.plan_tools)
    execute_tool = waits(AioBridge.execute_tool)
    run_plan = waits(AioBridge.run_plan)
    disable = waits(AioBridge.disable)
    enable = waits(AioBridge.enable)
    review = waits(AioBridge.review)
    accept = waits(AioBridge.accept)

    history = waits(AioBridge.history)
    records = waits(AioBridge.records)
    stats = waits(AioBridge.stats)
    tool_record = waits(AioBridge.tool_record)
    difference = waits(AioBridge.difference)
    learned = waits(AioBridge.learned)
    forget_learned = waits(AioBridge.forget_learned)
    versions = waits(AioBridge.versions)
    graph = waits(AioBridge.graph)
    suggest_tools = waits(AioBridge.suggest_tools)
    check_wires = waits(AioBridge.check_wires)
    explain_choice = waits(AioBridge.explain_choice)
    store = waits(AioBridge.store)

    list_resources = waits(AioBridge.list_resources)
    read_resource = waits(AioBridge.read_resource)
    list_prompts = waits(AioBridge.list_prompts)
    get_prompt = waits(AioBridge.get_prompt)
    complete = waits(AioBridge.complete)

    def subscribe(self, server: str, uri: str, on_updated: OnChange | None = None) -> Subscription:
        """Hear when a resource changes: `on_updated(uri)`, or `wait` for it. See `Subscription`.

        `on_updated` is called on the bridge's own thread: it should return at once.
        """
        return self._subscription(News(on_updated), server, uri)

    def watch(self, server: str, on_changed: OnChange | None = None) -> Subscription:
        """Hear when the server's list of `tools`, `prompts` or `resources` changes, by that name.

        `on_changed` is called on the bridge's own thread: it should return at once.
        """
        return self._subscription(News(on_changed), server, *LISTS)

    def close(self) -> None:
        """End all servers and the bridge's thread, within seconds. May be called more than once."""
        self.aio.portal.close()

    def __enter__(self) -> Bridge:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # For our own parts of the package

    def run(self, do: Callable[..., Coroutine[Any, Any, T]], *args: Any, **options: Any) -> T:
        """Run an engine's coroutine method on the bridge's loop and wait for it."""
        return self.aio.portal.call(do, self.aio.engine, *args, **options)

    def submit(
        self, do: Callable[..., Coroutine[Any, Any, T]], *args: Any, **options: Any
    ) -> Future[T]:
        """Start an engine's coroutine method on the bridge's loop."""
        return self.aio.portal.submit(do, self.aio.engine, *args, **options)

    def _subscription(self, news: News, server: str, *whats: str) -> Subscription:
        portal = self.aio.portal
        end = portal.call(listen, self.aio, news, server, *whats)

        def leave() -> None:
            if portal.is_open:
                portal.call(end)

        return Subscription(news, leave)


def _found() -> Settings:
    """The settings that are found; unlike a file that the program names, it may be anybody's."""
    return without_untrusted(load_settings())


def _opened(make: Callable[[], Engine]) -> AioBridge:
    """An engine on a loop of its own. Neither knows the bridge, so that one can be forgotten."""
    made: list[Engine] = []

    async def serve(ready: Callable[[], None], stop: anyio.Event) -> None:
        made.append(make())
        await made[0].serve(ready, stop)

    portal = Portal(serve)
    return AioBridge(portal, made[0])
