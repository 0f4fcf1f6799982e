"""An adopted workflow in a real lab: it opens whole, and keeps its links at Reload."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.canvas_file import Document, links_of, load, nodes_of
from tests.support.lab import Canvas, browser, chromium, lab, open_lab
from tests.support.xai_agent_workflow import install, xai_agent_workflow
from xai_mcp_agent.cli.adopt import adopt_file
from xai_mcp_agent.cli.component_files import our_components
from xai_mcp_agent.cli.init import init_folder

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(chromium() is None, reason="no Chromium on this machine"),
]

ARTEFACTS = Path(__file__).parents[2] / "test-artefacts"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The adopted workflow in a folder where xai-openai is installed and xai-agent is not."""
    folder = init_folder(tmp_path_factory.mktemp("adopted") / "lab").folder
    install("xai_openai", folder)
    written = adopt_file(xai_agent_workflow().write(folder)).written
    assert written is not None
    return written


@pytest.fixture(scope="module")
def canvas(file: Path) -> Iterator[Canvas]:
    """A window with the adopted workflow in front, for all tests here, in their order."""
    with lab(file.parent) as address, browser() as running:
        window = open_lab(running, address)
        window.open_workflow(file.name)
        yield window
        ARTEFACTS.mkdir(exist_ok=True)
        window.page.screenshot(path=ARTEFACTS / "adopted.png")


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


def test_it_opens_with_all_its_nodes(canvas: Canvas, file: Path) -> None:
    assert {x.id for x in canvas.drawn()} == {x["id"] for x in nodes_of(load(file))}
    assert canvas.errors() == []


def test_saving_keeps_every_link(canvas: Canvas, file: Path) -> None:
    before = load(file)
    canvas.touch()
    canvas.save()
    after = load(file)
    assert after != before, "it was not saved"
    assert links(after) == links(before)
    assert {x["id"] for x in links_of(after)} == {x["id"] for x in links_of(before)}


def test_reloading_all_nodes_keeps_every_link_and_gives_our_ports(
    canvas: Canvas, file: Path
) -> None:
    """The canvas goes by the names of ports, which have the type in them."""
    before = links(load(file))
    canvas.reload_all("AgentRun")
    canvas.touch()
    canvas.save()
    after = load(file)
    assert links(after) == before
    (agent,) = [x for x in nodes_of(after) if x["name"] == "AgentInit"]
    ports = {x["varName"].strip("\u2605") for x in agent["ports"]}
    assert ports >= {x.name for x in our_components()["AgentInit"].ports}
    assert canvas.errors() == []


def test_the_lab_compiles_it(canvas: Canvas, file: Path) -> None:
    canvas.compile()
    assert "class clock_adopted" in file.with_suffix(".py").read_text(encoding="utf-8")
