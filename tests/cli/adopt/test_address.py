"""An adopted workflow asks whom it asked before, or nobody until somebody has decided."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.canvas_file import Document, links_of, load, nodes_of, problems
from tests.support.xai_agent_workflow import upstream_components, xai_agent_workflow
from tools.components import all_components
from tools.workflows import Argument, Shown, Workflow
from xai_mcp_agent.canvas.model_settings import UNDECIDED
from xai_mcp_agent.cli.adopt.command import FileReport, adopt_file

OURS = "https://llm.example.com/v1"


def adopted(flow: Workflow, folder: Path) -> tuple[FileReport, Document]:
    report = adopt_file(flow.write(folder))
    assert report.written is not None
    document = load(report.written)
    known = all_components() | {"OpenAIAuthorize": upstream_components()["OpenAIAuthorize"]}
    assert problems(document, report.written.stem, known) == []
    return report, document


def wired(document: Document, name: str, port: str) -> list[dict[str, Any]]:
    """What is wired to this port, of all nodes of that class."""
    nodes = {x["id"]: x for x in nodes_of(document)}
    ids = {p["id"] for x in nodes.values() if x["name"] == name for p in x["ports"]
           if p["varName"].endswith(port)}  # fmt: skip
    return [nodes[x["source"]] for x in links_of(document) if x["targetPort"] in ids]


def agents(flow: Workflow, *providers: str) -> list[Any]:
    """A memory, a toolbelt, and an agent of each of these providers."""
    memory, belt = flow.node("AgentNumpyMemory"), flow.node("AgentMakeToolbelt", name="default")
    made = [
        flow.node(
            "AgentInit",
            agent_name=f"a{number}",
            agent_provider=provider,
            agent_model="m",
            system_prompt="x",
            max_thoughts=1,
            agent_memory=memory["memory"],
            toolbelt_spec=belt["toolbelt_spec"],
        )
        for number, provider in enumerate(providers)
    ]
    return [memory, belt, *made]


def unlocked(addresses: list[Any], *providers: str) -> Workflow:
    """A node that unlocks the service for each address, then agents of these providers."""
    flow = Workflow("flow", upstream_components())
    keys = [flow.node("OpenAIAuthorize", **({"base_url": x} if x else {})) for x in addresses]
    flow.main(*keys, *agents(flow, *providers))
    return flow


@pytest.mark.parametrize("given", [OURS, Shown(OURS)])
def test_an_address_is_carried_over(tmp_path: Path, given: Any):
    report, document = adopted(xai_agent_workflow(base_url=given), tmp_path)
    (literal,) = wired(document, "AgentModel", "base_url")
    assert literal["ports"][0]["label"] == OURS
    (told,) = [x for x in report.remarks if x.port == "base_url"]
    assert (told.node, told.to_do) == ("AgentInit", False)
    (key,) = [x for x in report.remarks if x.to_do]
    assert "OPENAI_API_KEY goes to OpenAI alone" in key.text


def test_an_address_that_is_an_argument_is_carried_over(tmp_path: Path):
    _, document = adopted(xai_agent_workflow(base_url=Argument("address")), tmp_path)
    (argument,) = wired(document, "AgentModel", "base_url")
    assert argument == wired(document, "OpenAIAuthorize", "base_url")[0]


def test_only_agents_of_that_service_get_it(tmp_path: Path):
    report, document = adopted(unlocked([OURS, OURS], "openai", "bedrock"), tmp_path)
    assert len(wired(document, "AgentModel", "base_url")) == 1
    assert [x.to_do for x in report.remarks if x.port == "base_url"] == [False]


@pytest.mark.parametrize("addresses", [[OURS, "https://other.example/v1"], [OURS, None]])
def test_where_several_could_be_meant_the_run_refuses_until_it_is_decided(
    tmp_path: Path, addresses: list[Any]
):
    report, document = adopted(unlocked(addresses, "openai"), tmp_path)
    (literal,) = wired(document, "AgentModel", "base_url")
    assert literal["ports"][0]["label"] == UNDECIDED
    first = report.remarks[0]
    assert (first.node, first.port, first.to_do) == ("AgentInit", "base_url", True)


def test_an_address_that_is_computed_is_to_be_decided(tmp_path: Path):
    """Whether it would be there when the agent is set up depends on the order of the nodes."""
    flow = Workflow("flow", upstream_components())
    time = flow.node("GetCurrentTime")
    key = flow.node("OpenAIAuthorize", base_url=time["time_str"])
    flow.main(time, key, *agents(flow, "openai"))
    report, document = adopted(flow, tmp_path)
    assert wired(document, "AgentModel", "base_url")[0]["ports"][0]["label"] == UNDECIDED
    assert report.remarks[0].port == "base_url"
    assert report.remarks[0].to_do


def test_a_workflow_without_agents_tells_that_others_do_not_hear_of_its_address(tmp_path: Path):
    flow = Workflow("flow", upstream_components())
    flow.main(
        flow.node("OpenAIAuthorize", base_url=OURS),
        flow.node("AgentRun", agent_name="of another file", conversation=Shown([])),
    )
    report, _ = adopted(flow, tmp_path)
    assert (report.remarks[0].node, report.remarks[0].to_do) == ("OpenAIAuthorize", True)


def test_adopting_again_changes_nothing(tmp_path: Path):
    file = xai_agent_workflow(base_url=OURS).write(tmp_path)
    first = adopt_file(file)
    assert first.written is not None
    before = first.written.read_bytes()
    assert adopt_file(file).status == "adopted"
    assert first.written.read_bytes() == before
    assert adopt_file(first.written).status == "nothing to do"
