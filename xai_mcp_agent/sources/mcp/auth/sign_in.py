"""Sign-in with a browser: shows the page to a person and receives the outcome."""

from __future__ import annotations

import html
import inspect
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import parse_qs, urlsplit

import anyio
import anyio.to_thread
from anyio.abc import SocketAttribute, SocketStream, TaskGroup
from anyio.streams.stapled import MultiListener

from ....core.calls import Host
from ....core.errors import PROGRAM_ERRORS
from ....core.json import JsonObject
from ....core.questions import Question, SignIn, SignInRequest
from ....settings.server import ServerSettings
from .errors import AuthFailure, denied_error, no_person_error, not_opened_error, sign_in_step

PauseClocks: TypeAlias = Callable[[], AbstractContextManager[None]]
"""Return a context that stops the clocks of requests while a person is asked."""

LOCAL_HOSTS = ("127.0.0.1", "localhost", "::1")

_HOST = "127.0.0.1"  # never open to other machines
_PATH = "/callback"
# A browser sends its request at once, and codes are short.
_REQUEST_SECONDS = 10.0
_MAX_REQUEST_BYTES = 32 * 1024
_YES_OR_NO: JsonObject = {"type": "object", "properties": {}}  # a form without fields
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>body {{ font: 18px sans-serif; margin: 15vh auto; max-width: 30em; padding: 0 1em; }}</style>
</head><body><h1>{title}</h1><p>{text}</p></body></html>
"""
_HEAD = (
    "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {length}\r\n"
    "Connection: close\r\nCache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n"
    "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\n\r\n"
)


@dataclass(frozen=True, repr=False)
class SignInOutcome:
    """Outcome of a sign-in: an authorization code or an error. Its repr shows neither."""

    code: str = ""
    state: str | None = None
    issuer: str | None = None
    error: str = ""
    description: str = ""


class Person:
    """The person who signs in, through the program's `sign_in`, else the newest of `hosts`."""

    def __init__(
        self,
        server: ServerSettings,
        sign_in: SignIn | None,
        hosts: Callable[[], Sequence[Host]],
        pause_clocks: PauseClocks,
    ) -> None:
        self._server = server
        self._sign_in = sign_in
        self._hosts = hosts
        self._pause_clocks = pause_clocks
        self._seconds = server.auth.sign_in_seconds

    @property
    def is_there(self) -> bool:
        """Whether anybody can be asked."""
        return self._sign_in is not None or self._host is not None

    @property
    def _host(self) -> Host | None:
        hosts = [x for x in self._hosts() if not x.why_nobody]
        return hosts[-1] if hosts and self._sign_in is None else None

    async def agree(self, service: str) -> None:
        """Ask a host's person to agree that this program is registered at `service`.

        Raises:
            AuthFailure: the person did not agree.
        """
        host = self._host
        if host is None:
            return
        message = (
            f"To go on, you have to sign in at {service}, where this program is registered first. "
            "Agree only if you know that name."
        )
        question = Question(self._server.name, message, _YES_OR_NO, limit_seconds=self._seconds)
        with self._pause_clocks(), anyio.move_on_after(self._seconds):
            answer = await host.answer(question)
            if answer.action == "accept":
                return
            raise not_opened_error(self._server, answer.reason)
        raise self._too_late()

    async def outcome(self, url: str, state: str, callback: Callback) -> SignInOutcome:
        """Have the person open `url`, and wait for the outcome from them or their browser.

        Raises:
            AuthFailure: no outcome came within the limit, or it was a refusal.
        """
        host = urlsplit(url).hostname or ""
        request = SignInRequest(self._server.name, url, host, callback.uri, self._seconds)
        outcomes: list[SignInOutcome | AuthFailure] = []
        with self._pause_clocks(), anyio.move_on_after(self._seconds):
            async with anyio.create_task_group() as tasks:

                async def run(fetch: Callable[[], Awaitable[SignInOutcome | AuthFailure | None]]):
                    if (outcome := await fetch()) is not None:
                        outcomes.append(outcome)
                        tasks.cancel_scope.cancel()

                tasks.start_soon(run, lambda: callback.outcome(state))
                tasks.start_soon(run, lambda: self._show(request, state))
        outcome = outcomes[0] if outcomes else self._too_late()
        if isinstance(outcome, AuthFailure):
            raise outcome
        if outcome.error:
            raise denied_error(self._server, outcome.error, outcome.description)
        return outcome

    async def _show(self, request: SignInRequest, state: str) -> SignInOutcome | AuthFailure | None:
        """Show the page; return the outcome, or None if the browser delivers it."""
        try:
            if self._sign_in is None:
                return await self._show_by_host(request)
            text = await _call(self._sign_in, request)
        except PROGRAM_ERRORS as cause:  # any error means that there was no sign-in
            return denied_error(self._server, f"{type(cause).__name__}: {cause}".rstrip(": "), "")
        if text is None:
            return None
        problem = "this is not an address with a code in it."
        return outcome_in(text, state) or AuthFailure(problem, sign_in_step(self._server))

    async def _show_by_host(self, request: SignInRequest) -> AuthFailure | None:
        host = self._host
        if host is None:  # the host has left meanwhile
            return no_person_error(self._server)
        message = "Please sign in. When you are done, your browser tells us by itself."
        answer = await host.answer(
            Question(
                request.server, message, url=request.url, limit_seconds=self._seconds,
                is_sign_in=True,
            )
        )  # fmt: skip
        return None if answer.action == "accept" else not_opened_error(self._server, answer.reason)

    def _too_late(self) -> AuthFailure:
        problem = f"nobody signed in within {self._seconds:g} s."
        return AuthFailure(problem, sign_in_step(self._server))


async def _call(sign_in: SignIn, request: SignInRequest) -> str | None:
    if inspect.iscoroutinefunction(sign_in):
        return await sign_in(request)
    # Abandoned once the browser has delivered the outcome, because a thread cannot be ended.
    answer = await anyio.to_thread.run_sync(sign_in, request, abandon_on_cancel=True)
    return await answer if inspect.isawaitable(answer) else answer


def outcome_in(text: str, state: str) -> SignInOutcome | None:
    """Return the outcome in a callback address, or in a bare code.

    A bare code gets our `state`: the person who enters it vouches for it.
    """
    text = text.strip()
    outcome = _outcome_in_query(urlsplit(text).query or text)
    if outcome is not None:
        return outcome
    is_code = text and "://" not in text and not any(x.isspace() for x in text)
    return SignInOutcome(text, state) if is_code else None


def _outcome_in_query(query: str) -> SignInOutcome | None:
    fields = {name: values[0] for name, values in parse_qs(query).items()}
    if "code" not in fields and "error" not in fields:
        return None
    return SignInOutcome(
        fields.get("code", ""), fields.get("state"), fields.get("iss"),
        fields.get("error", ""), fields.get("error_description", ""),
    )  # fmt: skip


class Callback:
    """Address that the browser is redirected to, and the listener there.

    Made by `open_callback`. On another machine there is no listener: a person brings the outcome.
    """

    def __init__(self, server: str, uri: str, listener: MultiListener[SocketStream] | None) -> None:
        self.uri = uri
        self._server = html.escape(server)
        self._listener = listener

    async def outcome(self, state: str) -> SignInOutcome:
        """Wait until a browser brings the outcome of the sign-in with this `state`."""
        if self._listener is None:
            await anyio.sleep_forever()
        assert self._listener is not None
        outcomes: list[SignInOutcome] = []
        async with anyio.create_task_group() as tasks:

            async def answer(stream: SocketStream) -> None:
                await self._answer(stream, state, outcomes, tasks)

            await self._listener.serve(answer, tasks)
        return outcomes[0]

    async def close(self) -> None:
        """Stop listening."""
        if self._listener is not None:
            await self._listener.aclose()

    async def _answer(
        self, stream: SocketStream, state: str, outcomes: list[SignInOutcome], tasks: TaskGroup
    ) -> None:
        """Answer one request; refuse it unless it carries the `state`."""
        outcome = None
        async with stream:
            with anyio.move_on_after(_REQUEST_SECONDS), suppress(anyio.BrokenResourceError):
                path, _, query = (await _target(stream)).partition("?")
                if path == (urlsplit(self.uri).path or "/"):
                    outcome = _outcome_in_query(query)
            if outcome is not None and (outcome.state != state or outcomes):
                outcome = None
            with anyio.move_on_after(_REQUEST_SECONDS), suppress(anyio.BrokenResourceError):
                await stream.send(self._page(outcome))
        if outcome is not None:
            outcomes.append(outcome)
            tasks.cancel_scope.cancel()

    def _page(self, outcome: SignInOutcome | None) -> bytes:
        status, title = "200 OK", "Thank you"
        text = f"You can close this window and go back to where {self._server} is used."
        if outcome is None:
            status, title = "404 Not Found", "Nothing here"
            text = "No sign-in belongs to this address."
        elif outcome.error:
            title = "Not signed in"
            text = f"{self._server} gets no access. You can close this window."
        page = _PAGE.format(title=title, text=text).encode()
        return _HEAD.format(status=status, length=len(page)).encode() + page


async def open_callback(server: ServerSettings, usual_port: int) -> Callback:
    """Listen at the port in the settings, else at the port used before, else at any free one.

    Raises:
        AuthFailure: the port in the settings is in use.
    """
    auth = server.auth
    parts = urlsplit(auth.redirect_uri)
    if auth.redirect_uri and (parts.scheme != "http" or parts.hostname not in LOCAL_HOSTS):
        return Callback(server.name, auth.redirect_uri, None)
    host = "::1" if parts.hostname == "::1" else _HOST
    port = (parts.port or 80) if auth.redirect_uri else auth.redirect_port
    listener = None
    if not port and usual_port:
        with suppress(OSError):
            listener = await anyio.create_tcp_listener(local_host=host, local_port=usual_port)
    try:
        listener = listener or await anyio.create_tcp_listener(local_host=host, local_port=port)
    except OSError as cause:
        reason = cause.strerror or str(cause)
        raise AuthFailure(
            f"signing in needs the port of its `redirectPort` or `redirectUri`: {reason}.",
            f"End what uses it, or change it under `auth` of {server.name!r}.",
        ) from None
    bound_port = listener.extra(SocketAttribute.local_port)
    return Callback(
        server.name, auth.redirect_uri or f"http://{_HOST}:{bound_port}{_PATH}", listener
    )


async def _target(stream: SocketStream) -> str:
    """Return the target of a GET request, such as `/callback?code=...`; empty for any other."""
    received = b""
    while b"\r\n\r\n" not in received and len(received) < _MAX_REQUEST_BYTES:
        try:
            received += await stream.receive()
        except anyio.EndOfStream:
            return ""
    method, _, rest = received.partition(b"\r\n")[0].decode("latin-1").partition(" ")
    return rest.rpartition(" ")[0] if method == "GET" else ""
