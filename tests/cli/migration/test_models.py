"""Agents whose ports said which model they ask get a node AgentModel that says it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.support.canvas_file import Document, links_of, nodes_of, problems
from tools.components import all_components
from tools.workflows import Workflow
from xai_mcp_agent.cli.migration.models import with_models
from xai_mcp_agent.drawing.components import ComponentClass, PortSpec

_PORTS = {"base_url": "string", "api_key": "secret", "temperature": "float"}


def classes(*, are_split: bool) -> dict[str, ComponentClass]:
    """Ours, as they are with the settings on a node of their own, or as they once were."""
    known = all_components()
    init, update = known["AgentInit"], known["AgentUpdate"]
    own = tuple(x for x in init.ports if x.name not in (*_PORTS, "model_settings"))
    own_update = tuple(
        x
        for x in update.ports
        if x.name not in ("new_base_url", "new_api_key", "new_model_settings")
    )
    old = tuple(PortSpec(name, "in", kind) for name, kind in _PORTS.items())
    if not are_split:
        new = tuple(replace(x, name=f"new_{x.name}") for x in old[:2])
        return {
            **known,
            "AgentInit": replace(init, ports=(*own, *old)),
            "AgentUpdate": replace(update, ports=(*own_update, *new)),
        }
    settings = PortSpec("model_settings", "in", "dict")
    model = replace(init, name="AgentModel", ports=(*old, replace(settings, kind="out")))
    return {
        **known,
        "AgentModel": model,
        "AgentInit": replace(init, ports=(*own, settings)),
        "AgentUpdate": replace(
            update, ports=(*own_update, replace(settings, name="new_model_settings"))
        ),
    }


def drawn(**inputs: Any) -> Document:
    flow = Workflow("old", classes(are_split=False))
    agent = flow.node("AgentInit", agent_name="a", **inputs)
    later = flow.node("AgentUpdate", agent_name="a", new_base_url="http://there")
    flow.main(flow.node("AgentMakeToolbelt"), agent, later, flow.node("Print", msg="x"))
    return flow.document()


def wires(document: Document) -> set[tuple[str, str, str]]:
    """From where values and the flow go, to which node and port."""
    nodes = {x["id"]: x for x in nodes_of(document)}
    ports = {p["id"]: p for x in nodes.values() for p in x["ports"]}
    return {
        (
            ports[x["sourcePort"]]["label"] if "Literal" in nodes[x["source"]]["name"]
            else nodes[x["source"]]["name"],
            nodes[x["target"]]["name"],
            ports[x["targetPort"]]["name"].split("-")[-1],
        )
        for x in links_of(document)
    }  # fmt: skip


def test_what_was_wired_to_the_agent_is_wired_to_its_model() -> None:
    old = drawn(base_url="http://here", temperature=0.5)
    new = with_models(old, classes(are_split=True)).document
    assert problems(new, "old", classes(are_split=True)) == []
    found = wires(new)
    assert found >= {
        ("AgentMakeToolbelt", "AgentModel", "0"), ("AgentModel", "AgentInit", "0"),
        ("AgentInit", "AgentModel", "0"), ("AgentModel", "AgentUpdate", "0"),
        ("AgentUpdate", "Print", "0"), ("http://here", "AgentModel", "base_url"),
        ("http://there", "AgentModel", "base_url"), ("0.5", "AgentModel", "temperature"),
        ("AgentModel", "AgentInit", "model_settings"),
        ("AgentModel", "AgentUpdate", "new_model_settings"),
    }  # fmt: skip
    assert ("AgentMakeToolbelt", "AgentInit", "0") not in found
    assert {x["id"] for x in nodes_of(old)} <= {x["id"] for x in nodes_of(new)}
    assert {x["id"] for x in links_of(old)} <= {x["id"] for x in links_of(new)}


def test_a_second_time_changes_nothing() -> None:
    once = with_models(drawn(base_url="http://here"), classes(are_split=True))
    again = with_models(once.document, classes(are_split=True))
    assert (again.document, again.changed) == (once.document, frozenset())


@pytest.mark.parametrize("port", ["base_url", "temperature"])
def test_no_model_stands_on_another_node(port: str) -> None:
    old = drawn(**{port: "x" if port == "base_url" else 0.1})
    new = with_models(old, classes(are_split=True)).document
    places = [(x["x"], x["y"]) for x in nodes_of(new) if not x["extras"].get("attached")]
    assert len(places) == len(set(places))
