"""`xai-mcp-agent login` and `logout`, with a real service to sign in at."""

from __future__ import annotations

import re
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.support.authorization_server import Protected, browse, protected_server
from tests.support.commands import Cli, write_settings
from tests.support.mcp_servers import gallery
from tests.support.web_server import serving
from xai_mcp_agent.cli import access

_SECONDS = 20.0
_TOKEN = re.compile("access-|refresh-")


@pytest.fixture
def protected(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Protected]:
    """A server that wants a token; no browser opens."""
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    with protected_server() as service:
        write_settings(folder, {"notes": service.entry, "local": {"command": "x"}})
        yield service


def test_a_sign_in_gives_access_to_every_run_until_sign_out(
    protected: Protected, folder: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
):
    pages: list[str] = []
    visits: list[threading.Thread] = []
    real = access.say

    def say(text: str, **options: Any) -> None:
        """Follow the link that is printed, as a person does."""
        real(text, **options)
        if link := re.search(r"http://\S+/authorize\S+", text):
            visits.append(threading.Thread(target=lambda: pages.append(browse(link[0]))))
            visits[-1].start()

    monkeypatch.setattr(access, "say", say)
    # There is no desktop to open the link on.
    ran = cli("login notes").shows("Signed in to notes, which offers 3 tools.", "Open this link")
    visits[0].join(_SECONDS)
    assert "You can close this window" in pages[0]
    assert cli("call notes admin") == (0, "done\n", "")
    checked = cli("servers check notes").shows(f"Signed in at {protected.service.url}")
    assert _TOKEN.search(ran.text + checked.text) is None

    cli("login notes")  # to be somebody else, or after the service has forgotten us
    visits[1].join(_SECONDS)
    assert protected.service.count("authorize") == 2

    assert cli("logout notes").out == "Signed out of notes: its token is deleted here.\n"
    cli("call notes admin").fails("xai-mcp-agent login notes")
    cli("login local").fails("there is no sign-in")
    with serving(gallery().streamable_http_app()) as address:
        write_settings(folder, {"open": {"url": f"{address}/mcp"}})
        cli("login open").fails("offers no sign-in, and wants none")
