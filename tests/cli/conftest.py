"""Fixtures of the command's tests: the command in this process, and folders to run it in."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import SERVERS, Cli, write_settings
from tests.support.fault_server import entry
from tests.support.warm_python import python_entry

_HOMES = ("HOME", "USERPROFILE", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME",
          "LOCALAPPDATA")  # fmt: skip


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    """Runs commands in this process."""
    return Cli(capsys)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder of somebody with an empty home."""
    for name in _HOMES:
        monkeypatch.setenv(name, str(tmp_path / "home"))
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def stranger(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same with settings of somebody else, whose server leaves a file when it is started."""
    monkeypatch.delenv("XAI_MCP_TRUST", raising=False)
    code = f"open({str(folder / 'started')!r}, 'w')"
    server = {"command": sys.executable, "args": ["-c", code, "--token", "abc-secret-word"]}
    write_settings(folder, {"theirs": server}, registries={"official": False})
    return folder


@pytest.fixture(scope="session")
def library() -> dict[str, Any]:
    """The entry of the example library."""
    return python_entry(SERVERS / "library.py")


@pytest.fixture
def examples(folder: Path, library: dict[str, Any]) -> Path:
    """A working folder with two servers that offer tools, and one that cannot be started."""
    units = python_entry(SERVERS / "units.py")
    bad = entry(stderr="no licence " * 20, exit=3)
    write_settings(folder, {"library": library, "units": units, "bad": bad})
    return folder
