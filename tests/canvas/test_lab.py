"""The quickstart in a real lab: opened, saved, compiled and run as a learner does."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.build_examples import quickstart
from tests.support.canvas_file import Document, links_of, load, nodes_of, problems
from tests.support.lab import Canvas, browser, chromium, lab, open_lab
from tests.support.layout import Box
from xai_mcp_agent.cli.component_files import our_components
from xai_mcp_agent.cli.init import init_folder

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(chromium() is None, reason="no Chromium on this machine"),
]

ARTEFACTS = Path(__file__).parents[2] / "test-artefacts"
EXAMPLE = "examples/quickstart.xircuits"
SIZE_TOLERANCE = 6.0  # pixels; links end this near to their ports at worst


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return init_folder(tmp_path_factory.mktemp("browser") / "lab").folder


@pytest.fixture(scope="module")
def canvas(folder: Path) -> Iterator[Canvas]:
    """A window with the quickstart in front, for all tests here, in their order."""
    with lab(folder) as address, browser() as running:
        window = open_lab(running, address)
        window.open_workflow(EXAMPLE)
        yield window
        ARTEFACTS.mkdir(exist_ok=True)
        window.page.screenshot(path=ARTEFACTS / "quickstart-at-the-end.png")


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


def test_the_quickstart_opens_with_all_its_nodes(canvas: Canvas) -> None:
    ARTEFACTS.mkdir(exist_ok=True)
    canvas.page.screenshot(path=ARTEFACTS / "quickstart.png")
    wanted = {node.id: node.name for node in quickstart().nodes}
    assert {node.id: node.name for node in canvas.drawn()} == wanted
    assert canvas.errors() == []


def test_nothing_on_the_canvas_covers_anything(canvas: Canvas) -> None:
    boxes = {x.id: Box(x.x, x.y, x.width, x.height) for x in canvas.drawn() if not x.held}
    assert len(boxes) > 10
    names = {x.id: x.name for x in canvas.drawn()}
    over = [
        f"{names[a]} and {names[b]}"
        for (a, one), (b, other) in itertools.combinations(boxes.items(), 2)
        if one.is_near(other, 0.0, 0.0)
    ]
    assert over == []


def test_nodes_are_as_large_as_the_layout_says(canvas: Canvas) -> None:
    """Otherwise links would end beside their ports, where the file says that they are."""
    layout = quickstart().layout()
    real = {node.id: node for node in canvas.drawn()}
    for node, box in layout.boxes.items():
        if node.is_note:
            continue
        width, height = real[node.id].width, real[node.id].height
        assert (width, height) == pytest.approx((box.width, box.height), abs=SIZE_TOLERANCE)


def test_saving_keeps_every_node_value_and_link(canvas: Canvas, folder: Path) -> None:
    before = load(folder / EXAMPLE)
    canvas.touch()
    canvas.save()
    after = load(folder / EXAMPLE)
    assert after != before, "it was not saved"
    assert graph(after) == graph(before)
    assert problems(after, "quickstart") == []


def test_reloading_all_nodes_changes_nothing(canvas: Canvas, folder: Path) -> None:
    """What a learner does after an upgrade: the file must name classes and ports as they are."""
    before = named_graph(load(folder / EXAMPLE))
    canvas.reload_all("AgentRun")
    canvas.touch()
    canvas.save()
    assert named_graph(load(folder / EXAMPLE)) == before
    assert canvas.errors() == []


def test_the_lab_compiles_the_quickstart(canvas: Canvas, folder: Path) -> None:
    canvas.compile()
    script = (folder / EXAMPLE).with_suffix(".py")
    assert "class quickstart(Component)" in script.read_text(encoding="utf-8")


def test_run_shows_the_calls_and_the_answer_in_the_panel(canvas: Canvas) -> None:
    text = canvas.run("quickstart").replace("\xa0", " ")
    assert "-> library_search_books" in text
    assert "-> units_convert_units" in text
    assert "*** Around the World in Eighty Days ***" in text.split("Executing: Print")[1]


def test_a_second_run_works_as_the_first(canvas: Canvas) -> None:
    text = canvas.run("quickstart")
    assert "*** Around the World in Eighty Days ***" in text.split("Executing: Print")[1]


def test_the_palette_shows_every_node_with_its_description(canvas: Canvas) -> None:
    canvas.show_palette()
    for name, cls in our_components().items():
        tip = canvas.palette_entry(name).get_attribute("data-tip")
        assert tip is not None
        assert json.loads(tip)["model"]["docstring"] == cls.description
    assert canvas.errors() == []


def test_a_node_explains_itself_when_the_mouse_rests_on_it(canvas: Canvas) -> None:
    tip = canvas.hover_entry("AgentUseMCPTools")
    canvas.page.screenshot(path=ARTEFACTS / "palette.png")
    assert tip.startswith("Gives an agent the tools of one MCP server.")
