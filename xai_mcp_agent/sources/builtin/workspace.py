"""`list_files`, `read_file`, `write_file`: the files of one folder, which cannot be left.

A path is walked folder by folder, each opened relative to the one before and never through a link.
So it stays inside whatever is exchanged for a link meanwhile.
"""

from __future__ import annotations

import errno
import os
import stat
import uuid
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from ...settings.load import FILE_NAME, LOCK_NAME, OTHER_FILE_NAME

_MAX_BYTES = 1_000_000  # of a file: more no model reads, and none writes
_MAX_LISTED = 1_000  # files
_MAX_DEPTH, _MAX_NAME_BYTES = 32, 200  # of a path; file systems take 255 bytes for a name
_FOLDER = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | os.O_RDONLY
# Not blocking: what is no file may be a pipe that nobody writes to.
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
_TEMPORARY = ".writing-"

_Path = Annotated[
    str, Field(description="Relative to the workspace, such as `notes/today.txt`, with `/`.")
]


class WorkspaceError(ValueError):
    """A path that cannot be used, or a file that cannot be read or written; says why."""


@dataclass(frozen=True)
class ListedFile:
    """One file of the workspace."""

    path: str
    bytes: int


@dataclass(frozen=True)
class Listing:
    """What `list_files` gives back. `is_complete`: there are no more than these."""

    files: list[ListedFile]
    is_complete: bool


class Workspace:
    """One folder of a person's choice, and the tools that work in it.

    The folder itself is trusted, and made when something is first written.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def list_files(
        self, folder: Annotated[str, Field(description="Only those in it. Empty: all.")] = ""
    ) -> Listing:
        """List the files of the workspace, or of one folder in it, with those in folders below."""
        files: list[ListedFile] = []
        passed_over: list[str] = []
        parts = _parts(folder) if folder.strip("/ ") not in ("", ".") else []
        with _told(folder or "the workspace"):
            try:
                with self._opened(parts) as opened:
                    for file in _files_below(opened, parts, passed_over):
                        if len(files) == _MAX_LISTED:
                            return Listing(files, is_complete=False)
                        files.append(file)
            except FileNotFoundError:
                if parts:
                    raise  # else nothing was written yet
        return Listing(files, is_complete=not passed_over)

    def read_file(self, path: _Path) -> str:
        """Read a text file of the workspace."""
        *folders, name = _parts(path)
        with _told(path), self._opened(folders) as folder:
            _check_file(os.stat(name, dir_fd=folder, follow_symlinks=False), path)
            with open(os.open(name, _READ, dir_fd=folder), "rb") as file:
                _check_file(os.fstat(file.fileno()), path)
                data = file.read(_MAX_BYTES + 1)
        if len(data) > _MAX_BYTES:
            raise WorkspaceError(f"{path!r} has more than {_MAX_BYTES:,} bytes.")
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise WorkspaceError(f"{path!r} is no text in UTF-8.") from None

    def write_file(
        self, path: _Path, text: Annotated[str, Field(description="All that it will hold.")]
    ) -> str:
        """Write a text file of the workspace, in place of the one there is. Folders are made."""
        try:
            data = text.encode()
        except UnicodeEncodeError:
            raise WorkspaceError("the text has half a character in it.") from None
        if len(data) > _MAX_BYTES:
            raise WorkspaceError(f"the text has more than {_MAX_BYTES:,} bytes.")
        *folders, name = _parts(path)
        if name.casefold() in (FILE_NAME, OTHER_FILE_NAME, LOCK_NAME):
            raise WorkspaceError(f"{name} says what may be started and used: no tool writes it.")
        with _told(path):
            os.makedirs(self._folder, exist_ok=True)
            with self._opened(folders, make=True) as folder:
                _write(folder, name, path, data)
        return f"{path}: {len(data):,} bytes written."

    @contextmanager
    def _opened(self, parts: list[str], *, make: bool = False) -> Generator[int]:
        """The folder at this path, opened on the way that links cannot change."""
        if os.open not in os.supports_dir_fd:
            raise WorkspaceError("this system cannot open files safely: use Linux or macOS.")
        opened = os.open(self._folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
        try:
            for part in parts:
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(part, dir_fd=opened)
                inner = os.open(part, _FOLDER, dir_fd=opened)
                os.close(opened)
                opened = inner
            yield opened
        finally:
            os.close(opened)


def _parts(path: str) -> list[str]:
    """The names a path is made of.

    Raises:
        WorkspaceError: it leads out of the workspace, or is none.
    """
    if path.startswith("/") or "\\" in path:
        raise WorkspaceError(
            f"{path[:100]!r} is not relative to the workspace: write one such as notes/today.txt."
        )
    parts = [x for x in path.split("/") if x not in ("", ".")]
    if not parts:
        raise WorkspaceError("the path is empty: write one such as notes/today.txt.")
    if ".." in parts:
        raise WorkspaceError("`..` leads out of the workspace, or may: write the path without it.")
    if len(parts) > _MAX_DEPTH or any(_is_too_long(x) for x in parts):
        raise WorkspaceError(f"{path[:100]!r}... is too long for a path.")
    if any(ord(x) < 32 or ord(x) == 127 for x in path):
        raise WorkspaceError("the path has a control character in it.")
    return parts


def _is_too_long(name: str) -> bool:
    try:
        return len(name.encode()) > _MAX_NAME_BYTES
    except UnicodeEncodeError:
        raise WorkspaceError("the path has half a character in it.") from None


def _write(folder: int, name: str, path: str, data: bytes) -> None:
    """Write it beside, then put it in its place: nobody ever reads half of it."""
    mode = 0o666
    with suppress(FileNotFoundError):
        before = os.stat(name, dir_fd=folder, follow_symlinks=False)
        _check_file(before, path)
        mode = stat.S_IMODE(before.st_mode) & 0o777
    temporary = f"{_TEMPORARY}{uuid.uuid4().hex}"
    try:
        with open(os.open(temporary, _NEW, mode, dir_fd=folder), "wb") as file:
            file.write(data)
        # A link in its place would be replaced, and not followed.
        os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise


def _check_file(found: os.stat_result, path: str) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise WorkspaceError(f"{path!r} is a folder.")
    if stat.S_ISLNK(found.st_mode):
        raise WorkspaceError(f"{path!r} is a link, and links are not followed.")
    if not stat.S_ISREG(found.st_mode):
        raise WorkspaceError(f"{path!r} is no file, but a pipe or a device.")


def _files_below(folder: int, parts: list[str], passed_over: list[str]) -> Iterator[ListedFile]:
    """The files in it; the folders that nobody may enter, or by any path of ours, are noted."""
    prefix = "/".join(parts)

    def note(cause: OSError) -> None:
        passed_over.append(str(cause.filename))

    walk = os.fwalk(".", onerror=note, dir_fd=folder, follow_symlinks=False)
    for place, folders, names, opened in walk:
        folders.sort()
        if len(parts) + place.count("/") + 1 >= _MAX_DEPTH:  # with a name it is as deep as may be
            passed_over += folders
            folders.clear()
        for name in sorted(x for x in names if not x.startswith(_TEMPORARY)):
            with suppress(FileNotFoundError):
                found = os.stat(name, dir_fd=opened, follow_symlinks=False)
                if stat.S_ISREG(found.st_mode):
                    path = os.path.normpath(os.path.join(prefix, place, name))
                    yield ListedFile(_readable(path), found.st_size)


def _readable(name: str) -> str:
    """A name that is no text, as one that can be printed."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


@contextmanager
def _told(path: str) -> Generator[None]:
    """In words for whoever named the path; where the workspace is, is not said."""
    try:
        yield
    except OSError as cause:
        why = _WORDS.get(cause.errno or 0, f"it cannot be used: {cause.strerror or cause}.")
        raise WorkspaceError(f"{path[:100]!r}: {why}") from None


_LINK = "a part of the path is a link or a file, and not a folder."
_WORDS = {
    errno.ENOENT: "there is none. list_files tells which there are.",
    errno.ELOOP: _LINK,
    errno.ENOTDIR: _LINK,
    errno.EISDIR: "it is a folder.",
    errno.EACCES: "nobody may use it here.",
    errno.ENOSPC: "the disk is full.",
}
