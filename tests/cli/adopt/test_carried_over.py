"""Adopted workflows keep the service's address, and their drawn tools get parameters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.adopt.test_adopt import adopt
from tests.support.canvas_file import Document, links_of, load, nodes_of, problems
from tests.support.old_workflows import wear
from tests.support.xai_agent_workflow import upstream_components, xai_agent_workflow
from tools.components import all_components
from tools.workflows import Argument, LiteralNode, Workflow
from xai_mcp_agent.canvas.model_settings import UNDECIDED
from xai_mcp_agent.cli.adopt.command import FileReport, adopt_file

OURS = "https://llm.example.com/v1"


def adopt_soundly(flow: Workflow, folder: Path) -> tuple[FileReport, Document]:
    report = adopt_file(flow.write(folder))
    assert report.written is not None
    document = load(report.written)
    classes = all_components() | {"OpenAIAuthorize": upstream_components()["OpenAIAuthorize"]}
    assert problems(document, report.written.stem, classes) == []
    return report, document


def nodes_at(document: Document, name: str, port: str) -> list[dict[str, Any]]:
    """Return the nodes that are wired to a port of all nodes of a class."""
    nodes = {x["id"]: x for x in nodes_of(document)}
    ids = {p["id"] for x in nodes.values() if x["name"] == name for p in x["ports"]
           if p["varName"].endswith(port)}  # fmt: skip
    return [nodes[x["source"]] for x in links_of(document) if x["targetPort"] in ids]


def agents(flow: Workflow, *providers: str) -> list[Any]:
    """Draw a memory, a toolbelt, and an agent of each of these providers."""
    memory, belt = flow.node("AgentNumpyMemory"), flow.node("AgentMakeToolbelt", name="default")
    ports = {
        "agent_model": "m", "system_prompt": "x", "max_thoughts": 1,
        "agent_memory": memory["memory"], "toolbelt_spec": belt["toolbelt_spec"],
    }  # fmt: skip
    inits = [
        flow.node("AgentInit", agent_name=f"a{number}", agent_provider=provider, **ports)
        for number, provider in enumerate(providers)
    ]
    return [memory, belt, *inits]


def draw_agents_of(addresses: list[Any], *providers: str) -> Workflow:
    """Draw a node that unlocks the service for each address, then agents of these providers."""
    flow = Workflow("flow", upstream_components())
    keys = [flow.node("OpenAIAuthorize", **({"base_url": x} if x else {})) for x in addresses]
    flow.main(*keys, *agents(flow, *providers))
    return flow


def test_the_address_of_a_service_is_carried_over(tmp_path: Path):
    for address in (OURS, LiteralNode(OURS)):
        report, document = adopt_soundly(xai_agent_workflow(base_url=address), tmp_path)
        (literal,) = nodes_at(document, "AgentModel", "base_url")
        assert literal["ports"][0]["label"] == OURS
        (remark,) = [x for x in report.remarks if x.port == "base_url"]
        assert (remark.node, remark.to_do) == ("AgentInit", False)
        (key,) = [x for x in report.remarks if x.to_do]
        assert "OPENAI_API_KEY goes to OpenAI alone" in key.text
        assert report.written is not None
        before = report.written.read_bytes()
        assert adopt_file(report.file).status == "adopted"
        assert report.written.read_bytes() == before, "again it draws the same"
        assert adopt_file(report.written).status == "nothing to do"
        report.written.unlink()
    _, document = adopt_soundly(xai_agent_workflow(base_url=Argument("address")), tmp_path)
    (argument,) = nodes_at(document, "AgentModel", "base_url")
    assert argument == nodes_at(document, "OpenAIAuthorize", "base_url")[0]


def test_only_agents_of_a_service_get_its_address(tmp_path: Path):
    report, document = adopt_soundly(draw_agents_of([OURS, OURS], "openai", "bedrock"), tmp_path)
    assert len(nodes_at(document, "AgentModel", "base_url")) == 1
    assert [x.to_do for x in report.remarks if x.port == "base_url"] == [False]


@pytest.mark.parametrize(
    "addresses", [[OURS, "https://other.example/v1"], [OURS, None], []],
    ids=["two", "one of two", "computed"],
)  # fmt: skip
def test_an_unclear_address_must_be_decided_before_the_workflow_runs(
    tmp_path: Path, addresses: list[Any]
):
    """The order of nodes decides whether a computed address exists when the agent is set up."""
    flow = draw_agents_of(addresses, "openai")
    if not addresses:
        flow = Workflow("flow", upstream_components())
        now = flow.node("GetCurrentTime")
        key = flow.node("OpenAIAuthorize", base_url=now["time_str"])
        flow.main(now, key, *agents(flow, "openai"))
    report, document = adopt_soundly(flow, tmp_path)
    (literal,) = nodes_at(document, "AgentModel", "base_url")
    assert literal["ports"][0]["label"] == UNDECIDED
    first = report.remarks[0]
    assert (first.node, first.port, first.to_do) == ("AgentInit", "base_url", True)


def test_a_workflow_without_agents_reports_that_others_do_not_get_its_address(tmp_path: Path):
    flow = Workflow("flow", upstream_components())
    flow.main(
        flow.node("OpenAIAuthorize", base_url=OURS),
        flow.node("AgentRun", agent_name="of another file", conversation=LiteralNode([])),
    )
    report, _ = adopt_soundly(flow, tmp_path)
    assert (report.remarks[0].node, report.remarks[0].to_do) == ("OpenAIAuthorize", True)


# Parameters of drawn tools


def weather(**more: Any) -> tuple[Workflow, Any]:
    """Return a workflow with a drawn tool that has no nodes behind it yet."""
    flow = Workflow("weather", upstream_components())
    tool = flow.node("AgentDefineTool", tool_name="t", description="Tells the weather.", **more)
    flow.main(flow.node("Print", msg="x"))
    return flow, tool


def parameters_of(document: Document) -> str:
    """Return the text of the literal at the tool's port `parameters`."""
    nodes = nodes_of(document)
    (tool,) = [x for x in nodes if x["name"] == "AgentDefineTool"]
    (port,) = [x for x in tool["ports"] if x["label"] == "parameters"]
    literals = [x for x in nodes if x["name"] == "Literal Dict"]
    (own,) = [x for x in literals if x["ports"][0]["links"] == port["links"]]
    assert port["dataType"] == "dict"
    return own["ports"][0]["label"]


def test_arguments_that_nodes_look_up_become_parameters(tmp_path: Path):
    flow, tool = weather()
    city = flow.node("DictGetItem", the_dict=tool["tool_args"], key="city")
    days = flow.node("GetDictValue", obj=tool["tool_args"], name="days")
    wait = flow.node("SleepComponent", sleep_timer=days["value"])
    flow.side(tool, city, days, wait, flow.node("Print", msg=city["out_item"]))
    report, document = adopt(tmp_path, flow)
    parameters = json.loads("{" + parameters_of(document) + "}")
    assert parameters == {"city": "string", "days": "number"}
    (remark,) = [x for x in report.remarks if x.port == "parameters"]
    assert "`city` (string), `days` (number)" in remark.text


def test_arguments_that_code_reads_become_parameters(tmp_path: Path):
    for code in ('tool_args["zone"]', "x = tool_args.get('zone', 1)"):
        flow, tool = weather()
        flow.side(tool, flow.node("Print", msg=code))
        assert parameters_of(adopt(tmp_path, flow)[1]) == '"zone": "string"'


def test_a_tool_is_reported_if_it_is_unclear_which_arguments_it_reads(tmp_path: Path):
    for port, texts in (("tool_args", ["it is unclear what is read"]), ("tool_input", [])):
        flow, tool = weather()
        flow.side(tool, flow.node("Print", msg=tool[port]))
        report, _ = adopt(tmp_path, flow)
        remarks = [x.text for x in report.remarks if x.port == "parameters"]
        assert [x in y for x, y in zip(texts, remarks, strict=True)] == [True] * len(texts)


def test_a_node_that_uses_internals_of_xai_agent_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for code, uses in (
        ("ctx['agent_clock']['conversation']", "`ctx['agent_...']`"),
        ('ctx.get(f"toolbelt_{name}")', "`ctx['toolbelt_...']`"),
        ("from xai_components.xai_agent.agent_components import Memory", "`xai_agent.agent_comp"),
    ):
        flow, tool = weather()
        flow.side(tool, flow.node("Print", msg=code))
        report, _ = adopt(tmp_path, flow)
        (remark,) = [x for x in report.remarks if "of xai-agent, which" in x.text]
        assert (remark.node, remark.to_do, uses in remark.text) == ("Print", True, True)
    folder = tmp_path / "xai_components" / "mine"
    folder.mkdir(parents=True)
    (folder / "mine.py").write_text(
        "class Print(Component):\n    def execute(self, ctx):\n        ctx['agent_' + self.name]\n"
    )
    monkeypatch.chdir(tmp_path)
    flow, tool = weather()
    flow.side(tool, flow.node("Print", msg="y"))
    document = flow.document()
    wear.at_path("xai_components/mine/mine.py", "Print")(document)
    report, _ = adopt(tmp_path, document)
    nodes = {x.node for x in report.remarks if "mine.py uses `ctx['agent_...']`" in x.text}
    assert nodes == {"Print"}
