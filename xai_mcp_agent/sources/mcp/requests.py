"""Requests over one connection: responses, time limits, and the caller that the server asks.

While the server waits for a person, the clocks of all requests stand still: if it is unclear which
request a question belongs to, the server may also be doing one thing at a time. On 2026-07-28 a
question is part of the response to a request. In the older era it is a message of its own. Over
Streamable HTTP it comes on the stream of its request; otherwise nothing names its request, and the
first caller who can be asked gets it. So calls of far clients go one at a time there.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

import anyio

from ...core.calls import PROGRAM, Caller, FarClient, Host, Sampler, remaining_seconds
from ...core.errors import NotAccepted, NotApproved, XaiMcpError
from ...core.json import JsonObject
from .connection import Connection, is_modern
from .failures import Failures, NotSent, Verdict, verdict_on

if TYPE_CHECKING:
    from mcp import Client

T = TypeVar("T")


@dataclass(eq=False)
class McpRequest:
    """An open request; with `may_ask` the server may ask questions because of it.

    `may_go_twice`: the server says that a second call of its tool changes nothing more. `answer` is
    the last result as the server sent it, because the SDK gets only parts of it. `notes` collects
    remarks on it; `samples` counts the server's sampling requests. `refusal` is the error of a far
    client that should have answered.
    """

    caller: Caller = PROGRAM
    may_ask: bool = False
    may_go_twice: bool = False
    answer: JsonObject = field(default_factory=dict[str, Any])
    notes: list[str] = field(default_factory=list[str])
    samples: int = 0
    refusal: XaiMcpError | None = None

    @property
    def host(self) -> Host | None:
        """The caller's own host."""
        return self.caller.host

    @property
    def raw_client(self) -> FarClient | None:
        """Far client that answers the server itself on 2026-07-28, if there is one."""
        far = self.caller.far if self.may_ask else None
        return far if far and far.is_modern and far.respond else None

    async def respond(self, requests: JsonObject) -> JsonObject:
        """Return the far client's responses to the requests of an input-required result.

        Raises:
            XaiMcpError: the far client did not respond; the same error ends the request.
        """
        respond = self.raw_client and self.raw_client.respond
        assert respond, "there is a far client"
        try:
            return await respond(requests)
        except XaiMcpError as error:
            self.refusal = error
            raise


current_request: ContextVar[McpRequest | None] = ContextVar("request", default=None)
"""The request that this task makes."""


class Requests:
    """Requests over one connection. `client` is set by the session that serves it.

    `host` answers for callers without a host of their own.
    """

    def __init__(self, connection: Connection, failures: Failures, host: Host) -> None:
        self.client: Client | None = None
        self._seconds = connection.settings.call_timeout_seconds
        self._connection = connection
        self._failures = failures
        self._host = host
        self._open: dict[McpRequest, None] = {}  # the newest is last
        self._changed = anyio.Event()  # set when a request ends or a person is asked
        self._is_draining = False
        connection.clocks.on_pause = self._notify

    def require_client(self) -> Client:
        """Return the client, for `send`.

        Raises:
            NotSent: the connection is over.
        """
        if self.client is None or self._connection.health.ended.is_set():
            raise self._failures.of_loss(NotSent)
        return self.client

    async def send(
        self,
        operation: str,
        send: Callable[[], Awaitable[T]],
        request: McpRequest,
        seconds: float | None = None,
    ) -> T:
        """Await a response, and turn any failure into one of our errors.

        The SDK itself, and code that it runs on a server's odd response, raises many types: all of
        them mean that this one request failed. Time in which the server waits for a person does not
        count.

        Raises:
            SourceError: one of its subclasses.
            InvalidArguments: the request cannot be JSON.
            NotAccepted, NotApproved: from `send`.
            XaiMcpError: the far client did not respond.
        """
        started, lines_before = monotonic(), self._connection.stderr.count
        seconds = seconds or self._seconds
        token = current_request.set(request)
        try:
            remaining = seconds
            if request.caller.far:
                remaining = await self._wait_for_turn(request, seconds)
            self._open[request] = None
            with self._connection.clocks.limit(remaining):
                return await send()
        except (NotAccepted, NotApproved):
            raise
        except Exception as cause:
            if cause is request.refusal:
                raise
            if request not in self._open:
                raise self._failures.of_queue(operation, seconds) from None
            verdict = verdict_on(cause)
            await self._judge_connection(verdict, started)
            error = self._failures.of_request(verdict, cause, operation, seconds, lines_before)
        finally:
            current_request.reset(token)
            self._open.pop(request, None)
            if request.caller.far or self._is_draining:
                self._notify()
        try:
            raise error  # here without its cause, which has the server's words unmasked
        finally:
            del error  # its traceback has this frame, and so everything in a run

    async def ping(self, seconds: float | None = None, caller: Caller = PROGRAM) -> float:
        """Return the seconds that a ping takes, or `server/discover` if there was no handshake."""
        import mcp_types as types  # as heavy as the SDK, which is loaded by now

        client = self.require_client()
        session, era = client.session, client.protocol_version
        if is_modern(era):
            send = partial(session.send_discover, era)
        else:
            send = partial(session.send_request, types.PingRequest(), types.EmptyResult)
        started = monotonic()
        await self.send("ping", send, McpRequest(caller), seconds)
        return monotonic() - started

    async def _judge_connection(self, verdict: Verdict, started: float) -> None:
        """Update the connection's health after a failed request that was sent at `started`."""
        health = self._connection.health
        if verdict in ("lost", "unsent"):
            health.end()
            await self._connection.wait_for_exit()
        elif verdict == "broken":
            health.suspect()
        elif verdict == "late":
            health.note_timeout(started)

    async def _wait_for_turn(self, request: McpRequest, seconds: float) -> float:
        """Wait while a question might reach the wrong far client; return the seconds left.

        A client that is being asked may call the server meanwhile.

        Raises:
            TimeoutError: no time is left.
        """
        has_own_streams = self._connection.settings.transport == "http"
        client = self._client_of(request)
        version = self.client.protocol_version if self.client else ""
        if has_own_streams or not client or is_modern(version):
            return seconds
        waiting_since = monotonic()
        with anyio.fail_after(seconds):
            while busy_clients := {self._client_of(x) for x in self._open} - {""}:
                if self._connection.clocks.are_paused and busy_clients == {client}:
                    break
                await self._changed.wait()
        return remaining_seconds(seconds, monotonic() - waiting_since)

    def _client_of(self, request: McpRequest) -> str:
        """Return the id of the far client that a request lets the server ask; empty if none."""
        far, settings = request.caller.far, self._connection.settings
        if far is None or not request.may_ask:
            return ""
        may_elicit = settings.elicitation == "ask" and "elicitation" in far.capabilities
        may_sample = settings.sampling == "allow" and "sampling" in far.capabilities
        return far.id if may_elicit or may_sample else ""

    def _notify(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()

    def asking(self) -> list[McpRequest]:
        """Return the requests that may have caused the server's question."""
        current = current_request.get()
        if current in self._open:
            return [current]  # this runs in its context
        return [x for x in self._open if x.may_ask] or list(self._open)

    def hosts(self) -> list[Host]:
        """Return the hosts of the requests in `asking`, each once."""
        return list(dict.fromkeys(x.host for x in self.asking() if x.host is not None))

    def asker(self) -> Host:
        """Return the host that answers the server's current question."""
        hosts = self.hosts()
        return next((x for x in hosts if not x.why_nobody), hosts[0] if hosts else self._host)

    def sampler(self) -> Sampler:
        """Return what answers the server's current request to a model."""
        samplers = (x.caller.sampler for x in self.asking())
        return next((x for x in samplers if x is not None), self.asker().sample)

    def note(self, text: str) -> None:
        """Add a remark to each request in `asking`."""
        for request in self.asking():
            if text not in request.notes:
                request.notes.append(text)

    async def drain(self, seconds: float) -> None:
        """Wait until no request is open, for `seconds` at most."""
        self._is_draining = True
        with anyio.move_on_after(seconds):
            while self._open:
                await self._changed.wait()
