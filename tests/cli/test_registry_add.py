"""What `registry add` does to a settings file that is odd, shared or laid out as a trap."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_registry import NOTES, entries, folder, registry
from tests.support.registry_service import RegistryService, registry_service
from xai_mcp_agent.cli.output import replace_text
from xai_mcp_agent.settings.load import load_settings
from xai_mcp_agent.settings.trust import TrustStore

_ = folder
_RUN = "from xai_mcp_agent.cli.main import run; run()"
SECONDS = 120


@pytest.fixture
def service() -> Iterator[RegistryService]:
    with registry_service() as found:
        yield found


@pytest.mark.parametrize("trap", [".mcp_settings.json.part", "mcp_settings.json.bak"])
def test_no_link_in_a_folder_of_a_stranger_is_written_through(
    folder: Path, tmp_path: Path, capsys: Any, trap: str
) -> None:
    """git brings links along: one may lead to what a shell reads at its start."""
    mine = tmp_path / "mine.txt"
    mine.write_text("mine")
    (folder / trap).symlink_to(mine)
    gone = folder / "mcp_settings.json.2.bak"
    gone.symlink_to(tmp_path / "not there yet")
    assert registry(capsys, "add", NOTES)[0] == 0
    assert mine.read_text() == "mine"
    assert not (tmp_path / "not there yet").exists()
    assert not (folder / "mcp_settings.json").is_symlink()
    assert "notes" in entries(folder)


def test_one_that_is_written_switched_on_is_not_trusted_by_that(
    folder: Path, service: RegistryService, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry(capsys, "sync")
    status, offer, _ = registry(capsys, "add", NOTES, "--enable")
    assert (status, "disabled" in offer["entry"]) == (0, False)
    monkeypatch.delenv("XAI_MCP_TRUST", raising=False)
    loaded = load_settings(folder / "mcp_settings.json")
    assert "disabled" not in entries(folder)["notes"]
    assert "notes" in [x.source for x in TrustStore().untrusted_parts(loaded)]


def test_of_several_adds_at_once_none_loses_what_another_wrote(
    folder: Path, service: RegistryService
) -> None:
    words = [sys.executable, "-c", _RUN, "registry", "add", NOTES, "--json", "--as"]
    started = [
        subprocess.Popen(
            [*words, f"notes-{n}"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for n in range(4)
    ]
    said = [x.communicate(timeout=SECONDS) for x in started]
    assert [x.returncode for x in started] == [0] * 4, said
    assert {f"notes-{n}" for n in range(4)} <= {*entries(folder)}
    assert list(folder.glob("*.part")) + list(folder.glob(".*.part")) == []


def test_a_file_that_is_replaced_keeps_its_mode(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text("{}")
    os.chmod(file, 0o600)
    replace_text(file, "[]")
    assert (file.stat().st_mode & 0o777, file.read_text()) == (0o600, "[]")
