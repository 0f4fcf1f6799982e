"""Remote agents shared by the tests of this folder; none of them is broken by a test."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tests.support.a2a_server import FACES, AgentServer, agents
from xai_mcp_agent import Bridge


@pytest.fixture(scope="package")
def server() -> Generator[AgentServer]:
    """The agents of one process."""
    with agents() as running:
        yield running


@pytest.fixture(scope="package")
def faces(server: AgentServer) -> Generator[Bridge]:
    """A bridge with the same agent, spoken to in every way."""
    entries = {name: {"url": server.url(name), "timeout": 30} for name in FACES}
    with Bridge({"agents": entries}, store="memory") as bridge:
        bridge.connect(wait=True)
        yield bridge
