"""Remote agents that the tests of this folder share; no test breaks them."""

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
    """Run a bridge with the same agent over every interface."""
    entries = {name: {"url": server.url(name), "timeout": 30} for name in FACES}
    with Bridge({"agents": entries}, store="memory") as bridge:
        bridge.connect(wait=True)
        yield bridge
