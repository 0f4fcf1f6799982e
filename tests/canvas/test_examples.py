"""The example workflows are what their descriptions make, and good to look at."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.canvas_file import Document, load, nodes_of, problems
from tests.support.layout_faults import faults
from tools.build_examples import EXAMPLES, all_examples, templates, used_workflows
from tools.workflows import Workflow
from xai_mcp_agent.drawing.layout import VIEW_HEIGHT, VIEW_WIDTH

REBUILD = "Rebuild them with: python -m tools.build_examples"

each_example = pytest.mark.parametrize("flow", all_examples(), ids=lambda flow: flow.name)


def without_line_numbers(document: Document) -> Document:
    """Where a class stands in its file only helps to open it there."""
    for node in nodes_of(document):
        node["extras"].pop("lineNo", None)
    return document


@each_example
def test_an_example_is_what_its_description_makes(flow: Workflow) -> None:
    """A port that was renamed, or a docstring that was changed, needs new examples."""
    shipped = load(EXAMPLES / f"{flow.name}.xircuits")
    made = json.loads(flow.text())
    assert without_line_numbers(shipped) == without_line_numbers(made), REBUILD


BESIDE = [*(("workflows", x) for x in used_workflows()), *(("templates", x) for x in templates())]


@pytest.mark.parametrize(("folder", "flow"), BESIDE, ids=[x.name for _, x in BESIDE])
def test_what_lies_beside_the_examples_is_what_its_description_makes(
    folder: str, flow: Workflow
) -> None:
    file = EXAMPLES / folder / f"{flow.name}.xircuits"
    assert without_line_numbers(load(file)) == without_line_numbers(json.loads(flow.text())), (
        REBUILD
    )
    assert problems(load(file), file.stem) == []
    assert faults(flow) == []


def test_every_workflow_among_the_examples_has_a_description() -> None:
    files = {file.stem for file in EXAMPLES.glob("*.xircuits")}
    assert files == {flow.name for flow in all_examples()}


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.xircuits")), ids=lambda file: file.stem)
def test_an_example_keeps_the_rules_of_canvas_and_compiler(file: Path) -> None:
    assert problems(load(file), file.stem) == []


@each_example
def test_nothing_in_an_example_covers_or_crosses_anything(flow: Workflow) -> None:
    assert faults(flow) == []


@each_example
def test_an_example_that_goes_on_below_the_window_says_so_at_its_top(flow: Workflow) -> None:
    """In a window of 1366x768; one that just touches its edge is seen to be whole."""
    (first,) = (x for x in flow.nodes if x.is_note and x.name.startswith("1. "))
    says_so = "Drag the empty canvas up for the rest." in first.extras["commentInput"]
    assert says_so is (lowest_edge(flow) > VIEW_HEIGHT)


@pytest.mark.parametrize("flow", templates(), ids=lambda flow: flow.name)
def test_all_of_a_template_is_in_sight_in_a_small_window(flow: Workflow) -> None:
    """Its notes speak of all its parts."""
    layout = flow.layout()
    view = layout.view()
    assert lowest_edge(flow) <= VIEW_HEIGHT
    assert max(x.right for x in layout.boxes.values()) * view.zoom / 100 + view.x <= VIEW_WIDTH


def lowest_edge(flow: Workflow) -> float:
    """Where on the canvas's window the lowest node ends."""
    layout = flow.layout()
    view = layout.view()
    return max(x.bottom for x in layout.boxes.values()) * view.zoom / 100 + view.y


@each_example
def test_every_part_of_an_example_is_explained_to_a_learner(flow: Workflow) -> None:
    notes = [node for node in flow.nodes if node.is_note]
    assert len(notes) >= 3
    assert all(node.extras["commentInput"].isascii() for node in notes)


def test_the_same_description_gives_the_same_file() -> None:
    once, again = ([flow.text() for flow in all_examples()] for _ in range(2))
    assert once == again
