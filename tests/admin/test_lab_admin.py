"""The REST interface inside a real Jupyter server, which forwards to a socket and holds no server.

Its address has a base path, as behind JupyterHub.
"""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx2
import pytest
from playwright.sync_api import expect

from tests.support.admin import SECONDS, AdminClient, next_event, serving_admin
from tests.support.lab import browser, chromium
from tests.support.mcp_servers import gallery_entry
from tests.support.processes import free_port, wait_until
from tests.support.scripts import child_environment
from xai_mcp_agent import Bridge
from xai_mcp_agent.secrets.private_files import make_private_folder
from xai_mcp_agent.sources.warm import place_of

TOKEN = "of-the-lab"
_STOP_SECONDS = 20.0


@contextmanager
def jupyter(folder: Path) -> Generator[str]:
    """A Jupyter server in this folder, with our extension; the address of that."""
    port = free_port()
    command = [
        sys.executable, "-m", "jupyter_server", "--no-browser", "--ip=127.0.0.1",
        f"--port={port}", "--ServerApp.port_retries=0", f"--IdentityProvider.token={TOKEN}",
        "--allow-root", "--ServerApp.base_url=/user/ada/",
        "--ServerApp.jpserver_extensions={'xai_mcp_agent.admin.lab': True}",
    ]  # fmt: skip
    address = f"http://127.0.0.1:{port}/user/ada"
    with (folder / "jupyter.log").open("w", encoding="utf-8") as log:
        server = subprocess.Popen(
            command, cwd=folder, env=child_environment(folder), stdin=subprocess.DEVNULL,
            stdout=log, stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            wait_until(lambda: _answers(f"{address}/api"), "the Jupyter server answers")
            yield f"{address}/xai-mcp-agent/admin"
        finally:
            server.terminate()
            try:
                server.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def _answers(address: str) -> bool:
    try:
        urllib.request.urlopen(address, timeout=SECONDS).close()
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
    return True


@pytest.fixture(scope="module")
def process() -> Generator[ExitStack]:
    """What the process with the servers keeps, to be ended by the last test."""
    with ExitStack() as process:
        yield process


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory, process: ExitStack) -> Generator[str]:
    folder, servers = tmp_path_factory.mktemp("jupyter"), {"gallery": gallery_entry()}
    settings = folder / "mcp_settings.json"
    settings.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(folder))
        place = place_of(settings)
        make_private_folder(place.folder)
        bridge = process.enter_context(Bridge.open(settings))
        process.enter_context(serving_admin(bridge, None, place.admin_socket))
    with jupyter(folder) as address:
        yield address


@pytest.fixture
def client(address: str) -> Generator[AdminClient]:
    with AdminClient(address, TOKEN) as client:
        yield client


def test_who_is_signed_in_to_the_lab_uses_it(client: AdminClient) -> None:
    assert "add" in client.post("/api/sources/gallery/refresh")["tools"]
    assert client.get("/api/tools", source="gallery", text="integers")["total"] == 1
    assert client.post("/api/sources/galery/refresh", 404)["type"].endswith("UnknownServer")
    call = {"tool": "gallery/add", "arguments": {"a": 1, "b": 2}}
    assert client.post("/api/call", body=call)["structured"] == {"result": 3}
    with client.events() as events:
        next_event(events, "source", name="gallery", state="ready")


@pytest.mark.parametrize("token", ["", "wrong"])
def test_nobody_else_does(address: str, token: str) -> None:
    headers = {"Authorization": f"token {token}"} if token else {}
    for method, path in (("GET", "/"), ("GET", "/api/sources"), ("POST", "/discover")):
        answer = httpx2.request(method, address + path, headers=headers, timeout=SECONDS)
        assert answer.status_code == 403


def test_a_cookie_alone_does_nothing_without_the_xsrf_token(address: str) -> None:
    with httpx2.Client(timeout=SECONDS, follow_redirects=True) as http:
        http.get(f"{address}/?token={TOKEN}")
        path = f"{address}/api/sources/gallery/refresh"
        assert http.post(path).status_code == 403
        foreign = {"Origin": "https://evil.example", "X-XSRFToken": http.cookies["_xsrf"]}
        assert http.post(path, headers=foreign).status_code in (403, 404)
        ours = {"X-XSRFToken": http.cookies["_xsrf"]}
        assert http.post(path, headers=ours).status_code == 200


def test_who_goes_is_not_waited_for(client: AdminClient) -> None:
    wait = {"tool": "gallery/wait", "arguments": {"label": "gone"}}
    with pytest.raises(httpx2.TimeoutException):
        client.http.post("/api/call", json=wait, timeout=0.5)
    stopped = {"tool": "gallery/was_stopped"}
    wait_until(lambda: "gone" in client.post("/api/call", body=stopped)["text"], "it was stopped")


@pytest.mark.browser
def test_its_page_works_in_the_lab(address: str) -> None:
    if chromium() is None:
        pytest.skip("needs a Chromium")
    with browser() as running:
        page = running.new_page()
        page.set_default_timeout(SECONDS * 1000)
        wrong: list[str] = []
        page.on("console", lambda x: wrong.append(x.text))
        page.goto(f"{address}?token={TOKEN}")
        page.get_by_role("button", name="Refresh gallery").click()
        page.get_by_text("gallery: 10 tools, nothing changed.").wait_for()
        switch = page.get_by_role("switch", name="Agents may use add")
        switch.press("Space")
        expect(switch).not_to_be_checked()
        assert wrong == []


def test_without_a_process_it_says_what_to_do(client: AdminClient, process: ExitStack) -> None:
    with client.events() as events:
        next_event(events, "source", name="gallery")
        process.close()
        assert [x.name for x in events if x.name not in ("source", "history")] == []
    answer = client.http.get("/api/sources")
    assert answer.status_code == 503
    assert answer.headers["content-type"] == "application/problem+json"
    assert "xai-mcp-agent serve --socket" in answer.json()["next_step"]
