"""Which project a folder belongs to: the same for all who work on the same repository."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

from .subject import Project

_HASH_CHARS = 12
_NO_NAME = "project"
# As git reads its settings: names of sections and keys in any case, and comments to the end.
_QUOTED = r'"(?:\\.|[^"\\])*"'
_SECTION = re.compile(rf'\s*\[[^\]"]*(?:{_QUOTED})?\s*\]')
_ORIGIN = re.compile(r'\s*\[\s*(?i:remote)(?:\s+"origin"|\.(?i:origin))\s*\]')
_KEY = re.compile(rf"\s*(?i:url)\s*=(?P<value>(?:{_QUOTED}|\\.|[^\"\\#;])*)")
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
    """The first one, which git fetches from; it may be on the line of the section."""
    is_origin = False
    for line in _text_of(config).split("\n"):
        rest = line
        if (head := _SECTION.match(line)) is not None:
            is_origin, rest = _ORIGIN.match(line) is not None, line[head.end() :]
        if is_origin and (key := _KEY.match(rest)) is not None:
            return _plain(key["value"])
    return ""


def _plain(value: str) -> str:
    """Without its quotes, and without the backslashes before what is meant as it is."""
    return re.sub(r'\\(.)|"', lambda found: found[1] or "", value).strip()


def _text_of(file: Path) -> str:
    """What a file says; nothing if it cannot be read."""
    try:
        return file.read_text(encoding="utf-8", errors="surrogateescape")
    except (OSError, ValueError):
        return ""
