"""The history of a project is read by its owner only, and is no part of what people publish."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from xai_mcp_agent import load_settings
from xai_mcp_agent.history.history import open_history
from xai_mcp_agent.history.place import find_place


def test_a_new_history_of_a_project_is_left_alone_by_git(tmp_path: Path):
    """Whoever changes or removes the file has decided."""
    settings = tmp_path / "mcp_settings.json"
    settings.write_text("{}")
    place = find_place(load_settings(settings), None, {})
    ignored = tmp_path / ".xircuits" / ".gitignore"
    open_history(place).close()
    assert ignored.read_text() == "history.db*\n"
    ignored.unlink()
    open_history(place).close()
    assert not ignored.exists()


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX modes of files")
def test_only_its_owner_reads_a_projects_history_unless_somebody_opens_it(tmp_path: Path):
    """A team may share the file, if it says so."""
    (tmp_path / "mcp_settings.json").write_text("{}")
    place = find_place(load_settings(tmp_path / "mcp_settings.json"), None, {})
    open_history(place).close()
    file = tmp_path / ".xircuits" / "history.db"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.chmod(0o660)
    open_history(place).close()
    assert stat.S_IMODE(file.stat().st_mode) == 0o660
    damage(file)
    open_history(place).close()
    assert len(list(file.parent.glob("*.damaged-*"))) == 1
    assert stat.S_IMODE(file.stat().st_mode) & 0o007 == 0


def damage(file: Path) -> None:
    """Leave nothing of it but that it was a database."""
    file.write_bytes(file.read_bytes()[:16] + b"\xde\xad" * 4000)
