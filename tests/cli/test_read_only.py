"""Commands that only read leave every file as it is, whatever --store names."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from tests.support.commands import Cli
from tests.support.processes import printed_without_rights
from tests.support.recorded import NOON, a_tool, place_of_file, write_history
from xai_mcp_agent import Subject
from xai_mcp_agent.cli.main import run
from xai_mcp_agent.core.tools import MCP
from xai_mcp_agent.history.history import open_history
from xai_mcp_agent.history.recording.report_writer import ReportWriter
from xai_mcp_agent.history.recording.reports import Listed

LISTED = Listed(Subject(MCP, "it"), NOON, (a_tool("x"),), "stdio")
READERS = (
    "history show", "history diff it", "history graph", "tools list --at 1h", "history stats",
    "tools usage",
)  # fmt: skip


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project without a history, in a folder that every user can reach."""
    folder = Path(tempfile.mkdtemp(prefix="xai-history-"))
    folder.chmod(0o755)
    (folder / "mcp_settings.json").write_text("{}")
    monkeypatch.chdir(folder)
    yield folder
    shutil.rmtree(folder)


def files(folder: Path) -> dict[str, bytes]:
    """Return the content of each file in a folder."""
    return {x.name: x.read_bytes() for x in folder.iterdir() if x.is_file()}


def history(folder: Path) -> Path:
    """Create the history of another project, with a server."""
    folder.mkdir()
    write_history(folder / "history.db", LISTED)
    return folder / "history.db"


def test_a_file_that_is_not_a_history_is_refused_and_stays_as_it_is(
    folder: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
):
    (folder / "notes.txt").write_text("mine " * 1000)
    (folder / "empty.db").touch()
    other = folder / "other.db"
    with closing(sqlite3.connect(other)) as connection, connection:
        connection.execute("CREATE TABLE mine (a)")
    (folder / "bad.db").write_bytes(other.read_bytes()[:16] + b"\xde\xad" * 4000)
    before = files(folder)
    for name, text in (
        ("notes.txt", "no database at all"), ("bad.db", ""),
        ("other.db", "There is no history of the project"),
        ("empty.db", "There is no history of the project"),
    ):  # fmt: skip
        for reader in READERS[:4]:
            cli(f"{reader} --store {name}").fails(text)
    monkeypatch.setenv("XAI_MCP_STORE", "other.db")
    cli("history show").shows("There is no history yet")
    assert files(folder) == before


@pytest.mark.parametrize("reader", READERS)
def test_a_history_named_by_store_is_read_and_not_written(folder: Path, cli: Cli, reader: str):
    """Also after a process of its project was killed, and as a copy with its `-wal` file.

    A user may copy both while a workflow runs.
    """
    file = history(folder / "other")
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE xai_mcp_runs SET ended = NULL, pid = ?", (2**22 + 1,))
    (folder / "live").mkdir()
    (folder / "copied").mkdir()
    live = ReportWriter(open_history(place_of_file(folder / "live" / "history.db")), str)
    live.record([LISTED])
    for name in ("history.db", "history.db-wal"):
        shutil.copy(folder / "live" / name, folder / "copied")
    for source in (file, folder / "copied" / "history.db"):
        before = files(source.parent)
        assert cli(f"{reader} --store {source}").shows().out
        assert files(source.parent) == before
    live.close()


@pytest.mark.skipif(not hasattr(os, "fork") or os.getuid() != 0, reason="needs root")
def test_a_read_only_backup_can_be_read(folder: Path):
    """Also in a folder that cannot be written."""
    file = history(folder / "backup")
    file.chmod(0o444)
    for mode in (0o777, 0o555):
        file.parent.chmod(mode)
        before = files(file.parent)
        words = ["history", "show", "--store", str(file)]
        output = printed_without_rights(partial(run, words))
        assert "connected for the first time" in output
        assert files(file.parent) == before
