"""The card of an agent's run in the lab's output panel: in sight, readable, and harmless."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.support.lab_canvas import Canvas

pytestmark = pytest.mark.browser

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
import pathlib, time
tick = lambda: None
from xai_mcp_agent.agent.events import RunFailed, RunFinished, RunStarted, ToolFinished, ToolStarted
from xai_mcp_agent.agent.models.base import TokenUsage
from xai_mcp_agent.console.console import Console
from xai_mcp_agent.core.results import ToolResult

def wait_for(file, meanwhile):
    end = time.monotonic() + 60
    while not pathlib.Path(file).exists() and time.monotonic() < end:
        time.sleep(0.02)
        meanwhile()

def run(name, answer, result="done"):
    with Console(name) as console:
        console.show(RunStarted(name, "m", "native", ("add",), asked="What is it?"))
        console.show(ToolStarted("1", "add", {"a": result}))
        console.show(ToolFinished("1", "add", {}, ToolResult.of_text(result), 0.5, ""))
        console.show(RunFinished(answer, "answered", 1, 1, 1.0, TokenUsage()))
"""
_START = """
def start(console):
    console.show(RunStarted(console._name, "m", "native", ("ask",), asked="Ask the next one."))
    console.show(ToolStarted("1", "ask", {"question": "What is it?"}))
"""
_SCROLLS_SIDEWAYS = """panel => [panel, ...panel.querySelectorAll('*')]
  .filter(x => ['auto', 'scroll'].includes(getComputedStyle(x).overflowX))
  .filter(x => x.scrollWidth > x.clientWidth).map(x => x.className)"""
_END_CHAT = """async () => {
  const { sessions } = window.jupyterapp.serviceManager;
  await sessions.refreshRunning();
  const own = [...sessions.running()].filter(x => x.path === 'xai-mcp-agent-chat');
  await Promise.all(own.map(x => sessions.shutdown(x.id)));
}"""
_SESSIONS = """async () => {
  const { sessions } = window.jupyterapp.serviceManager;
  await sessions.refreshRunning();
  return [...sessions.running()].map(x => x.name);
}"""
_LINES = 'print("\\n".join(f"line {x}" for x in range(200)))'
_HOSTILE = (
    "<script>window.harmed = 1</script><img src=x onerror='window.harmed = 1'> "
    "[here](javascript:window.harmed=1) ![p](http://127.0.0.1:9/p.png) "
    "[bank](http://127.0.0.1:9/x) $\\\\href{javascript:alert(1)}{y}$"
)


def both_themes(canvas: Canvas) -> Iterator[str]:
    """The dark theme, once it is there, and then the light one, which all other tests have."""
    for theme, is_light in (("Dark", "false"), ("Light", "true")):
        canvas.command("apputils:change-theme", theme=f"JupyterLab {theme}")
        canvas.wait_for(f"() => document.body.dataset.jpThemeLight === '{is_light}'")
        yield theme


def cards(canvas: Canvas) -> Locator:
    """The visible cards."""
    return output(canvas).locator(".xai-card:visible")


def output(canvas: Canvas) -> Locator:
    """Xircuits' output panel."""
    return canvas.page.locator("#xircuit-output-panel")


def end_in_front(canvas: Canvas) -> None:
    """Wait for the end of the run, with the panel in front: others may have left it behind."""
    output(canvas).filter(has_text=_END).wait_for()


def write(folder: Path, code: str) -> str:
    """A script with this after `_RUNS`."""
    (folder / "cards.py").write_text(f"{_RUNS}\n{code}\nprint('{_END}')\n", encoding="utf-8")
    return "cards.py"


def run_code(canvas: Canvas, folder: Path, code: str) -> None:
    """Run this in the panel, after `_RUNS`, to its end."""
    canvas.start_script(write(folder, code))
    end_in_front(canvas)


def start_in_background(canvas: Canvas, folder: Path, code: str) -> None:
    """Begin to run this in a panel that may be behind another tab and has its kernel."""
    canvas.command("Xircuit-output-panel:execute", code=f"%run {write(folder, code)}")


def show(canvas: Canvas) -> None:
    """Have the panel in front."""
    canvas.page.locator(".lm-TabBar-tab", has_text="Xircuit Output").click()
    expect(output(canvas)).to_be_visible()


def open_text(canvas: Canvas, folder: Path, name: str, **options: str) -> Locator:
    """Open a text file, empty where it is new; where it is typed in, with the focus there."""
    (folder / name).touch()
    canvas.command("docmanager:open", path=name, factory="Editor", options=options)
    front = "name => window.jupyterapp.shell.currentWidget?.title.label === name"
    canvas.wait_for(front, name)
    label = canvas.page.locator(".lm-TabBar-tab", has_text=name)
    text = canvas.page.locator(f"[id='{label.get_attribute('data-id')}'] .cm-content")
    text.click()
    expect(text).to_be_focused()
    return text


def put_file_over_panel(canvas: Canvas, folder: Path) -> Locator:
    """Have a text file open in front of the panel, as a tab beside it; where it is typed in."""
    run_code(canvas, folder, "")
    text = open_text(canvas, folder, "beside.txt", mode="tab-after", ref="xircuit-output-panel")
    expect(output(canvas)).to_be_hidden()
    return text


class Step:
    """A point where a script waits: its `code` there returns after `go`."""

    def __init__(self, folder: Path, name: str = "go-on") -> None:
        self._file = folder / name
        self._file.unlink(missing_ok=True)
        self.code = f"wait_for({str(self._file)!r}, tick)"

    def go(self) -> None:
        """Let it go on."""
        self._file.touch()


def test_the_answer_of_the_quickstart_is_in_sight(canvas: Canvas) -> None:
    """The output of later nodes does not hide it; nothing has to be scrolled or opened.

    It needs no kernel of the panel at the right, which is closed.
    """
    canvas.page.evaluate(_END_CHAT)
    canvas.open_workflow("examples/ex01_quickstart.xircuits")
    canvas.start()
    end_in_front(canvas)
    assert canvas.page.evaluate(_SESSIONS) == ["Xircuit Output Process"]
    card = cards(canvas)
    expect(card).to_have_count(1)
    answer = card.locator(".xai-answer")
    expect(answer).to_contain_text("Moby-Dick")
    expect(answer).to_be_in_viewport(ratio=1)
    expect(card.locator(".xai-question")).to_contain_text("books")
    text = output(canvas).inner_text()
    before = text.replace("\xa0", " ").partition("Executing: Print")[0]
    assert before.count("Moby-Dick") == 1
    widths = [x.evaluate("x => x.offsetWidth") for x in (card, output(canvas))]
    assert widths[0] > 0.9 * widths[1]
    for theme in both_themes(canvas):
        for part in (".xai-question", ".xai-answer", ".xai-end", "summary"):
            assert card.locator(part).first.evaluate(_CONTRAST) > _LEAST_CONTRAST, (theme, part)
    assert canvas.errors() == []


def test_a_call_unfolds_to_its_arguments_and_result(canvas: Canvas, folder: Path) -> None:
    run_code(canvas, folder, 'run("helper", "It is *done*.", result="all <b>of</b> it")')
    fold = cards(canvas).locator("details").first
    expect(fold.locator("pre").last).to_be_hidden()
    fold.locator("summary").click()
    expect(fold.locator("pre").first).to_contain_text('"a": "all <b>of</b> it"')
    expect(fold.locator("pre").last).to_have_text("all <b>of</b> it")
    expect(fold.locator("pre").last).to_be_in_viewport()
    expect(cards(canvas).locator(".xai-answer em")).to_have_text("done")


def test_a_hostile_answer_does_nothing(canvas: Canvas, folder: Path) -> None:
    requests = list[str]()
    canvas.page.on("request", lambda request: requests.append(request.url))
    run_code(canvas, folder, f"run('helper', {_HOSTILE!r}, result={_HOSTILE!r})")
    card = cards(canvas)
    expect(card).to_have_count(1)
    assert "harmed" in canvas.unfold()
    assert card.locator("img, script, iframe, svg, mjx-container").count() == 0
    links = card.locator("a").evaluate_all("all => all.map(x => x.getAttribute('href'))")
    assert set(links) == {"http://127.0.0.1:9/x"}
    assert canvas.page.evaluate("() => window.harmed") is None
    assert not [x for x in requests if ":9/" in x]


def test_marks_of_an_answer_cover_nothing_above_it(canvas: Canvas, folder: Path) -> None:
    """Accents can be piled up on a letter without end."""
    pictures = list[bytes]()
    for answer in ("plain", "e" + "\u0301\u0302\u0303" * 100):
        run_code(canvas, folder, f"run('helper', {answer!r}, result={answer[:1]!r})")
        pictures.append(cards(canvas).locator(".xai-question").screenshot())
    assert pictures[0] == pictures[1]


def test_a_wide_table_is_scrolled_within_the_card(canvas: Canvas, folder: Path) -> None:
    row = "|" + "|".join(f"column {x}" for x in range(20)) + "|"
    table = f"{row}\n|{'-|' * 20}\n{row}"
    run_code(canvas, folder, f"run('helper', {table!r})")
    last = cards(canvas).locator("td").last
    expect(last).not_to_be_in_viewport()
    answer = cards(canvas).get_by_role("group", name="Text with a table")
    answer.focus()
    for _ in range(60):
        canvas.page.keyboard.press("ArrowRight")
    expect(last).to_be_in_viewport()
    assert cards(canvas).evaluate("card => card.scrollWidth <= card.clientWidth")


def test_a_text_from_right_to_left_is_set_so(canvas: Canvas, folder: Path) -> None:
    words = "\u0645\u0631\u062d\u0628\u0627."
    run_code(canvas, folder, f"run('helper', {words!r}, result={words!r})")
    canvas.unfold()
    for part in (".xai-answer", "pre >> nth=1"):
        assert cards(canvas).locator(part).evaluate("x => getComputedStyle(x).direction") == "rtl"
    for part in (".xai-question", "summary code"):
        assert cards(canvas).locator(part).evaluate("x => getComputedStyle(x).direction") == "ltr"


def test_of_two_cards_the_last_is_in_sight_unless_a_person_scrolls(
    canvas: Canvas, folder: Path
) -> None:
    long = "\\n\\n".join(f"Paragraph {x}." for x in range(30))
    run_code(canvas, folder, f'run("first", "{long}")\nrun("second", "{long}")\n{_LINES}')
    expect(cards(canvas)).to_have_count(2)
    answer = cards(canvas).last.locator(".xai-answer p").first
    expect(answer).to_be_in_viewport()
    expect(cards(canvas).first.locator(".xai-answer")).not_to_be_in_viewport()
    answer.hover()
    canvas.page.mouse.wheel(0, 5_000)
    expect(answer).not_to_be_in_viewport()


def test_the_card_of_an_agent_that_another_one_asks_is_whole(canvas: Canvas, folder: Path) -> None:
    """So is the card of an agent that this one asks in turn, in both themes."""
    asks = [f"console_{x} = Console('agent {x}').__enter__()\nstart(console_{x})" for x in range(2)]
    run_code(canvas, folder, "\n".join([_START, *asks, 'run("innermost", "It is done.")']))
    for _ in both_themes(canvas):
        expect(cards(canvas)).to_have_count(3)
        expect(cards(canvas).last).to_be_visible()
        boxes = [x.bounding_box() for x in cards(canvas).all()]
        lefts = [x["x"] for x in boxes if x]
        assert lefts == sorted(set(lefts))
        assert len({round(x["x"] + x["width"]) for x in boxes if x}) == 1
        assert output(canvas).evaluate(_SCROLLS_SIDEWAYS) == []


_FAILING = """
from xai_mcp_agent import ServerError

class AgentRun:
    def execute(self, ctx):
        with Console("helper") as console:
            console.show(RunStarted("helper", "m", "native", (), asked="What is it?"))
            {event}
            raise ServerError("db", "it refused. Start `db` again.", 1)

AgentRun().execute({{}})
"""


@pytest.mark.parametrize(
    ("event", "in_block"),
    [
        ("console.show(RunFailed('db: it refused. Start `db` again.'))", False),
        ("console.show(RunFinished('Done.', 'answered', 1, 1, 1.0, TokenUsage()))", True),
    ],
    ids=["failed", "after the answer"],
)
def test_an_error_is_reported_once(
    canvas: Canvas, folder: Path, event: str, in_block: bool
) -> None:
    """The card shows it; the text below shows it only if no card does."""
    canvas.start_script(write(folder, _FAILING.format(event=event)))
    block = output(canvas).locator("[data-mime-type='application/vnd.jupyter.stderr']")
    expect(block).to_contain_text("The workflow stopped at AgentRun (ServerError):")
    text = output(canvas).inner_text().replace("\xa0", " ")
    assert text.count("it refused.") == 1
    assert ("it refused." in block.inner_text()) is in_block
    expect(cards(canvas).locator(".xai-end")).to_be_in_viewport(ratio=1)


_FROM_END = """() => {
  const area = document.querySelector('#xircuit-output-panel .jp-OutputArea');
  return area.scrollHeight - area.clientHeight - area.scrollTop;
}"""
_TWO_FRAMES = "() => new Promise(x => requestAnimationFrame(() => requestAnimationFrame(x)))"


def test_the_end_of_a_run_without_a_card_is_in_sight(canvas: Canvas, folder: Path) -> None:
    """All its lines may come at once, and the panel scrolls before they are drawn."""
    run_code(canvas, folder, _LINES)
    canvas.wait_for(f"() => ({_FROM_END})() < 2")
    put_file_over_panel(canvas, folder)
    start_in_background(canvas, folder, _LINES)
    canvas.page.locator("#xircuit-output-panel", has_text=_END).wait_for(state="attached")
    show(canvas)
    canvas.wait_for(f"() => ({_FROM_END})() < 2")
    assert canvas.errors() == []


def test_the_panel_stays_where_a_person_scrolled_it(canvas: Canvas, folder: Path) -> None:
    run_code(canvas, folder, _LINES)
    canvas.wait_for(f"() => ({_FROM_END})() < 2")
    output(canvas).hover()
    canvas.page.mouse.wheel(0, -5_000)
    canvas.wait_for(f"() => ({_FROM_END})() > 1000")
    with canvas.sized(1500, 800):
        canvas.page.evaluate(_TWO_FRAMES)
        assert canvas.page.evaluate(_FROM_END) > 1000


def test_the_panel_comes_in_front_with_the_card_and_without_the_focus(
    canvas: Canvas, folder: Path
) -> None:
    """A person who types elsewhere goes on typing."""
    put_file_over_panel(canvas, folder)
    typed = open_text(canvas, folder, "typed.txt", mode="split-right")
    typed.press_sequentially("before ")
    start_in_background(canvas, folder, "run('helper', 'It is done.')")
    expect(cards(canvas).locator(".xai-answer")).to_be_in_viewport(ratio=1)
    canvas.page.keyboard.type("and after")
    expect(typed).to_have_text("before and after")
    expect(typed).to_be_focused()
    assert canvas.errors() == []


def test_the_panel_does_not_cover_a_file_in_which_a_person_types(
    canvas: Canvas, folder: Path
) -> None:
    over = put_file_over_panel(canvas, folder)
    over.press_sequentially("here")
    step = Step(folder)
    start_in_background(canvas, folder, f"run('one', 'First.')\n{step.code}\nrun('two', 'Second.')")
    canvas.page.locator(".xai-card", has_text="First.").last.wait_for(state="attached")
    over.press_sequentially(" still")
    expect(over).to_have_text("here still")
    expect(output(canvas)).to_be_hidden()
    typed = open_text(canvas, folder, "typed.txt", mode="split-right")
    step.go()
    expect(cards(canvas).last.locator(".xai-answer")).to_be_in_viewport(ratio=1)
    expect(typed).to_be_focused()


def test_the_panel_does_not_come_back_after_a_person_left_it(canvas: Canvas, folder: Path) -> None:
    over = put_file_over_panel(canvas, folder)
    open_text(canvas, folder, "typed.txt", mode="split-right")
    step = Step(folder)
    start_in_background(canvas, folder, f"run('one', 'First.')\n{step.code}\nrun('two', 'Second.')")
    expect(cards(canvas).locator(".xai-answer")).to_be_in_viewport(ratio=1)
    canvas.page.locator(".lm-TabBar-tab", has_text="beside.txt").click()
    expect(over).to_be_visible()
    open_text(canvas, folder, "typed.txt", mode="split-right")
    step.go()
    canvas.page.locator(".xai-card", has_text="Second.").wait_for(state="attached")
    canvas.page.locator("#xircuit-output-panel", has_text=_END).wait_for(state="attached")
    expect(output(canvas)).to_be_hidden()
    canvas.page.locator(".lm-TabBar-tab", has_text="Xircuit Output").click()
    expect(cards(canvas).last.locator(".xai-answer")).to_be_in_viewport(ratio=1)


_CALLS = """
console = Console("helper")
console.__enter__()
tick = console.tick
console.show(RunStarted("helper", "m", "native", ("add",), asked="What is it?"))
long = "\\n".join(f"line {x}" for x in range(200))
for name in ("slow", "quick"):
    console.show(ToolStarted(name, name, {"a": name}))
console.show(ToolFinished("quick", "quick", {}, ToolResult.of_text(long), 0.5, ""))
"""
_FURTHER = """
console.show(ToolFinished("slow", "slow", {}, ToolResult.of_text("slow result"), 1.5, ""))
for x in range(3):
    console.show(ToolStarted(str(x), f"more_{x}", {}))
    console.show(ToolFinished(str(x), f"more_{x}", {}, ToolResult.of_text("more"), 0.5, ""))
"""
_LAST = """
console.show(RunFinished("It is done.", "answered", 1, 1, 1.0, TokenUsage()))
console.__exit__(None, None)
"""


def test_folds_stay_as_they_were_left_while_the_run_goes_on(canvas: Canvas, folder: Path) -> None:
    """Open or not, where they were scrolled to, and with the focus; also when it is finished."""
    first, second = Step(folder, "first"), Step(folder, "second")
    code = f"{_CALLS}\n{first.code}\n{_FURTHER}\n{second.code}\n{_LAST}"
    start_in_background(canvas, folder, code)
    show(canvas)
    quick = cards(canvas).locator("details", has_text="quick")
    quick.locator("summary").click()
    result = quick.locator("pre").last
    result.evaluate("node => { node.scrollTop = 300; }")
    for step, text in ((first, "more_2"), (second, "It is done.")):
        step.go()
        cards(canvas).filter(has_text=text).wait_for()
        expect(quick).to_have_attribute("open", "")
        expect(quick.locator("summary")).to_be_focused()
        assert result.evaluate("node => node.scrollTop") == 300
        assert cards(canvas).locator("details[open]").count() == 1
    assert cards(canvas).locator("details").count() == 5


def test_folds_are_reached_and_opened_with_the_keyboard(canvas: Canvas, folder: Path) -> None:
    long = "\\n".join(f"line {x}" for x in range(200))
    run_code(canvas, folder, f'run("helper", "It is done.", result="{long}")')
    press = canvas.page.keyboard.press
    cards(canvas).locator(".xai-question").click()
    press("Tab")
    summary = cards(canvas).locator("summary")
    expect(summary).to_be_focused()
    assert summary.evaluate("x => getComputedStyle(x).outlineStyle") != "none"
    press("Enter")
    press("Tab")
    press("Tab")
    region = cards(canvas).get_by_role("group", name="Result of add(")
    expect(region).to_be_focused()
    press("PageDown")
    canvas.wait_for("() => document.activeElement.scrollTop > 0")
    press("Shift+Tab")
    expect(cards(canvas).get_by_role("group", name="Arguments of add(")).to_be_focused()
    press("Shift+Tab")
    press("Space")
    expect(cards(canvas).locator("details")).not_to_have_attribute("open", "")
    expect(output(canvas).get_by_role("region", name="Run of helper")).to_have_count(1)
