"""The card of an agent's run in the lab's output panel: in sight, readable, and harmless."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.support.lab_canvas import Canvas

pytestmark = pytest.mark.browser

_DARK, _LIGHT = "JupyterLab Dark", "JupyterLab Light"
_END = "Finished Executing"
_LEAST_CONTRAST = 4.5  # WCAG 2.2, 1.4.3, for text
# What is behind the text is mixed of all backgrounds up to one that nothing shines through.
_CONTRAST = """node => {
  const parts = colour => colour.match(/[\\d.]+/g).map(Number);
  const light = colour => {
    const [r, g, b] = colour.map(x => x / 255)
      .map(x => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const over = [];
  for (let at = node; at; at = at.parentElement) {
    const [r, g, b, alpha = 1] = parts(getComputedStyle(at).backgroundColor);
    over.unshift([[r, g, b], alpha]);
    if (alpha === 1) break;
  }
  const behind = over.reduce((under, [colour, alpha]) =>
    colour.map((x, at) => alpha * x + (1 - alpha) * under[at]), [255, 255, 255]);
  const text = parts(getComputedStyle(node).color).slice(0, 3);
  const [a, b] = [light(text), light(behind)].sort((x, y) => y - x);
  return (a + 0.05) / (b + 0.05);
}"""
_RUNS = """
from xai_mcp_agent.agent.events import RunFailed, RunFinished, RunStarted, ToolFinished, ToolStarted
from xai_mcp_agent.agent.models.base import Usage
from xai_mcp_agent.console.console import Console
from xai_mcp_agent.core.results import ToolResult

def run(name, answer, result="done", error=""):
    with Console(name) as console:
        console.show(RunStarted(name, "m", "native", ("add",), asked="What is it?"))
        console.show(ToolStarted("1", "add", {"a": result}))
        console.show(ToolFinished("1", "add", {}, ToolResult.of_text(result), 0.5, ""))
        end = RunFinished(answer, "answered", 1, 1, 1.0, Usage())
        console.show(RunFailed(error) if error else end)
"""
_HOSTILE = (
    "<script>window.harmed = 1</script><img src=x onerror='window.harmed = 1'> "
    "[here](javascript:window.harmed=1) ![p](http://127.0.0.1:9/p.png) "
    "[bank](http://127.0.0.1:9/x) $\\\\href{javascript:alert(1)}{y}$"
)


@pytest.fixture
def panel(canvas: Canvas) -> Iterator[Canvas]:
    """The window, in the light theme before and after."""
    yield canvas
    use_theme(canvas, _LIGHT)


def use_theme(canvas: Canvas, name: str) -> None:
    """Choose the lab's theme, and wait until it is there."""
    canvas.command("apputils:change-theme", theme=name)
    is_light = "true" if name == _LIGHT else "false"
    canvas.wait_for(f"() => document.body.dataset.jpThemeLight === '{is_light}'")


def cards(canvas: Canvas) -> Locator:
    """The cards that are to be seen."""
    return canvas.page.locator("#xircuit-output-panel .xai-card:visible")


def end_in_front(canvas: Canvas) -> None:
    """Wait for the end of the run, with the panel in front: others may have left it behind."""
    canvas.page.evaluate("() => window.jupyterapp.shell.activateById('xircuit-output-panel')")
    canvas.page.locator("#xircuit-output-panel", has_text=_END).wait_for()


def run_code(canvas: Canvas, folder: Path, code: str) -> None:
    """Run this in the panel, after `_RUNS`, to its end."""
    (folder / "cards.py").write_text(f"{_RUNS}\n{code}\nprint('{_END}')\n", encoding="utf-8")
    canvas.start_script("cards.py")
    end_in_front(canvas)


def test_the_answer_of_the_quickstart_is_in_sight(panel: Canvas, artefacts: Path) -> None:
    """Whatever a node after it prints; nothing has to be scrolled or opened."""
    canvas = panel
    canvas.open_workflow("examples/ex01_quickstart.xircuits")
    canvas.compile()
    canvas.start_script("examples/ex01_quickstart.py")
    end_in_front(canvas)
    card = cards(canvas)
    expect(card).to_have_count(1)
    answer = card.locator(".xai-answer")
    expect(answer).to_contain_text("Moby-Dick")
    expect(answer).to_be_in_viewport(ratio=1)
    expect(card.locator(".xai-question")).to_contain_text("books")
    text = canvas.page.locator("#xircuit-output-panel").inner_text()
    before = text.replace("\xa0", " ").partition("Executing: Print")[0]
    assert before.count("Moby-Dick") == 1
    width = canvas.page.locator("#xircuit-output-panel").bounding_box()
    box = card.bounding_box()
    assert width is not None
    assert box is not None
    assert box["width"] > 0.9 * width["width"]
    for theme in (_LIGHT, _DARK):
        use_theme(canvas, theme)
        for part in (".xai-question", ".xai-answer", ".xai-end", "summary"):
            assert card.locator(part).first.evaluate(_CONTRAST) > _LEAST_CONTRAST, (theme, part)
        canvas.picture(artefacts / f"card-{theme.split()[1].lower()}.png")
    assert canvas.errors() == []


def test_a_call_unfolds_to_its_arguments_and_result(
    panel: Canvas, folder: Path, artefacts: Path
) -> None:
    run_code(panel, folder, 'run("helper", "It is *done*.", result="all <b>of</b> it")')
    fold = cards(panel).locator("details").first
    expect(fold.locator("pre").last).to_be_hidden()
    fold.locator("summary").click()
    expect(fold.locator("pre").first).to_contain_text('"a": "all <b>of</b> it"')
    expect(fold.locator("pre").last).to_have_text("all <b>of</b> it")
    expect(fold.locator("pre").last).to_be_in_viewport()
    expect(cards(panel).locator(".xai-answer em")).to_have_text("done")
    panel.picture(artefacts / "card-unfolded.png")


def test_a_hostile_answer_does_nothing(panel: Canvas, folder: Path) -> None:
    asked = list[str]()
    panel.page.on("request", lambda request: asked.append(request.url))
    run_code(panel, folder, f"run('helper', {_HOSTILE!r}, result={_HOSTILE!r})")
    card = cards(panel)
    expect(card).to_have_count(1)
    assert "harmed" in panel.unfold()
    assert card.locator("img, script, iframe, svg, mjx-container").count() == 0
    links = card.locator("a").evaluate_all("all => all.map(x => x.getAttribute('href'))")
    assert set(links) == {"http://127.0.0.1:9/x"}
    assert panel.page.evaluate("() => window.harmed") is None
    assert not [x for x in asked if ":9/" in x]


def test_two_agents_have_two_cards_and_the_last_is_in_sight(panel: Canvas, folder: Path) -> None:
    long = "\\n\\n".join(f"Paragraph {x}." for x in range(30))
    run_code(panel, folder, f'run("first", "{long}")\nrun("second", "{long}")')
    expect(cards(panel)).to_have_count(2)
    expect(cards(panel).last.locator(".xai-answer p").first).to_be_in_viewport()
    expect(cards(panel).first.locator(".xai-answer")).not_to_be_in_viewport()


def test_an_error_ends_the_card(panel: Canvas, folder: Path) -> None:
    run_code(panel, folder, 'run("helper", "", error="The <b>service</b> is away.")')
    end = cards(panel).locator(".xai-answer")
    expect(end).to_contain_text("The <b>service</b> is away.")
    expect(end).to_be_in_viewport(ratio=1)


def test_who_scrolls_by_hand_is_not_scrolled_back(panel: Canvas, folder: Path) -> None:
    lines = '\nprint("\\n".join(f"line {x}" for x in range(200)))'
    run_code(panel, folder, f'run("helper", "It is done."){lines}')
    answer = cards(panel).locator(".xai-answer")
    expect(answer).to_be_in_viewport()
    answer.hover()
    panel.page.mouse.wheel(0, 5_000)
    expect(answer).not_to_be_in_viewport()
