"""Checks of before: a lesson in whose folder nothing has changed since is not run again.

They lie in a folder of whoever checks, never in a learner's. Their name is a digest of all that
decides what comes of a run: every file that the learner's workflow can find, and what runs it.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ...canvas.lessons.goals import Judged
from ...canvas.lessons.lessons import LESSONS, WORKSHOP, Lesson
from ...core.util import installed_components_folder
from ...secrets.private_files import make_private_folder, replace_private
from ...settings.load import user_settings_path
from .checked import Checked, Problem

_FOLDER = "checked-lessons"
_MOST_DAYS = 1.0  # what a server answers may depend on the day
_MOST_BYTES, _MOST_FILES = 32 * 1024**2, 5_000  # more than a lesson needs; then it is run
_DAY_SECONDS = 86_400.0
_PACKAGES = ("xai-mcp-agent", "xircuits", "mcp")
# What a run, the lab or a check leaves there.
_LEFT_OUT = {"__pycache__", ".ipynb_checkpoints"}
_LEFT_OUT_PLACES = {(".xircuits",), (WORKSHOP, "checked")}


class _TooMuch(Exception):
    """The folder has more than is looked at, or leads out of itself."""


class KeptChecks:
    """The checks that were made by this user; `folder` is where they lie.

    Without `reads` they are only added to.
    """

    def __init__(self, folder: Path | None = None, *, reads: bool = True) -> None:
        self._reads = reads
        self._folder = folder or user_settings_path().parent / _FOLDER
        self._who_runs = repr(list(_who_runs()))

    def key(
        self, folder: Path, lesson: Lesson, seconds: float, workflow: Path | None = None
    ) -> str:
        """The name for a check of this lesson as it is now; empty if that cannot be told.

        What is said of a folder names it, and which `workflow` is run depends on when it was saved.
        """
        about = (self._who_runs, seconds, lesson.folder, str(folder.resolve()), str(workflow))
        digest = hashlib.sha256(repr(about).encode())
        try:
            for name, data in _files(folder, lesson):
                digest.update(repr((name, hashlib.sha256(data).hexdigest())).encode())
        except (OSError, _TooMuch):
            return ""
        return digest.hexdigest()

    def find(self, key: str, folder: Path) -> Checked | None:
        """What came of it before; None if it was not checked, or too long ago."""
        try:
            file = self._folder / f"{key}.json"
            if not (key and self._reads) or file.stat().st_mtime < _oldest():
                return None
            return _read(json.loads(file.read_bytes()), folder)
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return None

    def keep(self, key: str, checked: Checked) -> None:
        """Keep what came of a check. Without room for it the next check runs again."""
        if not key or checked.is_passing:
            return
        with suppress(OSError):
            make_private_folder(self._folder)
            self._forget_old()
            data = json.dumps(asdict(checked)).encode("utf-8", "backslashreplace")
            replace_private(self._folder / f"{key}.json", data)

    def _forget_old(self) -> None:
        for file in self._folder.glob("*.json"):
            with suppress(OSError):
                if file.stat().st_mtime < _oldest():
                    file.unlink()


def _oldest() -> float:
    return time.time() - _MOST_DAYS * _DAY_SECONDS


def _who_runs() -> Iterator[Any]:
    """What else decides: Python, its packages that matter, and what this library is made of."""
    yield from (sys.version, platform.node(), sys.prefix, os.environ.get("PATH"))
    yield from (version(x) for x in _PACKAGES)
    home = Path(__file__).parents[2]  # a checkout changes without its version
    for file in sorted(home.rglob("*.py")):
        about = file.stat()
        yield (str(file), about.st_size, about.st_mtime_ns)


def _files(folder: Path, lesson: Lesson) -> Iterator[tuple[str, bytes]]:
    """Every file of the learner's that is no other lesson's, with its place in the folder."""
    others = {x.folder for x in LESSONS} - {lesson.folder}
    size = count = 0
    for here, folders, names in os.walk(folder, followlinks=False):
        place = Path(here).relative_to(folder)
        in_workshop = place.parts == (WORKSHOP,)
        skipped = _LEFT_OUT | (others if in_workshop else set[str]())
        skipped |= {x for x in folders if (*place.parts, x) in _LEFT_OUT_PLACES}
        folders[:] = sorted(set(folders) - skipped)
        for name in [*folders, *sorted(names)]:
            file = Path(here, name)
            about = file.lstat()
            if stat.S_ISLNK(about.st_mode):
                if file.resolve() != installed_components_folder().resolve():
                    raise _TooMuch  # what it leads to may change, and is not looked at
                yield str(place / name), b""
            elif stat.S_ISREG(about.st_mode):
                size, count = size + about.st_size, count + 1
                if size > _MOST_BYTES or count > _MOST_FILES:
                    raise _TooMuch
                yield str(place / name), file.read_bytes()


def _read(kept: dict[str, Any], folder: Path) -> Checked:
    problem = kept["problem"]
    found = Checked(
        str(folder),
        str(kept["lesson"]),
        kept["workflow"],
        tuple(Judged(**x) for x in kept["goals"]),
        Problem(problem["sentence"], tuple(problem["lines"])) if problem else None,
        tuple(kept["notes"]),
        kept["output"],
        float(kept["seconds"]),
        is_from_before=True,
    )
    is_there = found.output is not None and Path(found.output).is_file()
    return found if is_there else replace(found, output=None)
