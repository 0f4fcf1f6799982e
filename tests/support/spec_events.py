"""The events of spec 2 as that document writes them, for a server that is called `it`."""

from __future__ import annotations

from tests.support.histories import asked
from xai_mcp_agent import Bridge, JsonObject
from xai_mcp_agent.history.event import Project

SERVER, TOOLS = "mcp:it", "mcp_tool:it_"


class Spec:
    """The events as spec 2 writes them."""

    def __init__(self, bridge: Bridge, transport: str = "stdio") -> None:
        project: Project = asked(bridge, lambda store: store.project)
        self.tools_id = f"{project.repo_hash}:tools"
        self._knowledge_id = f"knowledge:{project.name}_{project.repo_hash}"
        self._transport = transport

    def event(
        self, change: str, context_id: str, payload: JsonObject, reason: str = "", **links: str
    ) -> JsonObject:
        """One event; a link is to one other."""
        is_tool = context_id.startswith(TOOLS)
        return {
            "context_id": context_id,
            "event_kind": "fact",
            "source": "validator",
            "change": change,
            "payload": payload,
            **{
                name: [links[name]] if name in links else []
                for name in ("extends", "related_to", "reinforces", "contradicts")
            },
            "kind": "mcp",
            "tool_source": "it",
            "tool": context_id.removeprefix(TOOLS) if is_tool else None,
            "reason": reason,
        }

    def connected(self, count: int) -> JsonObject:
        """On Server Start: 1. Store server anchor."""
        return self.event(
            "connected",
            SERVER,
            {
                "server_id": "it", "server_name": "fault 1", "transport": self._transport,
                "tool_count": count, "status": "connected",
            },
            extends=self.tools_id,
            related_to=self._knowledge_id,
        )  # fmt: skip

    def again(self, change: str, count: int) -> JsonObject:
        """On Server Reconnect: the server anchor."""
        return self.event(
            change,
            SERVER,
            {"server_id": "it", "tool_count": count, "status": "connected"},
            reinforces=SERVER,
            extends=self.tools_id,
        )

    def tool(self, change: str, listed: JsonObject) -> JsonObject:
        """A tool that is there."""
        links = {"extends": SERVER}
        itself = TOOLS + listed["name"]
        if change == "discovered":
            links["related_to"] = self.tools_id
        elif change == "changed":
            links["contradicts"] = itself
        else:
            links["reinforces"] = itself
        payload = {
            "name": listed["name"],
            "description": listed.get("description", ""),
            "parameters": listed["inputSchema"],
        }
        return self.event(change, itself, payload, **links)

    def gone(self, listed: JsonObject, reason: str) -> JsonObject:
        """On Server Stop / Disconnect: 2. Contradict each tool individually."""
        itself = TOOLS + listed["name"]
        return self.event(
            "unavailable", itself, {"status": "unavailable"}, reason, contradicts=itself
        )

    def disconnected(self, reason: str) -> JsonObject:
        """On Server Stop / Disconnect: 1. Contradict the server anchor."""
        return self.event(
            "disconnected", SERVER, {"status": "disconnected"}, reason, contradicts=SERVER
        )
