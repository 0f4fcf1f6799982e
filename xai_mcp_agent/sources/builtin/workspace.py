"""`list_files`, `read_file`, `write_file`: files of one folder and nothing outside it.

No link is followed: the resolved path must be the path itself.
"""

from __future__ import annotations

import errno
import os
import stat
import uuid
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated

from pydantic import Field

from ...settings.load import FILE_NAME, LOCK_NAME, OTHER_FILE_NAME, user_settings_path

_MAX_BYTES = 1_000_000  # size of a file; a model reads no more
_MAX_FILES = 1_000  # number of files
_MAX_DEPTH = 32  # folders of a path
_TEMPORARY = ".writing-"

_Path = Annotated[
    str, Field(description="Relative to the workspace, such as `notes/today.txt`, with `/`.")
]


class WorkspaceError(ValueError):
    """A path or file cannot be used; says why."""


@dataclass(frozen=True)
class ListedFile:
    """One file of the workspace."""

    path: str
    bytes: int


@dataclass(frozen=True)
class FolderListing:
    """The result of `list_files`; `is_complete` unless there are more files."""

    files: list[ListedFile]
    is_complete: bool


class Workspace:
    """Tools for the files of one folder.

    The folder itself is trusted, and made by the first write. `protected` paths and the user's
    configuration folder cannot be written.
    """

    def __init__(self, folder: str, protected: Iterable[Path] = ()) -> None:
        self._folder = folder
        self._protected = [*protected, user_settings_path().parent]

    def list_files(
        self,
        folder: Annotated[str, Field(description="One folder in it. Empty: all.")] = "",
    ) -> FolderListing:
        """List the files of the workspace, or of one folder in it, with all folders below."""
        parts = _parts(folder) if folder.strip("/ ") not in ("", ".") else []
        if not parts and not os.path.exists(self._folder):
            return FolderListing([], is_complete=True)  # nothing has been written yet
        unreadable: list[OSError] = []
        with _explain_errors(folder or "the workspace"):
            files = [*islice(self._files_below(self._path(parts), unreadable), _MAX_FILES + 1)]
        is_complete = len(files) <= _MAX_FILES and not unreadable
        return FolderListing(files[:_MAX_FILES], is_complete)

    def read_file(self, path: _Path) -> str:
        """Read a text file of the workspace."""
        with _explain_errors(path), self.place(path).open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
        if len(data) > _MAX_BYTES:
            raise WorkspaceError(f"{path!r} is larger than {_MAX_BYTES:,} bytes.")
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise WorkspaceError(f"{path!r} is not text in UTF-8.") from None

    def write_file(
        self, path: _Path, text: Annotated[str, Field(description="The whole content.")]
    ) -> str:
        """Write a text file of the workspace, replacing it. Missing folders are made."""
        return self.write(path, text, overwrite=True)

    def write(self, path: str, text: str, *, overwrite: bool) -> str:
        """Write a file; without `overwrite` it must not exist."""
        try:
            data = text.encode()
        except UnicodeEncodeError:
            raise WorkspaceError("the text has half a character in it.") from None
        if len(data) > _MAX_BYTES:
            raise WorkspaceError(f"the text is larger than {_MAX_BYTES:,} bytes.")
        parts = _parts(path)
        with _explain_errors(path):
            place = self._path(parts)
            self._require_writable(parts, place)
            place.parent.mkdir(parents=True, exist_ok=True)
            _write(place, path, data, overwrite=overwrite)
        return f"{path}: {len(data):,} bytes written."

    def place(self, path: str) -> Path:
        """Return the path of an existing file. No part of it may be a link."""
        parts = _parts(path)
        with _explain_errors(path):
            place = self._path(parts)
            _check_file(place.lstat(), path)
        return place

    def _path(self, parts: list[str]) -> Path:
        root = Path(os.path.realpath(self._folder))
        path = root.joinpath(*parts)
        if not path.is_relative_to(root) or Path(os.path.realpath(path)) != path:
            raise WorkspaceError("a part of the path is a link, and links are not followed.")
        return path

    def _require_writable(self, parts: list[str], place: Path) -> None:
        """Refuse files that decide which programs start."""
        names = [x.rstrip(". ").casefold() for x in parts]  # as Windows compares them
        target = _comparable(place)
        if names[-1] in (FILE_NAME, OTHER_FILE_NAME, LOCK_NAME) or ".git" in names:
            raise WorkspaceError(
                f"{parts[-1]} decides what is started and used: no tool may write it."
            )
        if any(target.is_relative_to(_comparable(x)) for x in self._protected):
            raise WorkspaceError(f"{parts[-1]} is started by the settings: no tool may write it.")

    def _files_below(self, folder: Path, unreadable: list[OSError]) -> Iterator[ListedFile]:
        """Yield the files in a folder and below; add errors of the folders in it."""
        os.scandir(folder).close()  # an error of the folder itself is raised
        root = os.path.realpath(self._folder)
        for place, folders, names in os.walk(folder, onerror=unreadable.append):
            folders.sort()
            for file in (Path(place, x) for x in sorted(names) if not x.startswith(_TEMPORARY)):
                with suppress(FileNotFoundError):
                    status = file.lstat()
                    if stat.S_ISREG(status.st_mode):
                        # A name may have bytes that are no text.
                        name = os.fsencode(file.relative_to(root).as_posix())
                        yield ListedFile(name.decode("utf-8", "backslashreplace"), status.st_size)


def _comparable(path: Path) -> Path:
    """Return the resolved path, in lower case for systems that ignore case."""
    return Path(os.path.realpath(path).casefold())


def _parts(path: str) -> list[str]:
    """Return the names in a path.

    Raises:
        WorkspaceError: it leads out of the workspace, or is not a path.
    """
    if path.startswith("/") or "\\" in path:
        raise WorkspaceError(
            f"{path[:100]!r} is not relative to the workspace: write one such as notes/today.txt."
        )
    parts = [x for x in path.split("/") if x not in ("", ".")]
    if not parts:
        raise WorkspaceError("the path is empty: write one such as notes/today.txt.")
    if ".." in parts:
        raise WorkspaceError("`..` may lead out of the workspace: write the path without it.")
    if len(parts) > _MAX_DEPTH:
        raise WorkspaceError(f"{path[:100]!r}... is too long for a path.")
    if any(ord(x) < 32 or ord(x) == 127 for x in path):
        raise WorkspaceError("the path has a control character.")
    return parts


def _write(place: Path, path: str, data: bytes, *, overwrite: bool) -> None:
    """Write a new file and rename it into place, so that nobody reads half of it."""
    mode = 0o666
    with suppress(FileNotFoundError):
        before = place.lstat()
        _check_file(before, path)
        if not overwrite:
            raise WorkspaceError(f"{path!r} is there already.")
        mode = stat.S_IMODE(before.st_mode) & 0o777
    temporary = place.with_name(f"{_TEMPORARY}{uuid.uuid4().hex}")
    try:
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(data)
        os.replace(temporary, place)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def _check_file(status: os.stat_result, path: str) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise WorkspaceError(f"{path!r} is a folder.")
    if not stat.S_ISREG(status.st_mode):
        raise WorkspaceError(f"{path!r} is a link, a pipe or a device, not a file.")


@contextmanager
def _explain_errors(path: str) -> Generator[None]:
    """Turn errors into sentences for the model that do not reveal the workspace's path."""
    try:
        yield
    except UnicodeEncodeError:
        raise WorkspaceError("the path has half a character in it.") from None
    except OSError as cause:
        why = _WORDS.get(cause.errno or 0, f"it cannot be used: {cause.strerror or cause}.")
        raise WorkspaceError(f"{path[:100]!r}: {why}") from None


_WORDS = {
    errno.ENOENT: "it does not exist. list_files shows the files.",
    errno.ENOTDIR: "a part of the path is a file, not a folder.",
    errno.EISDIR: "it is a folder.",
    errno.EACCES: "permission is denied.",
    errno.ENOSPC: "the disk is full.",
}
