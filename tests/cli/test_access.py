"""`xai-mcp-agent login` and `logout`, with a real service to sign in at."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.support.authorization_server import Protected, browse, protected_server
from tests.support.mcp_servers import gallery, serving
from xai_mcp_agent.cli.main import run
from xai_mcp_agent.console import terminal_questions

_SECONDS = 20.0


@pytest.fixture
def protected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Protected]:
    """A server that wants a token, alone in the settings of this folder; no browser opens."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("XAI_MCP_SETTINGS", raising=False)
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.chdir(tmp_path)
    with protected_server() as found:
        servers = {"notes": found.entry, "local": {"command": "x"}}
        (tmp_path / "mcp_settings.json").write_text(json.dumps({"mcpServers": servers}))
        yield found


def command(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    """Run the command; its exit status, and all that it printed."""
    with pytest.raises(SystemExit) as ended:
        run(words)
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out + err


class Watcher:
    """Stands in for the person: follows the first link that is printed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.page = ""
        self._thread: threading.Thread | None = None
        from xai_mcp_agent.cli import login

        real = login.say

        def say(text: str, **options: Any) -> None:
            real(text, **options)
            if found := re.search(r"http://\S+/authorize\S+", text):
                self._thread = threading.Thread(target=self._follow, args=(found[0],))
                self._thread.start()

        monkeypatch.setattr(login, "say", say)

    def _follow(self, url: str) -> None:
        self.page = browse(url)

    def done(self) -> None:
        """Wait until the page was read."""
        assert self._thread is not None
        self._thread.join(_SECONDS)


def test_who_signs_in_once_has_access_in_every_run_until_they_sign_out(
    protected: Protected, capsys: Any, monkeypatch: pytest.MonkeyPatch
):
    watcher = Watcher(monkeypatch)
    status, said = command(capsys, "login", "notes")
    watcher.done()
    assert (status, "Signed in to notes, which offers 3 tools." in said) == (0, True)
    assert "You can close this window" in watcher.page
    assert re.search("access-|refresh-", said) is None

    status, said = command(capsys, "call", "notes", "admin")
    assert (status, said) == (0, "done\n")
    _, said = command(capsys, "servers", "check")
    assert f"Signed in at {protected.service.url}" in said
    assert re.search("access-|refresh-", said) is None

    status, said = command(capsys, "logout", "notes")
    assert (status, said) == (0, "Signed out of notes: its token is deleted here.\n")
    status, said = command(capsys, "call", "notes", "admin")
    assert status == 1
    assert "xai-mcp-agent login notes" in said


def test_signing_in_again_begins_anew(
    protected: Protected, capsys: Any, monkeypatch: pytest.MonkeyPatch
):
    """To be somebody else, or after the service has forgotten us."""
    watcher = Watcher(monkeypatch)
    for _ in range(2):
        command(capsys, "login", "notes")
        watcher.done()
    assert protected.service.count("authorize") == 2


def test_a_server_that_needs_no_sign_in_says_so(protected: Protected, tmp_path: Path, capsys: Any):
    with serving(gallery().streamable_http_app()) as address:
        servers = {"open": {"url": f"{address}/mcp"}}
        (tmp_path / "mcp_settings.json").write_text(json.dumps({"mcpServers": servers}))
        status, said = command(capsys, "login", "open")
    assert (status, "offers no sign-in, and wants none" in said) == (1, True)


def test_a_program_on_this_machine_is_none_to_sign_in_to(protected: Protected, capsys: Any):
    status, said = command(capsys, "login", "local")
    assert (status, "nobody signs in to it" in said) == (1, True)


def test_no_page_opens_where_there_is_no_desktop(monkeypatch: pytest.MonkeyPatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(terminal_questions.sys, "platform", "linux")
    assert not terminal_questions.open_page("https://example.org/")
