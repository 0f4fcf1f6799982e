"""What goes wrong before a server behind a URL is ready."""

from __future__ import annotations

from typing import Any

from tests.support.fault_http import Hang, drop, first, refuse
from tests.support.http_faults import endpoint_elsewhere
from xai_mcp_agent import SourceFailed

from .fault import Call, Fault
from .http_servers import (
    TOKEN,
    FaultHttp,
    behind_a_url,
    fails,
    in_both_eras,
    mend,
    of_all,
)
from .stdio_start import SILENT_SECONDS

_PAGE = "<!doctype html><title>Sign in</title>"
_SECRET = {"headers": {"Authorization": f"Bearer {TOKEN}"}}


def failing(name: str, does: str, fault: Any, words: str, entry: Any = None) -> tuple[Fault, Fault]:
    """It does not start, with these words, until it is mended."""
    return in_both_eras(
        name,
        does,
        of_all(fault),
        entry,
        connect=fails(words, kind=SourceFailed),
        call=None,
        mend=mend,
    )


def only_the_older_kind(peer: FaultHttp) -> None:
    """A POST to its URL is refused, and a GET opens the stream of the older kind."""
    peer.faults["*"] = lambda handler, message: (
        handler.answer(405) if handler.path == "/mcp" else handler.answer_well(message)
    )
    peer.faults["GET"] = lambda handler, _: handler.open_stream()


def moved(handler: Any, message: Any) -> None:
    """Everything is at another path of the same server."""
    if handler.path == "/moved":
        handler.answer_well(message)
    else:
        handler.answer(307, location="/moved")


def echo_the_token(handler: Any, _message: Any) -> None:
    """Say the secret again that came in a header."""
    handler.answer(403, handler.headers["authorization"].encode(), "text/plain")


def silent_once(peer: FaultHttp) -> None:
    """The question for its era and the handshake are taken and not answered, once each."""
    peer.faults |= {x: first(1, Hang()) for x in ("server/discover", "initialize")}


def not_there(peer: FaultHttp) -> None:
    """Nobody listens."""
    peer.stop()


STARTING: tuple[Fault, ...] = (
    *in_both_eras("http_none", "nothing wrong, behind a URL", lambda _: None),
    Fault("http_sse", "nothing wrong, of the older kind", behind_a_url(lambda _: None, sse=True)),
    *failing("http_401", "wants authorization", refuse(401, "no token"), "HTTP 401: no token",
             {"auth": False}),
    *failing("http_401_bytes", "wants authorization, in bytes of no encoding",
             refuse(401, "x", content_encoding="gzip", www_authenticate="\xff\xfe"),
             "answered: HTTP 401", {"auth": False}),
    *failing("http_403", "forbids it", refuse(403, "not you"), "HTTP 403: not you"),
    *failing("http_404", "has nothing there", refuse(404), "mcp answered: HTTP 404"),
    *failing("http_405", "takes no messages", refuse(405), "mcp answered: HTTP 405"),
    Fault("http_405_sse", "takes messages only in the older way (SSE), and no `type` is given",
          behind_a_url(only_the_older_kind, era="legacy")),
    *failing("http_500_start", "has trouble of its own", refuse(500, "boom"), "HTTP 500: boom"),
    *in_both_eras("http_503_start", "is starting, and says to wait a second",
                  of_all(first(1, refuse(503, retry_after="1")))),
    *failing("http_503_long", "says to wait an hour", refuse(503, retry_after="3600"),
             "retry after 3600 s"),
    *in_both_eras("http_redirect_same", "has moved to another path", of_all(moved)),
    *failing("http_redirect_cross", "sends requests on to another server",
             refuse(307, location="http://elsewhere.invalid/"),
             "Redirect to http://elsewhere.invalid/ not followed"),
    Fault("http_sse_elsewhere", "of the older kind, wants messages sent to another server",
          behind_a_url(of_all(endpoint_elsewhere), sse=True), call=None, mend=mend,
          connect=fails("its endpoint http://elsewhere.invalid/in is on another server",
                        kind=SourceFailed)),
    *failing("http_redirect_long", "sends requests on to an address of 60 kB",
             refuse(307, location=f"http://elsewhere.invalid/{'x' * 60_000}"),
             r"Redirect to http://elsewhere.invalid/x{200,1000}\.\.\."),
    *failing("http_redirect_loop", "sends requests in a circle", refuse(307, location="/mcp"),
             "Redirect to http.* not followed"),
    *failing("http_html", "shows a page to sign in", refuse(200, _PAGE, "text/html"),
             "answered: HTTP 200 with text/html instead of JSON: Sign in"),
    *failing("http_empty", "answers with nothing", refuse(200, "", "application/json"),
             "answered: it is empty"),
    *failing("http_drop", "closes every connection", drop, "cannot be reached: RemoteProtocol"),
    *in_both_eras("http_refused", "is not running", not_there, call=None, mend=mend,
                  connect=fails("cannot be reached: ConnectError", kind=SourceFailed)),
    Fault("http_dns", "has a name that nobody knows", {"url": "http://no-such-host.invalid/mcp"},
          connect=fails("cannot be reached", kind=SourceFailed), call=None,
          again=Call(expected=fails("cannot be reached", kind=SourceFailed))),
    *failing("http_secret_echo", "repeats the token that it was sent", echo_the_token,
             r"HTTP 403: \*\*\*", _SECRET),
)  # fmt: skip

SILENT = in_both_eras(
    "http_hang",
    "takes requests and never answers",
    silent_once,
    {"startTimeout": SILENT_SECONDS},
    connect=fails("after 10 s, while shaking hands", kind=SourceFailed),
    connect_seconds=SILENT_SECONDS,
    call=None,
)
