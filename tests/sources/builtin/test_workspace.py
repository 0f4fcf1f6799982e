"""No path leads out of the workspace, even if folders change during a call."""

from __future__ import annotations

import os
import socket
import stat
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from xai_mcp_agent import settings_from
from xai_mcp_agent.sources.builtin.source import started_files
from xai_mcp_agent.sources.builtin.workspace import Workspace, WorkspaceError

SECRET = "what is outside"
TRIES = 300


@pytest.fixture
def inside(tmp_path: Path) -> Path:
    """The workspace, in a folder with a secret beside it."""
    (tmp_path / "secret.txt").write_text(SECRET, encoding="utf-8")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text(SECRET, encoding="utf-8")
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


@pytest.fixture
def files(inside: Path) -> Workspace:
    return Workspace(str(inside))


def failure_of(files: Workspace, path: str) -> str:
    """Return the error of reading; writing must fail too, and create no file outside."""
    with pytest.raises(WorkspaceError) as reading:
        files.read_file(path)
    with pytest.raises(WorkspaceError):
        files.write_file(path, "overwritten")
    return str(reading.value)


# What it is for


def test_a_written_file_is_read_and_listed(files: Workspace, inside: Path):
    assert files.write_file("notes/today.txt", "Ärger\n") == "notes/today.txt: 7 bytes written."
    files.write_file("b.txt", "")
    assert files.read_file("./notes//today.txt") == "Ärger\n"
    assert [(x.path, x.bytes) for x in files.list_files().files] == [
        ("b.txt", 0), ("notes/today.txt", 7),
    ]  # fmt: skip
    assert [x.path for x in files.list_files("notes/").files] == ["notes/today.txt"]
    assert sorted(x.name for x in inside.iterdir()) == ["b.txt", "notes"]


def test_a_workspace_is_made_when_something_is_written(tmp_path: Path):
    files = Workspace(str(tmp_path / "new" / "work"))
    assert files.list_files().files == []
    with pytest.raises(WorkspaceError, match="it does not exist"):
        files.read_file("a.txt")
    assert not (tmp_path / "new").exists()
    files.write_file("a.txt", "x")
    assert files.read_file("a.txt") == "x"


def test_settings_and_hooks_are_not_written(files: Workspace, inside: Path):
    for path in (
        "mcp_settings.json", "notes/MCP_Settings.json", "mcp.json", "mcp_tools.lock.json",
        ".git/hooks/pre-commit", "a/.GIT/config", ".git ./config",
    ):  # fmt: skip
        with pytest.raises(WorkspaceError, match="decides what is started"):
            files.write_file(path, "{}")
    assert list(inside.iterdir()) == []


def test_files_that_the_settings_start_are_not_written(tmp_path: Path):
    """Files of functions, scripts of servers, modules: also before they exist, under any name."""
    work = tmp_path / "work"
    (work / "pack").mkdir(parents=True)
    for name in ("server.py", "fun.py", "pack/tool.py", "free.py"):
        (work / name).touch()
    (work / "link.py").symlink_to("server.py")
    entries = {
        "builtin": {"files": {"tools": ["write_file"], "workspace": "work"}},
        "functions": {"f": {"file": "work/fun.py"}, "m": {"module": "work.pack"}},
        "mcpServers": {
            "s": {"command": "python", "args": ["server.py"], "cwd": str(work)},
            "later": {"command": "python", "args": ["later.py", "free"], "cwd": str(work)},
            "module": {"command": "python", "args": ["-m", "tools.clock"], "cwd": str(work)},
        },
    }
    settings = settings_from(entries, folder=tmp_path)
    files = Workspace(str(work), started_files(settings.sources.values()))
    started = ["server.py", "fun.py", "FUN.py", "pack/tool.py", "pack/new.py"]
    not_there_yet = ["later.py", "tools/clock.py", "tools/clock/__main__.py"]
    for path in (*started, *not_there_yet):
        with pytest.raises(WorkspaceError, match="is started by the settings"):
            files.write_file(path, "evil")
    for path in ("free.py", "free/notes.txt", "tools/other.py"):
        files.write_file(path, "mine")


def test_our_own_configuration_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / ".config"))
    files = Workspace(str(tmp_path))
    (tmp_path / ".config" / "xai-mcp-agent").mkdir(parents=True)
    (tmp_path / "short").symlink_to(".config/xai-mcp-agent", target_is_directory=True)
    for path in (".config/xai-mcp-agent/trusted.json", "short/trusted.json"):
        with pytest.raises(WorkspaceError):
            files.write_file(path, "{}")
    assert list((tmp_path / ".config" / "xai-mcp-agent").iterdir()) == []


def test_without_folder_descriptors_a_path_must_resolve_inside_the_workspace(
    files: Workspace, inside: Path, monkeypatch: pytest.MonkeyPatch
):
    """As on Windows."""
    monkeypatch.setattr(os, "supports_dir_fd", set())
    files.write_file("notes/today.txt", "x")
    assert files.read_file("notes/today.txt") == "x"
    assert [x.path for x in files.list_files().files] == ["notes/today.txt"]
    (inside / "out").symlink_to("../outside", target_is_directory=True)
    (inside / "link").symlink_to("../secret.txt")
    for path in ("out/secret.txt", "link", "../secret.txt", "out/new.txt"):
        assert SECRET not in failure_of(files, path)
    assert os.listdir(inside.parent / "outside") == ["secret.txt"]


def test_a_file_is_replaced_atomically_and_keeps_its_mode(files: Workspace, inside: Path):
    """A hard link to a file outside loses nothing there."""
    files.write_file("a.txt", "a long text")
    (inside / "a.txt").chmod(0o600)
    before = (inside / "a.txt").stat().st_ino
    files.write_file("a.txt", "short")
    after = (inside / "a.txt").stat()
    assert files.read_file("a.txt") == "short"
    assert (stat.S_IMODE(after.st_mode), after.st_ino != before) == (0o600, True)


# Paths that lead out


def test_a_path_that_leads_out_or_is_invalid_is_refused(files: Workspace, inside: Path):
    with pytest.raises(WorkspaceError, match="may lead out of the workspace"):
        files.list_files("..")
    for path in (
        "../secret.txt", "a/../../secret.txt", "a/..", "..", "/etc/passwd", "//etc/passwd",
        "\\..\\secret.txt", "..\\secret.txt", "C:\\x", "", ".", "/", "./", "a\0b",
        "../secret.txt\0.txt", "a\nb", "a\x7f", "x" * 300, "/".join("a" * 40), "ж" * 150,
        "a/" * 5000, "\ud800", "./../work/../secret.txt", "..//secret.txt",
    ):  # fmt: skip
        problem = failure_of(files, path)
        assert len(problem) < 400
        assert str(inside.parent) not in problem
        assert (inside.parent / "secret.txt").read_text(encoding="utf-8") == SECRET


# Links, and what is no file


@pytest.mark.parametrize("target", ["../secret.txt", "../nothing.txt", "link", "real.txt"])
def test_a_link_is_neither_read_nor_written_through(files: Workspace, inside: Path, target: str):
    (inside / "real.txt").write_text("inside", encoding="utf-8")
    (inside / "link").symlink_to(target)
    assert "links are not followed" in failure_of(files, "link")
    assert (inside / "link").is_symlink()
    assert not (inside.parent / "nothing.txt").exists()
    assert [x.path for x in files.list_files().files] == ["real.txt"]


def test_a_folder_that_is_a_link_is_not_entered(files: Workspace, inside: Path):
    (inside / "out").symlink_to("../outside", target_is_directory=True)
    (inside / "round").symlink_to(".", target_is_directory=True)
    for path in ("out/secret.txt", "round/out/secret.txt", "out/new.txt", "out/deep/new.txt"):
        assert "link" in failure_of(files, path)
    with pytest.raises(WorkspaceError, match="link"):
        files.list_files("out")
    assert files.list_files().files == []
    assert os.listdir(inside.parent / "outside") == ["secret.txt"]


def test_pipes_sockets_and_folders_are_refused_without_waiting(
    files: Workspace, inside: Path, monkeypatch: pytest.MonkeyPatch
):
    os.mkfifo(inside / "pipe")
    (inside / "folder").mkdir()
    monkeypatch.chdir(inside)  # names of sockets are short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
        assert "a pipe or a device" in failure_of(files, "pipe")
        assert "a pipe or a device" in failure_of(files, "socket")
        assert "is a folder" in failure_of(files, "folder")
        assert files.list_files().files == []


@contextmanager
def going_on(step: Callable[[], None]) -> Generator[None]:
    """Repeat a step in a thread within the block."""
    done = threading.Event()

    def work() -> None:
        while not done.is_set():
            step()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join(20)


def test_a_folder_exchanged_for_a_link_leads_nowhere(files: Workspace, inside: Path):
    (inside / "place").mkdir()
    (inside / "place" / "secret.txt").write_text("inside", encoding="utf-8")
    (inside / "out").symlink_to("../outside", target_is_directory=True)

    def exchange() -> None:
        for name, new in (("place", "dir"), ("out", "place"), ("place", "out"), ("dir", "place")):
            os.rename(inside / name, inside / new)

    read: set[str] = set()
    with going_on(exchange):
        for _ in range(TRIES):
            with suppress(WorkspaceError):
                read.add(files.read_file("place/secret.txt"))
            with suppress(WorkspaceError):
                read |= {str(x.bytes) for x in files.list_files("place").files}
    assert read <= {"inside", str(len("inside"))}


# Limits


def test_a_large_file_is_refused_in_both_directions(files: Workspace, inside: Path):
    (inside / "large.txt").write_bytes(b"x" * 1_000_001)
    with pytest.raises(WorkspaceError, match="larger than 1,000,000 bytes"):
        files.read_file("large.txt")
    with pytest.raises(WorkspaceError, match="larger than 1,000,000 bytes"):
        files.write_file("a.txt", "ж" * 500_001)
    files.write_file("a.txt", "x" * 1_000_000)
    assert len(files.read_file("a.txt")) == 1_000_000


def test_a_file_that_is_not_text_is_refused(files: Workspace, inside: Path):
    (inside / "a.bin").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(WorkspaceError, match="not text in UTF-8"):
        files.read_file("a.bin")
    with pytest.raises(WorkspaceError, match="half a character"):
        files.write_file("a.txt", "\ud800")
    assert not (inside / "a.txt").exists()


def test_only_the_first_1000_files_are_listed(files: Workspace, inside: Path):
    for number in range(1_005):
        (inside / f"{number:04}.txt").touch()
    listing = files.list_files()
    assert (len(listing.files), listing.is_complete) == (1_000, False)
    assert listing.files[-1].path == "0999.txt"


def test_a_failed_write_leaves_nothing(
    files: Workspace, inside: Path, monkeypatch: pytest.MonkeyPatch
):
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(WorkspaceError, match="disk is full"):
        files.write_file("a.txt", "x")
    assert list(inside.iterdir()) == []
