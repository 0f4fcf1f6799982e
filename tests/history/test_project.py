"""The project of a folder, by the origin of its repository, and the place of its history."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from tests.support.commands import write_settings
from tests.support.databases import place_of
from xai_mcp_agent import Settings, SettingsError, StoreFailed, load_settings, settings_from
from xai_mcp_agent.history import place as places
from xai_mcp_agent.history.event import Project
from xai_mcp_agent.history.history import open_history
from xai_mcp_agent.history.place import Place, find_place, project_of

OWN = Path(".xircuits") / "history.db"
PASSWORD = "correct-horse"
GIT_SECONDS = 30
ORIGIN = "https://git.example.org/group/tools.git"
CONFIG = '[core]\n\tbare = false\n[remote "origin"]\n\turl = {}\n\tfetch = +refs/*:refs/*\n'

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


def git(folder: Path, *words: str) -> None:
    """Run git in a folder, without the settings of this machine."""
    options = ("-c", "user.name=a", "-c", "user.email=a@b")
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        environment.pop(name, None)
    subprocess.run(
        ("git", *options, *words), cwd=folder, env=environment, check=True, timeout=GIT_SECONDS,
        capture_output=True,
    )  # fmt: skip


def by_path(folder: Path) -> Project:
    """The project of a folder without any repository around it."""
    return Project(folder.name, hashlib.sha256(str(folder).encode()).hexdigest()[:12])


def with_config(folder: Path, config: str) -> Project:
    """The project of a folder whose repository has these settings."""
    if not (folder / ".git").exists():
        folder.mkdir(exist_ok=True)
        git(folder, "init", "--quiet")
    (folder / ".git" / "config").write_text(config, encoding="utf-8")
    return project_of(folder)


@needs_git
def test_clones_worktrees_and_inner_folders_are_one_project(tmp_path: Path):
    """The protocol of the URL does not matter; credentials are not part of the name or hash."""
    project = with_config(tmp_path / "one", CONFIG.format(ORIGIN))
    git(tmp_path / "one", "commit", "--quiet", "--allow-empty", "-m", "begin")
    git(tmp_path / "one", "worktree", "add", "--quiet", str(tmp_path / "tree"))
    (inner := tmp_path / "one" / "a" / "b").mkdir(parents=True)
    assert project.name == "tools"
    assert project_of(tmp_path / "tree") == project_of(inner) == project
    for url in (
        "https://GIT.example.org:8443/group/tools",
        "https://me:pass@word@git.example.org/group/tools.git/?token=abc#x",
        "git@git.example.org:group/tools.git",
        "git.example.org:/group/tools",
        "ssh://git@git.example.org:2222/group/tools.git",
        f'"{ORIGIN}"',
    ):
        assert with_config(tmp_path / "other", CONFIG.format(url)) == project, url
    for config in ("", "no section", '[remote "origin"]\n\turl\n', "\x00["):
        other = tmp_path / "other"
        assert with_config(other, config) == by_path(other), "it comes from nowhere"


@needs_git
def test_a_hook_of_another_repository_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    expected = with_config(tmp_path / "one", CONFIG.format(ORIGIN))
    with_config(tmp_path / "other", CONFIG.format("https://other.example.org/x"))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other" / ".git"))
    assert project_of(tmp_path / "one") == expected


def test_a_git_without_an_answer_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / ".git").mkdir()
    (tmp_path / "git").write_text("#!/bin/sh\nexec sleep 600\n", encoding="ascii")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(places, "_GIT_SECONDS", 0.1)
    assert project_of(tmp_path) == by_path(tmp_path)


def test_the_project_of_a_folder_without_repository_survives_a_move(tmp_path: Path):
    """Its path names the project, and its store remembers the name: events link to it."""
    (before := tmp_path / "before").mkdir()
    assert project_of(before) == by_path(before)
    assert project_of(Path("/")).name == "project"
    store = open_history(place_of("", before))
    project, number = store.project, store.project_id
    store.close()
    before.rename(tmp_path / "after")
    store = open_history(place_of("", tmp_path / "after"))
    assert (store.project, store.project_id, project.name) == (project, number, "before")
    store.close()


# The place


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a project, not the working folder."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def settings_in(folder: Path, store: str | None = None) -> Settings:
    """Load settings from a file in the folder."""
    fields = {} if store is None else {"store": store}
    return load_settings(write_settings(folder, {}, **fields), environ={})


def place(settings: Settings, override: str | Path | None = None, variable: str = "") -> Place:
    """The place for these settings."""
    return find_place(settings, override, {"XAI_MCP_STORE": variable})


def test_a_history_is_beside_the_settings_or_in_the_configured_place(folder: Path, tmp_path: Path):
    own = place(settings_in(folder))
    assert (own.file, own.folder, own.is_own, own.is_lasting) == (folder / OWN, folder, True, True)
    assert own.label == str(folder / OWN)
    settings = settings_in(folder, "c.db")
    for override, variable, file in (
        ("a.db", "b.db", folder / "a.db"),
        (None, " b.db ", folder / "b.db"),
        (None, "  ", folder / "c.db"),
        ("~/h.db", "", tmp_path / "h.db"),
        (str(tmp_path / "h.db"), "", tmp_path / "h.db"),
        (f"sqlite:///{tmp_path}/h.db", "", tmp_path / "h.db"),
        ("sqlite:///h.db", "", folder / "h.db"),
        (Path("memory"), "", folder / "memory"),
    ):
        assert place(settings, override, variable).file == file
        assert not place(settings, override, variable).is_own
    for memory in ("memory", "MEMORY", ":memory:", "sqlite://", "sqlite:///:memory:"):
        in_memory = place(settings_in(folder, memory))
        assert (in_memory.file, in_memory.is_lasting, in_memory.label) == (None, False, "memory")


def test_settings_of_python_have_a_history_in_memory(folder: Path):
    """Such settings belong to no project, unless a place is configured."""
    settings = settings_from({"mcpServers": {}}, environ={})
    assert not place(settings).is_lasting
    with_store = settings_from({"mcpServers": {}, "store": "h.db"}, environ={})
    for one in (place(settings, "h.db"), place(settings, None, "h.db"), place(with_store)):
        assert one.file == Path.cwd() / "h.db"


def test_a_database_is_shown_without_its_password(folder: Path):
    for scheme in ("postgresql", "postgres", "postgresql+psycopg", "PostgreSQL"):
        one = place(settings_in(folder, f"{scheme}://me:{PASSWORD}@db.example.org/agents"))
        assert one.url == f"postgresql+psycopg://me:{PASSWORD}@db.example.org/agents"
        assert "db.example.org/agents" in one.label
        assert PASSWORD not in one.label
        assert (one.file, one.problem) == (None, "")


def test_an_unknown_kind_of_database_is_reported(folder: Path):
    """In Python it is an error; elsewhere an agent goes on without a history."""
    settings, url = settings_in(folder), f"mysql://me:{PASSWORD}@db/agents"
    with pytest.raises(SettingsError, match="'mysql' is not a kind of database") as raised:
        place(settings, url)
    assert places.KINDS in str(raised.value)
    one = place(settings, None, url)
    with pytest.raises(StoreFailed, match="'mysql' is not a kind of database") as failed:
        open_history(one)
    for text in (str(raised.value), str(failed.value), one.label):
        assert PASSWORD not in text


def test_a_new_history_is_private_and_ignored_by_git_in_a_folder_of_any_name(folder: Path):
    """Later changes of the mode or of `.gitignore` are a person's decision."""
    for name in ("what?", "100%", "a#b", "a b", "é", "@:"):
        (folder / name).mkdir()
        settings = settings_in(folder / name)
        open_history(place(settings)).close()
        assert (folder / name / OWN).is_file(), name
    file, ignored = folder / name / OWN, folder / name / ".xircuits" / ".gitignore"
    assert ignored.read_text() == "history.db*\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    ignored.unlink()
    file.chmod(0o660)
    open_history(place(settings)).close()
    assert not ignored.exists()
    assert stat.S_IMODE(file.stat().st_mode) == 0o660
    file.write_bytes(file.read_bytes()[:16] + b"\xde\xad" * 4000)
    open_history(place(settings)).close()
    assert len(list(file.parent.glob("*.damaged-*"))) == 1
    assert stat.S_IMODE(file.stat().st_mode) & 0o007 == 0
