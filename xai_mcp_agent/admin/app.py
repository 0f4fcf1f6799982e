"""REST interface as a Starlette app: acts through `Operations`, shows with `views`."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Awaitable, Callable, Collection, Coroutine, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

import anyio
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from ..bridge.operations import Operations
from ..core.calls import Caller
from ..core.errors import SourceError, XaiMcpError
from ..core.json import JsonObject
from ..core.tools import ToolKey
from ..gateway.guard import LOOPBACK, AccessGuard, JsonResponse
from ..planning.plan import plan_as_json
from ..policy.review import Choice
from ..views.history import event_json
from ..views.search import explained_json, selected_json
from ..views.servers import refreshed_json, result_json, status_json
from ..views.times import BadTime, moment, now
from ..views.tools import tool_json
from .document import OPERATIONS, RestRoute, document
from .events import ApprovalDesk, EventStream, WatchedDesk
from .problems import BadRequest, RefreshFailed, handlers, read, read_body
from .requests import (
    AcceptBody,
    ApprovalBody,
    CallBody,
    GraphQuery,
    HistoryQuery,
    PlanBody,
    RefreshQuery,
    SelectBody,
    ToolsQuery,
)

T = TypeVar("T")

CALLER = "admin"
_PAGE = Path(__file__).with_name("page.html")
_MAX_DIGITS = 18  # digits that a database accepts as a number
_PAGE_POLICY = (
    "default-src 'none'; script-src 'nonce-{0}'; style-src 'nonce-{0}'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def admin_app(
    operations: Operations, token: str | None, hosts: Collection[str] | None = LOOPBACK
) -> Starlette:
    """Return the REST interface and its page, for the bridge's own loop.

    Leave out the `token` only for a socket that its owner alone can open. `hosts` are the names in
    its address. While a client reads the events, approvals of other callers in this process are
    shown there, too, if nobody else can be asked.
    """
    desk = ApprovalDesk()
    operations.engine.approvals.hosts.append(WatchedDesk(desk))
    admin = _Admin(operations, desk)
    guard = Middleware(AccessGuard, token=token, hosts=hosts, open_paths={"/"})
    return Starlette(
        routes=admin.routes(),
        middleware=[guard],
        exception_handlers=handlers(operations.mask),
    )


class _Admin:
    """The endpoints of `OPERATIONS`, by their names, and the page."""

    def __init__(self, operations: Operations, desk: ApprovalDesk) -> None:
        self._operations = operations
        self._desk = desk
        self._discovering = anyio.Lock()

    def routes(self) -> list[Route]:
        """Return every route of the document, and the page."""
        return [
            Route("/", self.page),
            Route("/openapi.json", _answering(self.document)),
            *(_route(x, getattr(self, x.endpoint)) for x in OPERATIONS),
        ]

    async def page(self, _: Request) -> Response:
        """Return the page; its script and style are allowed by a nonce of this response."""
        nonce = secrets.token_urlsafe(16)
        text = _PAGE.read_text(encoding="utf-8")
        policy = {"Content-Security-Policy": _PAGE_POLICY.format(nonce)}
        return HTMLResponse(text.replace("NONCE", nonce), headers=policy)

    async def document(self, _: Request) -> JsonObject:
        return document()

    # Sources

    async def sources(self, _: Request) -> JsonObject:
        return {"sources": [status_json(x) for x in await self._operations.servers()]}

    async def source(self, request: Request) -> JsonObject:
        name, operations = request.path_params["id"], self._operations
        statuses = {x.name: x for x in await operations.servers()}
        if name not in statuses:
            operations.settings.source(name)  # raises an error with the nearest name
        return status_json(statuses[name], await operations.marks(name))

    async def refresh(self, request: Request) -> JsonObject:
        """List a source again; spec/4 wants 404 for an unknown one and 500 for a failure."""
        name, query = request.path_params["id"], read(RefreshQuery, dict(request.query_params))
        self._operations.settings.source(name)
        (refreshed,) = await self._operations.refresh(name, force=query.force)
        if isinstance(refreshed.error, SourceError):
            raise RefreshFailed(str(refreshed.error))
        refreshed.require()
        if refreshed.trouble and not self._operations.engine.recorder.place.is_off:
            raise RefreshFailed(
                f"{name} was listed, and the history does not have it: {refreshed.trouble}"
            )
        return refreshed_json(refreshed)

    async def discover(self, _: Request) -> JsonObject:
        """Restart every source, list it again, and read the rules again.

        The search follows the catalog, so it indexes the new tools.
        """
        operations = self._operations
        async with self._discovering:  # two at once would end each other's servers
            pool = operations.engine.pool
            await pool.stop_all([*pool.running()])
            refreshed = await operations.refresh()
        return {"sources": [refreshed_json(x) for x in refreshed]}

    # Tools

    async def tools(self, request: Request) -> JsonObject:
        """Return one page of the listed tools; a server that is not ready is not awaited."""
        query, operations = read(ToolsQuery, dict(request.query_params)), self._operations
        choice = operations.choice_of([query.source] if query.source else [])
        names = operations.settings.usable if choice is None else choice.all_sources
        by_source = {x: operations.catalog.tools(x) for x in sorted(names)}
        if choice is not None:
            by_source = {x: choice.select(y) for x, y in by_source.items()}
        entries = await operations.entries(by_source)
        words = query.text.casefold().split()
        tools = [
            entry
            for key, entry in sorted(entries.items(), key=lambda x: _place(x[0]))
            if query.enabled in (None, entry.is_enabled)
            and all(x in f"{key} {entry.require().description}".casefold() for x in words)
        ]
        after = _read_cursor(query.cursor)
        remaining = [x for x in tools if _place(x.key) > after]
        page = remaining[: query.limit]
        more = len(remaining) > len(page)
        return {
            "tools": [{"server": x.key.source, **tool_json(x)} for x in page],
            "total": len(tools),
            "next_cursor": _cursor(_place(page[-1].key)) if more else None,
            "not_listed": [x for x in sorted(names) if operations.catalog.inventory(x) is None],
        }

    async def tool(self, request: Request) -> JsonObject:
        """Return one tool; if it waits to be accepted, with the text a person has to read."""
        server, name = await self._server_and_name(request)
        explained = await self._operations.explain_tool(server, name)
        entry, review = explained.entry, None
        if entry.is_held or entry.is_changed:
            (review,) = map(asdict, await self._operations.review(server, name))
        return {**explained_json(explained), "review": review}

    async def enable(self, request: Request) -> JsonObject:
        return _choices(await self._operations.enable(*await self._server_and_name(request)))

    async def disable(self, request: Request) -> JsonObject:
        return _choices(await self._operations.disable(*await self._server_and_name(request)))

    async def accept(self, request: Request) -> JsonObject:
        body = await read_body(AcceptBody, request)
        server, name = await self._server_and_name(request)
        return _choices(await self._operations.accept(server, name, digest=body.digest))

    async def _server_and_name(self, request: Request) -> tuple[str, str]:
        return await self._operations.server_and_name(request.path_params["key"])

    # History

    async def history(self, request: Request) -> JsonObject:
        """Return events, the newest page first, each page in the order they happened."""
        query = read(HistoryQuery, dict(request.query_params))
        try:
            since = moment(query.since, now()) if query.since else None
        except BadTime as why:
            raise BadRequest([f"since: {why}"]) from None
        until = _position(_read_cursor(query.cursor))
        events = await self._operations.history(
            query.source, query.tool, since=since, until=until, limit=query.limit
        )
        rows = {x.position for x in events}
        more = len(rows) == query.limit and min(rows) > 1
        return {
            "events": [event_json(x) for x in events],
            "next_cursor": _cursor(str(min(rows) - 1)) if more else None,
        }

    async def graph(self, request: Request) -> JsonObject:
        query = read(GraphQuery, dict(request.query_params))
        return (await self._operations.graph(server=query.source, tool=query.tool)).as_json()

    # Calls

    async def select(self, request: Request) -> JsonObject:
        body = await read_body(SelectBody, request)
        selected = await self._operations.select_tool(body.request, *body.servers)
        return {"selected": selected and selected_json(selected)}

    async def plan(self, request: Request) -> JsonObject:
        body = await read_body(PlanBody, request)
        plan = await self._operations.plan_tools(body.request, *body.servers, model=body.model)
        return {**plan_as_json(plan), "failed": dict(plan.failed)}

    async def call(self, request: Request) -> JsonObject:
        """Call a tool as an agent does; a call that needs an approval waits for one."""
        body = await read_body(CallBody, request)
        operations = self._operations.for_caller(Caller("gateway", CALLER, host=self._desk))
        call = operations.execute_tool(
            body.tool, body.arguments, timeout_seconds=body.timeout_seconds
        )
        result = await _until_disconnected(request, call)
        return {} if result is None else result_json(result)

    async def approvals(self, _: Request) -> JsonObject:
        return {"approvals": [x.as_json() for x in self._desk.waiting.values()]}

    async def answer(self, request: Request) -> JsonObject:
        body = await read_body(ApprovalBody, request)
        self._desk.decide(request.path_params["id"], body.answer)
        return {"id": request.path_params["id"], "answer": body.answer}

    async def events(self, request: Request) -> Response:
        after = _position(request.headers.get("last-event-id", ""))
        return EventStream(self._operations, self._desk, after or 0)


Endpoint = Callable[[Request], Awaitable[JsonObject | Response]]


def _route(operation: RestRoute, endpoint: Endpoint) -> Route:
    path = operation.path.replace("}", ":path}")  # names of sources and tools may have slashes
    return Route(path, _answering(endpoint), methods=[operation.method.upper()])


def _answering(endpoint: Endpoint) -> Callable[[Request], Coroutine[Any, Any, Response]]:
    async def answer(request: Request) -> Response:
        value = await endpoint(request)
        return value if isinstance(value, Response) else JsonResponse(value)

    return answer


async def _until_disconnected(request: Request, work: Awaitable[T]) -> T | None:
    """Return the result of the work; if the client disconnects, cancel it and return None."""
    result = error = None

    async def watch(scope: anyio.CancelScope) -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        scope.cancel()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch, tasks.cancel_scope)
        try:
            result = await work
        except XaiMcpError as ours:  # a task group would wrap it in a group of exceptions
            error = ours
        tasks.cancel_scope.cancel()
    if error is not None:
        raise error
    return result


def _choices(choices: Sequence[Choice]) -> JsonObject:
    return {"choices": [asdict(x) for x in choices]}


def _place(key: ToolKey) -> str:
    """Return the sort key of a tool: its source, then its name."""
    return f"{key.source}\0{key.name}"


def _position(text: str) -> int | None:
    """Return the position of an event, or None if it is not one."""
    return int(text) if text.isdecimal() and len(text) <= _MAX_DIGITS else None


def _cursor(place: str) -> str:
    return base64.urlsafe_b64encode(place.encode()).decode()


def _read_cursor(cursor: str) -> str:
    """Return the sort key in a cursor; empty for no cursor.

    Raises:
        BadRequest: this interface did not create it.
    """
    try:
        return base64.b64decode(cursor, b"-_", validate=True).decode()
    except ValueError:
        raise BadRequest(["cursor: send the `next_cursor` of a page, or none."]) from None
