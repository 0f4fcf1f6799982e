"""Which project a folder belongs to: the same for all who work on the same repository."""

from __future__ import annotations

import configparser
import hashlib
import re
from pathlib import Path

from .subject import Project

_HASH_CHARS = 12
_ORIGIN = 'remote "origin"'
# git@host:group/name, and https://user:password@host/group/name.
_BEFORE_HOST = re.compile(r"^(?:[A-Za-z][A-Za-z0-9+.-]*://)?(?:[^@/]*@)?")


def project_of(folder: Path) -> Project:
    """The project that this folder is in: by where its repository comes from, else by its path."""
    origin = _origin(folder)
    place = origin or str(folder)
    name = re.split(r"[/:\\]", place.rstrip("/\\"))[-1] or "project"
    return Project(
        name, hashlib.sha256(place.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_CHARS]
    )


def _origin(folder: Path) -> str:
    """Host and path of the repository that this one was cloned from; empty if it was not."""
    for place in (folder, *folder.parents):
        if (mark := place / ".git").exists():
            url = _url_in(_git_folder(mark) / "config")
            return _BEFORE_HOST.sub("", url).replace(":", "/").removesuffix(".git").rstrip("/")
    return ""


def _git_folder(mark: Path) -> Path:
    """Where the settings of the repository are; a worktree has a file that leads there."""
    try:
        if mark.is_dir():
            return mark
        own = mark.parent / mark.read_text(encoding="utf-8").removeprefix("gitdir:").strip()
        return own / (own / "commondir").read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return mark


def _url_in(config: Path) -> str:
    parser = configparser.ConfigParser(strict=False, interpolation=None, allow_no_value=True)
    try:
        parser.read(config, encoding="utf-8")
    except (OSError, ValueError, configparser.Error):
        return ""
    return (parser.get(_ORIGIN, "url", fallback="") or "").strip()
