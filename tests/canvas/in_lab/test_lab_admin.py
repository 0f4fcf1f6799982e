"""The REST interface inside the lab's server, which forwards to a socket and holds no server.

Its address has a base path, as behind JupyterHub.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path

import httpx2
import pytest
from playwright.sync_api import expect

from tests.support.admin import SECONDS, AdminClient, next_event, serving_admin
from tests.support.lab import TOKEN
from tests.support.lab_canvas import Canvas
from tests.support.processes import wait_until
from xai_mcp_agent import Bridge
from xai_mcp_agent.secrets.private_files import make_private_folder
from xai_mcp_agent.sources.warm import place_of

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def process(folder: Path) -> Generator[ExitStack]:
    """The resources of a process with the servers of the lab's folder, which the last test ends."""
    settings = folder / "mcp_settings.json"
    with ExitStack() as process, pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(folder))
        place = place_of(settings)
        make_private_folder(place.folder)
        bridge = process.enter_context(Bridge.open(settings))
        process.enter_context(serving_admin(bridge, None, place.admin_socket))
        yield process


@pytest.fixture(scope="module")
def admin(address: str, process: ExitStack) -> str:
    """Its address in the lab."""
    return f"{address}/xai-mcp-agent/admin"


@pytest.fixture
def client(admin: str) -> Generator[AdminClient]:
    with AdminClient(admin, TOKEN) as client:
        yield client


def test_a_person_who_is_signed_in_to_the_lab_can_use_it(client: AdminClient) -> None:
    assert "add" in client.post("/api/sources/gallery/refresh")["tools"]
    assert client.get("/api/tools", source="gallery", text="integers")["total"] == 1
    assert client.post("/api/sources/galery/refresh", 404)["type"].endswith("UnknownServer")
    call = {"tool": "gallery/add", "arguments": {"a": 1, "b": 2}}
    assert client.post("/api/call", body=call)["structured"] == {"result": 3}
    with client.events() as events:
        next_event(events, "source", name="gallery", state="ready")


@pytest.mark.parametrize("token", ["", "wrong"])
def test_a_person_who_is_not_signed_in_cannot_use_it(admin: str, token: str) -> None:
    headers = {"Authorization": f"token {token}"} if token else {}
    for method, path in (("GET", "/"), ("GET", "/api/sources"), ("POST", "/discover")):
        answer = httpx2.request(method, admin + path, headers=headers, timeout=SECONDS)
        assert answer.status_code == 403


def test_a_cookie_alone_does_nothing_without_the_xsrf_token(admin: str) -> None:
    with httpx2.Client(timeout=SECONDS, follow_redirects=True) as http:
        http.get(f"{admin}/?token={TOKEN}")
        path = f"{admin}/api/sources/gallery/refresh"
        assert http.post(path).status_code == 403
        foreign = {"Origin": "https://evil.example", "X-XSRFToken": http.cookies["_xsrf"]}
        assert http.post(path, headers=foreign).status_code in (403, 404)
        ours = {"X-XSRFToken": http.cookies["_xsrf"]}
        assert http.post(path, headers=ours).status_code == 200


def test_a_call_ends_when_its_client_has_gone(client: AdminClient) -> None:
    wait = {"tool": "gallery/wait", "arguments": {"label": "gone"}}
    with pytest.raises(httpx2.TimeoutException):
        client.http.post("/api/call", json=wait, timeout=0.5)
    query = {"tool": "gallery/was_stopped"}
    wait_until(lambda: "gone" in client.post("/api/call", body=query)["text"], "it was stopped")


def test_its_page_works_in_the_lab(window: Canvas, admin: str) -> None:
    browser = window.page.context.browser
    assert browser
    page = browser.new_page()
    page.set_default_timeout(SECONDS * 1000)
    wrong: list[str] = []
    page.on("console", lambda x: wrong.append(x.text))
    page.goto(f"{admin}?token={TOKEN}")
    page.get_by_role("button", name="Refresh gallery").click()
    page.get_by_text("gallery: 9 tools, nothing changed.").wait_for()
    switch = page.get_by_role("switch", name="Agents may use add")
    switch.press("Space")
    expect(switch).not_to_be_checked()
    assert wrong == []
    page.close()


def test_without_a_process_it_says_what_to_do(client: AdminClient, process: ExitStack) -> None:
    with client.events() as events:
        next_event(events, "source", name="gallery")
        process.close()
        assert [x.name for x in events if x.name not in ("source", "history")] == []
    answer = client.http.get("/api/sources")
    assert answer.status_code == 503
    assert answer.headers["content-type"] == "application/problem+json"
    assert "xai-mcp-agent serve --socket" in answer.json()["next_step"]
