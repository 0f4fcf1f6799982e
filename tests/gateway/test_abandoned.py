"""Clients over HTTP that never end their session, as 99 of 100 do, are forgotten after a while."""

from __future__ import annotations

import asyncio

import anyio
import httpx2
import pytest

from tests.support.mcp_servers import gallery_entry
from xai_mcp_agent import Bridge
from xai_mcp_agent.bridge.operations import Operations
from xai_mcp_agent.gateway import server
from xai_mcp_agent.gateway.server import Gateway

_SESSIONS = 30
_IDLE_SECONDS = 0.3
_HEADERS = {"Accept": "application/json, text/event-stream"}
_INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "gone", "version": "0"},
    },
}


@pytest.mark.anyio
async def test_abandoned_sessions_end_and_free_their_tasks_and_clients(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(server, "_SESSION_SECONDS", _IDLE_SECONDS)

    async def serve(operations: Operations) -> None:
        async with Gateway(operations) as gateway:
            await gateway.service().endpoint.connected.wait()
            transport = httpx2.ASGITransport(app=gateway.http_app())
            async with httpx2.AsyncClient(
                transport=transport, base_url="http://127.0.0.1", headers=_HEADERS, timeout=60
            ) as http:
                await _begin_session(http)  # the objects that the first one needs stay
                before = len(asyncio.all_tasks())
                for _ in range(_SESSIONS):
                    await _begin_session(http)
                with anyio.fail_after(60):
                    while len(asyncio.all_tasks()) > before or gateway.service()._connections:
                        await anyio.sleep(0.02)

    with Bridge({"mcpServers": {"gallery": gallery_entry()}}, store="memory") as bridge:
        await bridge.aio.run(serve)


async def _begin_session(http: httpx2.AsyncClient) -> None:
    answer = await http.post("/mcp", json=_INITIALIZE)
    session = {"Mcp-Session-Id": answer.headers["mcp-session-id"]}
    notice = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    await http.post("/mcp", json=notice, headers=session)
    listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    assert (await http.post("/mcp", json=listing, headers=session)).status_code == 200
