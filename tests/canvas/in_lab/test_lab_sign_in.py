"""A server that wants a sign-in, met by a run in the lab: agreed to, refused, and come back to."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.support.authorization_server import Protected, protected_server
from tests.support.lab_canvas import Canvas
from tests.support.lab_panel import Panel
from tests.support.scripts import compile_workflow
from tests.support.small_workflows import calling_workflow

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def notes(folder: Path) -> Iterator[Protected]:
    """A server of the lab's settings, and the service at which a person agrees."""
    settings = folder / "mcp_settings.json"
    before = settings.read_text(encoding="utf-8")
    with protected_server(shows_page=True) as protected:
        value = json.loads(before)
        # Below the limit of a test: what is left behind by one must not wait for the next.
        value["mcpServers"]["notes"] = {**protected.entry, "auth": {"signInTimeout": 60}}
        settings.write_text(json.dumps(value), encoding="utf-8")
        yield protected
        settings.write_text(before, encoding="utf-8")


@pytest.fixture(scope="module")
def script(folder: Path) -> str:
    """A compiled workflow that uses the server."""
    return compile_workflow(calling_workflow("signed", "notes", "admin").write(folder)).name


def service_page(panel: Panel) -> Page:
    """Press the panel's button, and return the page that it opens."""
    question = panel.questions.filter(has_text="Sign in to notes")
    button = question.get_by_role("button", name="Sign in at 127.0.0.1")
    with panel.page.expect_popup() as popup:
        button.click()
    popup.value.get_by_role("button", name="Agree").wait_for()
    return popup.value


def test_who_does_not_want_to_be_registered_says_so_and_no_service_hears_of_it(
    canvas: Canvas, panel: Panel, notes: Protected, script: str
) -> None:
    canvas.start_script(script)
    panel.press("Refuse")
    output = " ".join(canvas.wait_for_output("Finished Executing").split())
    assert "the page to sign in was not opened (the person said no)." in output
    assert notes.service.count("register") == 0


def test_who_refuses_at_the_service_reads_that_in_the_panel(
    canvas: Canvas, panel: Panel, notes: Protected, script: str
) -> None:
    canvas.start_script(script)
    question = panel.questions.filter(has_text="you have to sign in at 127.0.0.1")
    question.get_by_role("button", name="Agree").click()  # once, to be registered there
    page = service_page(panel)
    page.get_by_role("button", name="Refuse").click()
    page.locator("text=notes gets no access").wait_for()
    page.close()
    output = " ".join(canvas.wait_for_output("Finished Executing").split())
    assert "access was denied when signing in (The person said no)." in output


def test_who_closed_the_page_opens_it_again_and_the_run_goes_on(
    canvas: Canvas, panel: Panel, notes: Protected, script: str
) -> None:
    """The next run has access without asking."""
    canvas.start_script(script)
    service_page(panel).close()
    page = service_page(panel)
    page.get_by_role("button", name="Agree").click()
    page.locator("text=You can close this window").wait_for()
    page.close()
    assert "done" in canvas.wait_for_output("Finished Executing").split("Executing: Print")[1]
    expect(panel.questions).to_have_count(0)
    assert "done" in canvas.run_script(script)
    assert notes.service.count("authorization_code") == 1
