"""An adopted workflow in a real lab: it opens whole, and keeps its links at Reload."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.canvas_file import Document, links_of, load, nodes_of
from tests.support.lab_canvas import Canvas
from tests.support.xai_agent_workflow import install, xai_agent_workflow
from xai_mcp_agent.cli.adopt.command import adopt_file
from xai_mcp_agent.drawing.components import our_components

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def file(folder: Path) -> Path:
    """The adopted workflow in a folder where xai-openai is installed and xai-agent is not."""
    install("xai_openai", folder)
    written = adopt_file(xai_agent_workflow().write(folder)).written
    assert written is not None
    return written


@pytest.fixture
def opened(canvas: Canvas, file: Path) -> Canvas:
    """The window with the adopted workflow in front."""
    canvas.open_workflow(file.name)
    return canvas


def links(document: Document) -> list[tuple[str, str, str]]:
    """Links by the names of their ends: a node that is reloaded has new ids."""
    names = {
        port["id"]: f"{node['name']}.{port['name']}"
        for node in nodes_of(document)
        for port in node["ports"]
    }
    return sorted(
        (link["type"], names[link["sourcePort"]], names[link["targetPort"]])
        for link in links_of(document)
    )


def test_it_opens_with_all_its_nodes(opened: Canvas, file: Path) -> None:
    assert {x.id for x in opened.drawn()} == {x["id"] for x in nodes_of(load(file))}
    assert opened.errors() == []


def test_saving_keeps_every_link(opened: Canvas, file: Path) -> None:
    before = load(file)
    opened.touch()
    opened.save()
    after = load(file)
    assert after != before, "it was not saved"
    assert links(after) == links(before)
    assert {x["id"] for x in links_of(after)} == {x["id"] for x in links_of(before)}


def test_reloading_all_nodes_keeps_every_link_and_gives_our_ports(
    opened: Canvas, file: Path
) -> None:
    """The canvas goes by the names of ports, which have the type in them."""
    before = links(load(file))
    opened.reload_all("AgentRun")
    opened.touch()
    opened.save()
    after = load(file)
    assert links(after) == before
    (agent,) = [x for x in nodes_of(after) if x["name"] == "AgentInit"]
    ports = {x["varName"].strip("\u2605") for x in agent["ports"]}
    assert ports >= {x.name for x in our_components()["AgentInit"].ports}
    assert opened.errors() == []


def test_the_lab_compiles_it(opened: Canvas, file: Path) -> None:
    opened.compile()
    assert "class clock_adopted" in file.with_suffix(".py").read_text(encoding="utf-8")
