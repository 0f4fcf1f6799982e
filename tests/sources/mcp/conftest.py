"""Servers shared by the tests of this folder; none of them but `protected` is broken by a test."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import pytest
from mcp.server.mcpserver import MCPServer

from tests.support.asking_server import asking, asking_entry
from tests.support.authorization_server import Protected, protected_server
from tests.support.bridges import bridge_with
from tests.support.fault_server import entry
from tests.support.mcp_servers import gallery, gallery_entry, notes, notes_entry
from tests.support.web_server import serving
from xai_mcp_agent import Bridge

_WAYS = ["stdio", "stdio_old", "http", "http_old"]


@pytest.fixture(params=_WAYS)
def server(request: pytest.FixtureRequest) -> str:
    """Every way to reach a server, in both eras."""
    return request.param


@pytest.fixture(params=[*_WAYS, "sse"])
def way(request: pytest.FixtureRequest) -> str:
    """The same, and the older SSE."""
    return request.param


@pytest.fixture(params=["legacy", "modern"])
def era(request: pytest.FixtureRequest) -> str:
    return request.param


@contextmanager
def in_every_way(
    make: Callable[[], MCPServer], child: Callable[..., Any], **more: Any
) -> Generator[Bridge]:
    """Yield a bridge to a server of its own in each way, and to others."""
    with (
        serving(make().streamable_http_app()) as new,
        serving(make().streamable_http_app()) as old,
        serving(make().sse_app()) as sse,
    ):
        entries = {
            "stdio": child(),
            "stdio_old": child(mode="legacy"),
            "http": {"url": f"{new}/mcp"},
            "http_old": {"url": f"{old}/mcp", "mode": "legacy"},
            "sse": {"url": f"{sse}/sse"},
            "sse_old": {"url": f"{sse}/sse", "mode": "legacy"},
        }
        with bridge_with(**{**entries, **more}) as bridge:
            bridge.connect(wait=True)
            yield bridge


@pytest.fixture(scope="package")
def galleries() -> Generator[Bridge]:
    """A bridge with the gallery reached in every way; `fault` is a healthy fault server."""
    with in_every_way(gallery, gallery_entry, fault=entry(instructions="Be kind.")) as bridge:
        yield bridge


@pytest.fixture(scope="package")
def books() -> Generator[Bridge]:
    """A bridge with the notes reached in every way."""
    with in_every_way(notes, notes_entry) as bridge:
        yield bridge


@pytest.fixture(scope="package")
def asking_url() -> Generator[str]:
    """The asking server over Streamable HTTP, in both eras."""
    with serving(asking().streamable_http_app()) as address:
        yield f"{address}/mcp"


@pytest.fixture(scope="package")
def servers(asking_url: str) -> Generator[Bridge]:
    """The asking server in every way; `no`, `all` and `off` have other settings."""
    with in_every_way(
        asking,
        asking_entry,
        stdio=asking_entry(env={"DIARY_TOKEN": "sesame-open-1234"}),
        no={"url": asking_url, "elicitation": "decline"},
        all={"url": asking_url, "logLevel": "debug"},
        off={"url": asking_url, "logLevel": "off"},
    ) as bridge:
        yield bridge


@pytest.fixture(scope="package")
def shared_protected() -> Generator[Protected]:
    with protected_server() as server:
        yield server


@pytest.fixture
def protected(shared_protected: Protected) -> Generator[Protected]:
    """A server that wants a token, and the service that gives it, as if both were new."""
    with shared_protected.renewed():
        yield shared_protected
