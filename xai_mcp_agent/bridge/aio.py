"""The Python face of the library as coroutines: everything the nodes can do, without a canvas.

See docs/python.md. Kept stable. `Bridge` has the same methods for callers that wait.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from ..core.errors import XaiMcpError
from ..core.events import SourceStatus
from ..core.resources import Completion, Prompt, PromptMessage, Resource
from ..core.results import OnProgress, ResourcePart, ToolResult
from ..core.sign_in import SignIn
from ..core.tools import JsonObject, Tool, ToolKey
from ..history.place import StoreStatus
from ..policy.decisions import Choice
from ..policy.review import Review
from ..sources.base import LISTS, Completed
from . import auth, decisions, fitting, history, learning, planning, reviews, search, selecting
from .engine import Engine
from .flows import MOST_FLOWS
from .history import At
from .plan_runs import PLAN, PlanOptions
from .plan_runs import run_plan as carry_out
from .portal import Portal
from .subscription import AioNews, AioSubscription, News, OnChange

if TYPE_CHECKING:
    from pathlib import Path

    from ..history.diff.changes import ToolChanged, Version
    from ..history.event import Event
    from ..history.graph import Graph
    from ..history.learned import Learnings
    from ..history.records import Records, ToolRecord
    from ..history.stats import Stats
    from ..planning.answered import CheckedCalls, ExplainedChoice, Suggested
    from ..planning.plan_run import PlanRun
    from ..planning.plans import Plan
    from ..policy.suspicion import Mark
    from ..search.found import SelectedTool
    from ..search.ranking import Ranked

T = TypeVar("T")


class AioBridge:
    """The methods of `Bridge` as coroutines, for callers that own an asyncio loop.

    The servers still live on the bridge's own loop: yours is never blocked.
    Cancelling a call cancels it on the server.
    """

    def __init__(self, portal: Portal, engine: Engine) -> None:
        self.portal = portal
        self.engine = engine
        # One that was forgotten ends its servers all the same.
        weakref.finalize(self, portal.begin_to_close).atexit = False

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

    async def run_plan(
        self,
        plan: Plan | Mapping[str, Any],
        *,
        given: Mapping[Any, Any] | None = None,
        resume: PlanRun | str | Path | None = None,
        again: int | None = None,
        agent: str = PLAN,
        source: str = "",
        timeout_seconds: float | None = None,
    ) -> PlanRun:
        """Make the calls of a plan one after another; how far that came, and why it stopped.

        `given` are arguments in place of what the plan says, by `(call, parameter)` as in its
        `edges`, or by texts as in messages, which count calls from 1: `2.reader`. It stops where
        one is missing, where a call fails, and where somebody must approve one: its calls are
        judged as those of an `agent`. `resume` goes on with a run; a file is where it is kept, and
        begins one if it is not there. No call is made twice; one that may have been carried out
        already only if it is `again`, counted from 1. `source` is that of tools that name none.
        `timeout_seconds` is for each call.

        Raises:
            BadPlan, BadSetting: it is no plan, or has no such place; nothing was called.
            UnknownServer, UnknownTool, SettingsError, SourceFailed, ToolDisabled: one of its
                tools cannot be called; nothing was.
            RunFileError: the file cannot be used.
        """
        options = PlanOptions(given, resume, again, agent, source, timeout_seconds)
        return await self.run(carry_out, plan, options)

    async def search_tools(self, query: str, *servers: str, limit: int = 10) -> list[Ranked[Tool]]:
        """The tools that fit what somebody wants to do, best first, with scores and reasons.

        Of these servers, or of all, connected for it; those that cannot be used offer nothing.
        What the settings block is not found.
        """
        return await self.run(search.ranked_tools, query, limit, servers or None)

    async def select_tool(self, request: str, *servers: str) -> SelectedTool | None:
        """The tool that fits best what somebody wants to do, or None; see `SelectedTool`.

        Of these servers and groups, or of all, only tools that agents may use now.

        Raises:
            UnknownServer, SettingsError: a name that cannot be used.
        """
        return await self.run(selecting.select_named, request, servers)

    async def plan_tools(
        self, request: str, *servers: str, model: str = "", base_url: str = ""
    ) -> Plan:
        """The calls that a request asks for, each with the sources of its arguments.

        Of the tools of these servers and groups, or of all, that agents may use now. Without a
        `model`, such as `openai/gpt-5-mini`, words and shapes make the plan. A model is asked once;
        where it fails, or says what cannot be, the rough plan stands and says why. Nothing is
        called.

        Raises:
            UnknownServer, SettingsError: a name that cannot be used.
            UnknownProvider: the model's provider wants a model's name.
        """
        return await self.run(planning.plan_with, request, servers, model, base_url)

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

    # The history. All but `store` raise StoreFailed when it cannot be used.

    async def history(
        self,
        server: str | None = None,
        tool: str | None = None,
        *,
        since: datetime | None = None,
        until: At = None,
        failed: bool = False,
        agent: str | None = None,
        text: str = "",
        limit: int | None = None,
    ) -> list[Event]:
        """What happened, oldest first: to all, to one server and its tools, or to one tool.

        Only what `failed`, was called by an `agent`, or has a `text` in it; and `until` a moment.
        `limit` is for the newest so many. A time without a zone is one of this machine's.

        Raises:
            UnknownServer, UnknownTool, UnknownAgent: the history knows none of that name.
            StoreFailed: it cannot be used; the message says why and what to do.
        """
        chosen = history.Chosen(since, until, failed, agent, text, limit)
        return await self.run(history.events, server, tool, chosen)

    async def records(self, at: At = None) -> Records:
        """Every server and tool there ever was: now, or as it was known at a time or position.

        Raises:
            StoreFailed: the history cannot be used; the message says why and what to do.
        """
        return await self.run(history.records, at)

    async def stats(self, since: datetime | None = None) -> Stats:
        """How often each tool was called, failed, and how long that took; and for each server.

        Of all calls there ever were, or since a time; without a zone it is one of this machine's.

        Raises:
            StoreFailed: as `records`.
        """
        return await self.run(history.stats, since)

    async def tool_record(self, server: str, tool: str) -> ToolRecord:
        """What is known of one tool: since when it is there, how often it was called and failed.

        Raises:
            UnknownServer, UnknownTool, StoreFailed: as `history`.
        """
        return await self.run(history.tool_record, server, tool)

    async def difference(
        self, server: str | None = None, tool: str | None = None, *, before: At, after: At = None
    ) -> list[ToolChanged]:
        """What is different between two times or positions: of all, of a server, or of a tool.

        A tool whose server is merely not connected has not gone.

        Raises:
            UnknownServer, UnknownTool, StoreFailed: as `history`.
        """
        return await self.run(history.difference, server, tool, before, after)

    async def learned(
        self, server: str | None = None, tool: str | None = None, toolbelt: str | None = None
    ) -> Learnings:
        """What runs with these tools taught for plans: `runs` and `shapes`, without any value.

        Raises:
            StoreFailed: the history cannot be used; the message says why and what to do.
        """
        return await self.run(learning.learned, server, tool, toolbelt)

    async def forget_learned(
        self, server: str | None = None, tool: str | None = None, toolbelt: str | None = None
    ) -> Learnings:
        """Forget all that, for good; what it was.

        Raises:
            StoreFailed: the history cannot be written, and all is kept still.
        """
        return await self.run(learning.forget, server, tool, toolbelt)

    async def versions(self, server: str, tool: str) -> list[Version]:
        """Every definition that a tool had, the first one first, each with how it differs.

        Raises:
            UnknownServer, UnknownTool, StoreFailed: as `history`.
        """
        return await self.run(history.versions, server, tool)

    async def graph(
        self,
        at: At = None,
        server: str | None = None,
        tool: str | None = None,
        limit: int = MOST_FLOWS,
    ) -> Graph:
        """All there ever was and what hangs on what: `as_json()`, `as_mermaid()`.

        Of a server or a tool: what is around it, with the `limit` best `flows` to and from it.
        Which tools are switched off is what is decided now; `at` a time, what the history notes.

        Raises:
            StoreFailed: the history cannot be used; the message says why and what to do.
            UnknownServer, UnknownTool: there never was one; the message has the nearest.
        """
        if server is None and tool is None:
            return await self.run(history.graph, at)
        return await self.run(history.graph_around, at, server, tool, limit)

    # What fits together; of all tools that may be used now.

    async def suggest_tools(
        self, after: Sequence[str] = (), request: str = "", limit: int = 5
    ) -> Suggested:
        """The tools that may come next, the best first, each with its reasons.

        `after` are those so far: `server/tool`, or a name that only one server has.

        Raises:
            UnknownTool: one of them is not there, or may not be used.
            BadSetting: neither tools nor a request are given.
        """
        return await self.run(fitting.suggest_tools, after, request, limit)

    async def check_wires(self, plan: Plan) -> CheckedCalls:
        """What is wrong with the calls of a plan as they are connected; none is made.

        Raises:
            BadPlan: it is not said whose tool one of them is.
        """
        return await self.run(fitting.check_wires, fitting.named_calls(plan))

    async def explain_choice(self, request: str, server: str, tool: str) -> ExplainedChoice:
        """Why a tool is chosen for a request by a search and a plan, or what keeps it from it.

        Raises:
            UnknownServer, UnknownTool: there is none of that name; the message has the nearest.
            SourceFailed: the server cannot be used.
        """
        return await self.run(fitting.explain_choice, request, server, tool)

    async def store(self) -> StoreStatus:
        """Where the history is kept, and what is wrong with that. Does not raise."""
        return await self.run(history.store)

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

    async def run(self, do: Callable[..., Coroutine[Any, Any, T]], *args: Any, **options: Any) -> T:
        """For our own parts: an engine's coroutine method, run on the bridge's loop."""
        return await self.portal.awaited(do, self.engine, *args, **options)


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
