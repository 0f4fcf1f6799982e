"""Fixtures of `xai-mcp-agent registry`: a registry service, and a working folder that uses it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import Cli
from tests.support.registry_service import RegistryService, registry_service

from .offers import write

ROOT = Path(__file__).parents[3]


@pytest.fixture
def service() -> Iterator[RegistryService]:
    with registry_service() as service:
        yield service


@pytest.fixture
def work(service: RegistryService, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose settings use the test's registry; the local copy is empty."""
    monkeypatch.setenv("npm_config_registry", service.url)
    for name in ("NOTES_TOKEN", "NOTES_DIR"):
        monkeypatch.delenv(name, raising=False)
    write(folder, service)
    return folder


@pytest.fixture
def offer(cli: Cli) -> Any:
    """Returns the JSON of a `registry` command after checking its status."""

    def offer(line: str, *words: str, status: int = 0) -> Any:
        ran = cli(f"registry {line}", *words, "--json")
        assert ran.status == status, ran
        return ran.json["error"] if status == 1 and "error" in ran.json else ran.json

    return offer


@pytest.fixture
def npx(work: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program `npx` that notes how it was started, and is a server of notes."""
    programs = work / "bin"
    programs.mkdir()
    started = work / "started"
    program = programs / "npx"
    program.write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$@" "token=$NOTES_TOKEN" >> {started}\n'
        f"cd {ROOT} && exec {sys.executable} -m tests.support.mcp_servers notes\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    return started
