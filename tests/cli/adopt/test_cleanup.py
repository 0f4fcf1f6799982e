"""What old versions, scripts and hands left in a drawing is mended before it is adopted."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.adopt.test_adopt import command, named
from tests.support.canvas_file import Document, links_of, nodes_of, problems
from tests.support.old_workflows import wear
from tests.support.xai_agent_workflow import upstream_components, xai_agent_workflow
from xai_mcp_agent.cli.adopt.cleanup import clean_up
from xai_mcp_agent.cli.adopt.command import adopt_file
from xai_mcp_agent.cli.adopt.workflow import Workflow

PLAIN = xai_agent_workflow().document()


def worn(*wears: Callable[[Document], None]) -> Document:
    document = copy.deepcopy(PLAIN)
    for one in wears:
        one(document)
    return document


def link(document: Document, into: str) -> dict[str, Any]:
    """The first wire to a port of this name."""
    ports = {y["id"] for x in nodes_of(document) for y in x["ports"] if y["varName"].endswith(into)}
    return next(x for x in links_of(document) if x["targetPort"] in ports)


def backwards(document: Document) -> None:
    wire = link(document, "msg")
    wire |= {
        "source": wire["target"], "sourcePort": wire["targetPort"],
        "target": wire["source"], "targetPort": wire["sourcePort"],
    }  # fmt: skip


def unlisted(document: Document) -> None:
    for node in nodes_of(document):
        for port in node["ports"]:
            port["links"] = []


def mistyped(document: Document) -> None:
    for one in links_of(document):
        one["type"] = "default"


def mended(document: Document) -> tuple[Document, str]:
    """The document as it is mended, and what is said of it."""
    copied = copy.deepcopy(document)
    remarks = clean_up(Workflow(copied))
    return copied, " ".join(x.text for x in remarks)


@pytest.mark.parametrize(
    ("wears", "says"),
    [
        ([wear.loose], "1 wire leads nowhere and is left out."),
        ([wear.doubled("msg")], "1 wire was drawn twice and is there once."),
        ([wear.doubled("agent_name")], "2 wires were drawn twice and are there once."),
        ([backwards], "1 wire was drawn backwards and is turned."),
        ([wear.of_2024], ""),
        ([unlisted], ""),
    ],
    ids=["loose", "doubled", "several", "backwards", "of 2024", "unlisted"],
)
def test_it_is_mended_and_said(wears: list[Callable[[Document], None]], says: str) -> None:
    document = worn(*wears)
    after, said = mended(document)
    assert after != document
    assert problems(after, "clock", upstream_components()) == []
    assert {x["id"] for x in links_of(after)} == {x["id"] for x in links_of(PLAIN)}
    assert said == says


def test_wires_of_any_kind_get_the_one_that_the_compiler_reads() -> None:
    """Arguments are wired as the flow is; it goes by the names of ports."""
    document = worn(mistyped)
    after, said = mended(document)
    kinds = {x["id"]: x["type"] for x in links_of(PLAIN)}
    assert {x["id"]: x["type"] for x in links_of(after)} == kinds
    assert f"{len(kinds)} wires have the kind now that the compiler reads." in said


def test_a_script_s_file_is_adopted(tmp_path: Path) -> None:
    report = adopt_file(named(tmp_path, "clock", json.dumps(worn(wear.of_a_script))))
    assert report.status == "adopted"
    assert report.written
    document = json.loads(report.written.read_text())
    assert {x["type"] for x in links_of(document)} == {"triangle-link", "parameter-link"}


def test_a_drawing_in_order_stays_as_it_is() -> None:
    assert mended(PLAIN) == (PLAIN, "")


def test_two_ports_of_one_id_are_refused(tmp_path: Path, capsys: Any) -> None:
    document = worn()
    first, second = [x for x in nodes_of(document) if x["extras"].get("path")][:2]
    second["ports"][0]["id"] = first["ports"][0]["id"]
    file = named(tmp_path, "twins", json.dumps(document))
    status, out, err = command(capsys, str(file))
    assert (status, out) == (1, "")
    assert "two ports have one id" in err
    assert [x.name for x in tmp_path.iterdir()] == [file.name]


def test_a_key_in_a_literal_is_named_and_not_said(tmp_path: Path, capsys: Any) -> None:
    flow = xai_agent_workflow(organization="sk-0815-not-a-key")
    document = flow.document()
    wear.secrets("sk-0815-not-a-key")(document)
    file = named(tmp_path, "clock", json.dumps(document))
    for words in ([], ["--json"]):
        status, out, err = command(capsys, str(file), *words)
        assert (status, err) == (0, "")
        assert "Literal Secret" in out
        assert "0815" not in out
