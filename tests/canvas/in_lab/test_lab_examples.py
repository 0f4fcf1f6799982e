"""Every example in the lab: opened, measured, compiled, run, and asked a question in the panel."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.lab_canvas import Canvas
from tests.support.lab_drawing import measure
from tests.support.lab_panel import Panel
from tools.build_examples import all_examples
from tools.workflows import Workflow

from .conftest import MODEL_ANSWER

pytestmark = pytest.mark.browser

# The button's questions are the same for all; the others run in the panel alone.
WITH_RUN_BUTTON = "ex01_quickstart"
# What an example must tell at its end; all others must tell something.
ANSWERS = {
    "ex01_quickstart": "Moby-Dick",
    "ex09_quickstart_with_many_tools": "113.0973355",
    "ex05_openai_compatible": MODEL_ANSWER,
    "ex13_history_of_an_agent": "library.search_books: called",
    "ex02_builtin_tools": "12",
    "ex03_mcp_without_a_model": "A loan lasts 21 days.",
    "ex15_plan_and_run": '"reader": "Ada"',
    "ex14_tools_that_fit_together": "A search for this finds library/borrow_book first",
    "ex04_two_servers_and_a_drawn_tool": "*** Around the World in Eighty Days ***",
    "ex08_native_and_text": "42.16",
    "ex11_router_with_two_routes": "A loan lasts 21 days.",
    "ex06_memory_of_an_agent": "my dog is called Rex",
    "ex10_agent_as_a_tool": "Moby-Dick",
    "ex07_progress_of_an_agent": "I will use library_list_loans",
}


@pytest.mark.parametrize("flow", all_examples(), ids=lambda flow: flow.name)
def test_an_example_is_good_to_see_and_runs(
    canvas: Canvas, panel: Panel, flow: Workflow, artefacts: Path
) -> None:
    path = f"examples/{flow.name}"
    canvas.open_workflow(f"{path}.xircuits")
    drawing = measure(canvas)
    assert {x.id for x in canvas.drawn()} == {node.id for node in flow.nodes}
    assert len(drawing.boxes) == sum(node.is_drawn for node in flow.nodes)
    assert len(drawing.lines) == sum(link.is_drawn for link in flow.links)
    assert drawing.faults() == []
    canvas.picture(artefacts / f"example-{flow.name}.png")
    canvas.compile()
    if flow.name == WITH_RUN_BUTTON:
        text = canvas.run()
        assert text.strip().endswith("Finished Executing"), text
        assert "Moby-Dick" in text.partition("Executing: ")[2]
        assert "!!" not in text, text
    panel.begin_anew().run()
    assert panel.turns.last.get_attribute("data-state") == "done"
    assert ANSWERS.get(flow.name, "") in panel.unfold()
    if panel.box.is_enabled():
        assert "Which books are there?" in panel.ask("Which books are there?")
        assert panel.turns.last.get_attribute("data-state") == "done"
    assert canvas.errors() == []
