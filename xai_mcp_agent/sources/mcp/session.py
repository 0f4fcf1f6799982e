"""One live connection to one server, from its start to its end."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import anyio

from ...core.errors import SourceClosed, SourceError
from ...core.events import Inventory
from ...core.resources import Prompt, PromptMessage, Resource
from ...core.results import ResourcePart, ToolResult
from ...core.schemas import ArgumentChecks
from ...core.tools import JsonObject
from . import results
from .changes import ChangeWatch
from .failures import Failures, NotSent, Verdict, WrongEra, is_missing_method, verdict_on
from .listing import Listing, all_pages
from .transport import Connection

if TYPE_CHECKING:
    from anyio.abc import TaskGroup, TaskStatus
    from mcp import Client
    from mcp.shared.dispatcher import ProgressFnT

    from ..base import OnProgress

logger = logging.getLogger(__name__)

T = TypeVar("T")

_LIST_SECONDS = 30.0
# Long enough for a busy server, short enough that a dead one is noticed soon.
_PROBE_SECONDS = 5.0
# A stream that a proxy closes now and then is no reason to ask all the time.
_PROBE_PAUSE_SECONDS = 1.0
_LONGEST_PROBE_PAUSE_SECONDS = 60.0
# The SDK has limits of its own, which may add up; this much later ours ends them all.
_GRACE_SECONDS = 1.0
# When a server refuses one request, others that it has already may still be answered.
_DRAIN_SECONDS = 1.0
# Ending a session over HTTP asks the server, which may not answer; a process has its own limits.
_LEAVE_SECONDS = 1.0


class Listener(Protocol):
    """Told by a session how it fares."""

    def ready(self) -> None:
        """It has listed its tools and can be called."""
        ...

    def over(self) -> None:
        """It can no longer be called; it is closing."""
        ...

    def listed(self, inventory: Inventory) -> None:
        """It has listed its tools, for the first time or again."""
        ...


class McpSession:
    """Opened, served and closed by the one task that runs `serve`; all others only call in."""

    def __init__(self, link: Connection, mode: str, failures: Failures, listener: Listener) -> None:
        self.link = link
        self.phase = "starting"
        self.was_ready = False
        self.inventory = Inventory(link.settings.name, ())
        self._listing = Listing(link)
        self._mode = mode
        self._failures = failures
        self._listener = listener
        self._changes = ChangeWatch()
        link.watch.on_tools_changed = self._changes.notice
        link.http.on_doubt = self._doubt
        self._checks = ArgumentChecks()
        self._in_flight = _InFlight()
        self._over = anyio.Event()
        self._doubted = anyio.Event()
        # Since when nothing came, if a request was in vain; None as long as it answers.
        self._silent_since: float | None = None
        self._attempt: anyio.CancelScope | None = None
        self._client: Client | None = None
        # Two listings at the same time could end in the wrong order.
        self._one_listing = anyio.Lock()

    @property
    def era(self) -> str:
        """The protocol version agreed on, or nothing before that."""
        return str(self._client.protocol_version) if self._client else ""

    @property
    def server(self) -> str:
        """What the server calls itself, with its version."""
        info = self._client.server_info if self._client else None
        return f"{info.name} {info.version}".strip() if info else ""

    async def serve(self, seconds: float) -> None:
        """Connect and list within `seconds`, say so, and stay until `close` or the connection ends.

        Raises:
            BaseException: whatever went wrong before it was ready; see `Failures.at_start`.
        """
        # Until it has answered once, nothing is lost by ending it without grace.
        self.link.hurry(True)
        with anyio.fail_after(seconds) as limit:
            self._attempt = limit
            async with self._new_client() as self._client, anyio.create_task_group() as tasks:
                await self._begin(tasks)
                limit.deadline = float("inf")
                self.was_ready = True
                self.link.hurry(False)
                self._listener.ready()
                await self._over.wait()
                if self._client_outlives_the_server:
                    await self._in_flight.none(_DRAIN_SECONDS)
                tasks.cancel_scope.cancel()
                limit.deadline = anyio.current_time() + _LEAVE_SECONDS

    def close(self) -> None:
        """Ask the serving task to leave; a session that is not ready yet is given up."""
        self.link.closed_on_purpose = True
        self._end()
        if self._attempt and not self.was_ready:
            self._attempt.cancel()

    async def refresh(self) -> Inventory:
        """List the tools anew and tell the listener.

        Raises:
            SourceError: the server did not answer with a listing.
        """
        client = self._connected()
        async with self._one_listing:
            try:
                ask = partial(self._listing.fetch, client)
                await self._request("tools/list", ask, _LIST_SECONDS)
            except SourceError as error:
                if not is_missing_method(error):
                    raise
                self._listing.clear()
            self.inventory = self._listing.inventory(client.instructions or "")
        self._listener.listed(self.inventory)
        return self.inventory

    async def fresh_inventory(self) -> Inventory:
        """The inventory; changes noticed so far are in it, and its time-to-live is not over."""
        if self._listing.is_stale():
            try:
                return await self.refresh()
            except SourceError as cause:
                self._listing.keep_for_now()
                logger.warning("Keeping the tools known so far: %s", cause)
        with anyio.move_on_after(_LIST_SECONDS):
            await self._changes.settled()
        return self.inventory

    async def call(
        self, tool: str, arguments: JsonObject, seconds: float, on_progress: OnProgress | None
    ) -> ToolResult:
        """Call a tool; on time-out or cancellation the server is told to stop."""
        told = _with_words(on_progress)
        ask = partial(self._connected().call_tool, tool, arguments, seconds, told)
        # Over stdio nothing waits but the call itself, and that has a limit from the SDK.
        is_limited = self.link.process is not None
        answer = await self._request(f"the call of {tool!r}", ask, seconds, is_limited=is_limited)
        return self._checked(tool, results.result_of(answer))

    async def list_resources(self) -> list[Resource]:
        """Every resource and every template; empty for a server that has none."""
        client = self._connected()
        if client.server_capabilities.resources is None:
            return []
        ask = client.list_resource_templates
        resources = await self._listed("resources/list", client.list_resources, "resources")
        templates = await self._listed("resources/templates/list", ask, "resource_templates")
        return [*map(results.resource_of, resources), *map(results.template_of, templates)]

    async def read_resource(self, uri: str) -> list[ResourcePart]:
        """The contents of one resource."""
        ask = partial(self._connected().read_resource, uri)
        result = await self._request(f"reading {uri!r}", ask, self._limit)
        return [results.resource_part_of(x) for x in result.contents]

    async def list_prompts(self) -> list[Prompt]:
        """Every prompt; empty for a server that has none."""
        client = self._connected()
        if client.server_capabilities.prompts is None:
            return []
        listed = await self._listed("prompts/list", client.list_prompts, "prompts")
        return [results.prompt_of(x) for x in listed]

    async def get_prompt(self, name: str, arguments: Mapping[str, str]) -> list[PromptMessage]:
        """One prompt, filled in."""
        ask = partial(self._connected().get_prompt, name, dict(arguments))
        result = await self._request(f"the prompt {name!r}", ask, self._limit)
        return [results.prompt_message_of(x) for x in result.messages]

    @property
    def _limit(self) -> float:
        return self.link.settings.call_timeout_seconds

    def _connected(self) -> Client:
        if self.link.watch.ended.is_set():
            self._end()
        if self._client is None or self._over.is_set():
            raise self._failures.of_loss(self.link, NotSent)
        return self._client

    def _new_client(self) -> Client:
        # Here, because importing the SDK takes more than a second; the source did it in a thread.
        from mcp import Client

        self.phase = "shaking hands"
        # Also where only one era is allowed: the SDK would not ask who it is and what it can do.
        mode = "legacy" if self._mode == "legacy" else "auto"
        return Client(self.link.open(), mode=mode, cache=None)

    async def _begin(self, tasks: TaskGroup) -> None:
        """What happens between the handshake and the first call."""
        if self._mode not in ("auto", "legacy", self.era):
            raise WrongEra(self.era, self._mode)
        self.phase = "listing its tools"
        tasks.start_soon(self._end_with_the_stream)
        # Watch first, then list: a change in between is not lost.
        await tasks.start(self._listen)
        tasks.start_soon(self._changes.relist, self.refresh)
        await self.refresh()
        tasks.start_soon(self._probe_when_in_doubt)

    @property
    def _client_outlives_the_server(self) -> bool:
        """Over HTTP each request has its own connection, and may still be answered."""
        return self.link.settings.transport == "http" and not self.link.closed_on_purpose

    async def _listen(self, *, task_status: TaskStatus[None]) -> None:
        await self._changes.listen(self._connected(), self._doubt, task_status=task_status)

    def _end(self) -> None:
        if not self._over.is_set():
            self._over.set()
            self.link.watch.ended.set()
            self._listener.over()

    async def _end_with_the_stream(self) -> None:
        await self.link.watch.ended.wait()
        self._end()

    def _doubt(self) -> None:
        self._doubted.set()

    async def _probe_when_in_doubt(self) -> None:
        """A failed request or a broken stream may be an accident, or the end of the server."""
        pause = _PROBE_PAUSE_SECONDS
        while True:
            with anyio.move_on_after(_LONGEST_PROBE_PAUSE_SECONDS) as calm:
                await self._doubted.wait()
            if calm.cancelled_caught:
                pause = _PROBE_PAUSE_SECONDS
                continue
            await self._probe()
            await anyio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PROBE_PAUSE_SECONDS)

    async def _probe(self) -> None:
        """Ask twice if need be: the first time may go over a connection that is dead already."""
        with anyio.move_on_after(_PROBE_SECONDS):
            for _ in range(2):
                self._doubted = anyio.Event()
                try:
                    await self.refresh()
                except SourceClosed as cause:
                    logger.debug("%s", cause)
                except SourceError:
                    return  # it answers
                else:
                    return
        self._end()

    async def _request(
        self,
        what: str,
        ask: Callable[[], Awaitable[T]],
        seconds: float,
        *,
        is_limited: bool = False,
    ) -> T:
        """Await an answer; anything that goes wrong becomes one of our errors.

        The SDK itself, and code that it runs for a server's odd answer, raises
        many types: all of them mean that this one request failed.
        """
        started = monotonic()
        try:
            with self._in_flight:
                if is_limited:
                    return await ask()
                with anyio.fail_after(seconds + _GRACE_SECONDS):
                    return await ask()
        except Exception as cause:
            verdict = verdict_on(cause, self.link)
            await self._draw_conclusions(verdict, started)
            raise self._failures.of_request(verdict, cause, self.link, what, seconds) from cause

    async def _draw_conclusions(self, verdict: Verdict, started: float) -> None:
        match verdict:
            case "lost" | "unsent":
                self._end()
                await self.link.last_words()
            case "broken":
                self._doubt()
            case "late":
                self._note_silence(started)
            case _:
                pass

    def _note_silence(self, started: float) -> None:
        """Two requests in a row without a sign of life end the session; one may just be slow."""
        if self.link.watch.heard_at > started:
            self._silent_since = None
        elif self._silent_since is None or self.link.watch.heard_at > self._silent_since:
            self._silent_since = monotonic()
        elif started >= self._silent_since:
            self.link.hurry(True)  # it would not notice that its stdin closes either
            self._end()

    async def _listed(self, what: str, ask: Callable[..., Awaitable[Any]], field: str) -> list[Any]:
        """All items of a listing that a server need not have."""
        try:
            pages = await self._request(what, partial(all_pages, ask, field), _LIST_SECONDS)
        except SourceError as error:
            if is_missing_method(error):
                return []  # some servers have resources but no templates
            raise
        return pages.items

    def _checked(self, tool: str, result: ToolResult) -> ToolResult:
        """Note where a result breaks the schema its tool promised; it is passed on all the same."""
        listed = self._listing.tools.get(tool)
        if listed is None or listed.output_schema is None or result.is_error:
            return result
        problems = self._checks.problems(listed.key, listed.output_schema, result.structured)
        if not problems:
            return result
        note = f"The result breaks the tool's own output schema: {'; '.join(problems)}"
        return ToolResult(result.parts, result.structured, result.is_error, (*result.notes, note))


class _InFlight:
    """Counts the requests that wait for their answers."""

    def __init__(self) -> None:
        self._count = 0
        self._all_done = anyio.Event()

    def __enter__(self) -> None:
        self._count += 1

    def __exit__(self, *_: object) -> None:
        self._count -= 1
        if not self._count:
            self._all_done.set()

    async def none(self, seconds: float) -> None:
        """Wait until there are none, or for so long."""
        self._all_done = anyio.Event()
        with anyio.move_on_after(seconds):
            if self._count:
                await self._all_done.wait()


def _with_words(on_progress: OnProgress | None) -> ProgressFnT | None:
    """The SDK gives None where the server said nothing."""
    if on_progress is None:
        return None

    async def tell(progress: float, total: float | None, message: str | None) -> None:
        await on_progress(progress, total, message or "")

    return tell
