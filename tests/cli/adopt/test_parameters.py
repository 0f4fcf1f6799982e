"""What drawn tools of xai-agent take is read off the drawing; who reached into it is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.adopt.test_adopt import command, named
from tests.support.canvas_file import load, nodes_of
from tests.support.xai_agent_workflow import upstream_components
from tools.workflows import Workflow
from xai_mcp_agent.cli.adopt.command import adopt_file


def weather(**more: Any) -> tuple[Workflow, Any]:
    """A workflow with a drawn tool; nodes are yet to be drawn behind it."""
    flow = Workflow("weather", upstream_components())
    tool = flow.node("AgentDefineTool", tool_name="t", description="Tells the weather.", **more)
    flow.main(flow.node("Print", msg="x"))
    return flow, tool


def parameters_of(file: Path) -> str:
    """The literal that is wired to `parameters` of the tool."""
    nodes = nodes_of(load(file))
    (tool,) = [x for x in nodes if x["name"] == "AgentDefineTool"]
    (port,) = [x for x in tool["ports"] if x["label"] == "parameters"]
    literals = [x for x in nodes if x["name"] == "Literal Dict"]
    (own,) = [x for x in literals if x["ports"][0]["links"] == port["links"]]
    assert port["dataType"] == "dict"
    return own["ports"][0]["label"]


def test_what_is_looked_up_in_the_arguments_becomes_parameters(tmp_path: Path) -> None:
    flow, tool = weather()
    city = flow.node("DictGetItem", the_dict=tool["tool_args"], key="city")
    days = flow.node("GetDictValue", obj=tool["tool_args"], name="days")
    wait = flow.node("SleepComponent", sleep_timer=days["value"])
    flow.side(tool, city, days, wait, flow.node("Print", msg=city["out_item"]))
    report = adopt_file(named(tmp_path, "weather", flow.text()))
    assert report.written
    assert json.loads("{" + parameters_of(report.written) + "}") == {
        "city": "string", "days": "number",
    }  # fmt: skip
    (remark,) = [x for x in report.remarks if x.port == "parameters"]
    assert "`city` (string), `days` (number)" in remark.text


@pytest.mark.parametrize("code", ['tool_args["zone"]', "x = tool_args.get('zone', 1)"])
def test_what_code_reads_becomes_parameters(code: str, tmp_path: Path) -> None:
    flow, tool = weather()
    flow.side(tool, flow.node("Print", msg=code))
    written = adopt_file(named(tmp_path, "weather", flow.text())).written
    assert written
    assert parameters_of(written) == '"zone": "string"'


def test_adopting_twice_draws_the_same(tmp_path: Path) -> None:
    flow, tool = weather()
    city = flow.node("DictGetItem", the_dict=tool["tool_args"], key='ci"ty \\ x')
    flow.side(tool, city)
    file = named(tmp_path, "weather", flow.text())
    first = adopt_file(file).written
    assert first
    before = first.read_bytes()
    adopt_file(file)
    assert first.read_bytes() == before
    assert json.loads("{" + parameters_of(first) + "}") == {'ci"ty \\ x': "string"}


def test_a_tool_whose_reading_cannot_be_told_is_named(tmp_path: Path) -> None:
    flow, tool = weather()
    flow.side(tool, flow.node("Print", msg=tool["tool_args"]))
    report = adopt_file(named(tmp_path, "weather", flow.text()))
    (remark,) = [x for x in report.remarks if x.port == "parameters"]
    assert "it is unclear what is read" in remark.text


def test_a_tool_that_reads_no_arguments_is_left_as_it_is(tmp_path: Path) -> None:
    flow, tool = weather()
    flow.side(tool, flow.node("Print", msg=tool["tool_input"]))
    report = adopt_file(named(tmp_path, "weather", flow.text()))
    assert not [x for x in report.remarks if x.port == "parameters"]


@pytest.mark.parametrize(
    ("code", "uses"),
    [
        ("ctx['agent_clock']['conversation']", "`ctx['agent_...']`"),
        ('ctx.get(f"toolbelt_{name}")', "`ctx['toolbelt_...']`"),
        ("from xai_components.xai_agent.agent_components import Memory", "`xai_agent.agent_comp"),
    ],
)
def test_a_node_whose_text_reaches_into_the_old_library_is_named(
    code: str, uses: str, tmp_path: Path
) -> None:
    flow, tool = weather()
    flow.side(tool, flow.node("Print", msg=code))
    report = adopt_file(named(tmp_path, "weather", flow.text()))
    (remark,) = [x for x in report.remarks if "of xai-agent, which" in x.text]
    assert remark.node == "Print"
    assert uses in remark.text
    assert remark.to_do


def test_a_node_whose_class_reaches_into_the_old_library_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "xai_components" / "mine"
    folder.mkdir(parents=True)
    (folder / "mine.py").write_text(
        "class Print(Component):\n    def execute(self, ctx):\n"
        "        ctx['agent_' + self.name]\n\n"
        "class Other(Component):\n    pass\n"
    )
    monkeypatch.chdir(tmp_path)
    flow, tool = weather()
    flow.side(tool, flow.node("Print", msg="y"))
    document = json.loads(flow.text())
    for x in nodes_of(document):
        if x["name"] == "Print":
            x["extras"]["path"] = "xai_components/mine/mine.py"
    report = adopt_file(named(tmp_path, "weather", json.dumps(document)))
    named_ones = {x.node for x in report.remarks if "its code uses `ctx['agent_...']`" in x.text}
    assert named_ones == {"Print"}


@pytest.mark.parametrize("path", ["../../etc/passwd", "/etc/passwd", "a\0b.py", "x" * 5_000])
def test_a_path_that_leads_elsewhere_is_not_read(
    path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flow, tool = weather()
    flow.side(tool, flow.node("Print", msg="y"))
    document = json.loads(flow.text())
    for x in nodes_of(document):
        if x["name"] == "Print":
            x["extras"]["path"] = path
    status, _, _ = command(capsys, str(named(tmp_path, "weather", json.dumps(document))))
    assert status == 0
