"""`list_files`, `read_file`, `write_file`: files of one folder and nothing outside it.

On POSIX each folder of a path is opened relative to its parent, and never through a link, so that
nobody can replace a folder by a link in between. On Windows the resolved path must be inside.
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
_MAX_DEPTH, _MAX_NAME_BYTES = 32, 200  # length of a path; file systems allow 255 bytes for a name
_FOLDER = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | os.O_RDONLY
# Non-blocking: it may be a pipe without a writer.
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
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
        unreadable: list[str] = []
        with _explain_errors(folder or "the workspace"):
            files = [*islice(self._files_below(parts, unreadable), _MAX_FILES + 1)]
        is_complete = len(files) <= _MAX_FILES and not unreadable
        return FolderListing(files[:_MAX_FILES], is_complete)

    def read_file(self, path: _Path) -> str:
        """Read a text file of the workspace."""
        *folders, name = _parts(path)
        with _explain_errors(path), self._open_folder(folders) as folder:
            _check_file(folder.stat(name), path)
            with open(folder.open(name, _READ), "rb") as file:
                _check_file(os.fstat(file.fileno()), path)
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
        *folders, name = parts = _parts(path)
        with _explain_errors(path):
            self._require_writable(parts)  # a link that becomes a file meanwhile is an OSError
            os.makedirs(self._folder, exist_ok=True)
            with self._open_folder(folders, make=True) as folder:
                _write(folder, name, path, data, overwrite=overwrite)
        return f"{path}: {len(data):,} bytes written."

    def place(self, path: str) -> Path:
        """Return the path of an existing file. No part of it may be a link."""
        *folders, name = parts = _parts(path)
        with _explain_errors(path), self._open_folder(folders) as folder:
            _check_file(folder.stat(name), path)
        return Path(self._folder, *parts)

    def _require_writable(self, parts: list[str]) -> None:
        """Refuse files that decide which programs start."""
        names = [x.rstrip(". ").casefold() for x in parts]  # as Windows compares them
        target = _comparable(Path(self._folder, *parts))
        if names[-1] in (FILE_NAME, OTHER_FILE_NAME, LOCK_NAME) or ".git" in names:
            raise WorkspaceError(
                f"{parts[-1]} decides what is started and used: no tool may write it."
            )
        if any(target.is_relative_to(_comparable(x)) for x in self._protected):
            raise WorkspaceError(f"{parts[-1]} is started by the settings: no tool may write it.")

    def _files_below(self, parts: list[str], unreadable: list[str]) -> Iterator[ListedFile]:
        """Yield the files in a folder and below; add unreadable folders to `unreadable`."""
        folders: list[str] = []
        with self._open_folder(parts) as folder:
            for entry in folder.entries():
                with suppress(FileNotFoundError):
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.name)
                    elif entry.is_file(follow_symlinks=False):
                        size = entry.stat(follow_symlinks=False).st_size
                        # A name may have bytes that are no text.
                        name = os.fsencode("/".join((*parts, entry.name)))
                        yield ListedFile(name.decode("utf-8", "backslashreplace"), size)
        for name in folders:
            # A file in it would exceed the limit for paths.
            if len(parts) + 1 >= _MAX_DEPTH:
                unreadable.append(name)
                continue
            try:
                yield from self._files_below([*parts, name], unreadable)
            except OSError:
                unreadable.append(name)

    @contextmanager
    def _open_folder(self, parts: list[str], *, make: bool = False) -> Generator[_Folder]:
        """Open the folder at a path."""
        if os.open not in os.supports_dir_fd:
            yield self._resolve_folder(parts, make=make)
            return
        descriptor = os.open(self._folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
        try:
            for part in parts:
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(part, dir_fd=descriptor)
                inner = os.open(part, _FOLDER, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = inner
            yield _Folder("", descriptor)
        finally:
            os.close(descriptor)

    def _resolve_folder(self, parts: list[str], *, make: bool) -> _Folder:
        root = Path(self._folder).resolve()
        place = root.joinpath(*parts)
        if not place.resolve().is_relative_to(root):
            raise WorkspaceError(_LINK)
        if make:
            place.mkdir(parents=True, exist_ok=True)
        return _Folder(os.path.join(place, ""))


@dataclass(frozen=True)
class _Folder:
    """An open folder; without a descriptor, names are relative to its `path`."""

    path: str
    descriptor: int | None = None

    def stat(self, name: str) -> os.stat_result:
        return os.stat(self.path + name, dir_fd=self.descriptor, follow_symlinks=False)

    def open(self, name: str, flags: int, mode: int = 0o666) -> int:
        return os.open(self.path + name, flags, mode, dir_fd=self.descriptor)

    def replace(self, old: str, new: str) -> None:
        at = self.descriptor
        os.replace(self.path + old, self.path + new, src_dir_fd=at, dst_dir_fd=at)

    def unlink(self, name: str) -> None:
        os.unlink(self.path + name, dir_fd=self.descriptor)

    def entries(self) -> list[os.DirEntry[str]]:
        with os.scandir(self.path if self.descriptor is None else self.descriptor) as entries:
            own = [x for x in entries if not x.name.startswith(_TEMPORARY)]
        return sorted(own, key=lambda x: x.name)


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
    if len(parts) > _MAX_DEPTH or any(_is_too_long(x) for x in parts):
        raise WorkspaceError(f"{path[:100]!r}... is too long for a path.")
    if any(ord(x) < 32 or ord(x) == 127 for x in path):
        raise WorkspaceError("the path has a control character.")
    return parts


def _is_too_long(name: str) -> bool:
    try:
        return len(name.encode()) > _MAX_NAME_BYTES
    except UnicodeEncodeError:
        raise WorkspaceError("the path has half a character in it.") from None


def _write(folder: _Folder, name: str, path: str, data: bytes, *, overwrite: bool) -> None:
    """Write a new file and rename it into place, so that nobody reads half of it."""
    mode = 0o666
    with suppress(FileNotFoundError):
        before = folder.stat(name)
        _check_file(before, path)
        if not overwrite:
            raise WorkspaceError(f"{path!r} is there already.")
        mode = stat.S_IMODE(before.st_mode) & 0o777
    temporary = f"{_TEMPORARY}{uuid.uuid4().hex}"
    try:
        with open(folder.open(temporary, _NEW, mode), "wb") as file:
            file.write(data)
        # A link there is replaced, not followed.
        folder.replace(temporary, name)
    except BaseException:
        with suppress(OSError):
            folder.unlink(temporary)
        raise


def _check_file(status: os.stat_result, path: str) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise WorkspaceError(f"{path!r} is a folder.")
    if stat.S_ISLNK(status.st_mode):
        raise WorkspaceError(f"{path!r} is a link, and links are not followed.")
    if not stat.S_ISREG(status.st_mode):
        raise WorkspaceError(f"{path!r} is a pipe or a device, not a file.")


@contextmanager
def _explain_errors(path: str) -> Generator[None]:
    """Turn errors into sentences for the model that do not reveal the workspace's path."""
    try:
        yield
    except OSError as cause:
        why = _WORDS.get(cause.errno or 0, f"it cannot be used: {cause.strerror or cause}.")
        raise WorkspaceError(f"{path[:100]!r}: {why}") from None


_LINK = "a part of the path is a link or a file, not a folder."
_WORDS = {
    errno.ENOENT: "it does not exist. list_files shows the files.",
    errno.ELOOP: _LINK,
    errno.ENOTDIR: _LINK,
    errno.EISDIR: "it is a folder.",
    errno.EACCES: "permission is denied.",
    errno.ENOSPC: "the disk is full.",
}
