"""Whose tools they are: by where a repository comes from, however and wherever it was cloned."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.databases import place_of
from xai_mcp_agent.history import place
from xai_mcp_agent.history.event import Project
from xai_mcp_agent.history.history import open_history
from xai_mcp_agent.history.place import project_of

GIT_SECONDS = 30
ORIGIN = "https://git.example.org/group/tools.git"
CONFIG = '[core]\n\tbare = false\n[remote "origin"]\n\turl = {}\n\tfetch = +refs/*:refs/*\n'

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


def git(folder: Path, *words: str) -> str:
    """Run git there, whatever this machine's own settings are; what it says."""
    options = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always")
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        environment.pop(name, None)
    command = ("git", *options, *words)
    done = subprocess.run(
        command, cwd=folder, env=environment, check=True, timeout=GIT_SECONDS, capture_output=True
    )
    return done.stdout.decode().strip()


def repository(folder: Path, origin: str = ORIGIN) -> Path:
    """A repository with one commit, cloned from there."""
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet")
    git(folder, "commit", "--quiet", "--allow-empty", "-m", "begin")
    git(folder, "remote", "add", "origin", origin)
    return folder


def by_path(folder: Path) -> Project:
    """The project of a folder without any repository around it."""
    path = hashlib.sha256(str(folder).encode()).hexdigest()[:12]
    return Project(folder.name, path)


def with_config(folder: Path, config: str) -> Project:
    """The project of a folder whose repository has these settings."""
    git(folder, "init", "--quiet")
    (folder / ".git" / "config").write_text(config, encoding="utf-8")
    return project_of(folder)


@needs_git
def test_clones_worktrees_and_folders_within_are_one_project(tmp_path: Path):
    first, second = repository(tmp_path / "one"), repository(tmp_path / "other")
    git(first, "worktree", "add", "--quiet", str(tmp_path / "tree"))
    (inner := first / "a" / "b").mkdir(parents=True)
    projects = {project_of(x) for x in (first, second, tmp_path / "tree", inner)}
    assert {x.name for x in projects} == {"tools"}
    assert len(projects) == 1


@needs_git
def test_every_way_to_reach_a_repository_is_the_same_project(tmp_path: Path):
    """And nothing that gives access to it is part of the name, or of what the hash is made of."""
    cases: list[str] = [
        ORIGIN,
        "https://git.example.org/group/tools",
        "https://git.example.org/group/tools.git/",
        "https://GIT.example.org:8443/group/tools.git",
        "https://me:pass@word@git.example.org/group/tools.git?token=abc#x",
        "git@git.example.org:group/tools.git",
        "git.example.org:/group/tools",
        "ssh://git@git.example.org:2222/group/tools.git",
        '"https://git.example.org/group/tools.git"',
    ]
    expected = with_config(tmp_path, CONFIG.format(ORIGIN))
    (tmp_path / "other").mkdir()
    assert expected.name == "tools"
    for url in cases:
        assert with_config(tmp_path / "other", CONFIG.format(url)) == expected, url


@needs_git
def test_a_repository_that_comes_from_nowhere_is_known_by_its_path(tmp_path: Path):
    for number, config in enumerate(["", "no section", '[remote "origin"]\n\turl\n', "\x00["]):
        folder = tmp_path / f"{number}"
        folder.mkdir()
        assert with_config(folder, config) == by_path(folder), config


@needs_git
def test_what_git_tells_its_hooks_of_another_repository_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    expected = with_config(tmp_path, CONFIG.format(ORIGIN))
    (other := tmp_path / "other").mkdir()
    with_config(other, CONFIG.format("https://other.example.org/x"))
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    assert project_of(tmp_path) == expected


def test_a_git_that_does_not_answer_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / ".git").mkdir()
    (tmp_path / "git").write_text("#!/bin/sh\nexec sleep 600\n", encoding="ascii")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(place, "_GIT_SECONDS", 0.1)
    assert project_of(tmp_path) == by_path(tmp_path)


def test_a_folder_without_a_repository_is_known_by_its_path(tmp_path: Path):
    (other := tmp_path / "other").mkdir()
    assert project_of(tmp_path) == by_path(tmp_path)
    assert project_of(tmp_path) != project_of(other)
    assert project_of(Path("/")).name == "project"


def test_a_store_of_the_project_remembers_it_when_the_folder_is_moved(tmp_path: Path):
    """Its events are linked to the project's ids; nobody wants to lose them with the old path."""
    (tmp_path / "before").mkdir()
    store = open_history(place_of("", tmp_path / "before"))
    project, number = store.project, store.project_id
    store.close()
    (tmp_path / "before").rename(tmp_path / "after")
    store = open_history(place_of("", tmp_path / "after"))
    assert (store.project, store.project_id) == (project, number)
    assert project.name == "before"
    store.close()
