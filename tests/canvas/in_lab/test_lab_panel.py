"""The panel at the right of the lab: chat, Stop, marks on nodes, questions; by mouse and keys."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.support.asking_server import form
from tests.support.lab import open_lab, wait_for_lab
from tests.support.lab_canvas import Canvas
from tests.support.lab_panel import Panel
from tests.support.model_endpoint import Step, calls, model_endpoint, says
from tests.support.processes import is_running, pid_in, wait_until
from tests.support.scripts import compile_workflow
from tests.support.talking_workflow import talking_workflow
from tools.workflows import Workflow

pytestmark = pytest.mark.browser

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Your <i>name</i>"},
        "guests": {"type": "integer", "minimum": 1, "maximum": 10, "default": 2},
        "seat": {
            "type": "string",
            "oneOf": [{"const": "in", "title": "Inside"}, {"const": "out", "title": "Terrace"}],
        },
    },
    "required": ["name"],
}
QUICKSTART = "examples/ex01_quickstart.xircuits"
STOPPED = "Stopped by you."
_END_CHAT = """async () => {
  const { sessions } = window.jupyterapp.serviceManager;
  await sessions.refreshRunning();
  const own = [...sessions.running()].filter(x => x.path === 'xai-mcp-agent-chat');
  await Promise.all(own.map(x => sessions.shutdown(x.id)));
}"""
_NOTIFY = """() => Promise.all([1, 2, 3].map(x => window.jupyterapp.commands.execute(
  'apputils:notify', {message: `Notice ${x}`, type: 'info', options: {autoClose: false}})))"""
_SESSIONS = """async () => {
  const { sessions } = window.jupyterapp.serviceManager;
  await sessions.refreshRunning();
  return [...sessions.running()].map(x => x.name);
}"""


def path_of(flow: Workflow, folder: Path) -> str:
    """Write and compile a workflow; its path in the lab."""
    file = flow.write(folder)
    compile_workflow(file)
    return file.name


def calling(folder: Path, name: str, server: str, tool: str, arguments: dict[str, Any]) -> str:
    """A workflow that calls one tool and prints its text; its path."""
    flow = Workflow(name)
    node = flow.node("MCPCallTool", server_name=server, tool_name=tool, arguments=arguments)
    flow.main(node, flow.node("Print", msg=node["text"]))
    return path_of(flow, folder)


def talking(folder: Path, name: str, base_url: str, *servers: str) -> str:
    """A workflow whose agent has the tools of these servers; its path."""
    return path_of(talking_workflow(name, base_url, *servers), folder)


def test_while_it_is_closed_there_is_no_kernel_of_it(canvas: Canvas) -> None:
    canvas.page.evaluate(_END_CHAT)
    canvas.open_workflow(QUICKSTART)
    canvas.compile()
    assert "Moby-Dick" in canvas.run()
    assert canvas.page.evaluate(_SESSIONS) == ["Xircuit Output Process"]


def test_three_questions_in_a_row_are_one_conversation(panel: Panel, canvas: Canvas) -> None:
    canvas.open_workflow(QUICKSTART)
    panel.begin_anew()
    first = panel.ask("Which books do you have about travel?")
    assert "Around the World in Eighty Days" in first
    assert "search_books" in first
    assert "offline rules" in first
    assert "Moby-Dick" in panel.ask("Which books do you have about the sea?")
    assert "Twenty Thousand Leagues" in panel.ask("Borrow the second one for Ada.")
    folded = panel.unfold()
    assert "Arguments" in folded
    assert '"reader": "Ada"' in folded
    assert panel.mark("AgentInit").startswith("✓")
    expect(panel.turns).to_have_count(3)
    panel.button("New conversation").click()
    expect(panel.turns).to_have_count(0)
    assert canvas.errors() == []


def test_a_workflow_without_an_agent_says_so_and_runs_as_drawn(
    panel: Panel, canvas: Canvas, folder: Path
) -> None:
    """Also one whose name has a space, which Xircuits' own Run cannot run."""
    path = calling(folder, "add_them", "workshop", "add", {"a": 20, "b": 22})
    shutil.copy(folder / path, folder / "add them.xircuits")
    canvas.open_workflow("add them.xircuits")
    panel.begin_anew()
    expect(panel.box).to_be_disabled()
    expect(panel.page.locator(".xai-list")).to_contain_text("add them has no agent to ask")
    shown = panel.run()
    assert "add them as it is drawn" in shown
    assert "Printed\n" in shown
    assert "42" in shown.partition("Printed")[2]
    assert canvas.errors() == []


def test_text_shows_as_it_streams_and_harmless_whatever_it_says(
    panel: Panel, canvas: Canvas, folder: Path
) -> None:
    hostile = (
        "<img src=x onerror='window.harmed=1'> <script>window.harmed=1</script> "
        "[a](javascript:window.harmed=1) ![p](http://127.0.0.1:9/p.png) **done**"
    )
    asked = calls(("workshop_fail", {"reason": hostile}))
    requests: list[str] = []
    with model_endpoint([asked, says(hostile)]) as endpoint:
        canvas.open_workflow(talking(folder, "hostile", endpoint.base_url, "workshop"))
        panel.begin_anew()
        panel.page.on("request", lambda x: requests.append(x.url))
        shown = panel.ask(hostile)
        panel.unfold()
    assert "window.harmed=1" in shown
    assert panel.turns.last.locator("strong", has_text="done").count() == 1
    assert panel.turns.last.locator("img, script").count() == 0
    assert panel.page.evaluate("() => window.harmed") is None
    assert [x for x in requests if "127.0.0.1:9" in x] == []


def test_stop_cancels_the_call_and_the_next_question_works(
    panel: Panel, canvas: Canvas, folder: Path
) -> None:
    began = folder / "workshop.pid.waiting"
    began.unlink(missing_ok=True)
    steps = [calls(("workshop_wait", {"seconds": 600})), says("I am here.")]
    with model_endpoint(steps) as endpoint:
        canvas.open_workflow(talking(folder, "slow", endpoint.base_url, "workshop"))
        panel.begin_anew().send("Wait.")
        wait_until(began.exists, "the tool waits")
        expect(panel.bar).to_contain_text("Running")
        assert panel.mark("AgentRun").startswith("◌ running")
        panel.box.press("Escape")
        assert STOPPED in panel.answer("stopped")
        assert "KeyboardInterrupt" not in panel.unfold()
        assert panel.mark("AgentRun") == "■ stopped"
        expect(panel.bar).to_have_count(0)
        assert (folder / "workshop.pid.cancelled").exists()
        assert "I am here." in panel.ask("And now?")
    assert is_running(pid_in(folder / "workshop.pid"))


def test_a_run_of_xircuits_is_in_the_chat_and_can_be_stopped(
    panel: Panel, canvas: Canvas, folder: Path
) -> None:
    began = folder / "workshop.pid.waiting"
    began.unlink(missing_ok=True)
    canvas.open_workflow(calling(folder, "waits", "workshop", "wait", {"seconds": 600}))
    panel.begin_anew()
    canvas.start()
    wait_until(began.exists, "the tool waits")
    expect(panel.turns.last).to_contain_text("Run of waits.py")
    panel.bar.get_by_role("button", name="Stop").click()
    assert STOPPED in panel.answer("stopped")
    output = canvas.wait_for_output(STOPPED)
    assert "KeyboardInterrupt" not in output
    assert "Traceback" not in output


def test_run_during_a_run_asks_and_the_first_answer_stays(
    panel: Panel, canvas: Canvas, folder: Path
) -> None:
    canvas.open_workflow(calling(folder, "twice", "workshop", "wait", {"seconds": 3}))
    panel.begin_anew()
    canvas.start()
    expect(panel.turns).to_have_count(1)
    canvas.start_beside()
    dialog = canvas.page.locator(".jp-Dialog", has_text="A run is still going on")
    dialog.get_by_role("button", name="Wait").click()
    expect(panel.turns).to_have_count(2, timeout=30_000)
    panel.answer("done")
    assert "Waited." in panel.unfold()
    expect(panel.turns.first).to_have_attribute("data-state", "done")
    panel.turns.first.locator("summary").first.click()
    expect(panel.turns.first).to_contain_text("Waited.")


def test_a_question_during_a_run_waits_for_its_turn(
    panel: Panel, canvas: Canvas, folder: Path
) -> None:
    steps = [calls(("workshop_wait", {"seconds": 3})), says("First."), says("Second.")]
    with model_endpoint(steps) as endpoint:
        canvas.open_workflow(talking(folder, "patient", endpoint.base_url, "workshop"))
        panel.begin_anew().send("One.")
        expect(panel.turns.last).to_contain_text("wait")
        panel.box.focus()
        panel.page.keyboard.type("Two.")
        panel.page.keyboard.press("Enter")
        dialog = canvas.page.locator(".jp-Dialog", has_text="A run is still going on")
        dialog.get_by_role("button", name="Wait").click()
        expect(panel.turns.last).to_contain_text("waits for the run before it")
        expect(panel.turns.last).to_contain_text("Second.")
        expect(panel.turns.first).to_contain_text("First.")


def test_run_during_a_run_can_stop_the_first(panel: Panel, canvas: Canvas, folder: Path) -> None:
    canvas.open_workflow(calling(folder, "again", "workshop", "wait", {"seconds": 4}))
    panel.begin_anew()
    canvas.start()
    expect(panel.turns).to_have_count(1)
    canvas.start_beside()
    dialog = canvas.page.locator(".jp-Dialog", has_text="A run is still going on")
    dialog.get_by_role("button", name="Stop it").click()
    expect(panel.turns).to_have_count(2, timeout=30_000)
    expect(panel.turns.first).to_have_attribute("data-state", "stopped")
    panel.answer("done")


def test_an_approval_is_asked_in_the_panel_and_takes_no_focus(
    panel: Panel, canvas: Canvas, folder: Path
) -> None:
    shred = calls(("shredder_shred", {"paper": "<b>will</b>\nand testament"}))
    steps = [shred, says("Not shredded."), shred, says("It is shredded.")]
    with model_endpoint(steps) as endpoint:
        canvas.open_workflow(talking(folder, "clerk", endpoint.base_url, "shredder"))
        panel.begin_anew().send("Shred the will.")
        question = panel.questions.first
        expect(question).to_contain_text("agent wants to call shred of shredder")
        expect(question).to_contain_text("<b>will</b>")
        expect(question).to_contain_text("it may destroy something")
        expect(panel.box).to_be_focused()
        panel.press("Do not call")
        assert "Not shredded." in panel.answer()
        panel.send("Shred it.")
        panel.press("Allow once")
        assert "It is shredded." in panel.answer()
        assert "the person said no" in str(endpoint.requests[1].body["messages"][-1])
        assert "shredded" in str(endpoint.requests[3].body["messages"][-1])


def test_stop_takes_a_question_away_and_the_next_one_is_asked(
    panel: Panel, canvas: Canvas, folder: Path
) -> None:
    shred = calls(("shredder_shred", {"paper": "deed"}))
    with model_endpoint([shred, shred, says("It is shredded.")]) as endpoint:
        canvas.open_workflow(talking(folder, "hasty", endpoint.base_url, "shredder"))
        panel.begin_anew().send("Shred the deed.")
        panel.questions.first.wait_for()
        panel.bar.get_by_role("button", name="Stop").click()
        assert STOPPED in panel.answer("stopped")
        expect(panel.questions).to_have_count(0)
        panel.send("Shred it.")
        panel.press("Allow once")
        assert "It is shredded." in panel.answer()


def test_a_question_is_answered_in_either_of_two_windows(
    panel: Panel, canvas: Canvas, folder: Path, address: str
) -> None:
    shred = calls(("shredder_shred", {"paper": "note"}))
    with model_endpoint([shred, says("It is shredded.")]) as endpoint:
        canvas.open_workflow(talking(folder, "both", endpoint.base_url, "shredder"))
        panel.begin_anew()
        browser = canvas.page.context.browser
        assert browser
        other = Panel(open_lab(browser, address))
        panel.send("Shred the note.")
        panel.questions.first.wait_for()
        other.press("Allow once")  # its panel has opened by itself
        expect(panel.questions).to_have_count(0)
        assert "It is shredded." in panel.answer()
        other.page.close()


def test_a_notice_of_the_lab_does_not_lie_on_the_box(panel: Panel, canvas: Canvas) -> None:
    canvas.open_workflow(QUICKSTART)
    panel.begin_anew()
    told = canvas.page.evaluate(_NOTIFY)
    expect(canvas.page.locator(".Toastify__toast")).to_have_count(3)
    assert "Moby-Dick" in panel.ask("Which books do you have about the sea?")
    panel.button("▶ Run").click(trial=True)
    for notice in told:
        canvas.command("apputils:dismiss-notification", id=notice)


def test_the_panel_opens_by_itself_for_a_form_and_checks_it(
    panel: Panel, canvas: Canvas, folder: Path
) -> None:
    asked = form("Who <b>comes</b>?", SCHEMA)
    canvas.open_workflow(calling(folder, "party", "asking", "ask", asked))
    canvas.start()
    question = panel.questions.first
    question.wait_for()
    expect(question).to_contain_text("Who <b>comes</b>?")
    question.get_by_label("Your <i>name</i>").fill("Ada")
    question.get_by_label("guests").fill("99")
    question.get_by_label("seat").select_option("Terrace")
    question.get_by_role("button", name="Send", exact=True).click()
    expect(question).to_contain_text("greater than the maximum of 10")
    question.get_by_label("guests").fill("3")
    panel.press("Send")
    shown = canvas.wait_for_output("Finished Executing").replace("\n", " ")
    assert '"content": {"name": "Ada", "guests": 3, "seat": "out"}' in shown


def test_a_page_that_is_loaded_again_in_a_run_shows_it_to_its_end(
    panel: Panel, canvas: Canvas, folder: Path
) -> None:
    canvas.open_workflow(QUICKSTART)
    panel.begin_anew().ask("Which books do you have about travel?")
    go_on = threading.Event()

    def answer(_: dict[str, Any]) -> Step:
        assert go_on.wait(120)
        return says("Over.")

    with model_endpoint(answer) as endpoint:
        path = talking(folder, "long", endpoint.base_url, "workshop")
        canvas.open_workflow(path)
        panel.begin_anew().send("Wait.")
        wait_until(endpoint.asked.is_set, "the model is asked")
        canvas.page.reload()
        wait_for_lab(canvas.page)
        canvas.open_workflow(path)
        panel.open()
        expect(panel.turns).to_have_count(1)
        expect(panel.turns.last).to_have_attribute("data-state", "running")
        go_on.set()
        assert "Over." in panel.answer()
    canvas.open_workflow(QUICKSTART)
    expect(panel.turns).to_have_count(1)
    expect(panel.turns.first).to_contain_text("Around the World in Eighty Days")


def test_a_secret_is_masked_in_arguments_results_and_text(
    panel: Panel, canvas: Canvas, folder: Path
) -> None:
    secret = "sk-" + "a1b2c3d4" * 4
    steps = [calls(("workshop_fail", {"reason": f"key {secret}"})), says(f"It is {secret} indeed.")]
    with model_endpoint(steps) as endpoint:
        canvas.open_workflow(talking(folder, "secretive", endpoint.base_url, "workshop"))
        panel.begin_anew().ask("What is the key?")
        shown = panel.unfold()
    assert secret not in shown
    assert secret not in canvas.page.content()
    assert "indeed" in shown
