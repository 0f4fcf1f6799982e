"""One live connection to one server, from its start to its end."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

import anyio

from ...core.errors import SourceError
from ...core.events import Inventory
from ...core.resources import Prompt, PromptMessage, Resource
from ...core.results import ResourcePart, ToolResult
from ...core.schemas import ArgumentChecks
from ...core.tools import JsonObject, Tool
from . import results
from .changes import ChangeWatch
from .failures import Failures, is_loss
from .transport import Connection

if TYPE_CHECKING:
    from mcp import Client

    from ..base import OnProgress

logger = logging.getLogger(__name__)

# A paginator that never ends must not hang us; 1,000 pages is more than any real server has.
_MAX_PAGES = 1000
_LIST_SECONDS = 30.0
# Long enough for a busy server, short enough that a dead one is noticed soon.
_PROBE_SECONDS = 5.0


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

    def __init__(self, link: Connection, mode: str, failures: Failures) -> None:
        self.link = link
        self.phase = "starting"
        self.was_ready = False
        self.inventory = Inventory(link.settings.name, ())
        self._tools: dict[str, Tool] = {}
        self._mode = mode
        self._failures = failures
        self._changes = ChangeWatch()
        link.watch.on_tools_changed = self._changes.notice
        self._checks = ArgumentChecks()
        self._over = anyio.Event()
        self._stale_at = float("inf")
        self._client: Client | None = None
        self._listener: Listener | None = None

    @property
    def era(self) -> str:
        """The protocol version agreed on, or nothing before that."""
        return str(self._client.protocol_version) if self._client else ""

    @property
    def server(self) -> str:
        """What the server calls itself, with its version."""
        info = self._client.server_info if self._client else None
        return f"{info.name} {info.version}".strip() if info else ""

    async def serve(self, listener: Listener) -> None:
        """Connect, list, say so, and stay until `close` is called or the connection ends.

        Raises:
            BaseException: whatever went wrong before the session was ready; see `Failures.at_start`.
        """
        self._listener = listener
        # Until it has answered once, nothing is lost by ending it without grace.
        self.link.hurry(True)
        with anyio.fail_after(self.link.settings.start_timeout_seconds) as limit:
            async with self._new_client() as self._client, anyio.create_task_group() as tasks:
                self.phase = "listing its tools"
                # Watch first, then list: a change in between is not lost.
                await tasks.start(self._listen)
                tasks.start_soon(self._changes.relist, self.refresh)
                await self.refresh()
                limit.deadline = float("inf")
                self.was_ready = True
                self.link.hurry(False)
                listener.ready()
                await self._until_over(tasks)
                listener.over()
                tasks.cancel_scope.cancel()

    def close(self) -> None:
        """Ask the serving task to leave."""
        self._over.set()

    async def refresh(self) -> Inventory:
        """List the tools anew and tell the observer.

        Raises:
            SourceError: the server did not answer with a listing.
        """
        tools, notes = await self._request("tools/list", self._list_tools(), _LIST_SECONDS)
        client = self._client
        instructions = (client.instructions or "") if client else ""
        notes = (*self.link.watch.notes, *notes)
        self.inventory = Inventory(self.link.settings.name, tuple(tools), instructions, notes)
        self._tools = {tool.name: tool for tool in tools}
        if self._listener:
            self._listener.listed(self.inventory)
        return self.inventory

    async def fresh_inventory(self) -> Inventory:
        """The inventory; changes noticed so far are in it, and its time-to-live is not over."""
        if anyio.current_time() >= self._stale_at:
            self._stale_at = float("inf")
            try:
                return await self.refresh()
            except SourceError as cause:
                logger.warning("Keeping the tools known so far: %s", cause)
        with anyio.move_on_after(_LIST_SECONDS):
            await self._changes.settled()
        return self.inventory

    async def call(
        self, tool: str, arguments: JsonObject, seconds: float, on_progress: OnProgress | None
    ) -> ToolResult:
        """Call a tool; on time-out or cancellation the server is told to stop."""
        assert self._client is not None
        answer = self._client.call_tool(
            tool, arguments, read_timeout_seconds=seconds, progress_callback=on_progress
        )
        result = results.result_of(await self._request(f"the call of {tool!r}", answer, seconds))
        return self._checked(tool, result)

    async def list_resources(self) -> list[Resource]:
        """Every resource and every template; empty for a server that has none."""
        client = self._connected()
        if client.server_capabilities.resources is None:
            return []
        pages = self._pages(client.list_resources, "resources")
        found = [results.resource_of(x) for x in await self._listing("resources/list", pages)]
        try:
            pages = self._pages(client.list_resource_templates, "resource_templates")
            listed = await self._listing("resources/templates/list", pages)
        except SourceError as cause:
            logger.debug("no templates: %s", cause)  # some servers have resources but no templates
            listed = []
        return found + [results.template_of(x) for x in listed]

    async def read_resource(self, uri: str) -> list[ResourcePart]:
        """The contents of one resource."""
        answer = self._connected().read_resource(uri)
        result = await self._request(f"reading {uri!r}", answer, self._limit)
        return [results.resource_part_of(x) for x in result.contents]

    async def list_prompts(self) -> list[Prompt]:
        """Every prompt; empty for a server that has none."""
        client = self._connected()
        if client.server_capabilities.prompts is None:
            return []
        pages = self._pages(client.list_prompts, "prompts")
        return [results.prompt_of(x) for x in await self._listing("prompts/list", pages)]

    async def get_prompt(self, name: str, arguments: Mapping[str, str]) -> list[PromptMessage]:
        """One prompt, filled in."""
        answer = self._connected().get_prompt(name, dict(arguments))
        result = await self._request(f"the prompt {name!r}", answer, self._limit)
        return [results.prompt_message_of(x) for x in result.messages]

    @property
    def _limit(self) -> float:
        return self.link.settings.call_timeout_seconds

    def _connected(self) -> Client:
        if self._client is None or self._over.is_set():
            raise self._failures.of_loss(self.link)
        return self._client

    def _new_client(self) -> Client:
        # Here, because importing the SDK takes more than a second; the source did it in a thread.
        from mcp import Client

        self.phase = "shaking hands"
        return Client(self.link.open(), mode=self._mode, cache=None)

    async def _listen(self, *, task_status: Any) -> None:
        await self._changes.listen(self._connected(), self._suspect, task_status=task_status)

    def _suspect(self) -> None:
        self.link.http.unreachable.set()

    async def _until_over(self, tasks: Any) -> None:
        tasks.start_soon(self._probe_when_suspected)
        tasks.start_soon(_forward, self.link.watch.ended, self._over)
        await self._over.wait()

    async def _probe_when_suspected(self) -> None:
        """A failed request or a broken stream may be an accident, or the end of the server."""
        while True:
            await self.link.http.unreachable.wait()
            self.link.http.unreachable = anyio.Event()
            try:
                with anyio.fail_after(_PROBE_SECONDS):
                    await self.refresh()
            except (SourceError, TimeoutError):
                self._over.set()

    async def _request(self, what: str, answer: Any, seconds: float) -> Any:
        """Await an answer; anything that goes wrong becomes one of our errors.

        The SDK itself, and code that it runs for a server's odd answer, raises
        many types: all of them mean that this one request failed.
        """
        try:
            with anyio.fail_after(seconds + 1.0):
                return await answer
        except SourceError:
            raise
        except Exception as cause:  # noqa: BLE001
            if is_loss(cause, self.link):
                self._over.set()
            raise self._failures.of_request(cause, self.link, what, seconds) from cause

    async def _list_tools(self) -> tuple[list[Tool], list[str]]:
        client = self._connected()
        notes: list[str] = []
        found: dict[str, Tool] = {}
        listed = await self._pages(client.list_tools, "tools", notes)
        for tool in listed:
            if tool.name in found:
                notes.append(f"Tool {tool.name!r} is listed twice; the first one is used.")
            else:
                found[tool.name] = results.tool_of(self.link.settings.name, tool)
        wanted = [x for x in found.values() if x.name not in self.link.settings.disabled_tools]
        return wanted, notes

    async def _listing(self, what: str, pages: Any) -> list[Any]:
        return await self._request(what, pages, _LIST_SECONDS)

    async def _pages(self, ask: Any, field: str, notes: list[str] | None = None) -> list[Any]:
        items: list[Any] = []
        seen: set[str] = set()
        cursor: str | None = None
        for _ in range(_MAX_PAGES):
            page = await ask(cursor=cursor)
            items += getattr(page, field)
            self._note_time_to_live(page, field)
            cursor = page.next_cursor
            if cursor is None:
                return items
            if cursor in seen:
                break
            seen.add(cursor)
        if notes is not None:
            notes.append(f"The listing of {field} never ends; the first {len(items)} are used.")
        return items

    def _note_time_to_live(self, page: Any, field: str) -> None:
        seconds = (getattr(page, "ttl_ms", None) or 0) / 1000
        if field == "tools" and seconds > 0:
            self._stale_at = anyio.current_time() + seconds

    def _checked(self, tool: str, result: ToolResult) -> ToolResult:
        """Note where a result breaks the schema that its tool promised; it is passed on all the same."""
        listed = self._tools.get(tool)
        if listed is None or listed.output_schema is None or result.is_error:
            return result
        problems = self._checks.problems(listed.key, listed.output_schema, result.structured)
        if not problems:
            return result
        note = f"The result breaks the tool's own output schema: {'; '.join(problems)}"
        return ToolResult(result.parts, result.structured, result.is_error, (*result.notes, note))


async def _forward(event: anyio.Event, to: anyio.Event) -> None:
    await event.wait()
    to.set()
