"""Listings of a server's tools, prompts, resources and templates, renewed on change notices.

The handshake era sends notices by itself; on 2026-07-28 nothing arrives unless a
`subscriptions/listen` stream is open. Either way a notice is only a cue to list again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Any, TypeAlias

import anyio
import anyio.to_thread

from ...core.calls import PROGRAM, Caller
from ...core.errors import SourceClosed, SourceError
from ...core.events import LISTS, Inventory, InventoryChanged, SourceUnreachable
from ...core.json import JsonObject, as_list
from ...core.patterns import guard
from ...core.results import Prompt, Resource
from ...core.schema_check import SchemaCheck
from ...core.tools import Tool
from . import convert
from .connection import Connection
from .failures import is_missing_method
from .requests import McpRequest, Requests, current_request

logger = logging.getLogger(__name__)

# Stops a paginator that never ends; no real server has 1,000 pages.
_MAX_PAGES = 1000
# For each list but the tools, because the tools wait for it at the start.
_FEATURE_SECONDS = 5.0
_REASON_CHARS = 200
# A stale listing that cannot be renewed is not requested again at every step.
_RETRY_SECONDS = 5.0
# A server that rebuilds its tools sends one notice for each, within milliseconds.
_BURST_SECONDS = 0.05
# Some servers send a notice because they were asked to list. A notice this soon after a listing may
# be such an echo, and the pause before the next listing then grows up to the second limit.
_ECHO_SECONDS = 0.2
_LONGEST_BURST_SECONDS = 5.0

Item: TypeAlias = Tool | Prompt | Resource


@dataclass(frozen=True, slots=True)
class _List:
    """One list: its method, the field with its items, and the client's method that requests it.

    Each item needs the `required` texts; the last one identifies it.
    """

    method: str
    field: str
    noun: str
    required: tuple[str, ...]
    send: str
    convert: Callable[[JsonObject], Prompt | Resource] | None = None

    @property
    def name(self) -> str:
        """Name of its list in `LISTS`, which is also the server's capability."""
        return self.method.partition("/")[0]


_TOOLS = _List("tools/list", "tools", "Tool", ("name",), "list_tools")
_FEATURE_LISTS = (
    _List("prompts/list", "prompts", "A prompt", ("name",), "list_prompts", convert.prompt_of),
    _List(
        "resources/list", "resources", "A resource", ("name", "uri"), "list_resources",
        convert.resource_of,
    ),
    _List(
        "resources/templates/list", "resourceTemplates", "A template", ("name", "uriTemplate"),
        "list_resource_templates", partial(convert.resource_of, is_template=True),
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Entry:
    """One listed item with its raw JSON, and notes on its unusable schemas."""

    raw: JsonObject
    item: Any
    notes: tuple[str, ...] = ()


class Listings:
    """Last listings of one server, combined in `inventory`.

    `report` gets each new inventory, and the reason if the tools could not be listed.
    `instructions` are the server's, even if agents do not get them.
    """

    def __init__(
        self,
        connection: Connection,
        requests: Requests,
        report: Callable[[InventoryChanged | SourceUnreachable], None],
    ) -> None:
        self.inventory = Inventory(connection.settings.name, ())
        self.instructions = ""
        self._connection = connection
        self._settings = connection.settings
        self._requests = requests
        self._report = report
        self._entries: dict[_List, dict[str, _Entry]] = {}
        self._stale_at: dict[_List, float] = {}
        self._failed: dict[str, SourceError] = {}  # by name in `LISTS`; the last listing stays
        # Two listings at the same time could end in the wrong order.
        self._one_at_a_time = anyio.Lock()
        self._changed = set[str]()  # names in `LISTS`
        self._dirty, self._has_waiter = anyio.Event(), anyio.Event()
        self._settled = anyio.Event()  # set when all noticed changes are listed
        self._settled.set()

    async def refresh(
        self,
        caller: Caller = PROGRAM,
        lists: Collection[str] = LISTS,
        seconds: float = _FEATURE_SECONDS,
    ) -> Inventory:
        """List everything anew, or some of `LISTS`; `seconds` limits each list but the tools.

        Raises:
            SourceError: the server did not return a tool listing.
        """
        async with self._one_at_a_time:
            if "tools" in lists:
                await self.fetch_tools(caller)
            capabilities = self._requests.require_client().server_capabilities
            async with anyio.create_task_group() as tasks:
                for kind in _FEATURE_LISTS:
                    if kind.name in lists and getattr(capabilities, kind.name) is not None:
                        self._failed.pop(kind.name, None)
                        tasks.start_soon(self._fetch_other, kind, caller, seconds)
            self._update_inventory()
        self._report(InventoryChanged(self._settings.name, self.inventory))
        return self.inventory

    async def fresh(self, caller: Caller = PROGRAM) -> Inventory:
        """Return the inventory with all noticed changes, listed again if it has expired."""
        now = anyio.current_time()
        if now >= min(self._stale_at.values(), default=inf):
            try:
                return await self.refresh(caller)
            except SourceError as cause:
                self._stale_at = {
                    x: max(y, now + _RETRY_SECONDS) for x, y in self._stale_at.items()
                }
                logger.warning("Keeping the tools known so far: %s", cause)
        with anyio.move_on_after(self._settings.list_timeout_seconds):
            if not self._settled.is_set():
                self._has_waiter.set()
                await self._settled.wait()
        return self.inventory

    async def fresh_with(self, name: str, caller: Caller) -> Inventory:
        """Return a fresh inventory, after another try if the list `name` failed before.

        Raises:
            SourceError: the list failed again.
        """
        inventory = await self.fresh(caller)
        if name in self._failed:
            inventory = await self.refresh(caller, [name], self._settings.list_timeout_seconds)
        if error := self._failed.get(name):
            raise error.with_traceback(None)
        return inventory

    async def fetch_tools(self, caller: Caller = PROGRAM) -> None:
        """List the tools; a server that does not know the method has none.

        Raises:
            SourceError: the server did not return a listing.
        """
        try:
            await self._fetch(_TOOLS, caller, self._settings.list_timeout_seconds)
        except SourceError as error:
            if not is_missing_method(error):
                # the connection is over, or a probe lists again
                if not isinstance(error, SourceClosed):
                    self._report(SourceUnreachable(self._settings.name, error.problem))
                raise
            self._forget(_TOOLS)

    async def _fetch_other(self, kind: _List, caller: Caller, seconds: float) -> None:
        """List prompts or resources; an error affects only that list."""
        try:
            limit = min(seconds, self._settings.list_timeout_seconds)
            await self._fetch(kind, caller, limit)
        except SourceError as error:
            if is_missing_method(error):
                self._forget(kind)  # some servers have resources but no templates
                return
            self._failed[kind.name] = error
            noun = kind.noun.rpartition(" ")[2]
            self._note(f"Its {noun}s could not be listed: {error.problem}", kind)

    async def _fetch(self, kind: _List, caller: Caller, seconds: float) -> None:
        send = partial(self._pages, kind, getattr(self._requests.require_client(), kind.send))
        items, ttl_seconds = await self._requests.send(
            kind.method, send, McpRequest(caller), seconds
        )
        usable = convert.usable_items(
            items, kind.noun, kind.required, partial(self._note, kind=kind)
        )
        # In a thread, because there may be thousands of schemas to check.
        self._entries[kind] = await anyio.to_thread.run_sync(self._convert_all, kind, usable)
        self._stale_at[kind] = anyio.current_time() + ttl_seconds

    def _convert_all(self, kind: _List, items: list[JsonObject]) -> dict[str, _Entry]:
        previous, entries = self._entries.get(kind, {}), dict[str, _Entry]()
        for raw in items:
            name = raw[kind.required[-1]]
            last = previous.get(name)
            # Keep the same object if the item is unchanged.
            entries[name] = last if last and last.raw == raw else self._convert(kind, raw)
        return entries

    def _convert(self, kind: _List, raw: JsonObject) -> _Entry:
        if kind.convert is not None:
            return _Entry(raw, kind.convert(raw))
        tool = convert.tool_of(self._settings.name, raw)
        return _Entry(raw, tool, tuple(_schema_notes(tool)))

    async def _pages(self, kind: _List, send: Any) -> tuple[list[JsonObject], float]:
        """Return all items of a list, and the shortest time-to-live of its pages."""
        request = current_request.get()
        assert request is not None, "pages are fetched within a request"
        items: list[JsonObject] = []
        ttl_seconds, cursor, cursors = inf, None, set[str]()
        while len(cursors) < _MAX_PAGES:
            page = await send(cursor=cursor)
            page_items = as_list(request.answer.get(kind.field))
            if frames := request.answer.get("frames"):  # tools that the SDK has checked
                dropped = frames.keys() - {x.name for x in page.tools}
                for name in sorted(dropped):
                    why = "an x-mcp-header in its inputSchema is not valid"
                    self._note(f"Tool {name!r} was left out: {why}.", kind)
                page_items = [x for x in page_items if x["name"] not in dropped]
            items += page_items
            ttl_seconds = min(ttl_seconds, (page.ttl_ms or inf) / 1000)
            cursor = page.next_cursor
            if cursor is None:
                return items, ttl_seconds
            if cursor in cursors:
                break
            cursors.add(cursor)
        note = f"The listing of {kind.field} never ends; the first {len(items)} are used."
        self._note(note, kind)
        return items, ttl_seconds

    def _forget(self, kind: _List) -> None:
        self._entries.pop(kind, None)
        self._stale_at.pop(kind, None)

    def _note(self, text: str, kind: _List) -> None:
        self._connection.note(text, kind.method)

    def _update_inventory(self) -> None:
        self.instructions = self._requests.require_client().instructions or ""
        tools = self._entries.get(_TOOLS, {})
        is_disabled = guard(*self._settings.disabled_tools)
        features = [x.item for kind in _FEATURE_LISTS for x in self._entries.get(kind, {}).values()]
        notes = self._connection.notes(of_tools=True)
        notes += [note for x in tools.values() for note in x.notes]
        self.inventory = Inventory(
            self._settings.name,
            tuple(x.item for name, x in tools.items() if not is_disabled(name)),
            self.instructions if self._settings.instructions else "",
            tuple(dict.fromkeys(notes)),
            tuple(filter(is_disabled, tools)),
            tuple(x for x in features if isinstance(x, Prompt)),
            tuple(x for x in features if isinstance(x, Resource)),
        )

    # Changes: at most one listing per burst of notices.

    def notice(self, name: str) -> None:
        """Note a change of one of `LISTS`. Called for each notice, so it must be quick."""
        self._changed.add(name)
        if not self._dirty.is_set():
            self._dirty.set()
            self._settled = anyio.Event()

    async def relist(self) -> None:
        """List the changed lists after each burst of notices, for ever."""
        pause = _BURST_SECONDS
        try:
            while True:
                await self._dirty.wait()
                with anyio.move_on_after(pause):
                    await self._has_waiter.wait()
                await self._list_changes()
                with anyio.move_on_after(_ECHO_SECONDS) as quiet:
                    await self._dirty.wait()
                is_quiet = quiet.cancelled_caught
                pause = _BURST_SECONDS if is_quiet else min(pause * 2, _LONGEST_BURST_SECONDS)
        finally:
            self._settled.set()  # release the waiters: nothing lists any more

    async def _list_changes(self) -> None:
        # Clear before listing: a notice that arrives meanwhile asks for one more.
        self._dirty, self._has_waiter, settled = anyio.Event(), anyio.Event(), self._settled
        changed, self._changed = self._changed, set[str]()
        try:
            await self.refresh(lists=changed)
        except SourceError as cause:
            logger.warning("Listing again after a change notice failed: %s", cause)
        finally:
            settled.set()


def _schema_notes(tool: Tool) -> Iterator[str]:
    for label, name, schema in (
        ("Arguments", "inputSchema", tool.input_schema),
        ("Results", "outputSchema", tool.output_schema),
    ):
        if schema is not None and (reason := SchemaCheck(schema).broken):
            yield (
                f"{label} of tool {tool.name!r} are not checked: its {name} is unusable "
                f"({reason[:_REASON_CHARS]})."
            )
