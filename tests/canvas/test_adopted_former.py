"""Workflows that were drawn before AgentModel are adopted, and ask whom they asked, with their key.

An agent's address, key and limits were ports of AgentInit then, and agents had to be named.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.canvas_file import Document, links_of, load, nodes_of, problems
from tests.support.former_components import former_components
from tests.support.model_endpoint import model_endpoint, says
from tests.support.old_workflows import wear
from tests.support.scripts import compile_workflow, run_script
from tools.workflows import Shown, Workflow
from xai_mcp_agent.cli.main import run
from xai_mcp_agent.cli.migration.adopt import adopt_file

KEY = "sk-proj-0815abcdefghijklmnopqrstuvwxyz0815"


def two_agents(address: str = "http://127.0.0.1:9/v1") -> Document:
    """Two agents that share one literal with their address and one with their key."""
    flow = Workflow("former", former_components())
    belt = flow.node("AgentMakeToolbelt")
    agents = [
        flow.node(
            "AgentInit", agent_name=name, agent_provider="openai", agent_model="m",
            base_url=Shown(address), extra_body={"seed": 4711}, reasoning_effort=Shown(KEY),
            temperature=0.5, max_thoughts=2, toolbelt_spec=belt["toolbelt_spec"],
        )
        for name in ("one", "two")
    ]  # fmt: skip
    runs = [flow.node("AgentRun", agent_name=x, conversation="Hello!") for x in ("one", "two")]
    changed = flow.node("AgentUpdate", agent_name="one", new_tool_token_budget=900)
    flow.main(belt, *agents, runs[0], changed, runs[1])
    document = json.loads(flow.text())
    wear.shared(address, KEY)(document)
    wear.secrets(KEY)(document)
    _wire_as_key(document)
    return document


def _wire_as_key(document: Document) -> None:
    """A builder puts no key into a file: move its wires to the port that is for it."""
    links = document["layers"][0]["models"]
    for node in nodes_of(document):
        ports = {x["varName"]: x for x in node["ports"]}
        if node["name"] == "AgentInit":
            wires = ports["reasoning_effort"]["links"]
            ports["api_key"]["links"], ports["reasoning_effort"]["links"] = wires, []
            for key in wires:
                links[key]["targetPort"] = ports["api_key"]["id"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "former.xircuits"
    file.write_text(json.dumps(two_agents()), encoding="utf-8")
    return file


def wired(document: Document, name: str) -> dict[str, list[str]]:
    """The literals that are wired to the ports of these nodes, by port."""
    nodes = {x["id"]: x for x in nodes_of(document)}
    ports = {y["id"]: y["varName"] for x in nodes.values() if x["name"] == name for y in x["ports"]}
    found: dict[str, list[str]] = {}
    for link in links_of(document):
        source = nodes[link["source"]]
        if link["targetPort"] in ports and source["name"].startswith("Literal"):
            found.setdefault(ports[link["targetPort"]], []).append(source["id"])
    return found


def test_each_agent_gets_its_model_and_they_share_their_literals_still(file: Path) -> None:
    before = load(file)
    report = adopt_file(file)
    assert report.written
    after = load(report.written)
    said = problems(after, "former_adopted")
    assert said == ["Literal Secret: a secret, in clear for everybody who has the file"]
    old, new = wired(before, "AgentInit"), wired(after, "AgentModel")
    for port in ("base_url", "api_key", "temperature", "extra_body"):
        assert set(new[port]) == set(old[port])
    assert (len(set(new["base_url"])), len(new["base_url"])) == (1, 2)
    assert new["tool_token_budget"] == wired(before, "AgentUpdate")["new_tool_token_budget"]
    assert {x["id"] for x in links_of(before)} <= {x["id"] for x in links_of(after)}
    assert {x.node for x in report.adopted} == {"AgentInit", "AgentRun", "AgentUpdate"}


def test_a_second_time_changes_nothing(file: Path) -> None:
    written = adopt_file(file).written
    assert written
    assert adopt_file(written).status == "nothing to do"
    assert adopt_file(file).status == "adopted"
    assert sorted(x.name for x in file.parent.iterdir()) == [
        "former.xircuits", "former_adopted.xircuits",
    ]  # fmt: skip


@pytest.mark.parametrize("words", [[], ["--json"], ["--in-place"]])
def test_a_key_that_moves_is_not_said(file: Path, capsys: Any, words: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run(["adopt", str(file), *words])
    out, err = capsys.readouterr()
    assert (ended.value.code or 0, err) == (0, "")
    assert "Literal Secret" in out
    assert "`api_key`" in out
    assert "0815" not in out


def test_it_runs_and_asks_whom_it_asked_with_its_key(working_folder: Path) -> None:
    with model_endpoint(lambda _: says("Still here.")) as endpoint:
        file = working_folder / "former.xircuits"
        file.write_text(json.dumps(two_agents(endpoint.base_url)), encoding="utf-8")
        written = adopt_file(file).written
        assert written
        done = run_script(compile_workflow(written))
    assert (done.status, done.errors) == (0, "")
    assert len(endpoint.requests) == 2
    for asked in endpoint.requests:
        assert asked.headers["authorization"] == f"Bearer {KEY}"
        assert (asked.body["seed"], asked.body["temperature"]) == (4711, 0.5)
    assert KEY not in done.output


def test_an_agent_that_has_its_settings_keeps_a_wire_that_is_left_over(file: Path) -> None:
    """Somebody reloaded the node and wired it halfway: there is no second wire to one port."""
    written = adopt_file(file).written
    assert written
    document = load(written)
    agent = next(x for x in nodes_of(document) if x["name"] == "AgentInit")
    port = next(x for x in agent["ports"] if x["varName"] == "system_prompt")
    port |= {"name": "parameter-string-base_url", "varName": "base_url", "label": "base_url"}
    wire = next(x for x in links_of(document) if x["targetPort"] in _ports(document, "AgentModel"))
    link = wire | {"id": "left", "target": agent["id"], "targetPort": port["id"]}
    source = next(
        y for x in nodes_of(document) for y in x["ports"] if y["id"] == wire["sourcePort"]
    )
    for one in (source, port):
        one["links"].append("left")
    document["layers"][0]["models"]["left"] = link
    written.write_text(json.dumps(document), encoding="utf-8")
    report = adopt_file(written)
    assert [(x.node, x.port) for x in report.remarks if x.to_do] == [("AgentInit", "base_url")]


def _ports(document: Document, name: str) -> set[str]:
    return {
        y["id"] for x in nodes_of(document) if x["name"] == name
        for y in x["ports"] if y["varName"] == "base_url"
    }  # fmt: skip
