"""Access to our HTTP endpoints, and their headers for browsers."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route
from starlette.testclient import TestClient

from xai_mcp_agent.gateway.guard import AccessGuard

TOKEN = "the-token"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
HERE = "http://127.0.0.1:8000"


async def _hello(_: object) -> PlainTextResponse:
    return PlainTextResponse("hello")


def client(token: str | None = TOKEN, **options: object) -> TestClient:
    """A client of an endpoint behind the guard."""
    guard = Middleware(AccessGuard, token=token, open_paths={"/"}, **options)  # pyright: ignore[reportArgumentType]
    routes = [Route("/", _hello), Route("/api", _hello)]
    inner = Starlette(routes=routes, middleware=[guard])
    app = Starlette(routes=[Mount("/below", inner), Mount("/", inner)])
    return TestClient(app, base_url=HERE)


REQUESTS = {
    "no token": (401, "/api", {}),
    "wrong token": (401, "/api", {"Authorization": "Bearer the-tokem"}),
    "token of another scheme": (401, "/api", {"Authorization": f"Basic {TOKEN}"}),
    "token that is no ASCII": (401, "/api", {"Authorization": "Bearer \u00e9".encode()}),
    "token": (200, "/api", BEARER),
    "token, by its name": (200, "/api", {**BEARER, "Host": "localhost:8000"}),
    "token, IPv6": (200, "/api", {**BEARER, "Host": "[::1]:8000"}),
    "the page": (200, "/", {}),
    "the page, mounted": (200, "/below/", {}),
    "below the page, mounted": (401, "/below/api", {}),
    "a name that resolves to us": (421, "/api", {**BEARER, "Host": "evil.example:8000"}),
    "a Host that is none": (421, "/api", {**BEARER, "Host": "[::1"}),
    "the page by a foreign name": (421, "/", {"Host": "evil.example"}),
    "our own page": (200, "/api", {**BEARER, "Origin": HERE}),
    "a foreign page": (403, "/api", {**BEARER, "Origin": "https://evil.example"}),
    "a page of another port": (403, "/api", {**BEARER, "Origin": "http://127.0.0.1:9000"}),
    "a page of no origin": (403, "/api", {**BEARER, "Origin": "null"}),
}


@pytest.mark.parametrize(("status", "path", "headers"), REQUESTS.values(), ids=REQUESTS)
def test_a_request_is_accepted_or_refused_with_its_status(
    status: int, path: str, headers: dict[str, str]
):
    answer = client().get(path, headers=headers)
    assert answer.status_code == status
    assert ("WWW-Authenticate" in answer.headers) == (status == 401)
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    if status != 200:
        assert answer.headers["Content-Type"] == "application/problem+json"
        problem = answer.json()
        assert problem["status"] == status
        assert problem["detail"]
        assert problem["next_step"]
        assert TOKEN not in answer.text


@pytest.mark.anyio
@pytest.mark.parametrize("has_begun", [True, False])
async def test_open_requests_end_with_the_server(has_begun: bool):
    """uvicorn cancels them, and logs a traceback for each one that does not end by itself."""
    messages: list[Any] = []

    async def endless(_: Any, receive: Any, send: Any) -> None:
        if has_begun:
            await send({"type": "http.response.start", "status": 200, "headers": []})
        await asyncio.Event().wait()

    async def send(message: Any) -> None:
        messages.append(message)

    scope = {"type": "http", "path": "/", "headers": [(b"host", b"localhost")]}
    task = asyncio.create_task(AccessGuard(endless, token=None)(scope, asyncio.Event().wait, send))  # pyright: ignore[reportArgumentType]
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait_for(task, 10)
    assert messages[0]["status"] == (200 if has_begun else 503)
    assert not messages[-1].get("more_body")


def test_any_host_name_is_accepted_behind_the_owners_proxy():
    answer = client(hosts=None).get("/api", headers={**BEARER, "Host": "tools.example"})
    assert answer.status_code == 200
