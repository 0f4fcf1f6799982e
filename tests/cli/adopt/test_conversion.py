"""Workflows of xai-agent are converted so that nothing a person drew is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.adopt.test_adopt import adopt
from tests.support.canvas_file import Document, links_of, nodes_of
from tests.support.xai_agent_workflow import document_after, upstream_components
from tools.workflows import Workflow
from xai_mcp_agent.cli.adopt.command import FileReport, adopt_file
from xai_mcp_agent.drawing.components import our_components

ORIGINAL = document_after()
# What adopting may change; all else of a node or port stays as it is.
OURS_OF_NODE = {"color", "extras", "ports", "portsInOrder", "portsOutOrder"}
OURS_OF_PORT = {"name", "label", "varName", "dataType"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def remarks_of(report: FileReport) -> dict[str, bool]:
    """Return the remarks about each node, and whether each is to do."""
    return {f"{x.node}: {x.text}": x.to_do for x in report.remarks}


def by_id(document: Document) -> dict[str, dict[str, Any]]:
    return {node["id"]: node for node in nodes_of(document)}


def node(document: Document, name: str) -> dict[str, Any]:
    return next(x for x in nodes_of(document) if x["name"] == name)


def without(item: dict[str, Any], keys: set[str]) -> dict[str, Any]:
    return {key: value for key, value in item.items() if key not in keys}


def with_text(text: str, name: str) -> Document:
    """Return the workflow of the tests with another text in a port of AgentInit."""
    document = document_after()
    for port in node(document, "AgentInit")["ports"]:
        if port["varName"].endswith(name):
            (link,) = [x for x in links_of(document) if x["targetPort"] == port["id"]]
            by_id(document)[link["source"]]["ports"][0]["label"] = text
    return document


def test_every_node_of_xai_agent_gets_our_class(folder: Path):
    report, document = adopt(folder, ORIGINAL)
    ours = [x for x in nodes_of(ORIGINAL) if x["extras"].get("path", "").count("xai_agent")]
    assert {x.node_id for x in report.adopted} == {x["id"] for x in ours}
    tool, cls = node(document, "AgentDefineTool"), our_components()["AgentDefineTool"]
    first, last = cls.lines
    assert tool["extras"] == {
        "type": "Start",
        "path": cls.path,
        "description": cls.description,
        "lineNo": [{"lineno": first, "end_lineno": last}],
    }
    assert tool["color"] == cls.color


def test_ids_positions_values_and_links_stay(folder: Path):
    report, adopted = adopt(folder, ORIGINAL)
    assert without(adopted, {"layers"}) == without(ORIGINAL, {"layers"})
    assert links_of(adopted) == links_of(ORIGINAL)
    assert list(by_id(adopted)) == list(by_id(ORIGINAL))
    converted = {x.node_id for x in report.adopted}
    for node_id, old in by_id(ORIGINAL).items():
        new = by_id(adopted)[node_id]
        if node_id not in converted:
            assert new == old
            continue
        assert without(new, OURS_OF_NODE) == without(old, OURS_OF_NODE)
        ports = {x["id"]: x for x in new["ports"]}
        for port in old["ports"]:
            assert without(ports[port["id"]], OURS_OF_PORT) == without(port, OURS_OF_PORT)


def test_a_type_of_xai_agent_becomes_ours_at_both_ends_of_a_link(folder: Path):
    _, document = adopt(folder, ORIGINAL)
    for name, label, full_name in (
        ("AgentInit", "agent_memory", "parameter-any-agent_memory"),
        ("AgentNumpyMemory", "memory", "parameter-out-any-memory"),
    ):
        (port,) = [x for x in node(document, name)["ports"] if x["label"] == label]
        assert (port["name"], port["dataType"]) == (full_name, "any")


# What is reported


def test_the_report_names_the_source_of_the_key_and_the_libraries_still_needed(folder: Path):
    key, library = adopt(folder, ORIGINAL)[0].remarks
    assert ("OPENAI_API_KEY" in key.text, "`api_key`" in key.text, key.to_do) == (True,) * 3
    assert "still needs the library xai_openai" in library.text
    assert not library.to_do


def test_a_node_that_only_xai_agent_has_is_reported_and_stays(folder: Path):
    def rename(document: Document) -> None:
        node(document, "AgentRun")["name"] = "AgentMeditate"

    document = document_after(rename)
    report, after = adopt(folder, document)
    says = "AgentMeditate: there is no such node here"
    assert [to_do for x, to_do in remarks_of(report).items() if x.startswith(says)] == [True]
    assert node(after, "AgentMeditate") == node(document, "AgentMeditate")
    again = adopt_file(report.written or folder)
    assert again.status == "nothing to do"
    assert [x.node for x in again.remarks] == ["AgentMeditate"]


@pytest.mark.parametrize("is_wired", [True, False])
def test_a_wired_port_that_our_class_lacks_is_reported(folder: Path, is_wired: bool):
    def rename(document: Document) -> None:
        ports = node(document, "AgentRun")["ports"]
        (port,) = [x for x in ports if x["name"].endswith("conversation") and x["in"]]
        port |= {"name": "parameter-any-dialogue", "label": "dialogue", "varName": "dialogue"}
        if not is_wired:
            for link in port["links"]:
                del document["layers"][0]["models"][link]

    report, document = adopt(folder, document_after(rename))
    texts = [x for x in remarks_of(report) if "`dialogue`" in x]
    assert [remarks_of(report)[x] for x in texts] == [True] * is_wired
    labels = [x["label"] for x in node(document, "AgentRun")["ports"]]
    assert ("dialogue" in labels) is is_wired


@pytest.mark.parametrize(
    ("provider", "says", "to_do"),
    [
        ("antropic", "Did you mean 'anthropic'", True),
        ("azure", "not a provider here", True),
        ("sk-" + "x" * 60, "Known: offline", True),
        ("Bedrock ", "xai-mcp-agent[providers]", False),
    ],
)
def test_a_provider_that_is_unknown_or_needs_an_extra_is_reported(
    folder: Path, provider: str, says: str, to_do: bool
):
    remarks = remarks_of(adopt(folder, with_text(provider, "agent_provider"))[0])
    (text,) = [x for x in remarks if x.startswith("AgentInit")]
    assert (says in text, remarks[text], "sk-" in text) == (True, to_do, False)


def test_doubled_braces_in_a_prompt_are_reported(folder: Path):
    """xai-agent fills a prompt with str.format; here other braces stay (design.md, section 4)."""
    for prompt, count in (('Answer {{"a": 1}}.', 1), ("{tools} {{tools}}", 0)):
        remarks = remarks_of(adopt(folder, with_text(prompt, "system_prompt"))[0])
        assert len([x for x in remarks if "braces" in x]) == count


def other_library(document: Document) -> None:
    for x in nodes_of(document):
        if "xai_agent" in x["extras"].get("path", ""):
            x["extras"]["path"] = "xai_components/xai_other/agents.py"


def test_a_node_of_another_library_is_converted_if_it_has_the_same_ports(folder: Path):
    """Otherwise the class merely has the name of one of ours."""

    def rename(document: Document) -> None:
        other_library(document)
        (port,) = [x for x in node(document, "AgentMakeToolbelt")["ports"] if x["label"] == "name"]
        port |= {"name": "parameter-string-title", "label": "title", "varName": "title"}

    document = document_after(rename)
    report, after = adopt(folder, document)
    assert len(report.adopted) == 5
    assert node(after, "AgentMakeToolbelt") == node(document, "AgentMakeToolbelt")
    (text,) = [x for x in remarks_of(report) if x.startswith("AgentMakeToolbelt: it is of")]
    assert "(`title`)" in text


def test_several_values_of_one_port_keep_their_places(folder: Path):
    flow = Workflow("several", upstream_components())
    time = flow.node("GetCurrentTime")
    tool = flow.node("AgentDefineTool", tool_name="t", description="Tells.")
    flow.main(flow.node("Print", msg="x"))
    flow.side(tool, time, flow.node("AgentToolOutput", results=[time["time_str"], "now", "then"]))
    report, after = adopt(folder, flow)
    before, values = (
        [x for x in node(document, "AgentToolOutput")["ports"] if x["dataType"] == "dynalist"]
        for document in (flow.document(), after)
    )
    assert (values, report.remarks) == (before, ())
