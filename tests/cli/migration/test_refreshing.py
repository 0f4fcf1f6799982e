"""Nodes that were drawn with an older version of ours get the ports that our classes have now."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.cli.migration.test_adopt import command, named
from tests.support.canvas_file import Document, links_of, load, nodes_of, problems
from tests.support.xai_agent_workflow import xai_agent_workflow
from tools.components import all_components
from tools.workflows import Workflow
from xai_mcp_agent.cli.migration.adopt import adopt_file
from xai_mcp_agent.drawing.components import ComponentClass, PortSpec

BELT, RUN, SERVER = "AgentMakeToolbelt", "AgentRun", "AgentUseMCPTools"


def older(name: str, *, without: tuple[str, ...] = (), **kinds: Any) -> dict[str, ComponentClass]:
    """The classes as they were: one lacked ports, had others, or had to be given some."""
    cls = all_components()[name]
    ports = [replace(x, kind=kinds.get(x.name, x.kind)) for x in cls.ports if x.name not in without]
    more = [PortSpec(x, "in", "string") for x in kinds if x not in {y.name for y in cls.ports}]
    return {**all_components(), name: replace(cls, ports=(*ports, *more))}


def drawn(classes: dict[str, ComponentClass], **belt: Any) -> Document:
    """An agent that runs, drawn with these classes."""
    flow = Workflow("old", classes)
    spec = flow.node(BELT, **belt)
    agent = flow.node("AgentInit", agent_name="a", toolbelt_spec=spec["toolbelt_spec"])
    run = flow.node(RUN, agent_name="a", conversation="Hello!")
    flow.main(spec, agent, run, flow.node("Print", msg=run["last_response"]))
    return flow.document()


def adopted(folder: Path, document: Document) -> Document:
    """It brought up to date, with every wire and value as before, and in order."""
    report = adopt_file(named(folder, "old", json.dumps(document)))
    assert report.written
    after = load(report.written)
    assert problems(after, "old_adopted") == []
    assert links_of(after) == links_of(document)
    assert {x["id"]: (x["x"], x["y"]) for x in nodes_of(after)} == {
        x["id"]: (x["x"], x["y"]) for x in nodes_of(document)
    }
    assert adopt_file(report.written).status == "nothing to do"
    return after


def ports(document: Document, name: str) -> list[str]:
    (node,) = [x for x in nodes_of(document) if x["name"] == name]
    return [x["name"] for x in node["ports"]]


def test_a_port_that_need_not_be_given_any_more_loses_its_mark(tmp_path: Path) -> None:
    document = drawn(older(BELT, approval="compulsory"), approval="ask")
    after = adopted(tmp_path, document)
    labels = [y["label"] for x in nodes_of(after) if x["name"] == BELT for y in x["ports"]]
    assert "approval" in labels
    assert ports(after, BELT) == ports(document, BELT)


@pytest.mark.parametrize(
    ("name", "gone"),
    [
        (BELT, ("name",)),
        (BELT, ("planning_tools",)),
        (BELT, ("name", "lock_first", "approval")),
        (RUN, ("metadata", "show", "run_state")),
        (RUN, ("on_error", "on_thought", "usage", "thought")),
        ("AgentInit", ("max_thoughts", "system_prompt")),
    ],
)
def test_ports_that_arrived_stand_where_their_class_has_them(
    name: str, gone: tuple[str, ...], tmp_path: Path
) -> None:
    after = adopted(tmp_path, drawn(older(name, without=gone)))
    assert ports(after, name) == ports(drawn(all_components()), name)


def test_a_port_for_several_values_arrives_with_its_place_for_the_first(tmp_path: Path) -> None:
    def flow(classes: dict[str, ComponentClass]) -> Document:
        drawing = Workflow("old", classes)
        tool = drawing.node("AgentDefineTool", tool_name="t", description="Does.")
        drawing.main(drawing.node("Print", msg="x"))
        drawing.side(tool, drawing.node("AgentToolOutput"))
        return drawing.document()

    after = adopted(tmp_path, flow(older("AgentToolOutput", without=("results",))))
    new = flow(all_components())
    (port,) = [
        y for x in nodes_of(after) if x["name"] == "AgentToolOutput" for y in x["ports"]
        if y["dataType"] == "dynalist"
    ]  # fmt: skip
    assert (port["dynaPortOrder"], port["dynaPortRef"]) == (0, {"previous": None, "next": None})
    assert ports(after, "AgentToolOutput") == ports(new, "AgentToolOutput")


def test_a_port_that_is_gone_and_empty_goes(tmp_path: Path) -> None:
    document = drawn(older(BELT, colour="in"))
    assert any("colour" in x for x in ports(document, BELT))
    assert not any("colour" in x for x in ports(adopted(tmp_path, document), BELT))


def test_a_port_that_is_gone_and_wired_stays_and_is_named(tmp_path: Path, capsys: Any) -> None:
    document = drawn(older(BELT, colour="in", without=("approval",)), colour="green")
    file = named(tmp_path, "old", json.dumps(document))
    status, out, _ = command(capsys, str(file))
    assert status == 0
    assert "AgentMakeToolbelt: ours has no port `colour` that fits. Remove its link" in " ".join(
        out.split()
    )
    assert "green" not in out
    after = load(tmp_path / "old_adopted.xircuits")
    assert links_of(after) == links_of(document)
    status, out, _ = command(capsys, str(tmp_path / "old_adopted.xircuits"))
    assert (status, "`colour`" in out) == (1, True)
    assert len(list(tmp_path.iterdir())) == 2


def test_a_port_that_has_to_be_given_now_is_named(tmp_path: Path) -> None:
    flow = Workflow("old", older(SERVER, server_name="in"))
    flow.main(flow.node(SERVER), flow.node(BELT))
    report = adopt_file(named(tmp_path, "old", flow.text()))
    (remark,) = report.remarks
    assert (remark.node, remark.port, remark.to_do) == (SERVER, "server_name", True)


def test_the_report_tells_ours_from_theirs(tmp_path: Path, capsys: Any) -> None:
    """What is said of xai-agent's keys and tools is not for a workflow of ours."""
    document = drawn(older(BELT, without=("approval",)))
    status, out, _ = command(capsys, str(named(tmp_path, "old", json.dumps(document))))
    assert status == 0
    assert "  1 node was brought up to date: AgentMakeToolbelt." in out.splitlines()
    assert "To do" not in out


def test_a_drawn_tool_of_ours_keeps_taking_what_it_took(tmp_path: Path) -> None:
    """Without parameters it takes any text: somebody may count on that."""
    flow = Workflow("old", older("AgentDefineTool", without=("timeout_seconds",)))
    tool = flow.node("AgentDefineTool", tool_name="t", description="Does.")
    city = flow.node("DictGetItem", the_dict=tool["tool_args"], key="city")
    flow.main(flow.node("Print", msg="x"))
    flow.side(tool, city)
    adopted(tmp_path, flow.document())


def test_nodes_of_xai_agent_get_all_our_ports(tmp_path: Path) -> None:
    report = adopt_file(named(tmp_path, "clock", xai_agent_workflow().text()))
    assert report.written
    for node in nodes_of(load(report.written)):
        cls = all_components().get(node["name"])
        if cls is not None and "xai_mcp_agent" in cls.path:
            names = {x["varName"].removeprefix("\u2605") for x in node["ports"]}
            values = {x.name for x in cls.ports if x.kind != "branch"}
            assert names >= values
