"""The example workflows are what their descriptions make, and good to look at."""

from __future__ import annotations

import json

import pytest

from tests.support.canvas_file import Document, load, nodes_of, problems
from tests.support.layout_faults import faults
from tools.build_examples import EXAMPLES, all_examples, templates, tool_workflows
from tools.build_lessons import all_lessons, start_of
from tools.workflows import Workflow
from xai_mcp_agent.canvas.workshop.lessons import LESSONS
from xai_mcp_agent.drawing.layout import VIEW_HEIGHT, VIEW_WIDTH

REBUILD = "Rebuild them with: python -m tools.build_examples"


def without_line_numbers(document: Document) -> Document:
    """The line number of a class only helps to open it there."""
    for node in nodes_of(document):
        node["extras"].pop("lineNo", None)
    return document


def test_every_workflow_is_what_its_description_makes_and_has_no_faults() -> None:
    """A port that was renamed, or a docstring that was changed, needs new examples."""
    folders = {".": all_examples(), "workflows": tool_workflows(), "templates": templates()}
    flows = [(flow, EXAMPLES / folder) for folder, flows in folders.items() for flow in flows]
    described = {home / f"{flow.name}.xircuits": flow for flow, home in (*flows, *all_lessons())}
    assert described.keys() == set(EXAMPLES.rglob("*.xircuits"))
    for file, flow in described.items():
        shipped = load(file)
        assert problems(shipped, flow.name) == []
        assert faults(flow) == [], flow.name
        built = json.loads(flow.text())
        assert without_line_numbers(shipped) == without_line_numbers(built), REBUILD


@pytest.mark.parametrize(
    "flow", [*all_examples(), *map(start_of, LESSONS)], ids=lambda flow: flow.name
)
def test_notes_explain_a_workflow(flow: Workflow) -> None:
    notes = [node for node in flow.nodes if node.is_note]
    assert len(notes) >= 3
    assert all(node.extras["commentInput"].isascii() for node in notes)


@pytest.mark.parametrize("flow", all_examples(), ids=lambda flow: flow.name)
def test_the_first_note_of_an_example_says_whether_it_goes_on_below(flow: Workflow) -> None:
    """The window is 1366x768; an example that touches its edge is still visible as a whole."""
    (first,) = (x for x in flow.nodes if x.is_note and x.name.startswith("1. "))
    says_so = "Drag the empty canvas up for the rest." in first.extras["commentInput"]
    assert says_so is (lowest_edge(flow) > VIEW_HEIGHT)


@pytest.mark.parametrize("flow", templates(), ids=lambda flow: flow.name)
def test_a_template_fits_into_a_small_window(flow: Workflow) -> None:
    """Its notes speak of all its parts."""
    layout = flow.layout()
    view = layout.view()
    assert lowest_edge(flow) <= VIEW_HEIGHT
    assert max(x.right for x in layout.boxes.values()) * view.zoom / 100 + view.x <= VIEW_WIDTH


def lowest_edge(flow: Workflow) -> float:
    """The lower edge of the lowest node, in the canvas's window."""
    layout = flow.layout()
    view = layout.view()
    return max(x.bottom for x in layout.boxes.values()) * view.zoom / 100 + view.y
