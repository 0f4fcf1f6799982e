"""Faults of a server behind a URL; `mend` removes the fault.

Where the two protocol eras behave differently, the catalogue has the fault for both.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support import http_faults
from tests.support.fault_http import Fault as Answer
from tests.support.fault_http import FaultHttp, fault_http
from tests.support.http_faults import Hang, cut_short, cut_stream, drop, first, refuse

from .fault import LATE_SECONDS, SILENT_SECONDS, Call, Entry, Fault, Server

_TOOLS = [
    {"name": "echo", "inputSchema": {"type": "object"}},
    {"name": "read", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
]
# Servers of this process by the folder of their fault, because `_mend` only gets the folder.
_RUNNING: dict[Path, FaultHttp] = {}

Setup = Callable[[FaultHttp], Any]


def _server(setup: Setup, *, era: str = "modern", sse: bool = False, **entry: Any) -> Server:
    """Return a server that `setup` prepares before it is used."""

    @contextmanager
    def serve(folder: Path) -> Generator[Entry]:
        with fault_http(era=era, sessions=era == "legacy", tools=[*_TOOLS]) as peer:
            _RUNNING[folder] = peer
            setup(peer)
            yield {**peer.entry(**entry), **({"url": peer.sse_url} if sse else {})}

    return serve


def _mend(folder: Path) -> None:
    """Remove the faults, and start the server if it was stopped."""
    peer = _RUNNING[folder]
    peer.faults.clear()
    peer.start()


def _fault(name: str, does: str, setup: Setup, entry: Entry | None = None, **more: Any) -> Fault:
    return Fault(name, does, _server(setup, **(entry or {})), **more)


def _in_both_eras(
    name: str, does: str, setup: Setup, entry: Entry | None = None, **more: Any
) -> tuple[Fault, Fault]:
    older = {**(entry or {}), "era": "legacy"}
    return (
        _fault(name, does, setup, entry, **more),
        _fault(f"{name}_older", f"{does} (older protocol)", setup, older, **more),
    )


def _of_all(answer: Answer) -> Setup:
    """Return a setup whose fault shows in every request."""
    return lambda peer: peer.faults.update({"*": answer, "GET": answer})


def _of_calls(answer: Answer) -> Setup:
    """Return a setup whose fault shows in calls."""
    return lambda peer: peer.faults.update({"tools/call": answer})


def _not_starting(name: str, does: str, answer: Answer, **entry: Any) -> Fault:
    """Return a fault that prevents the start until it is repaired."""
    return _fault(name, does, _of_all(answer), entry, call=None, mend=_mend)


_BROKEN: dict[str, Any] = {"call": Call(), "mend": _mend}
_LATE: dict[str, Any] = {"call": Call(seconds=LATE_SECONDS), "mend": _mend}
_READING: dict[str, Any] = {"call": Call("read")}
_SILENT: dict[str, Any] = {
    "entry": {"startTimeout": SILENT_SECONDS}, "connect_seconds": SILENT_SECONDS, "call": None,
}  # fmt: skip


def _failing(name: str, does: str, answer: Answer) -> Fault:
    """Return a fault that fails the call; the next one works after the repair."""
    return _fault(name, does, _of_calls(answer), **_BROKEN)


def _late(name: str, does: str, answer: Answer) -> Fault:
    """Return a fault that holds the call up to its limit; the next one works."""
    return _fault(name, does, _of_calls(answer), **_LATE)


def _working(name: str, does: str, answer: Answer) -> Fault:
    """Return a fault that a call of a read-only tool survives."""
    return _fault(name, does, _of_calls(answer), **_READING)


def _redirect(handler: Any, message: Any) -> None:
    """Redirect to another path of the same server."""
    if handler.path == "/moved":
        handler.answer_well(message)
    else:
        handler.answer(307, location="/moved")


def _echo_the_token(handler: Any, _message: Any) -> None:
    """Answer with the secret of a header."""
    handler.answer(403, handler.headers["authorization"].encode(), "text/plain")


def _silent_once(peer: FaultHttp) -> None:
    """Do not answer the probe for the era and the handshake, once each."""
    peer.faults |= {x: first(1, Hang()) for x in ("server/discover", "initialize")}


def _unknown_type(handler: Any, message: dict[str, Any]) -> None:
    """Answer with an unknown type of result."""
    answer = {"jsonrpc": "2.0", "id": message["id"], "result": {"resultType": "riddle"}}
    handler.answer(200, json.dumps(answer).encode(), "application/json")


def _die(handler: Any, _message: dict[str, Any]) -> None:
    """Stop the whole server at once."""
    handler.owner.stop()


def _forget_sessions(peer: FaultHttp) -> None:
    """Forget all sessions before the call, as after a restart."""

    def forget(handler: Any, message: dict[str, Any]) -> None:
        del peer.faults["tools/call"]
        peer.sessions.clear()
        handler.answer_well(message)

    peer.faults["tools/call"] = forget


_STARTING = (
    *_in_both_eras("http_none", "nothing wrong", lambda _: None),
    Fault("http_sse", "nothing wrong, of the older kind", _server(lambda _: None, sse=True)),
    _not_starting("http_401", "wants authorization", refuse(401, "no token"), auth=False),
    _not_starting("http_401_bytes", "wants authorization, in bytes of no encoding",
                  refuse(401, "x", content_encoding="gzip", www_authenticate="\xff\xfe"),
                  auth=False),
    _not_starting("http_403", "forbids it", refuse(403, "not you")),
    _not_starting("http_404", "has nothing there", refuse(404)),
    _not_starting("http_405", "takes no messages", refuse(405)),
    Fault("http_405_sse", "takes messages only in the older way (SSE), and no `type` is given",
          _server(lambda peer: http_faults.only_sse(peer, 405), era="legacy")),
    _not_starting("http_500_start", "has trouble of its own", refuse(500, "boom")),
    *_in_both_eras("http_503_start", "is starting, and says to wait a second",
                   _of_all(first(1, refuse(503, retry_after="1")))),
    _not_starting("http_503_long", "says to wait an hour", refuse(503, retry_after="3600")),
    _fault("http_redirect_same", "has moved to another path", _of_all(_redirect)),
    _not_starting("http_redirect_cross", "sends requests on to another server",
                  refuse(307, location="http://elsewhere.invalid/")),
    Fault("http_sse_elsewhere", "of the older kind, wants messages sent to another server",
          _server(_of_all(http_faults.endpoint_elsewhere), sse=True), call=None, mend=_mend),
    _not_starting("http_redirect_long", "sends requests on to an address of 60 kB",
                  refuse(307, location=f"http://elsewhere.invalid/{'x' * 60_000}")),
    _not_starting("http_redirect_loop", "sends requests in a circle", refuse(307, location="/mcp")),
    _not_starting("http_html", "shows a page to sign in",
                  refuse(200, "<!doctype html><title>Sign in</title>", "text/html")),
    _not_starting("http_empty", "answers with nothing", refuse(200, "", "application/json")),
    _not_starting("http_drop", "closes every connection", drop),
    _fault("http_refused", "is not running", FaultHttp.stop, call=None, mend=_mend),
    Fault("http_dns", "has a name that nobody knows", {"url": "http://no-such-host.invalid/mcp"},
          call=None),
    _not_starting("http_secret_echo", "repeats the token that it was sent", _echo_the_token,
                  headers={"Authorization": "Bearer tok-0123456789abcdef"}),
    *_in_both_eras("http_hang", "takes requests and never answers", _silent_once, **_SILENT),
)  # fmt: skip

_CALLING = (
    *_in_both_eras("http_401_call", "does not take the token any more",
                   _of_calls(refuse(401, "expired")), **_BROKEN),
    _failing("http_429", "says to come later, again and again",
             refuse(429, "slow down", retry_after="0")),
    _failing("http_429_long", "says to come in an hour", refuse(429, retry_after="3600")),
    _fault("http_429_once", "says to come in a second",
           _of_calls(first(1, refuse(429, retry_after="1")))),
    _failing("http_500", "has trouble of its own", refuse(500, "boom")),
    _failing("http_502", "stands behind a gateway with trouble", refuse(502)),
    _working("http_502_read", "stands behind a gateway with trouble, for a tool that only reads",
             first(1, refuse(502))),
    *_in_both_eras("http_session_expired", "has forgotten the session", _forget_sessions,
                   call=Call()),
    _failing("http_html_call", "shows a page to sign in", refuse(200, "<html>", "text/html")),
    _failing("http_accepted", "accepts the call, and gives no answer", refuse(202)),
    _failing("http_batch", "answers with a list", refuse(200, "[]", "application/json")),
    _failing("http_unknown_type", "answers with a result of a kind that nobody knows",
             _unknown_type),
    _failing("http_utf16", "answers in another encoding",
             lambda handler, _: handler.answer(200, "{}".encode("utf-16"), "application/json")),
    _failing("http_truncated", "breaks off in the middle of an answer", cut_short),
    *_in_both_eras("http_sse_drop", "breaks off in the middle of a stream",
                   _of_calls(cut_stream), **_BROKEN),
    _failing("http_long_length", "promises more bytes than it sends", http_faults.with_length(5)),
    _failing("http_short_length", "sends more bytes than it promises", http_faults.with_length(-5)),
    _failing("http_drop_call", "closes the connection in place of an answer", drop),
    _working("http_reset_read", "resets the connection, for a tool that only reads",
             first(1, http_faults.reset)),
    *_in_both_eras("http_die_in_call", "is killed during the call", _of_calls(_die), **_BROKEN),
    *_in_both_eras("http_resumed", "breaks a stream off three times, and can go on",
                   lambda peer: http_faults.Resumable(peer, 3), **_READING),
    _working("http_chunks", "sends its answer a byte at a time", http_faults.in_small_pieces),
    *_in_both_eras("http_hang_call", "does not answer", _of_calls(Hang()), **_LATE),
    _late("http_slow_drip", "answers with a byte now and then", http_faults.dripping(0.05)),
    _late("http_continue", "says for ever that one may go on (100 Continue)",
          http_faults.continuing),
    _late("http_question_flood", "asks 200 times during the call, and does not answer",
          http_faults.questions("ping", 200)),
    _late("http_comments", "sends comments on a stream for ever", http_faults.chattering()),
    _working("http_sse_big_event", "sends an event of 2 MiB", http_faults.large_event(2)),
    _failing("http_sse_huge_event", "sends an event of 80 MiB", http_faults.large_event(80)),
    _failing("http_gzip_bomb", "packs 100 MiB into little", http_faults.gzip_bomb(100)),
    _failing("http_deflate_bomb", "packs 100 MiB into little, in another way",
             http_faults.gzip_bomb(100, "deflate")),
)  # fmt: skip

BEHIND_A_URL: tuple[Fault, ...] = (*_STARTING, *_CALLING)
