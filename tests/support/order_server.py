"""An MCP server to learn from: users, their orders, and one that copies what others say.

python order_server.py
"""

from __future__ import annotations

import json
import sys
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.types import CallToolResult, TextContent

EMAIL = "ada@example.org"
USER, ORDERS = "u_4711", ("W1234567", "W7654321")


def order_server() -> MCPServer:
    """A new one. `list_orders` gives JSON as text, as many servers do."""
    server = MCPServer("shop", log_level="CRITICAL")

    @server.tool(description="Find the user who has an email address.")
    def find_user(email: str) -> dict[str, Any]:
        return {"user": {"id": USER, "email": email, "since": 20190317}}

    @server.tool(description="List the orders of a user.")
    def list_orders(user_id: str) -> CallToolResult:
        orders = [{"id": x, "items": 2} for x in ORDERS]
        text = json.dumps({"of": user_id, "orders": orders})
        return CallToolResult(content=[TextContent(type="text", text=text)])

    @server.tool(description="Cancel an order.")
    def cancel_order(order_id: str, reason: str = "") -> str:
        return f"Order {order_id} is cancelled."

    @server.tool(description="Tell who bought something, by their addresses.")
    def buyers() -> dict[str, Any]:
        return {"by": {EMAIL: {"id": USER}, "grace@example.org": {"id": "u_1906"}}}

    @server.tool(description="Give so much that nobody wants it.")
    def everything(rows: int) -> dict[str, Any]:
        return {"rows": [{"id": f"r{n:07}", "of": {"n": n}} for n in range(rows)]}

    @server.tool(description="Say what was just said.")
    def parrot() -> dict[str, Any]:
        return {"cancel_order": {"order_id": ORDERS[0]}, "find_user.user.id": ORDERS[0]}

    @server.tool(description="Fail.")
    def fail(order_id: str) -> str:
        raise ValueError(f"no {order_id}")

    return server


if __name__ == "__main__":
    order_server().run("stdio")
    sys.exit(0)
