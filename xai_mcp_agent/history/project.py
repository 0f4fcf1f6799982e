"""Which project a folder belongs to: the same for all who work on the same repository."""

from __future__ import annotations

import configparser
import hashlib
import os
import re
from pathlib import Path

from .subject import Project

_HASH_CHARS = 12
_ORIGIN = 'remote "origin"'
_NO_NAME = "project"
# https://user:password@host:8443/group/name, and git@host:group/name.
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://(?P<authority>[^/]*)/*(?P<path>.*)")
_SCP = re.compile(r"(?P<authority>[^/:]{2,}):(?P<path>.*)")  # C:\ is a disk of Windows


def project_of(folder: Path) -> Project:
    """The project that this folder is in: by where its repository comes from, else by its path."""
    place = _origin(folder) or str(folder)
    name = re.split(r"[/\\]", place.rstrip("/\\"))[-1] or _NO_NAME
    return Project(
        name, hashlib.sha256(place.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_CHARS]
    )


def _origin(folder: Path) -> str:
    """Where the repository was cloned from, in whatever way; empty if it was not."""
    for place in (folder, *folder.parents):
        mark = place / ".git"
        if os.path.exists(mark):  # False, and no error, for what may not be looked at
            return _without_access(_url_in(_git_folder(mark) / "config"))
    return ""


def _without_access(url: str) -> str:
    """Host and path, the same for each way to reach them, and without what gives access."""
    url = re.split(r"[?#]", url, maxsplit=1)[0]
    parts = _URL.fullmatch(url) or _SCP.fullmatch(url)
    if parts is not None:
        host = parts["authority"].rpartition("@")[2].partition(":")[0].lower()
        url = f"{host}/{parts['path'].lstrip('/')}"
    return url.rstrip("/").removesuffix(".git").rstrip("/")


def _git_folder(mark: Path) -> Path:
    """Where the settings of the repository are.

    A worktree and a submodule have a file that leads to a folder of their own; that of a worktree
    has a file that leads on to the one of its repository.
    """
    if mark.is_dir():
        return mark
    own = mark.parent / _text_of(mark).removeprefix("gitdir:").strip()
    return own / _text_of(own / "commondir").strip()


def _url_in(config: Path) -> str:
    parser = configparser.ConfigParser(strict=False, interpolation=None, allow_no_value=True)
    try:
        parser.read_string(_text_of(config))
    except configparser.Error:
        return ""
    return (parser.get(_ORIGIN, "url", fallback="") or "").strip().strip('"')


def _text_of(file: Path) -> str:
    """What a file says; nothing if it cannot be read."""
    try:
        return file.read_text(encoding="utf-8", errors="surrogateescape")
    except (OSError, ValueError):
        return ""
