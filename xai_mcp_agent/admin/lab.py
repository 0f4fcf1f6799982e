"""REST interface inside the lab's server: forwards to the process that keeps the servers.

The lab's server holds no server and no secret itself: starting one there would block it for a
second. Anybody signed in to the lab may use it; `APIHandler` checks that, and XSRF.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import APIHandler
from jupyter_server.serverapp import ServerApp
from jupyter_server.utils import url_path_join
from tornado.iostream import StreamClosedError
from tornado.web import RedirectHandler, authenticated

from ..core.errors import XaiMcpError

FindSocket = Callable[[], Path]
"""Returns the socket of the process for the lab's folder; called in a thread. May raise ours."""

_PATH = "xai-mcp-agent/admin"
_TO = ("Accept", "Content-Type", "Last-Event-ID")
_BACK = (
    "Content-Type", "Content-Security-Policy", "Referrer-Policy", "Cache-Control", "Retry-After",
    "Allow",
)  # fmt: skip
_CONNECT_SECONDS = 5.0
_NOT_RUNNING = "No process keeps the servers of this folder."
_START_IT = "Start one with `xai-mcp-agent serve --socket` in a terminal of the lab."


class AdminHandler(APIHandler):
    """Forwards a request, and streams the response back."""

    auth_resource = "xai-mcp-agent"

    def initialize(self, find_socket: FindSocket) -> None:
        """Store the function that returns the socket."""
        self._find_socket = find_socket
        self._forwarding: asyncio.Task[None] | None = None

    @authenticated
    @authorized
    async def get(self, _: str) -> None:
        """Forward a GET."""
        assert self.xsrf_token  # sets the cookie that the page sends with its requests
        await self._forward()

    @authenticated
    @authorized
    async def post(self, _: str) -> None:
        """Forward a POST."""
        await self._forward()

    def on_connection_close(self) -> None:
        """Cancel a stream or a call whose client has disconnected."""
        if self._forwarding is not None:
            self._forwarding.cancel()

    async def _forward(self) -> None:
        import httpx2

        try:
            socket = await asyncio.to_thread(self._find_socket)
            self._forwarding = asyncio.create_task(self._pass_on(socket))
            with suppress(asyncio.CancelledError, StreamClosedError):
                await self._forwarding
        except httpx2.TransportError:
            if self._headers_written:  # the process ended during a stream
                await self.finish()
            else:
                await self._refuse(_NOT_RUNNING, _START_IT)
        except XaiMcpError as reason:
            await self._refuse(str(reason), _START_IT)

    async def _pass_on(self, socket: Path) -> None:
        import httpx2

        request, root = self.request, url_path_join(self.base_url, _PATH)
        url = request.path.removeprefix(root) + (f"?{request.query}" if request.query else "")
        client = httpx2.AsyncClient(
            transport=httpx2.AsyncHTTPTransport(uds=str(socket)),
            base_url="http://localhost",
            timeout=httpx2.Timeout(None, connect=_CONNECT_SECONDS),  # a call may wait for a person
        )
        headers = {name: request.headers[name] for name in _TO if name in request.headers}
        async with (
            client,
            client.stream(
                request.method or "GET", url, headers=headers, content=request.body
            ) as response,
        ):
            self.set_status(response.status_code)
            for name in _BACK:
                if name in response.headers:
                    self.set_header(name, response.headers[name])
            async for piece in response.aiter_bytes():
                self.write(piece)  # pyright: ignore[reportUnknownMemberType]
                await self.flush()
        await self.finish(set_content_type=response.headers.get("Content-Type", ""))

    async def _refuse(self, detail: str, next_step: str) -> None:
        self.set_status(503)
        problem = {
            "type": "urn:xai-mcp-agent:NotRunning", "title": "Not running", "status": 503,
            "detail": detail, "next_step": next_step,
        }  # fmt: skip
        await self.finish(json.dumps(problem), set_content_type="application/problem+json")


def _find_socket() -> Path:
    from ..sources.warm import place_of  # reads settings, so not while the lab starts

    return place_of(None).admin_socket


# Jupyter looks for these two names.
def _jupyter_server_extension_points() -> list[dict[str, str]]:  # pyright: ignore[reportUnusedFunction]
    return [{"module": __name__}]


def _load_jupyter_server_extension(  # pyright: ignore[reportUnusedFunction]
    app: ServerApp, find_socket: FindSocket = _find_socket
) -> None:
    """Add its handlers to the lab's server."""
    here = url_path_join(app.base_url, _PATH)
    routes: list[Any] = [
        (here, RedirectHandler, {"url": f"{here}/"}),
        (f"{here}/(.*)", AdminHandler, {"find_socket": find_socket}),
    ]
    app.web_app.add_handlers(".*$", routes)
