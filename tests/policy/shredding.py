"""An agent's calls of a server's tools, for tests of approvals, rules and decisions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import anyio

from tests.support.model_endpoint import Step, calls, model_endpoint, says
from tests.support.shredder_server import shredder_entry
from xai_mcp_agent import Agent, AgentResult, ApprovalRequest, Bridge
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
        self.requests: list[ApprovalRequest] = []

    def __call__(self, request: ApprovalRequest) -> Any:
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def agent(name: str = "helper", toolbelt: str = "", **options: Any) -> Caller:
    return Caller("agent", name, toolbelt, **{"facts": RunFacts(), **options})


def tool(server: str, name: str, *params: str, **annotations: bool) -> Tool:
    schema = {"type": "object", "properties": {x: {"type": "string"} for x in params}}
    annotation_values = ToolAnnotations(**annotations)
    return Tool(ToolKey("mcp", server, name), "", schema, annotations=annotation_values)


def tool_entry(name: str, description: str = "", **annotations: bool) -> dict[str, Any]:
    """Return a tool as a server lists it."""
    optional = {"annotations": annotations} if annotations else {}
    return {"name": name, "description": description, "inputSchema": {"type": "object"}, **optional}


def run_all(
    bridge: Bridge, source: str, *, own: Sequence[Any] = (), also: Iterable[str] = ()
) -> AgentResult:
    """Run an agent that calls each tool it is shown, and `also` tools of these names."""

    def call_all(body: dict[str, Any]) -> Step:
        if body["messages"][-1]["role"] == "tool":
            return says("done")
        names = [x["function"]["name"] for x in body["tools"]]
        functions = {x.__name__ for x in own}
        own_names = [x for x in names if x.startswith(f"{source}_") or x in functions]
        return calls(*((x, {}) for x in dict.fromkeys([*own_names, *also])))

    with model_endpoint(call_all) as endpoint:
        return Agent(bridge, [source, *own], model=endpoint.model).run("Call all.")


def shredding(approve: Any = None, rules: Any = (), store: Any = None, **entry: Any) -> Bridge:
    servers = {"shredder": {**shredder_entry(), **entry}}
    return Bridge({"mcpServers": servers, "rules": rules}, approve=approve, store=store)


def shred(
    bridge: Bridge, caller: Caller | None = None, tool: str = "shred", **arguments: Any
) -> str:
    """Return the text of an agent's call, or the reason why it was not made."""
    caller = caller or agent()
    arguments = arguments or (PAPER if tool == "shred" else {})

    async def go(operations: Operations) -> str:
        with anyio.fail_after(SECONDS):
            call = operations.for_caller(caller).call_tool("shredder", tool, arguments)
            return (await call).text

    try:
        return bridge.run(go)
    except NotApproved as refusal:
        return refusal.for_model
