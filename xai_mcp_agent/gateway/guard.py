"""Access control of our HTTP endpoints: token, Host, Origin, and headers for browsers.

An endpoint on this machine is still within reach of every page in its browser: a page may post to
127.0.0.1, or have its own name resolve to it (DNS rebinding).
"""

from __future__ import annotations

import asyncio
import hmac
import json
import secrets
from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = ("127.0.0.1", "localhost", "::1")
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
_NO_TOKEN = "This needs the token that `xai-mcp-agent serve` printed when it started."
_SEND_TOKEN = "Send it as `Authorization: Bearer TOKEN`, or open the printed address."


class JsonResponse(JSONResponse):
    """JSON in ASCII: text from servers may contain what UTF-8 cannot encode."""

    def render(self, content: object) -> bytes:
        """Return the encoded content."""
        return json.dumps(content, separators=(",", ":")).encode()


class ProblemResponse(JsonResponse):
    """Error response as in RFC 9457, with the next step. `kind` is the error's name."""

    media_type = "application/problem+json"

    def __init__(
        self, status: int, kind: str, title: str, detail: str, next_step: str = "", **more: object
    ) -> None:
        body = {"type": f"urn:xai-mcp-agent:{kind}", "title": title, "status": status}
        super().__init__({**body, "detail": detail, "next_step": next_step, **more}, status)


_ENDS = ProblemResponse(
    503, "Ends", "Ends", "The server is shutting down.", "Start it again, and ask again."
)


def new_token() -> str:
    """Return a random token."""
    return secrets.token_urlsafe(32)


class AccessGuard:
    """ASGI middleware that checks the `token`, the Host against `hosts`, and the Origin.

    `hosts` are names without a port; None allows any name, for a service behind its owner's proxy.
    Without a `token` none is required: the owner-only socket. `open_paths` need no token, such as a
    page that has it in its URL fragment.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        token: str | None,
        hosts: Collection[str] | None = LOOPBACK,
        open_paths: Collection[str] = (),
    ) -> None:
        self._app = app
        self._token = token
        self._hosts = hosts
        self._open_paths = open_paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a refused request with 401, 403 or 421."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        has_begun = False

        async def send_with_headers(message: Message) -> None:
            nonlocal has_begun
            if message["type"] == "http.response.start":
                has_begun = True
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        path = scope["path"].removeprefix(scope.get("root_path", ""))  # it may be mounted
        problem = self._problem(Headers(scope=scope), path)
        try:
            await (problem or self._app)(scope, receive, send_with_headers)
        except asyncio.CancelledError:
            # The server is stopping; uvicorn would log a traceback for a request that breaks off.
            if has_begun:
                await send({"type": "http.response.body", "body": b"", "more_body": False})
            else:
                await _ENDS(scope, receive, send_with_headers)

    def _problem(self, headers: Headers, path: str) -> ProblemResponse | None:
        host, origin = headers.get("host", ""), headers.get("origin")
        if self._hosts is not None and _name(host) not in self._hosts:
            names = ", ".join(self._hosts)
            return ProblemResponse(
                421, "WrongHost", "Wrong host", "This address is not served under that name.",
                f"Use one of: {names}.",
            )  # fmt: skip
        if origin is not None and urlsplit(origin).netloc != host:
            return ProblemResponse(
                403, "ForeignOrigin", "Foreign origin", "The request comes from another origin.",
                "Open the page that is served here, or ask from a program.",
            )  # fmt: skip
        if self._token is None or path in self._open_paths:
            return None
        scheme, _, token = headers.get("authorization", "").partition(" ")
        is_right = hmac.compare_digest(token.strip().encode(), self._token.encode())
        if scheme.lower() == "bearer" and is_right:
            return None
        problem = ProblemResponse(401, "TokenNeeded", "Token needed", _NO_TOKEN, _SEND_TOKEN)
        error = ' error="invalid_token"' if token else ""
        problem.headers["WWW-Authenticate"] = f"Bearer{error}"
        return problem


def _name(host: str) -> str:
    """Return the name in a Host header without its port, or "" if it is invalid."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""
