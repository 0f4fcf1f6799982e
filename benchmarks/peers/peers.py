"""The clients to measure: versions, drivers, and the settings that were chosen for each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Peer:
    """One client. Without `pins` it is measured in the running environment."""

    name: str
    driver: str  # the class in benchmarks/peers/drivers
    package: str  # the one whose version is shown
    imports: str  # at the top of its users' files
    pins: tuple[str, ...] = ()
    is_another_door: bool = False  # of the bridge or the bare client: only its calls differ


# SDK 2.3.0 is the bridge's; a client that does not allow it gets the newest that it allows.
PEERS = (
    # As an agent uses it: calls are made on the bridge's own event loop.
    Peer("bridge", "bridge:InAnAgent", "xai-mcp-agent", "from xai_mcp_agent import Bridge"),
    # `mcp.Client`, each server in its own task, with a limit for its start.
    Peer("bare client", "bare:Bare", "mcp", "from mcp import Client"),
    # One `Client`; a config of one server, or of all (then with `timeout`).
    Peer(
        "fastmcp", "fastmcp:Peer", "fastmcp", "from fastmcp import Client",
        ("fastmcp==4.1.2", "mcp==2.3.0"),
    ),
    # `MCPServerManager` with `connect_in_parallel`; lists cached.
    Peer(
        "openai-agents", "openai_agents:Peer", "openai-agents",
        "from agents.mcp import MCPServerManager, MCPServerStdio",
        ("openai-agents==0.24.0", "mcp==2.3.0"),
    ),
    # An `MCPToolset` for each server in one `CombinedToolset`, as an agent enters them.
    Peer(
        "pydantic-ai", "pydantic_ai:Peer", "pydantic-ai-slim",
        "from pydantic_ai.mcp import MCPToolset",
        ("pydantic-ai-slim[mcp]==2.68.0", "mcp==2.3.0"),
    ),
    # `MCPClient.load_servers` with `continue_on_error`, loaded one after another as its agent
    # does; `call_tool_async`.
    Peer(
        "strands", "strands:Peer", "strands-agents", "from strands.tools.mcp import MCPClient",
        ("strands-agents==1.62.0", "mcp==2.1.1"),
    ),
    # `create_all_sessions`; `session.call_tool`.
    Peer(
        "mcp-use", "mcp_use:Peer", "mcp-use", "from mcp_use import MCPClient",
        ("mcp-use==1.7.1", "mcp==1.30.0"),
    ),
    # One server: a `client.session` that stays open; several: `client.get_tools`, which starts
    # them in parallel and keeps none.
    Peer(
        "langchain", "langchain:Peer", "langchain-mcp-adapters",
        "from langchain_mcp_adapters.client import MultiServerMCPClient",
        ("langchain-mcp-adapters==0.3.2", "mcp==1.30.0"),
    ),
    # `Bridge.call_tool` and `Bridge.submit` from a plain thread, as nodes do.
    Peer("from a thread", "bridge:FromAThread", "xai-mcp-agent", "", is_another_door=True),
    # `bridge.aio` from an event loop of the caller.
    Peer("from a loop", "bridge:FromALoop", "xai-mcp-agent", "", is_another_door=True),
    # `mcp.Client` from a plain thread through anyio's `BlockingPortal`.
    Peer("bare, from a thread", "bare:BehindAPortal", "mcp", "", is_another_door=True),
)  # fmt: skip
OURS, CONTROL = PEERS[0], PEERS[1]
