"""The Python face of the library as coroutines: everything the nodes can do, without a canvas.

See docs/python.md. Kept stable. `Bridge` has the same methods for callers that wait.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from ..core.errors import XaiMcpError
from ..core.events import SourceStatus
from ..core.resources import Completion, Prompt, PromptMessage, Resource
from ..core.results import OnProgress, ResourcePart, ToolResult
from ..core.sign_in import SignIn
from ..core.tools import JsonObject, Tool, ToolKey
from ..policy.decisions import Choice
from ..policy.review import Review
from ..sources.base import LISTS, Completed
from . import auth, decisions, history, reviews, search, selecting
from .aio_history import AioHistory
from .aio_planning import AioPlanning
from .engine import Engine
from .subscription import AioNews, AioSubscription, News, OnChange

if TYPE_CHECKING:
    from ..policy.suspicion import Mark
    from ..search.ranking import RankedTools

T = TypeVar("T")


class AioBridge(AioHistory, AioPlanning):
    """The methods of `Bridge` as coroutines, for callers that own an asyncio loop.

    The servers still live on the bridge's own loop: yours is never blocked.
    Cancelling a call cancels it on the server.
    """

    # Servers

    async def servers(self) -> list[SourceStatus]:
        """How every configured server is doing; the disabled ones say why. Connects nothing."""
        return await self.run(Engine.servers)

    async def connect(self, *names: str, wait: bool = False) -> None:
        """Start these servers in the background, or all usable ones if none is named.

        With `wait`, return when each is ready or has failed within its own
        limit; `servers()` then tells which. Calling a tool connects what it needs by itself.

        Raises:
            UnknownServer, SettingsError: a name that cannot be used; the others are started.
        """
        wanted = names or self.engine.settings.usable
        _raise_first(await self.run(Engine.start, wanted, is_anew=True))
        if wait:
            await self.run(Engine.connect, wanted)

    async def disconnect(self, server: str) -> None:
        """Close one server; the next use connects it again.

        Raises:
            UnknownServer, SettingsError: a name that cannot be used.
        """
        await self.run(Engine.disconnect, server)

    async def reset_breaker(self, server: str) -> bool:
        """Have a server called again that failed too often; whether its calls were refused.

        `connect`, `refresh` and `disconnect` do so too.

        Raises:
            UnknownServer, SettingsError: a name that cannot be used.
        """
        return await self.run(Engine.reset_breaker, server)

    async def instructions(self, server: str) -> str:
        """How the server says it wants to be used; empty where it says nothing.

        Raises:
            UnknownServer, SettingsError, SourceFailed: it cannot be used; the message says why.
        """
        return await self.run(Engine.instructions, server)

    async def marks(self, *servers: str) -> list[Mark]:
        """What these servers say that a person should read, or all that were listed.

        Orders to a model, hidden characters, names of other servers' tools. Nothing is blocked by
        a mark. Connects nothing.
        """
        return await self.run(Engine.marks, servers)

    async def ping(self, server: str) -> float:
        """How many seconds the server needs to answer anything at all, once it is connected.

        Raises:
            UnknownServer, SettingsError, SourceFailed: it cannot be used; the message says why.
            SourceClosed, ToolTimeout, ServerError: the far side.
        """
        return await self.run(Engine.ping, server)

    async def refresh(self, server: str, force: bool = False) -> list[Tool]:
        """Ask the server anew for its tools. With `force` each is written into the history.

        Raises:
            UnknownServer, SettingsError, SourceFailed: it cannot be used; the message says why.
            SourceClosed, ToolTimeout, ServerError: the far side.
        """
        return await self.run(history.refresh, server, force)

    async def sign_in(self, server: str, sign_in: SignIn | None = None) -> list[Tool]:
        """Forget the access to a server behind a URL and sign in to it anew; its tools.

        `sign_in` gets somebody to do it; without it, the one that the bridge was given.

        Raises:
            UnknownServer, SettingsError, SourceFailed: it cannot be had; the message says why.
        """
        return await self.run(auth.sign_in, server, sign_in)

    async def sign_out(self, server: str) -> bool:
        """Forget the access to a server behind a URL; whether there was any.

        Raises:
            UnknownServer, SettingsError, SourceFailed: it is none that one signs in to.
        """
        return await self.run(auth.sign_out, server)

    # Tools

    async def list_tools(
        self,
        *servers: str,
        named: str = "",
        usable: bool = False,
        limit: int | None = None,
        offset: int = 0,
    ) -> list[Tool]:
        """The tools of these servers and groups, or of all; at most `limit`, after `offset` others.

        Only those whose name is like the pattern `named`, and with `usable` those that agents may
        use now. Where more is asked for than all tools of one server, those that cannot be started
        offer nothing.

        Raises:
            UnknownServer, SettingsError, SourceFailed: it cannot be used; the message says why.
            BadSetting: `named` is no pattern, or a number is below 0.
        """
        is_group = len(servers) == 1 and self.engine.settings.group(servers[0]) is not None
        if len(servers) == 1 and not (is_group or named or usable or offset) and limit is None:
            return await self.run(Engine.list_tools, servers[0])
        return await self.run(
            selecting.tools_page, servers, named=named, usable=usable, limit=limit, offset=offset
        )

    async def find_server(self, tool: str, servers: Iterable[str]) -> str | None:
        """The first of these servers that offers a tool of that name, or None.

        Servers that cannot be used offer nothing, and are not an error here.
        """
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
        """Call a tool and wait for its result. `timeout_seconds` covers connecting too.

        `on_progress(done, total, message)` is called on the bridge's own
        thread: it should return at once. `meta` goes along for programs at the far side. A result
        with `is_error` is returned, not raised.

        Raises:
            UnknownServer, SettingsError, UnknownTool, InvalidArguments: nothing was sent.
            BadSetting: the same; the limit is none.
            NotAccepted, DefinitionChanged: the same; it is pinned and is not what was accepted.
            AcceptanceUnknown: the same; it is pinned, and nobody can say what was accepted.
            SourceFailed, SourceClosed, ToolTimeout, ServerError: the far side.
        """
        return await self.run(
            Engine.call_tool,
            server,
            tool,
            arguments,
            timeout_seconds=timeout_seconds,
            on_progress=_as_async(on_progress),
            meta=meta,
        )

    async def search_tools(self, query: str, *servers: str, limit: int = 10) -> RankedTools[Tool]:
        """The tools that fit what somebody wants to do, best first, with scores and reasons.

        Of these servers, or of all, connected for it; those that cannot be used offer nothing.
        What the settings block is not found. The `note` of the list says what the search had to do
        without, such as tools that are not prepared for a search by meaning yet.
        """
        return await self.run(search.ranked_tools, query, limit, servers or None)

    async def execute_tool(
        self,
        tool: str | ToolKey | Tool,
        arguments: JsonObject | None = None,
        *,
        timeout_seconds: float | None = None,
        on_progress: Callable[[float, float | None, str], None] | None = None,
        meta: JsonObject | None = None,
    ) -> ToolResult:
        """`call_tool` for a key, `server/tool`, or a name that only one server has.

        Raises:
            UnknownTool: there is none of that name, or several. And what `call_tool` raises.
        """
        return await self.run(
            selecting.execute_tool,
            tool,
            arguments,
            timeout_seconds=timeout_seconds,
            on_progress=_as_async(on_progress),
            meta=meta,
        )

    async def disable(self, server: str, *tools: str) -> list[Choice]:
        """Let no agent use these tools; calls of a person or a program still work.

        It is written into `mcp_tools.lock.json`, whatever becomes of the tools and of their server.
        `canvas` is the server of the tools that are drawn. Other processes know it at once.

        Raises:
            UnknownServer, SettingsError, UnknownTool: there is none, and there was none.
            SourceFailed: only the server would know, and it cannot be used.
            LockFailed: it counts in this process, but cannot be written.
        """
        return await self.run(decisions.for_good, decisions.disable, server, tools)

    async def enable(self, server: str, *tools: str) -> list[Choice]:
        """Let agents use these tools again. Raises what `disable` does."""
        return await self.run(decisions.for_good, decisions.enable, server, tools)

    async def review(self, server: str, *tools: str) -> list[Review]:
        """What the server says of these tools now, to be read; without any, all that it says.

        Those whose `standing` is not `accepted` wait for somebody to accept them.

        Raises:
            UnknownServer, SettingsError, UnknownTool, SourceFailed: as for `disable`.
        """
        return await self.run(reviews.review, server, tools)

    async def accept(self, server: str, *tools: str, digest: str = "") -> list[Choice]:
        """Accept what the server says of these tools now; without any, all that it says.

        A pinned server is held to what was accepted. `digest` says what was read: that of its
        `review`, the whole of it, or of all that waits, together.

        Raises:
            ReviewNeeded: the digest is not that of what the server says now; nothing was accepted.
                And what `disable` raises.
        """
        accept = partial(reviews.accept, digest=digest)
        return await self.run(decisions.for_good, accept, server, tools)

    # Resources and prompts. All raise what `list_resources` does.

    async def list_resources(self, server: str) -> list[Resource]:
        """Every resource and resource template of one server.

        Raises:
            UnknownServer, SettingsError, SourceFailed: it cannot be used; the message says why.
            SourceClosed, ToolTimeout, ServerError: the far side.
        """
        return await self.run(Engine.list_resources, server)

    async def read_resource(
        self, server: str, uri: str, values: Mapping[str, Any] | None = None
    ) -> list[ResourcePart]:
        """The contents of one resource. With `values`, `uri` is a template to be filled in.

        Raises:
            InvalidArguments: the template needs other values; nothing was sent.
        """
        return await self.run(Engine.read_resource, server, uri, values)

    async def list_prompts(self, server: str) -> list[Prompt]:
        """Every prompt of one server."""
        return await self.run(Engine.list_prompts, server)

    async def get_prompt(
        self, server: str, name: str, arguments: Mapping[str, str] | None = None
    ) -> list[PromptMessage]:
        """One prompt of one server, filled in with these arguments."""
        return await self.run(Engine.get_prompt, server, name, arguments)

    async def complete(
        self,
        server: str,
        of: str | Prompt | Resource,
        argument: str,
        value: str = "",
        given: Mapping[str, str] | None = None,
    ) -> Completion:
        """How the value of an argument may go on, as the server says; nothing if it cannot tell.

        `of` is a prompt or a resource template, or the name of the one or the URI of the other.
        `given` are the arguments that are known already.
        """
        return await self.run(Engine.complete, server, *_completed(of), argument, value, given)

    async def subscribe(
        self, server: str, uri: str, on_updated: OnChange | None = None
    ) -> AioSubscription:
        """See `Bridge.subscribe`; `on_updated` is called on your loop."""
        news = AioNews(on_updated)
        return AioSubscription(news, await listen(self, news, server, uri))

    async def watch(self, server: str, on_changed: OnChange | None = None) -> AioSubscription:
        """See `Bridge.watch`; `on_changed` is called on your loop."""
        news = AioNews(on_changed)
        return AioSubscription(news, await listen(self, news, server, *LISTS))


async def listen(
    bridge: AioBridge, news: News | AioNews, server: str, *whats: str
) -> Callable[[], Coroutine[Any, Any, None]]:
    """Have it told on the bridge's loop when these change; what is given ends that."""
    await bridge.run(Engine.subscribe, server, whats, news.tell)
    bridge.engine.at_end[id(news)] = news.close

    async def leave() -> None:
        bridge.engine.at_end.pop(id(news), None)
        with suppress(RuntimeError):  # the bridge is closed, and with it all of this
            await bridge.run(Engine.unsubscribe, server, whats, news.tell)

    return leave


def _as_async(on_progress: Callable[[float, float | None, str], None] | None) -> OnProgress | None:
    """The listener of a program as the sources want it."""
    if on_progress is None:
        return None

    async def tell(done: float, total: float | None, message: str) -> None:
        on_progress(done, total, message)

    return tell


def _raise_first(refused: Mapping[str, XaiMcpError]) -> None:
    """Raise the first of the errors, if there is one."""
    first = next(iter(refused.values()), None)
    try:
        if first is not None:
            raise first
    finally:
        del first, refused  # as in `Portal.call`: an error must not hold itself


def _completed(of: str | Prompt | Resource) -> tuple[Completed, str]:
    match of:
        case Prompt(name):
            return "prompt", name
        case Resource(uri):
            return "template", uri
        case str(text):
            # Only a template has anything to fill in, and no prompt is called like that.
            return ("template" if "{" in text else "prompt"), text
