"""Carries over where the prompts of an adopted workflow go.

In xai-agent's workflows a node such as OpenAIAuthorize says it for all agents, by its `base_url`.
Here each agent has it from its AgentModel. Where it cannot be told which address counts, the port
is given a mark with which no run begins: silence would send the prompts to another company.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...canvas.model_settings import UNDECIDED
from ...core.json import JsonObject
from .added import Drawing, Source, in_port
from .document import links_of, nodes_of, text_of, texts_by_port
from .migrate import AdoptedNode, Migration, Remark, is_authorizing

# The port that says whom an agent asks, and the one for the address, by class.
_PORTS = {
    "AgentInit": ("agent_provider", "base_url"),
    "AgentUpdate": ("new_agent_provider", "new_base_url"),
}
_PROVIDER = "openai"


def with_addresses(migration: Migration) -> Migration:
    """The migration with the agents' addresses, and a remark about each."""
    document = migration.document
    named = dict(_named(document))
    if not named:
        return migration
    if not any(text_of(x, "name") in _PORTS for x in nodes_of(document).values()):
        lonely = [_lonely(document, x, to_do=bool(migration.taken)) for x in named]
        return replace(migration, remarks=(*lonely, *migration.remarks))
    wired = {text_of(x, "targetPort") for x in links_of(document).values()}
    texts = texts_by_port(document)
    agents = [x for x in migration.adopted if _asks_there(document, x, wired, texts)]
    source = _carried(document, named)
    drawing = Drawing(document)
    remarks: list[Remark] = []
    for agent in agents:
        _, port = _PORTS[agent.node]
        drawing.wire(agent.node_id, port, source or Source(UNDECIDED))
        remarks.append(_remark(agent.node, agent.node_id, port, source))
    return replace(migration, document=drawing.done(), remarks=(*remarks, *migration.remarks))


def naming_an_address(document: JsonObject) -> frozenset[str]:
    """The nodes that say where all agents' prompts go, by their ids."""
    return frozenset(x for x, _ in _named(document))


def _named(document: JsonObject) -> Iterator[tuple[str, Source | None]]:
    """The nodes that name an address, with where they have it from; None where that is computed."""
    texts, nodes = texts_by_port(document), nodes_of(document)
    wired = {text_of(x, "targetPort"): x for x in links_of(document).values()}
    for node_id, node in nodes.items():
        port = in_port(node, "base_url") if is_authorizing(node) else None
        link = wired.get(text_of(port, "id")) if port else None
        if port is None or link is None:
            continue
        text = texts.get(text_of(port, "id"))
        if text is not None:
            if text.strip():
                yield node_id, Source(text)
            continue
        source = text_of(link, "source")
        # An argument has its value from the start; of another node that depends on the order.
        is_there = text_of(nodes.get(source, {}), "name").startswith("Argument ")
        yield node_id, Source("", source, text_of(link, "sourcePort")) if is_there else None


def _carried(document: JsonObject, named: dict[str, Source | None]) -> Source | None:
    """The one address that counts for all; None if that cannot be told."""
    authorizing = [x for x, node in nodes_of(document).items() if is_authorizing(node)]
    sources = set(named.values())
    return sources.pop() if len(sources) == 1 and len(named) == len(authorizing) else None


def _asks_there(
    document: JsonObject, agent: AdoptedNode, wired: set[str], texts: dict[str, str]
) -> bool:
    """Whether it is an agent of that service whose address nobody has wired yet."""
    if agent.node not in _PORTS or not agent.is_taken:
        return False
    ports = (in_port(nodes_of(document)[agent.node_id], x) for x in _PORTS[agent.node])
    provider, address = (text_of(x or {}, "id") for x in ports)
    if address in wired or provider not in wired:
        return False
    text = texts.get(provider)
    return text is None or text.strip().lower() == _PROVIDER


def _remark(node: str, node_id: str, port: str, source: Source | None) -> Remark:
    if source is not None:
        text = (
            "`base_url` of its AgentModel has the address that the workflow gave to all agents: "
            "its prompts go where they went."
        )
        return Remark(node, node_id, text, to_do=False, port=port)
    text = (
        "the workflow said where its prompts go, and which address counts for this agent could not "
        f"be told. Write it into `base_url` of its AgentModel, in place of `{UNDECIDED}`. Until "
        "then it does not run."
    )
    return Remark(node, node_id, text, port=port)


def _lonely(document: JsonObject, node_id: str, *, to_do: bool) -> Remark:
    text = (
        "its `base_url` says where the prompts of all agents go, and here is no agent. Those of "
        "other workflows do not hear of it: wire that address to `base_url` of their AgentModel."
    )
    return Remark(text_of(nodes_of(document)[node_id], "name"), node_id, text, to_do, "base_url")
