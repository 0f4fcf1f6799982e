"""A home folder for the tests of this folder, not that of the person who runs them."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The empty home of a user who has agreed to nothing yet."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("USERPROFILE", str(folder))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / ".config"))
    for name in ("XAI_MCP_TRUST", "XAI_MCP_SETTINGS", "XAI_MCP_RECORD"):
        monkeypatch.delenv(name, raising=False)
    return folder
