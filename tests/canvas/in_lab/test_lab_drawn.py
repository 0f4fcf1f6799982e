"""Workflows in the lab that no person drew: examples, drawn runs, and adopted ones.

They open whole, keep what they are when they are saved, compile and run. Who decided it for
drawn runs: issue 16, how drawing is proved.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.canvas_file import Document, links_by_name, links_of, load, nodes_of, problems
from tests.support.lab_canvas import FRONT, Canvas
from tests.support.lab_drawing import measure
from tests.support.lab_panel import Panel
from tests.support.old_workflows.drawn import SHAPES
from tests.support.processes import wait_until
from tests.support.scripts import compile_workflow, run_script
from tests.support.xai_agent_workflow import install, xai_agent_workflow
from tools.build_examples import all_examples
from xai_mcp_agent.cli.adopt.command import adopt_file
from xai_mcp_agent.cli.main import run
from xai_mcp_agent.drawing.components import our_components

from .conftest import LAB_PYTHON

pytestmark = pytest.mark.browser

# The examples whose turns in the panel have something that no other test there has: an agent inside
# an agent, and no agent at all.
IN_PANEL = {
    "ex10_agent_as_a_tool": "Moby-Dick",
    "ex15_plan_and_run": '"reader": "Ada"',
}
# Its run has two servers and a drawn tool. What is changed in its drawing, and is then to be seen.
EXAMPLE = "ex04_two_servers_and_a_drawn_tool"
EDIT = "value = 80", "value = 160", "22.857"


def test_the_lab_is_the_one_that_was_asked_for_and_has_our_extension_as_it_is(
    canvas: Canvas,
) -> None:
    """JupyterLab loads it as its builder's output, which it is not."""
    ask = "from importlib.metadata import version; print(version('jupyterlab'))"
    version = subprocess.run([LAB_PYTHON, "-c", ask], capture_output=True, text=True, check=True)
    assert canvas.page.evaluate("() => window.jupyterapp.version") == version.stdout.strip()
    is_loaded = "name => window.jupyterapp.isPluginActivated(name)"
    for part in ("xai-mcp-agent:run-card", "xai-mcp-agent:panel-tab"):
        assert canvas.page.evaluate(is_loaded, part)
    assert canvas.errors() == []


@pytest.mark.parametrize("name", IN_PANEL)
def test_an_example_is_good_to_see_and_runs(canvas: Canvas, panel: Panel, name: str) -> None:
    (flow,) = (x for x in all_examples() if x.name == name)
    canvas.open_workflow(f"examples/{flow.name}.xircuits")
    drawing = measure(canvas)
    assert {x.id for x in canvas.drawn()} == {node.id for node in flow.nodes}
    boxes = flow.layout().boxes
    assert len(drawing.boxes) == len(boxes)
    assert len(drawing.lines) == sum(link.source in boxes for link in flow.links)
    assert drawing.faults() == []
    panel.begin_anew().run()
    assert panel.turns.last.get_attribute("data-state") == "done"
    assert IN_PANEL[name] in panel.unfold()
    assert canvas.errors() == []


def test_a_drawn_run_is_opened_edited_and_run(canvas: Canvas, folder: Path) -> None:
    path = draw_run(folder, EXAMPLE)
    canvas.open_workflow(path.name)
    drawing = measure(canvas)
    assert len(drawing.boxes) == sum(not x["extras"].get("attached") for x in nodes_of(load(path)))
    assert drawing.faults() == []
    old, new, result = EDIT
    edit(canvas, old, new)
    canvas.save()
    # Xircuits counts no edit of a literal as a change: only the file shows that it is saved.
    wait_until(lambda: has_text(path, new), "the edit is in the file")
    assert problems(load(path), path.stem) == []
    canvas.compile()
    text = canvas.run_script(f"{path.stem}.py")
    assert text.strip().endswith("Finished Executing"), text
    assert "Executing: MCPToolStep" in text
    assert result in text, text
    assert canvas.errors() == []


def test_an_adopted_workflow_keeps_every_link_saved_or_reloaded_and_compiles(
    canvas: Canvas, folder: Path
) -> None:
    """The canvas goes by the names of ports, which have the type in them."""
    install("xai_openai", folder)  # and xai-agent is not
    file = adopt_file(xai_agent_workflow().write(folder)).written
    assert file is not None
    before, after_saving = open_and_save(canvas, file)
    assert {x["id"] for x in links_of(after_saving)} == {x["id"] for x in links_of(before)}
    canvas.reload_all("AgentRun")
    canvas.touch()
    canvas.save()
    after = load(file)
    assert links_by_name(after) == links_by_name(before)
    (agent,) = [x for x in nodes_of(after) if x["name"] == "AgentInit"]
    ports = {x["varName"].strip("\u2605") for x in agent["ports"]}
    assert ports >= {x.name for x in our_components()["AgentInit"].ports}
    canvas.compile()
    assert "class clock_adopted" in file.with_suffix(".py").read_text(encoding="utf-8")
    assert canvas.errors() == []


def test_a_mended_drawing_opens_whole_and_keeps_its_links(canvas: Canvas, folder: Path) -> None:
    """The drawing is from 2024, with wires that were drawn twice, and types only in names."""
    file = folder / "demo_of_a_talk.xircuits"
    file.write_text(SHAPES["demo_of_a_talk"].text(), encoding="utf-8")
    adopted = adopt_file(file).written
    assert adopted is not None
    open_and_save(canvas, adopted)
    assert canvas.errors() == []


def open_and_save(canvas: Canvas, file: Path) -> tuple[Document, Document]:
    """Open it whole and save it, which keeps its links; before and after."""
    before = load(file)
    canvas.open_workflow(file.name)
    assert {x.id for x in canvas.drawn()} == {x["id"] for x in nodes_of(before)}
    canvas.touch()
    canvas.save()
    after = load(file)
    assert after != before, "it was not saved"
    assert graph(after) == graph(before)
    return before, after


def graph(document: Document) -> list[object]:
    """Nodes with their values and links by their ends, whatever the canvas adds to them."""
    nodes = [
        (x["id"], x["name"], sorted(y["label"] for y in x["ports"])) for x in nodes_of(document)
    ]
    return [sorted(nodes), links_by_name(document)]


def draw_run(folder: Path, name: str) -> Path:
    """Run an example, and draw what it called; the workflow."""
    example = folder / "examples" / f"{name}.xircuits"
    transcript = folder / f"{name}_runs.jsonl"
    script = compile_workflow(example, folder / f"{name}_recorded.py")
    assert run_script(script, XAI_MCP_TRANSCRIPT=str(transcript)).returncode == 0
    words = ["plan", "draw", str(transcript), "--tools-from", str(example), "--out"]
    with pytest.raises(SystemExit) as exit_:
        run([*words, str(folder / f"{name}_drawn")])
    assert not exit_.value.code
    return folder / f"{name}_drawn.xircuits"


def has_text(path: Path, text: str) -> bool:
    """Whether a node of the workflow has this text."""
    return any(text in x["ports"][0]["label"] for x in nodes_of(load(path)) if x["ports"])


def edit(canvas: Canvas, old: str, new: str) -> None:
    """Double-click the text of a step, and change it."""
    literal = canvas.page.locator(f"{FRONT} div.node", has_text=old).first
    box = canvas.page.locator(".jp-Dialog textarea")
    literal.dblclick()
    box.wait_for()
    wait_until(lambda: old in box.input_value(), "the text is in the box")
    box.fill(box.input_value().replace(old, new))
    canvas.page.click(".jp-Dialog .jp-mod-accept")
    box.wait_for(state="detached")
    canvas.page.locator(f"{FRONT} div.node", has_text=new).first.wait_for()
