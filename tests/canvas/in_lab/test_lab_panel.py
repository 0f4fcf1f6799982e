"""The panel at the right of the lab: chat, Stop, marks on nodes, questions; by mouse and keys."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.support.asking_server import BOOKING, form
from tests.support.lab import open_lab
from tests.support.lab_canvas import Canvas, wait_for_page
from tests.support.lab_panel import Panel
from tests.support.model_endpoint import Step, calls, hangs, model_endpoint, says
from tests.support.processes import calls_in, is_running, pids_in, wait_until
from tests.support.scripts import compile_workflow
from tests.support.small_workflows import agent_workflow, calling_workflow
from tools.workflows import Workflow
from xai_mcp_agent.canvas.workshop.lessons import WORKSHOP, find_lesson
from xai_mcp_agent.cli.init import init_folder

pytestmark = pytest.mark.browser

SCHEMA = BOOKING | {
    "properties": BOOKING["properties"] | {"name": {"type": "string", "title": "Your <i>name</i>"}}
}
QUICKSTART = "examples/ex01_quickstart.xircuits"
STOPPED = "Stopped by you."
_NOTIFY = """() => Promise.all([1, 2, 3].map(x => window.jupyterapp.commands.execute(
  'apputils:notify', {message: `Notice ${x}`, type: 'info', options: {autoClose: false}})))"""


def path_of(flow: Workflow, folder: Path) -> str:
    """Write and compile a workflow; its path in the lab."""
    file = flow.write(folder)
    compile_workflow(file)
    return file.name


def calling(folder: Path, name: str, server: str, tool: str, arguments: dict[str, Any]) -> str:
    """A workflow that calls one tool and prints its text; its path."""
    return path_of(calling_workflow(name, server, tool, **arguments), folder)


def talking(folder: Path, name: str, base_url: str, *servers: str) -> str:
    """A workflow whose agent has the tools of these servers; its path."""
    return path_of(agent_workflow(name, base_url, *servers), folder)


def test_questions_in_a_row_are_one_conversation(panel: Panel, canvas: Canvas) -> None:
    """Notices of the lab on the page do not cover the box."""
    canvas.open_workflow(QUICKSTART)
    panel.begin_anew()
    notices = canvas.page.evaluate(_NOTIFY)
    expect(canvas.page.locator(".Toastify__toast")).to_have_count(3)
    first = panel.ask("Which books do you have about travel?")
    assert "Around the World in Eighty Days" in first
    assert "search_books" in first
    assert "offline rules" in first
    assert "Moby-Dick" in panel.ask("Which books do you have about the sea?")
    assert "Twenty Thousand Leagues" in panel.ask("Borrow the second one for Ada.")
    details = panel.unfold()
    assert "Arguments" in details
    assert '"reader": "Ada"' in details
    panel.send("Bring back Jane Eyre.")
    panel.press("Allow once")
    assert "Jane Eyre" in panel.answer("done")
    panel.button("▶ Run").click(trial=True)
    for notice in notices:
        canvas.command("apputils:dismiss-notification", id=notice)
    assert panel.mark("AgentInit").startswith("✓")
    expect(panel.turns).to_have_count(4)
    panel.button("New conversation").click()
    expect(panel.turns).to_have_count(0)
    assert canvas.errors() == []


def test_a_workflow_without_an_agent_says_so_and_runs_as_drawn(
    panel: Panel, canvas: Canvas, folder: Path
) -> None:
    """The workflow's name has a space; Xircuits' own Run cannot run it."""
    path = calling(folder, "say_it", "it", "echo", {"text": "42"})
    shutil.copy(folder / path, folder / "say it.xircuits")
    canvas.open_workflow("say it.xircuits")
    panel.begin_anew()
    expect(panel.box).to_be_disabled()
    expect(panel.page.locator(".xai-list")).to_contain_text("say it has no agent to ask")
    text = panel.run()
    assert "say it as it is drawn" in text
    assert "Printed\n" in text
    assert "42" in text.partition("Printed")[2]
    assert canvas.errors() == []


def test_text_shows_as_it_streams_and_harmless_whatever_it_says(
    panel: Panel, canvas: Canvas, folder: Path
) -> None:
    hostile = (
        "<img src=x onerror='window.harmed=1'> <script>window.harmed=1</script> "
        "[a](javascript:window.harmed=1) ![p](http://127.0.0.1:9/p.png) **done**"
    )
    request = calls(("it_rpc_error", {"code": 1, "message": hostile}))
    requests: list[str] = []
    with model_endpoint([request, says(hostile)]) as endpoint:
        canvas.open_workflow(talking(folder, "hostile", endpoint.base_url, "it"))
        panel.begin_anew()
        panel.page.on("request", lambda x: requests.append(x.url))
        text = panel.ask(hostile)
        panel.unfold()
    assert "window.harmed=1" in text
    assert panel.turns.last.locator("strong", has_text="done").count() == 1
    assert panel.turns.last.locator("img, script").count() == 0
    assert panel.page.evaluate("() => window.harmed") is None
    assert [x for x in requests if "127.0.0.1:9" in x] == []


def test_stop_cancels_the_call_and_the_next_question_works(
    panel: Panel, canvas: Canvas, folder: Path
) -> None:
    journal, before = folder / "journal", calls_in(folder / "journal")
    steps = [calls(("it_never", {})), says("I am here.")]
    with model_endpoint(steps) as endpoint:
        canvas.open_workflow(talking(folder, "slow", endpoint.base_url, "it"))
        panel.begin_anew().send("Wait.")
        wait_until(lambda: calls_in(journal) > before, "the tool waits")
        expect(panel.bar).to_contain_text("Running")
        wait_for_page(lambda: panel.mark("AgentRun").startswith("◌ running"), "the node is marked")
        panel.box.press("Escape")
        assert STOPPED in panel.answer("stopped")
        assert "KeyboardInterrupt" not in panel.unfold()
        assert panel.mark("AgentRun") == "■ stopped"
        expect(panel.bar).to_have_count(0)
        assert "notifications/cancelled" in journal.read_text()
        assert "I am here." in panel.ask("And now?")
    assert is_running(pids_in(journal)[-1])


def test_a_run_during_a_run_waits_for_it_or_stops_it_and_each_answer_stays(
    panel: Panel, canvas: Canvas, folder: Path
) -> None:
    """The runs start by Xircuits' button and by the chat."""
    go_on = threading.Semaphore(0)

    def answer(_: dict[str, Any]) -> Step:
        number = len(endpoint.requests)
        assert number not in (1, 4) or go_on.acquire(timeout=120)
        return hangs() if number == 2 else says(f"Answer {number}.")

    def wait_for_request(number: int) -> None:
        wait_until(lambda: len(endpoint.requests) == number, f"request {number} has come")
        expect(panel.turns).to_have_count(number)

    dialog = canvas.page.locator(".jp-Dialog", has_text="A run is still going on")
    with model_endpoint(answer) as endpoint:
        canvas.open_workflow(talking(folder, "patient", endpoint.base_url))
        panel.begin_anew()
        canvas.start()
        wait_for_request(1)
        canvas.start_beside()
        dialog.get_by_role("button", name="Wait").click()
        go_on.release()
        wait_for_request(2)
        canvas.start_beside()
        dialog.get_by_role("button", name="Stop it").click()
        wait_for_request(3)
        expect(panel.turns.nth(1)).to_have_attribute("data-state", "stopped")
        assert "Answer 3." in panel.answer("done")
        panel.send("One.")
        wait_for_request(4)
        panel.box.focus()
        panel.page.keyboard.type("Two.")
        panel.page.keyboard.press("Enter")
        dialog.get_by_role("button", name="Wait").click()
        expect(panel.turns.last).to_contain_text("waits for the run before it")
        go_on.release()
        expect(panel.turns.last).to_contain_text("Answer 5.")
    expect(panel.turns.nth(3)).to_contain_text("Answer 4.")
    expect(panel.turns.first).to_have_attribute("data-state", "done")
    expect(panel.turns.first).to_contain_text("Answer 1.")


def test_a_run_of_xircuits_is_in_the_chat_and_can_be_stopped(
    panel: Panel, canvas: Canvas, folder: Path
) -> None:
    journal, before = folder / "journal", calls_in(folder / "journal")
    canvas.open_workflow(calling(folder, "waits", "it", "never", {}))
    panel.begin_anew()
    canvas.start()
    wait_until(lambda: calls_in(journal) > before, "the tool waits")
    expect(panel.turns.last).to_contain_text("Run of waits.py")
    panel.bar.get_by_role("button", name="Stop").click()
    assert STOPPED in panel.answer("stopped")
    output = canvas.wait_for_output(STOPPED)
    assert "KeyboardInterrupt" not in output
    assert "Traceback" not in output


def test_an_approval_is_asked_in_the_panel_and_takes_no_focus(
    panel: Panel, canvas: Canvas, folder: Path
) -> None:
    """It is refused, taken away by Stop, and given for all calls of an answer."""
    shred = calls(("shredder_shred", {"paper": "<b>will</b>\nand testament"}))
    steps = [shred, says("Not shredded."), shred, shred, shred, says("It is shredded.")]
    with model_endpoint(steps) as endpoint:
        canvas.open_workflow(talking(folder, "clerk", endpoint.base_url, "shredder"))
        panel.begin_anew().send("Shred the will.")
        question = panel.questions.first
        expect(question).to_contain_text("agent wants to call shred of shredder")
        assert "<b>will</b>\n| and testament" in question.locator("pre").inner_text()
        expect(question).to_contain_text("it may destroy something")
        expect(panel.box).to_be_focused()
        panel.press("Do not call")
        assert "Not shredded." in panel.answer()
        panel.send("Shred it.")
        question.wait_for()
        panel.bar.get_by_role("button", name="Stop").click()
        assert STOPPED in panel.answer("stopped")
        expect(panel.questions).to_have_count(0)
        panel.send("Shred it.")
        panel.press("For this answer")
        assert "It is shredded." in panel.answer()
        assert "the person said no" in str(endpoint.requests[1].body["messages"][-1])
        assert "shredded" in str(endpoint.requests[5].body["messages"][-1])


def test_the_panel_opens_by_itself_for_a_form_and_checks_it(
    panel: Panel, canvas: Canvas, folder: Path
) -> None:
    request = form("Who <b>comes</b>?", SCHEMA)
    canvas.open_workflow(calling(folder, "party", "asking", "ask", request))
    canvas.start()
    question = panel.questions.first
    question.wait_for()
    expect(question).to_contain_text("Who <b>comes</b>?")
    question.get_by_label("Your <i>name</i>").fill("Ada")
    question.get_by_label("guests").fill("0")
    question.get_by_label("seat").select_option("out")
    question.get_by_role("button", name="Send", exact=True).click()
    expect(question).to_contain_text("less than the minimum of 1")
    question.get_by_label("guests").fill("3")
    panel.press("Send")
    text = canvas.wait_for_output("Finished Executing").replace("\n", " ")
    assert '"content": {"name": "Ada", "guests": 3, "seat": "out"}' in text


def test_a_run_is_shown_and_answered_in_a_window_that_comes_later(
    panel: Panel, canvas: Canvas, folder: Path, address: str
) -> None:
    """The same holds for a reloaded page; earlier conversations stay as well."""
    canvas.open_workflow(QUICKSTART)
    panel.begin_anew().ask("Which books do you have about travel?")
    shred = calls(("shredder_shred", {"paper": "note"}))
    with model_endpoint([shred, says("It is shredded.")]) as endpoint:
        path = talking(folder, "both", endpoint.base_url, "shredder")
        canvas.open_workflow(path)
        panel.begin_anew().send("Shred the note.")
        panel.questions.first.wait_for()
        browser = canvas.page.context.browser
        assert browser
        later = open_lab(browser, address)
        other = Panel(later)
        other.questions.first.wait_for()  # its panel has opened by itself
        later.open_workflow(path)
        expect(other.turns).to_have_count(1)
        expect(other.turns.last).to_have_attribute("data-state", "running")
        other.press("Allow once")
        expect(panel.questions).to_have_count(0)
        assert "It is shredded." in panel.answer()
        assert "It is shredded." in other.answer()
    later.open_workflow(QUICKSTART)
    expect(other.turns).to_have_count(1)
    expect(other.turns.first).to_contain_text("Around the World in Eighty Days")
    later.page.close()


def test_the_panel_ticks_the_goals_of_a_lesson(canvas: Canvas, panel: Panel, folder: Path) -> None:
    init_folder(folder, workshop=True)
    lesson = find_lesson("1")
    canvas.open_workflow(f"{WORKSHOP}/{lesson.folder}/{lesson.workflow}")
    panel.begin_anew().run()
    goals = panel.turns.last.locator(".xai-goals")
    expect(goals).to_contain_text(f"Lesson 1, {lesson.title}")
    expect(goals.locator("[data-met=false]").first).to_be_visible()
    expect(goals.locator("[data-met=true]").first).to_be_visible()
    assert canvas.errors() == []
