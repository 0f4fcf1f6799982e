"""The clients to measure: versions, drivers, and the settings that were chosen for each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Peer:
    """One client. Without `pins` it is measured in the running environment."""

    name: str
    driver: str  # the class in benchmarks/peers/drivers
    package: str  # whose version is told
    imports: str  # what its users write at the top of their file
    setting: str
    pins: tuple[str, ...] = ()
    is_another_door: bool = False  # of the bridge or the bare client: only its calls differ


# SDK 2.3.0 is what the bridge brings; where a client does not allow it, the newest that it allows.
PEERS = (
    Peer(
        "bridge", "bridge:InAnAgent", "xai-mcp-agent", "from xai_mcp_agent import Bridge",
        "as an agent uses it: its calls are made on the bridge's own event loop",
    ),
    Peer(
        "bare client", "bare:Bare", "mcp", "from mcp import Client",
        "`mcp.Client`, each server in a task of its own, with a limit for its start",
    ),
    Peer(
        "fastmcp", "fastmcp:Peer", "fastmcp", "from fastmcp import Client",
        "one `Client`; a config of one server, or of all (then with `timeout`)",
        ("fastmcp==4.1.2", "mcp==2.3.0"),
    ),
    Peer(
        "openai-agents", "openai_agents:Peer", "openai-agents",
        "from agents.mcp import MCPServerManager, MCPServerStdio",
        "`MCPServerManager` with `connect_in_parallel`; lists cached",
        ("openai-agents==0.24.0", "mcp==2.3.0"),
    ),
    Peer(
        "pydantic-ai", "pydantic_ai:Peer", "pydantic-ai-slim",
        "from pydantic_ai.mcp import MCPToolset",
        "an `MCPToolset` for each server in one `CombinedToolset`, as an agent enters them",
        ("pydantic-ai-slim[mcp]==2.68.0", "mcp==2.3.0"),
    ),
    Peer(
        "strands", "strands:Peer", "strands-agents", "from strands.tools.mcp import MCPClient",
        "`MCPClient.load_servers` with `continue_on_error`, loaded one after another as its "
        "agent does; `call_tool_async`",
        ("strands-agents==1.62.0", "mcp==2.1.1"),
    ),
    Peer(
        "mcp-use", "mcp_use:Peer", "mcp-use", "from mcp_use import MCPClient",
        "`create_all_sessions`; `session.call_tool`",
        ("mcp-use==1.7.1", "mcp==1.30.0"),
    ),
    Peer(
        "langchain", "langchain:Peer", "langchain-mcp-adapters",
        "from langchain_mcp_adapters.client import MultiServerMCPClient",
        "one server: a kept `client.session`; several: `client.get_tools`, which starts them in "
        "parallel and keeps none",
        ("langchain-mcp-adapters==0.3.2", "mcp==1.30.0"),
    ),
    Peer(
        "from a thread", "bridge:FromAThread", "xai-mcp-agent", "",
        "`Bridge.call_tool` and `Bridge.submit` from a plain thread, as nodes do",
        is_another_door=True,
    ),
    Peer(
        "from a loop", "bridge:FromALoop", "xai-mcp-agent", "",
        "`bridge.aio` from an event loop of the caller",
        is_another_door=True,
    ),
    Peer(
        "bare, from a thread", "bare:BehindAPortal", "mcp", "",
        "`mcp.Client` from a plain thread through anyio's `BlockingPortal`",
        is_another_door=True,
    ),
)  # fmt: skip
OURS, CONTROL = PEERS[0], PEERS[1]
