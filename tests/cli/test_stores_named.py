"""Commands that only read leave every file as it is, whatever somebody named."""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.history.test_runs import listed, recorder
from xai_mcp_agent.cli.main import run

_NOBODY = 65534
READERS = [
    ["history", "show"],
    ["history", "diff", "it"],
    ["history", "graph"],
    ["tools", "list", "--at", "1h"],
]


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project without a history, in a folder that others than its owner can reach, too."""
    folder = Path(tempfile.mkdtemp(prefix="xai-history-"))
    folder.chmod(0o755)
    (folder / "mcp_settings.json").write_text("{}")
    monkeypatch.delenv("XAI_MCP_STORE", raising=False)
    monkeypatch.delenv("XAI_MCP_SETTINGS", raising=False)
    monkeypatch.chdir(folder)
    yield folder
    shutil.rmtree(folder)


def command(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Run the command; its exit status, stdout and stderr."""
    with pytest.raises(SystemExit) as ended:
        run(words)
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, " ".join(err.split())


def files(folder: Path) -> dict[str, bytes]:
    """All there is in it."""
    return {x.name: x.read_bytes() for x in folder.iterdir()}


def other_program(folder: Path) -> Path:
    """A database of somebody else."""
    file = folder / "other.db"
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("CREATE TABLE mine (a)")
    return file


def history(folder: Path) -> Path:
    """The history of some project, with a server."""
    folder.mkdir()
    with recorder(folder) as kept:
        kept.record([listed(connected=True)])
    return folder / "history.db"


@pytest.mark.parametrize("reader", READERS, ids=lambda x: x[1])
def test_a_file_that_is_no_history_is_refused_and_left_as_it_is(
    reader: list[str], folder: Path, capsys: Any
):
    (folder / "notes.txt").write_text("mine " * 1000)
    other_program(folder)
    (folder / "empty.db").touch()
    before = files(folder)
    status, _, error = command(capsys, *reader, "--store", "notes.txt")
    assert (status, "no database at all" in error) == (1, True)
    for name in ("other.db", "empty.db"):
        status, _, error = command(capsys, *reader, "--store", name)
        assert (status, "There is no history of the project" in error) == (1, True)
    assert files(folder) == before


def test_a_damaged_database_that_somebody_only_looks_at_is_left_as_it_is(folder: Path, capsys: Any):
    file = other_program(folder)
    file.write_bytes(file.read_bytes()[:16] + b"\xde\xad" * 4000)
    before = files(folder)
    assert command(capsys, "history", "show", "--store", "other.db")[0] == 1
    assert files(folder) == before


def test_nothing_is_made_where_the_history_will_be_kept(
    folder: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
):
    other_program(folder)
    before = files(folder)
    monkeypatch.setenv("XAI_MCP_STORE", "other.db")
    status, out, _ = command(capsys, "history", "show")
    assert (status, "Nothing is remembered yet" in out) == (0, True)
    assert files(folder) == before


def test_the_history_of_another_project_is_shown_when_it_is_named(folder: Path, capsys: Any):
    file = history(folder / "other")
    status, out, _ = command(capsys, "history", "show", "--store", str(file))
    assert (status, "it: connected for the first time" in out) == (0, True)


@pytest.mark.parametrize(
    "reader", [*READERS, ["history", "stats"], ["tools", "usage"]], ids=lambda x: x[1]
)
def test_a_history_that_is_named_is_read_and_not_written(
    reader: list[str], folder: Path, capsys: Any
):
    """Also where a process of its project was killed, whose end nobody has written down yet."""
    file = history(folder / "other")
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE xai_mcp_runs SET ended = NULL, pid = ?", (2**22 + 1,))
    before = files(file.parent)
    assert command(capsys, *reader, "--store", str(file))[0] == 0
    assert files(file.parent) == before


@pytest.mark.parametrize("reader", READERS, ids=lambda x: x[1])
def test_a_copy_with_its_wal_file_is_read_with_all_in_it_and_not_written(
    reader: list[str], folder: Path, capsys: Any
):
    """As somebody copies them both while a workflow runs."""
    (folder / "live").mkdir()
    (folder / "copied").mkdir()
    with recorder(folder / "live") as live:
        live.record([listed(connected=True)])
        for name in ("history.db", "history.db-wal"):
            shutil.copy(folder / "live" / name, folder / "copied")
    before = files(folder / "copied")
    status, out, _ = command(capsys, *reader, "--store", "copied/history.db")
    assert (status, bool(out)) == (0, True)
    assert files(folder / "copied") == before


@pytest.mark.skipif(not hasattr(os, "fork") or os.getuid() != 0, reason="needs root")
def test_a_backup_that_nobody_may_write_can_be_read(folder: Path):
    """Also where nothing can be written beside it."""
    file = history(folder / "backup")
    file.chmod(0o444)
    for mode in (0o777, 0o555):
        file.parent.chmod(mode)
        before = files(file.parent)
        assert "connected for the first time" in said_to_nobody(
            "history", "show", "--store", str(file)
        )
        assert files(file.parent) == before


def said_to_nobody(*words: str) -> str:
    """What a command tells somebody without any rights."""
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        os.setgroups([])
        os.setgid(_NOBODY)
        os.setuid(_NOBODY)
        with open(writing, "w", encoding="utf-8") as sys.stdout, suppress(SystemExit):
            run(words)
        os._exit(0)
    os.close(writing)
    with open(reading, encoding="utf-8") as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return said
