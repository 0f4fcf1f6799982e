"""Fixtures of `xai-mcp-agent registry`: a registry service, and a working folder that uses it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import Cli
from tests.support.registry_service import RegistryService, registry_service

from .offers import write


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
