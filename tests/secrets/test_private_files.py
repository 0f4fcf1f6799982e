"""Private files are never readable by others and never written for another user."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.scripts import child_environment
from xai_mcp_agent.agent.memory.notes import NoteStore
from xai_mcp_agent.bridge.transcript import Recorder
from xai_mcp_agent.secrets import private_files
from xai_mcp_agent.secrets.private_files import (
    NotOurs,
    append_private,
    file_lock,
    open_lock,
    replace_private,
)

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs POSIX modes of files")
as_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away"
)
SOMEBODY = 4711
_CHILD_SECONDS = 30


def note(file: Path) -> None:
    """Write a memory's note to the file."""
    NoteStore(file).add("a", "", "Rex is a dog.", {})


def record(file: Path) -> None:
    """Write a transcript to the file."""
    Recorder(str(file), {"run": "r"}).note("Noted", text="hi")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@contextmanager
def umask(value: int) -> Iterator[None]:
    before = os.umask(value)
    try:
        yield
    finally:
        os.umask(before)


@pytest.mark.parametrize("write", [note, record])
def test_only_the_owner_can_read_a_private_file(tmp_path: Path, write: Callable[[Path], None]):
    """A new file, a file that others could read, and the target of our own link."""
    for mask in (0o000, 0o022, 0o277):
        (folder := tmp_path / f"{mask}").mkdir()
        with umask(mask):
            write(folder / "made.jsonl")
            write(folder / "made.jsonl")
        assert {mode(x) for x in folder.iterdir()} == {0o600}
    (tmp_path / "far").mkdir()
    real, link = tmp_path / "far" / "real.jsonl", tmp_path / "made.jsonl"
    real.touch()
    real.chmod(0o666)
    link.symlink_to(real)  # a person may store notes in a folder that machines share
    write(link)
    write(link)
    assert link.is_symlink()
    assert mode(real) == 0o600
    before = mode(Path(os.devnull))
    append_private(Path(os.devnull), b"x")
    assert mode(Path(os.devnull)) == before, "all programs use it"


def foreign_link(folder: Path) -> Path:
    """Create another user's link to a file of ours."""
    ours, link = folder / "ours", folder / "link"
    ours.write_text("mine\n")
    link.symlink_to(ours)
    os.chown(link, SOMEBODY, SOMEBODY, follow_symlinks=False)
    return link


def foreign_file(folder: Path) -> Path:
    """Create a file of another user, who could read what we write."""
    file = folder / "theirs"
    file.write_text("mine\n")
    os.chown(file, SOMEBODY, SOMEBODY)
    file.chmod(0o666)
    return file


def link_to_foreign(folder: Path) -> Path:
    """Create a link of ours to another user's file."""
    link = folder / "mine"
    link.symlink_to(foreign_file(folder))
    return link


@as_root
def test_a_file_or_link_of_another_user_is_not_written(tmp_path: Path):
    for place in (foreign_link, foreign_file, link_to_foreign):
        file = place(tmp_path)
        with pytest.raises(NotOurs, match="it belongs to somebody else"):
            append_private(file, b"a secret\n")
        assert file.read_text() == "mine\n"


def test_a_replaced_file_is_complete_and_private(tmp_path: Path):
    file = tmp_path / "kept"
    file.write_text("before")
    file.chmod(0o644)
    with umask(0):
        replace_private(file, b"after")
    assert (file.read_bytes(), mode(file)) == (b"after", 0o600)
    assert [x.name for x in tmp_path.iterdir()] == ["kept"]


HOLD = """
import sys
from pathlib import Path
from xai_mcp_agent.secrets.private_files import file_lock
with file_lock(Path(sys.argv[1]), 10) as is_locked:
    print(is_locked, flush=True)
    sys.stdin.read()
"""


def test_a_lock_keeps_other_processes_out_until_its_holder_ends(tmp_path: Path):
    lock = tmp_path / "lock"
    child = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(lock)], env=child_environment(tmp_path),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "True\n"
        with pytest.raises(TimeoutError, match="another process"), file_lock(lock, 0.05):
            pytest.fail("it was not kept out")
    finally:
        child.kill()
        child.communicate(timeout=_CHILD_SECONDS)
    with file_lock(lock, _CHILD_SECONDS) as is_locked:
        assert is_locked
    assert mode(lock) == 0o600


def test_a_lock_is_released_even_if_another_process_has_a_copy_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A starting child process has a copy for a moment."""
    copies: list[int] = []

    def open_and_copy(path: Path) -> int | None:
        file = open_lock(path)
        copies.append(os.dup(file or 0))
        return file

    monkeypatch.setattr(private_files, "open_lock", open_and_copy)
    for _ in range(2):
        with file_lock(tmp_path / "it.lock", 0.0) as is_locked:
            assert is_locked
    for copy in copies:
        os.close(copy)
