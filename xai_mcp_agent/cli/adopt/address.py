"""Carries the service addresses of an adopted workflow over to its agents.

In xai-agent's workflows a node such as OpenAIAuthorize sets `base_url` for all agents. Here each
agent takes it from its AgentModel. If it is unclear which address applies, the port gets a marker
that refuses to run: a silent default would send the prompts to another company.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ...canvas.model_settings import UNDECIDED
from ...core.json import JsonObject
from ...drawing.components import ComponentClass
from ...drawing.sizes import Point, size_of
from ...drawing.workflow import component_node
from .workflow import AdoptedNode, AdoptedWorkflow, Remark, in_port, path_of, port_name

AUTHORIZE = "authori"  # part of the names of nodes that unlock a service
_OPENAI = "openai"
_MODEL = "AgentModel"
# For each class, the port that names the service and the port for the model's settings.
_AGENTS = {
    "AgentInit": ("agent_provider", "model_settings"),
    "AgentUpdate": ("new_agent_provider", "new_model_settings"),
}
_GAP = 40.0


class Address(NamedTuple):
    """Address of a service: a text, or the out-port of an argument."""

    text: str = ""
    port: str = ""


def carry_addresses(
    workflow: AdoptedWorkflow, adopted: Sequence[AdoptedNode], classes: Mapping[str, ComponentClass]
) -> list[Remark]:
    """Draw an AgentModel with the address for each agent, and return a remark about each."""
    addresses = addresses_by_node(workflow)
    if not addresses:
        return []
    if not any(x["name"] in _AGENTS for x in workflow.nodes.values()):
        return [_no_agent(workflow, x) for x in addresses]
    address = _common_address(workflow, addresses)
    agents = [x for x in adopted if _asks_openai(workflow, x)]
    for agent in agents:
        _draw_model(workflow, agent, classes[_MODEL], address or Address(UNDECIDED))
    return [_remark(x, address) for x in agents]


def addresses_by_node(workflow: AdoptedWorkflow) -> dict[str, Address | None]:
    """Return the nodes that set the address for all agents; None stands for a computed address."""
    addresses: dict[str, Address | None] = {}
    for node_id, node in _authorizing(workflow):
        port = in_port(node, "base_url")
        link, text = workflow.link_to(port), workflow.text_at(port)
        if link is None or (text is not None and not text.strip()):
            continue
        # An argument has its value from the start; the output of another node depends on the order.
        is_argument = workflow.nodes[link["source"]]["name"].startswith("Argument ")
        computed = Address(port=link["sourcePort"]) if is_argument else None
        addresses[node_id] = computed if text is None else Address(text)
    return addresses


def _authorizing(workflow: AdoptedWorkflow) -> Iterator[tuple[str, JsonObject]]:
    """Yield the components that unlock OpenAI for all others, such as OpenAIAuthorize."""
    for node_id, node in workflow.nodes.items():
        name = node["name"].lower()
        if AUTHORIZE in name and _OPENAI in f"{name} {path_of(node).lower()}":
            yield node_id, node


def _common_address(
    workflow: AdoptedWorkflow, addresses: Mapping[str, Address | None]
) -> Address | None:
    """Return the address that applies to all agents, or None if that is unclear."""
    distinct = set(addresses.values())
    is_everywhere = len(addresses) == len(list(_authorizing(workflow)))
    return distinct.pop() if len(distinct) == 1 and is_everywhere else None


def _asks_openai(workflow: AdoptedWorkflow, agent: AdoptedNode) -> bool:
    if agent.node not in _AGENTS:
        return False
    provider = in_port(workflow.nodes[agent.node_id], _AGENTS[agent.node][0])
    if workflow.link_to(provider) is None:
        return False
    text = workflow.text_at(provider)
    return text is None or text.strip().lower() == _OPENAI


def _draw_model(
    workflow: AdoptedWorkflow, agent: AdoptedNode, cls: ComponentClass, address: Address
) -> None:
    """Draw an AgentModel above all nodes, run before an agent, with the address at `base_url`."""
    node = workflow.nodes[agent.node_id]
    model = component_node(cls, f"{agent.node_id}/{_MODEL}")
    top = min(x["y"] for x in workflow.nodes.values()) - size_of(model)[1] - _GAP
    drawn = workflow.add_node(model, Point(node["x"], top))
    entry, start = _in_port(node, "in-0"), _in_port(drawn, "in-0")
    for key in entry["links"]:
        workflow.links[key] |= {"target": model.id, "targetPort": start["id"]}
    start["links"], entry["links"] = entry["links"], []
    workflow.wire(_out_port(drawn, "out-0"), entry)
    workflow.wire(_out_port(drawn, "model_settings"), _in_port(node, _AGENTS[agent.node][1]))
    if address.port:
        source = workflow.ports[address.port][1]
    else:
        source = workflow.add_literal(model.id, "base_url", address.text, "string")
    workflow.wire(source, _in_port(drawn, "base_url"))


def _out_port(node: JsonObject, name: str) -> JsonObject:
    return next(x for x in node["ports"] if not x["in"] and port_name(x) == name)


def _in_port(node: JsonObject, name: str) -> JsonObject:
    port = in_port(node, name)
    assert port is not None
    return port


def _remark(agent: AdoptedNode, address: Address | None) -> Remark:
    if address is not None:
        text = (
            "`base_url` of its AgentModel has the address that the workflow gave to all agents: "
            "its prompts go where they went."
        )
        return Remark(agent.node, agent.node_id, text, to_do=False, port="base_url")
    text = (
        "the workflow said where its prompts go, and it is unclear which address counts for this "
        f"agent. Write it into `base_url` of its AgentModel, in place of `{UNDECIDED}`. Until "
        "then it does not run."
    )
    return Remark(agent.node, agent.node_id, text, port="base_url")


def _no_agent(workflow: AdoptedWorkflow, node_id: str) -> Remark:
    text = (
        "its `base_url` sets the address for all agents, but this workflow has none. Agents "
        "of other workflows do not get it: wire that address to `base_url` of their AgentModel."
    )
    return Remark(workflow.nodes[node_id]["name"], node_id, text, port="base_url")
