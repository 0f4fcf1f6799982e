"""Folders and lists: of a checkout here, of a repository's archive, or one document at a URL."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote

from ...core.visible import visible_text
from ...secrets.redactor import redact_url
from ...sources.fetching import FetchLimits, fetch
from ...sources.openapi.document.parsing import NotReadable, parsed
from ..forms.docker import docker_document, is_docker
from ..forms.lists import documents_in, safely
from ..values import NAME_CHARS, TEXT_CHARS, Document, RegistryError
from .base import Page

_NAMES = ("server.yaml", "server.yml", "server.json")
_SUFFIXES = (".json", ".yaml", ".yml")
_TOOLS = "tools.json"
_MOST_FILES = 50_000
_MOST_FILE_BYTES = 16 * 1024**2
_MOST_UNPACKED = 1024**3  # of an archive, with all that is not read
_MOST_KEPT = 128 * 1024**2  # of what is read, all of which is kept until it is understood
_LEVELS = 4  # of folders
_ARCHIVES = "https://codeload.github.com"

Files = Mapping[str, bytes]
"""By their paths, with slashes, below the folder that is read."""


class ListReader:
    """A file or folder here, or a document at a URL."""

    def __init__(self, path: str = "", url: str = "") -> None:
        self._path, self._url = path, url

    def page(self, cursor: str, since: str, limits: FetchLimits) -> Page:
        """See `Reader.page`: all of it is one."""
        files, place = (self._fetched(limits)) if self._url else _read(Path(self._path))
        return _page(files, place)

    def _fetched(self, limits: FetchLimits) -> tuple[Files, str]:
        return {"": fetch(self._url, limits)}, redact_url(self._url)


class GithubReader:
    """What a repository has under `path` at `ref`, a commit or branch; read from its archive."""

    def __init__(self, repository: str, ref: str, path: str = "", url: str = "") -> None:
        self._repository, self._ref, self._path = repository, ref, path.strip("/")
        self._base = (url or _ARCHIVES).rstrip("/")

    def page(self, cursor: str, since: str, limits: FetchLimits) -> Page:
        """See `Reader.page`: all of it is one. The commit is kept in the places of documents."""
        url = f"{self._base}/{self._repository}/tar.gz/{quote(self._ref)}"
        try:
            commit, files = _unpacked(fetch(url, limits), self._path)
        except (tarfile.TarError, EOFError, gzip.BadGzipFile, zlib.error, ValueError) as cause:
            raise OSError(f"its archive cannot be read: {cause}") from None
        if not files:
            raise OSError(f"it has nothing at {self._path or 'its root'}: check `path` and `ref`")
        parts = (redact_url(self._base), self._repository, commit or self._ref, self._path)
        return _page(files, "/".join(x for x in parts if x))


def _page(files: Files, place: str) -> Page:
    documents = list(_documents(files, place))
    return Page(documents, size=sum(map(len, files.values())), is_whole=True)


def _documents(files: Files, place: str) -> Iterator[Document]:
    for name, data in sorted(files.items()):
        if name and PurePosixPath(name).name == _TOOLS:
            continue
        there = f"{place}/{name}" if name else place
        try:
            value = parsed(data)
            if is_docker(value):
                tools = files.get(str(PurePosixPath(name).with_name(_TOOLS))) if name else None
                yield safely(
                    lambda x=value, y=there, z=tools: docker_document(x, y, _tools(z)),
                    value.get("name"),
                )
            else:
                yield from documents_in(value, there)
        except (NotReadable, RegistryError) as reason:
            if not name:
                raise OSError(visible_text(str(reason), TEXT_CHARS)) from None
            said = visible_text(str(reason), TEXT_CHARS)
            yield Document(
                visible_text(_called(name), NAME_CHARS), "", {}, None, place=there, refused=said
            )


def _called(name: str) -> str:
    """What stands for the name of a server whose file cannot be read."""
    path = PurePosixPath(name)
    return path.parent.name if path.name in _NAMES and path.parent.name else path.name


def _tools(data: bytes | None) -> Any:
    try:
        return parsed(data) if data else None
    except NotReadable:
        return None


def _is_wanted(path: PurePosixPath) -> bool:
    """A server's own file in any folder, its tools, and lists at the top."""
    if len(path.parts) > _LEVELS:
        return False
    if len(path.parts) == 1 and path.suffix in _SUFFIXES:
        return True
    return path.name in (*_NAMES, _TOOLS)


# Here


def _read(path: Path) -> tuple[Files, str]:
    if path.is_file():
        return {"": _content(path)}, str(path)
    if not path.is_dir():
        raise OSError(f"there is no file or folder {path}")
    return dict(_files_of(path)), str(path)


def _files_of(folder: Path) -> Iterator[tuple[str, bytes]]:
    count = 0
    for here, folders, names in os.walk(folder):
        below = PurePosixPath(Path(here).relative_to(folder).as_posix())
        folders[:] = sorted(x for x in folders if not x.startswith("."))
        if len(below.parts) >= _LEVELS:
            folders.clear()
        for name in sorted(names):
            path, file = below / name, Path(here) / name
            if _is_wanted(path) and file.is_file() and not file.is_symlink():
                count += 1
                if count > _MOST_FILES:
                    raise OSError(f"it has more than {_MOST_FILES:,} files")
                yield str(path), _content(file)


def _content(file: Path) -> bytes:
    with file.open("rb") as opened:
        data = opened.read(_MOST_FILE_BYTES + 1)
    if len(data) > _MOST_FILE_BYTES:
        raise OSError(f"{file} is larger than {_MOST_FILE_BYTES // 1024**2} MiB")
    return data


# Archives


class _Counted(io.RawIOBase):
    """What is unpacked of an archive, up to a limit: a small one may hold anything."""

    def __init__(self, data: bytes) -> None:
        self._file = gzip.GzipFile(fileobj=io.BytesIO(data))
        self._count = 0

    def readable(self) -> bool:
        """It is."""
        return True

    def read(self, size: int = -1) -> bytes:
        """The next bytes.

        Raises:
            ValueError: these were too many.
        """
        found = self._file.read(size)
        self._count += len(found)
        if self._count > _MOST_UNPACKED:
            raise ValueError("it is too large when unpacked")
        return found


def _unpacked(data: bytes, path: str) -> tuple[str, Files]:
    """The commit of an archive, where it tells, and its files at the path. Nothing is written."""
    found: dict[str, bytes] = {}
    kept = 0
    with tarfile.open(fileobj=_Counted(data), mode="r|") as archive:
        for number, member in enumerate(archive):
            if number > _MOST_FILES:
                raise ValueError(f"it has more than {_MOST_FILES:,} files")
            inside = _below(member.name, path)
            if not member.isreg() or inside is None or not _is_readable(inside, member.size):
                continue
            kept += member.size
            if kept > _MOST_KEPT:
                raise ValueError("it is too large when unpacked")
            opened = archive.extractfile(member)
            found[inside] = opened.read() if opened else b""
        commit = archive.pax_headers.get("comment", "")
    return commit if commit.isalnum() else "", found


def _is_readable(inside: str, size: int) -> bool:
    return size <= _MOST_FILE_BYTES and (not inside or _is_wanted(PurePosixPath(inside)))


def _below(name: str, path: str) -> str | None:
    """The path within what is read; the first folder of an archive is named after the commit."""
    inside = PurePosixPath(name).parts[1:]
    wanted = PurePosixPath(path).parts
    if inside[: len(wanted)] != wanted or ".." in inside:
        return None
    return "/".join(inside[len(wanted) :])
