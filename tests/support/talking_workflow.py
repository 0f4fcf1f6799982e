"""A workflow whose agent asks a scripted model, for questions from the lab's panel."""

from __future__ import annotations

from tools.workflows import Workflow


def talking_workflow(name: str, base_url: str, *servers: str) -> Workflow:
    """Its agent has the tools of these servers."""
    flow = Workflow(name)
    nodes = [flow.node("AgentUseMCPTools", server_name=x) for x in servers]
    belt = flow.node("AgentMakeToolbelt")
    model = flow.node("AgentModel", base_url=base_url)
    init = flow.node(
        "AgentInit", agent_provider="openai", agent_model="m", toolbelt_spec=belt["toolbelt_spec"],
        model_settings=model["model_settings"],
    )  # fmt: skip
    run = flow.node("AgentRun", question="No test asks this.")
    flow.main(*nodes, belt, model, init, run)
    return flow
