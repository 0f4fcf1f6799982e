"""Workflows of one line: an agent that asks a scripted model, or a node that calls one tool."""

from __future__ import annotations

from typing import Any

from tools.workflows import Workflow


def agent_workflow(name: str, base_url: str, *servers: str, **run: Any) -> Workflow:
    """Return a workflow that prints the answer of an agent with the tools of these servers."""
    flow = Workflow(name)
    uses = [flow.node("AgentUseMCPTools", server_name=x) for x in servers]
    belt = flow.node("AgentMakeToolbelt")
    init = flow.node(
        "AgentInit", agent_provider="openai", agent_model="m", toolbelt_spec=belt["toolbelt_spec"],
        model_settings={"base_url": base_url},
    )  # fmt: skip
    node = flow.node("AgentRun", **{"question": "Go.", **run})
    flow.main(*uses, belt, init, node, flow.node("Print", msg=node["last_response"]))
    return flow


def calling_workflow(name: str, server: str, tool: str, **arguments: Any) -> Workflow:
    """Return a workflow that calls one tool and prints the text of the result."""
    flow = Workflow(name)
    node = flow.node("MCPCallTool", server_name=server, tool_name=tool, arguments=arguments)
    flow.main(node, flow.node("Print", msg=node["text"]))
    return flow
