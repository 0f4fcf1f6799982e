"""Bridges for tests, and waiting for their state with a limit."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.support.processes import wait_until
from xai_mcp_agent import Bridge, Choice, SourceFailed, SourceStatus, Tool
from xai_mcp_agent.bridge.operations import Operations
from xai_mcp_agent.policy.review import digest_of_reviews, waiting_of

_TOOL_SECONDS = 30.0
_POLL_SECONDS = 0.01


@contextmanager
def bridge_with(**servers: Any) -> Generator[Bridge]:
    """Yield a bridge with these servers (the entry of each by its name); none is connected yet."""
    with Bridge({"mcpServers": servers}) as bridge:
        yield bridge


def source_bridge(section: str, store: str | Path = "memory", **entry: Any) -> Bridge:
    """Return a bridge whose only source is `it`, with this entry in a section of the settings."""
    return Bridge({section: {"it": entry}}, store=store)


def failure_of(bridge: Bridge, server: str = "it") -> SourceFailed:
    """Return the error of listing the tools of a server."""
    with pytest.raises(SourceFailed) as caught:
        bridge.list_tools(server)
    return caught.value


def status_of(bridge: Bridge, server: str) -> SourceStatus:
    """Return the status of one server."""
    return next(x for x in bridge.servers() if x.name == server)


def wait_for_state(bridge: Bridge, server: str, *states: str, seconds: float = 20.0) -> None:
    """Wait until the server is in one of these states."""
    what = f"{server} is {' or '.join(states)}"
    wait_until(lambda: status_of(bridge, server).state in states, what, seconds)


def wait_for_loss(bridge: Bridge, server: str, seconds: float = 20.0) -> None:
    """Wait until the bridge notices the loss of the server."""
    wait_until(lambda: status_of(bridge, server).state != "ready", f"{server} is gone", seconds)


def wait_for_tool(bridge: Bridge, server: str, tool: str) -> Tool:
    """Wait until the catalog has this tool."""
    return bridge.run(wait_until_listed, server, tool)


async def wait_until_listed(operations: Operations, server: str, tool: str) -> Tool:
    """Wait until the catalog has this tool, on the bridge's loop."""
    with anyio.fail_after(_TOOL_SECONDS):
        while (entry := operations.engine.catalog.tool(server, tool)) is None:
            await anyio.sleep(_POLL_SECONDS)
    return entry


def names_of(tools: list[Tool]) -> list[str]:
    """Return the names of tools, in their order."""
    return [x.name for x in tools]


def accept_now(bridge: Bridge, server: str, *tools: str) -> list[Choice]:
    """Accept the current definitions of these tools, like a person who has read them."""
    waiting = waiting_of(bridge.review(server, *tools))
    digest = digest_of_reviews(waiting) if waiting else ""
    return bridge.accept(server, *tools, digest=digest)
