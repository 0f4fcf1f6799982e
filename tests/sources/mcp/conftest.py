"""Servers shared by the tests of this folder; none of them but `protected` is broken by a test."""

from __future__ import annotations

from collections.abc import Generator

import pytest

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


@pytest.fixture(scope="package")
def gallery_url() -> Generator[str]:
    """The gallery over Streamable HTTP, in both eras."""
    with serving(gallery().streamable_http_app()) as address:
        yield f"{address}/mcp"


@pytest.fixture(scope="package")
def gallery_sse_url() -> Generator[str]:
    """The gallery over the older SSE."""
    with serving(gallery().sse_app()) as address:
        yield f"{address}/sse"


@pytest.fixture(scope="package")
def galleries(gallery_url: str, gallery_sse_url: str) -> Generator[Bridge]:
    """A bridge with the gallery reached in every way; `fault` is a healthy fault server."""
    with bridge_with(
        stdio=gallery_entry(),
        stdio_old=gallery_entry(mode="legacy"),
        http={"url": gallery_url},
        http_old={"url": gallery_url, "mode": "legacy"},
        sse={"url": gallery_sse_url},
        fault=entry(instructions="Be kind."),
    ) as bridge:
        bridge.connect(wait=True)
        yield bridge


@pytest.fixture(scope="package")
def books() -> Generator[Bridge]:
    """A bridge with the notes reached in every way. Each has notes of its own."""
    with (
        serving(notes().streamable_http_app()) as new,
        serving(notes().streamable_http_app()) as old,
        bridge_with(
            stdio=notes_entry(),
            stdio_old=notes_entry(mode="legacy"),
            http={"url": f"{new}/mcp"},
            http_old={"url": f"{old}/mcp", "mode": "legacy"},
        ) as bridge,
    ):
        bridge.connect(wait=True)
        yield bridge


@pytest.fixture(scope="package")
def asking_url() -> Generator[str]:
    """The asking server over Streamable HTTP, in both eras."""
    with serving(asking().streamable_http_app()) as address:
        yield f"{address}/mcp"


@pytest.fixture(scope="package")
def servers(asking_url: str) -> Generator[Bridge]:
    """The asking server in every way; `no`, `all` and `off` have other settings."""
    with (
        serving(asking().sse_app()) as address,
        bridge_with(
            stdio=asking_entry(env={"DIARY_TOKEN": "sesame-open-1234"}),
            stdio_old=asking_entry(mode="legacy"),
            sse={"url": f"{address}/sse", "type": "sse", "mode": "legacy"},
            http={"url": asking_url},
            http_old={"url": asking_url, "mode": "legacy"},
            no={"url": asking_url, "elicitation": "decline"},
            all={"url": asking_url, "logLevel": "debug"},
            off={"url": asking_url, "logLevel": "off"},
        ) as bridge,
    ):
        bridge.connect(wait=True)
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
