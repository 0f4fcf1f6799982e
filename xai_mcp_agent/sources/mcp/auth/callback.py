"""The OAuth redirect: its outcome, and the listener to which the browser brings it."""

from __future__ import annotations

import html
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

import anyio
from anyio.abc import SocketAttribute, SocketStream, TaskGroup
from anyio.streams.stapled import MultiListener

_HOST = "127.0.0.1"  # never open to other machines
_PATH = "/callback"
LOCAL_HOSTS = ("127.0.0.1", "localhost", "::1")
# A browser sends its request at once, and codes are short.
_REQUEST_SECONDS = 10.0
_MAX_REQUEST_BYTES = 32 * 1024
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>body {{ font: 18px sans-serif; margin: 15vh auto; max-width: 30em; padding: 0 1em; }}</style>
</head><body><h1>{title}</h1><p>{text}</p></body></html>
"""


@dataclass(frozen=True, repr=False)
class Outcome:
    """A code that a token can be had for, or an error. Printing it shows neither."""

    code: str = ""
    state: str | None = None
    issuer: str | None = None
    error: str = ""
    description: str = ""


def outcome_in(text: str, state: str) -> Outcome | None:
    """The outcome in an address that the browser was sent to, or in a code alone; None if in none.

    `state` is ours, and goes with a code alone: whoever hands us one vouches for it.
    """
    text = text.strip()
    outcome = outcome_in_query(urlsplit(text).query or text)
    if outcome is not None:
        return outcome
    is_code = text and "://" not in text and not any(x.isspace() for x in text)
    return Outcome(text, state) if is_code else None


def outcome_in_query(query: str) -> Outcome | None:
    """The outcome in what follows the question mark of such an address."""
    fields = {name: values[0] for name, values in parse_qs(query).items()}
    if "code" not in fields and "error" not in fields:
        return None
    return Outcome(
        fields.get("code", ""),
        fields.get("state"),
        fields.get("iss"),
        fields.get("error", ""),
        fields.get("error_description", ""),
    )


class Callback:
    """Made with `open_callback`. `uri` is the address that the browser is to be sent to."""

    def __init__(self, uri: str, listener: MultiListener[SocketStream] | None, server: str) -> None:
        self.uri = uri
        self._listener = listener
        self._server = server
        self._path = urlsplit(uri).path or "/"

    async def outcome(self, state: str) -> Outcome:
        """Wait until a browser brings the outcome of the sign-in with this `state`."""
        if self._listener is None:
            await anyio.sleep_forever()
        assert self._listener is not None
        outcomes: list[Outcome] = []
        async with anyio.create_task_group() as tasks:

            async def answer(stream: SocketStream) -> None:
                await self._answer(stream, state, outcomes, tasks)

            await self._listener.serve(answer, tasks)
        return outcomes[0]

    async def close(self) -> None:
        """Listen no longer."""
        if self._listener is not None:
            await self._listener.aclose()

    async def _answer(
        self, stream: SocketStream, state: str, outcomes: list[Outcome], tasks: TaskGroup
    ) -> None:
        """Answer one request. Whoever does not know the state is a stranger."""
        async with stream:
            target = ""
            with anyio.move_on_after(_REQUEST_SECONDS), suppress(anyio.BrokenResourceError):
                target = await _target(stream)
            path, _, query = target.partition("?")
            outcome = outcome_in_query(query) if path == self._path else None
            is_ours = outcome is not None and outcome.state == state and not outcomes
            with anyio.move_on_after(_REQUEST_SECONDS), suppress(anyio.BrokenResourceError):
                await stream.send(self._page(outcome if is_ours else None))
        if outcome is not None and is_ours:
            outcomes.append(outcome)
            tasks.cancel_scope.cancel()

    def _page(self, outcome: Outcome | None) -> bytes:
        server = html.escape(self._server)
        if outcome is None:
            return _response("404 Not Found", "Nothing here", "No sign-in belongs to this address.")
        if outcome.error:
            text = f"{server} gets no access. You can close this window."
            return _response("200 OK", "Not signed in", text)
        text = f"You can close this window and go back to where {server} is used."
        return _response("200 OK", "Thank you", text)


async def open_callback(server: str, configured: str, port: int, usual_port: int) -> Callback:
    """Listen at the port of a `configured` address, at `port`, or at one that is free.

    `usual_port` is the one used before, taken again if it is free; 0 for none. For an address on
    another machine there is no listener: a person has to bring the outcome.

    Raises:
        OSError: the port that the settings demand is in use.
    """
    if configured:
        parts = urlsplit(configured)
        if parts.scheme != "http" or parts.hostname not in LOCAL_HOSTS:
            return Callback(configured, None, server)
        host = "::1" if parts.hostname == "::1" else _HOST
        return Callback(configured, await _listener(parts.port or 80, host), server)
    listener = None
    if not port and usual_port:
        with suppress(OSError):
            listener = await _listener(usual_port)
    listener = listener or await _listener(port)
    bound = listener.extra(SocketAttribute.local_port)
    return Callback(f"http://{_HOST}:{bound}{_PATH}", listener, server)


async def _listener(port: int, host: str = _HOST) -> MultiListener[SocketStream]:
    return await anyio.create_tcp_listener(local_host=host, local_port=port)


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


def _response(status: str, title: str, text: str) -> bytes:
    page = _PAGE.format(title=title, text=text).encode()
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\n"
        f"Content-Length: {len(page)}\r\nConnection: close\r\nCache-Control: no-store\r\n"
        "Referrer-Policy: no-referrer\r\n"
        "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\n\r\n"
    )
    return head.encode() + page
