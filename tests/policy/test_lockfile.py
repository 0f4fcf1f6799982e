"""The file of what people decided, attacked: nothing decided is lost, and nothing is guessed."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from xai_mcp_agent import LockFailed, settings_from
from xai_mcp_agent.policy import lockfile
from xai_mcp_agent.policy.lock_document import DecisionLock
from xai_mcp_agent.policy.lockfile import Change, LockFile, find_lock
from xai_mcp_agent.secrets.private_files import file_lock
from xai_mcp_agent.settings.load import load_settings

pytestmark = pytest.mark.anyio

ONE, TWO = "1" * 32, "2" * 32
CHILD_SECONDS = 60.0
DECIDING = """
import sys, anyio
from pathlib import Path
from tests.policy.test_lockfile import off
from xai_mcp_agent.policy.lockfile import LockFile

async def decide(file, name):
    lock = LockFile(Path(file))
    for number in range(5):
        await lock.change(off(f"{name}{number}"))

anyio.run(decide, *sys.argv[1:])
"""


def off(tool: str, source: str = "mcp:a") -> Change:
    """A person switches a tool off."""

    def change(lock: DecisionLock) -> DecisionLock:
        return lock.with_source(source, lock.of(source).switched(tool, is_enabled=False))

    return change


def accepted(**digests: str) -> Change:
    """A person accepts these."""

    def change(lock: DecisionLock) -> DecisionLock:
        return lock.with_source("mcp:a", lock.of("mcp:a").with_accepted(digests))

    return change


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where it is to be."""
    return tmp_path / "mcp_tools.lock.json"


async def looked_at(path: Path) -> LockFile:
    """The file as a process finds it."""
    file = LockFile(path)
    await file.look()
    return file


def tools_off(file: LockFile) -> set[str]:
    """What is off, of the one source."""
    return set(file.lock.of("mcp:a").off)


async def test_a_decision_counts_at_once_here_and_at_the_next_look_elsewhere(path: Path):
    one, other = await looked_at(path), await looked_at(path)
    assert (one.trouble, path.exists()) == (None, False)
    await one.change(off("x"))
    assert (tools_off(one), tools_off(other)) == ({"x"}, set())
    version = other.version
    await other.look()
    assert tools_off(other) == {"x"}
    assert other.version > version
    version = other.version
    await other.look()
    assert other.version == version


async def test_decisions_of_several_processes_at_once_are_all_kept(path: Path):
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", DECIDING, str(path)]
    children = [subprocess.Popen([*command, name], cwd=root) for name in "abc"]
    for child in children:
        assert child.wait(CHILD_SECONDS) == 0
    file = await looked_at(path)
    assert tools_off(file) == {f"{name}{number}" for name in "abc" for number in range(5)}
    assert sorted(os.listdir(path.parent)) == [path.name], "nothing is left beside it"


async def test_a_change_in_place_of_the_same_length_is_seen(path: Path):
    """Also one whose time is set back: by `touch -r`, or by a program that restores files."""
    await LockFile(path).change(accepted(x=ONE))
    file = await looked_at(path)
    was = path.stat()
    for digest in (TWO, ONE):
        path.write_text(path.read_text().replace(ONE if digest == TWO else TWO, digest))
        os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))
        await file.look()
        assert file.lock.of("mcp:a").accepted == {"x": digest}


def write(path: Path, data: bytes) -> None:
    """Have these bytes in it."""
    path.write_bytes(data)


def make_pipe(path: Path) -> None:
    """A pipe that nobody writes to."""
    path.unlink()
    os.mkfifo(path)


DAMAGES: dict[str, Callable[[Path], None]] = {
    "emptied": partial(write, data=b""),
    "merged": partial(write, data=b"<<<<<<< HEAD\n{}\n=======\n{}\n>>>>>>> other\n"),
    "utf-16": lambda path: path.write_text(path.read_text(), encoding="utf-16"),
    "a pipe": make_pipe,
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
async def test_a_damaged_one_is_trouble_that_is_reported_and_never_overwritten(
    path: Path, damage: Callable[[Path], None]
):
    file = LockFile(path)
    await file.change(off("x"))
    damage(path)
    for one in (file, LockFile(path)):
        await one.look()
        assert one.trouble is not None
        assert f"The decisions in {path}: " in str(one.trouble)
        assert "Next step: " in str(one.trouble)
    found = path.read_bytes() if path.is_file() else b""
    with pytest.raises(LockFailed):
        await file.change(off("y"))
    assert (path.read_bytes() if path.is_file() else b"") == found


async def test_one_that_is_mended_counts_again_with_what_was_decided_meanwhile(path: Path):
    file = LockFile(path)
    await file.change(off("x"))
    text = path.read_text()
    path.write_text(text[:-5])
    with pytest.raises(LockFailed, match="line"):
        await file.change(off("y"))
    path.write_text(text)
    await file.look()
    assert (file.trouble, tools_off(file)) == (None, {"x", "y"})
    await file.change(off("z"))
    assert tools_off(await looked_at(path)) == {"x", "y", "z"}


async def test_a_link_is_followed_and_stays_one(path: Path, tmp_path: Path):
    """Several projects may share one file."""
    shared = tmp_path / "shared" / "decisions.json"
    shared.parent.mkdir()
    shared.write_text("{}")
    path.symlink_to(shared)
    file = await looked_at(path)
    await file.change(off("x"))
    assert path.is_symlink()
    assert tools_off(await looked_at(shared)) == {"x"}


async def test_one_that_is_deleted_while_it_is_used_goes_on_to_count_and_comes_back(path: Path):
    """A branch of git without it, say: what a person decided is not undone by that."""
    file = LockFile(path)
    await file.change(off("x"))
    path.unlink()
    await file.look()
    assert (tools_off(file), file.is_lost) == ({"x"}, True)
    await file.change(off("y"))
    assert (tools_off(await looked_at(path)), file.is_lost) == ({"x", "y"}, False)


async def test_one_that_cannot_be_written_counts_here_and_that_is_reported(
    path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A folder that may only be read, or a disk that is full."""
    await LockFile(path).change(off("x"))
    file = await looked_at(path)

    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(lockfile, "replace_file", refuse)
    with pytest.raises(LockFailed, match="counts until this process ends") as refused:
        await file.change(off("y"))
    await file.look()
    assert tools_off(file) == {"x", "y"}
    assert refused.value.place == str(path)
    assert tools_off(await looked_at(path)) == {"x"}


async def test_a_process_that_waits_for_another_ends(path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(lockfile, "_LOCK_SECONDS", 0.2)
    file = LockFile(path)
    with (
        file_lock(path.parent, 1.0),
        pytest.raises(LockFailed, match="another process keeps it locked"),
    ):
        await file.change(off("x"))
    await file.change(off("y"))
    assert tools_off(await looked_at(path)) == {"x", "y"}


def test_it_lies_beside_the_settings_unless_somebody_says_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    written = tmp_path / "lab" / "mcp_settings.json"
    written.parent.mkdir()
    written.write_text("{}")
    monkeypatch.chdir(tmp_path)
    of_file, of_none = load_settings(written), load_settings(environ={}, start=tmp_path)
    of_python = settings_from({})
    assert find_lock(of_file, environ={}) == tmp_path / "lab" / "mcp_tools.lock.json"
    assert find_lock(of_none, environ={}) == tmp_path / "mcp_tools.lock.json"
    assert find_lock(of_python, environ={}) is None
    assert find_lock(of_python, "mine.json", environ={}) == tmp_path / "mine.json"
    named = {"XAI_MCP_LOCK": "../team.json"}
    assert find_lock(of_file, environ=named) == tmp_path / "lab" / "../team.json"
    assert find_lock(of_file, Path("/x/y"), environ=named) == Path("/x/y")
