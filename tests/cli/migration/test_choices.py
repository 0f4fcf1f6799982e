"""Nodes of ours that still have the port `mode` get the ports that stand in its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.migration.test_adopt import named
from tests.support.canvas_file import links_of, load, nodes_of, problems
from tools.components import all_components
from tools.workflows import Workflow
from xai_mcp_agent.cli.migration.adopt import adopt_file


def with_mode(mode: Any, **more: Any) -> str:
    """A workflow as it was drawn when the node had `mode`, in place of `except_tools`."""
    flow = Workflow("old", all_components())
    use = flow.node("AgentUseMCPTools", server_name="library", except_tools=mode, **more)
    flow.main(use, flow.node("AgentMakeToolbelt"))
    return flow.text().replace("any-except_tools", "string-mode").replace("except_tools", "mode")


def wired(file: Path) -> dict[str, str]:
    """What the ports of the node have, by their names."""
    document = load(file)
    nodes = {x["id"]: x for x in nodes_of(document)}
    (use,) = [x for x in nodes.values() if x["name"] == "AgentUseMCPTools"]
    names = {x["id"]: x["varName"] for x in use["ports"]}
    return {
        names[x["targetPort"]].removeprefix("\u2605"): nodes[x["source"]]["ports"][0]["label"]
        for x in links_of(document)
        if x["targetPort"] in names and names[x["targetPort"]] != "in-0"
        and nodes[x["source"]]["name"].startswith("Literal")
    }  # fmt: skip


@pytest.mark.parametrize(
    ("mode", "port"), [("except", "except_tools"), ("only", "tools"), (" ALL ", "tools")]
)
def test_what_a_node_took_it_takes_still(mode: str, port: str, tmp_path: Path) -> None:
    report = adopt_file(named(tmp_path, "old", with_mode(mode, tools="get_*, pay")))
    assert report.written
    assert wired(report.written) == {"server_name": "library", port: "get_*, pay"}
    assert problems(load(report.written), "old_adopted") == []
    again = adopt_file(report.written)
    assert (again.status, again.remarks) == ("nothing to do", ())


def test_a_node_that_took_no_tool_does_not_take_all(tmp_path: Path) -> None:
    report = adopt_file(named(tmp_path, "old", with_mode("only")))
    assert [x.port for x in report.remarks] == ["mode"]


def test_a_literal_that_others_use_too_stays(tmp_path: Path) -> None:
    document = json.loads(with_mode("except", tools="pay"))
    nodes = {x["id"]: x for x in nodes_of(document)}
    (word,) = [x for x in nodes.values() if x["ports"] and x["ports"][0]["label"] == "except"]
    own = word["ports"][0]["links"][0]
    (name,) = [y for x in nodes.values() for y in x["ports"] if y["label"] == "name"]
    links = document["layers"][0]["models"]
    links["another"] = links[own] | {"target": name["parentNode"], "targetPort": name["id"]}
    word["ports"][0]["links"].append("another")
    report = adopt_file(named(tmp_path, "old", json.dumps(document)))
    assert report.written
    (kept,) = [x for x in nodes_of(load(report.written)) if x["id"] == word["id"]]
    assert kept["ports"][0]["links"] == ["another"]


def test_a_word_that_is_none_is_left_to_a_person(tmp_path: Path) -> None:
    report = adopt_file(named(tmp_path, "old", with_mode("some", tools="pay")))
    (remark,) = report.remarks
    assert (remark.port, remark.to_do) == ("mode", True)
    assert report.written
    again = adopt_file(report.written)
    assert (again.status, [x.port for x in again.remarks]) == ("failed", ["mode"])
