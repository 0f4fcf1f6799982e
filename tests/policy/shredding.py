"""An agent's calls of the shredder, for tests of approvals and rules."""

from __future__ import annotations

from typing import Any

import anyio

from tests.support.shredder_server import shredder_entry
from xai_mcp_agent import ApprovalRequest, Bridge
from xai_mcp_agent.bridge.operations import Operations
from xai_mcp_agent.core.approval import RunFacts
from xai_mcp_agent.core.calls import Caller
from xai_mcp_agent.core.errors import NotApproved
from xai_mcp_agent.core.tools import Tool, ToolAnnotations, ToolKey

SECONDS = 30.0
PAPER = {"paper": "contract"}
SHREDDED = "shredded contract"


class Clerk:
    """Gives the scripted answers, and records the requests."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[ApprovalRequest] = []

    def __call__(self, request: ApprovalRequest) -> Any:
        self.asked.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def agent(name: str = "helper", toolbelt: str = "", **options: Any) -> Caller:
    return Caller("agent", name, toolbelt, **{"facts": RunFacts(), **options})


def tool(server: str, name: str, *params: str, **annotations: bool) -> Tool:
    schema = {"type": "object", "properties": {x: {"type": "string"} for x in params}}
    annotated = ToolAnnotations(**annotations)
    return Tool(ToolKey("mcp", server, name), "", schema, annotations=annotated)


def shredding(approve: Any = None, rules: Any = (), store: Any = None, **entry: Any) -> Bridge:
    servers = {"shredder": {**shredder_entry(), **entry}}
    return Bridge({"mcpServers": servers, "rules": rules}, approve=approve, store=store)


def shred(bridge: Bridge, caller: Caller | None = None, tool: str = "shred", **given: Any) -> str:
    """Return the text of an agent's call, or the reason why it was not made."""
    caller = caller or agent()
    arguments = given or (PAPER if tool == "shred" else {})

    async def go(operations: Operations) -> str:
        with anyio.fail_after(SECONDS):
            call = operations.for_caller(caller).call_tool("shredder", tool, arguments)
            return (await call).text

    try:
        return bridge.run(go)
    except NotApproved as refused:
        return refused.for_model
