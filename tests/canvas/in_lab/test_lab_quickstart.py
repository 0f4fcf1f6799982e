"""The quickstart in the lab, saved and reloaded: its file stays what it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.canvas_file import Document, links_of, load, nodes_of, problems
from tests.support.lab_canvas import Canvas
from tools.example_agents import quickstart

pytestmark = pytest.mark.browser

EXAMPLE = "examples/ex01_quickstart.xircuits"
SIZE_TOLERANCE = 6.0  # pixels; links end this near to their ports at worst


@pytest.fixture
def opened(canvas: Canvas) -> Canvas:
    """The window with the quickstart open."""
    canvas.open_workflow(EXAMPLE)
    return canvas


def graph(document: Document) -> list[object]:
    """Nodes with their values and links by their ends, whatever the canvas adds to them."""
    nodes = [
        (node["id"], node["name"], sorted((p["name"], p["label"]) for p in node["ports"]))
        for node in nodes_of(document)
    ]
    links = [(link["type"], link["sourcePort"], link["targetPort"]) for link in links_of(document)]
    return [sorted(nodes), sorted(links)]


def named_graph(document: Document) -> list[object]:
    """The same by names, for when the canvas has given new ids."""
    names = {
        port["id"]: f"{node['name']}.{port['name']}"
        for node in nodes_of(document)
        for port in node["ports"]
    }
    links = [(names[x["sourcePort"]], names[x["targetPort"]]) for x in links_of(document)]
    nodes = [node["name"] for node in nodes_of(document)]
    return [sorted(nodes), sorted(names.values()), sorted(links)]


def test_nodes_are_as_large_as_the_layout_says(opened: Canvas) -> None:
    """Otherwise links would end beside their ports, where the file says that they are."""
    layout = quickstart().layout()
    real = {node.id: node for node in opened.drawn()}
    for node, box in layout.boxes.items():
        if node.is_note:
            continue
        width, height = real[node.id].width, real[node.id].height
        assert (width, height) == pytest.approx((box.width, box.height), abs=SIZE_TOLERANCE)


def test_saving_keeps_every_node_value_and_link(opened: Canvas, folder: Path) -> None:
    before = load(folder / EXAMPLE)
    opened.touch()
    opened.save()
    after = load(folder / EXAMPLE)
    assert after != before, "it was not saved"
    assert graph(after) == graph(before)
    assert problems(after, "ex01_quickstart") == []


def test_reloading_all_nodes_changes_nothing(opened: Canvas, folder: Path) -> None:
    """What a learner does after an upgrade: the file must name classes and ports as they are."""
    before = named_graph(load(folder / EXAMPLE))
    opened.reload_all("AgentRun")
    opened.touch()
    opened.save()
    assert named_graph(load(folder / EXAMPLE)) == before
    assert opened.errors() == []
