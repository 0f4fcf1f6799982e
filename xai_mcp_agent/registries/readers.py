"""Readers of registries: the official API, lists and folders, repositories of GitHub, npm's search.

All speak server.json in the end; a document that is bad costs only itself.
"""

from __future__ import annotations

import gzip
import io
import os
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Protocol
from urllib.parse import quote, urlencode

from ..core.json import JsonObject, as_list, as_object, as_text, as_texts
from ..core.visible import visible_text
from ..secrets.redactor import redact_url
from ..settings.sections import RegistrySettings
from ..sources.fetching import FetchLimits, fetch
from ..sources.openapi.document import NotReadable, parse
from .npm import NpmPackage, npm_address
from .server_json import read_server
from .values import NAME_CHARS, TEXT_CHARS, Document, Refused, RegistryError

_API = "/v0.1"
_API_ROWS = 100  # of a page; the official registry gives no more
_NPM_ROWS = 250  # npm gives no more
_CURSOR_CHARS = 2_000
_MOST_DOCUMENTS = 50_000  # of one list; the largest registry has some thousands
_OFFICIAL_META = "io.modelcontextprotocol.registry/official"
_EXTRAS = (
    "mcp_version", "schema_version", "manifest_url", "download_url", "checksum", "tags", "author",
    "license", "dependencies",
)  # fmt: skip

_ARCHIVES = "https://codeload.github.com"
_FILE = "server.json"
_LISTS = (".json", ".yaml", ".yml")
_LEVELS = 4  # of folders
_MOST_FILES = 50_000
_MOST_FILE_BYTES = 16 * 1024**2
_MOST_BYTES = 128 * 1024**2  # of all files that are read
_MOST_UNPACKED = 1024**3  # of an archive, with all that is not read

Files = Mapping[str, bytes]
"""By their paths, with slashes, below the folder that is read."""


@dataclass(frozen=True, slots=True)
class Page:
    """Some documents. `next` is the cursor of the next page, empty at the end."""

    documents: list[Document]
    next: str = ""
    size: int = 0


class Reader(Protocol):
    """Reads one registry."""

    tells_changes: bool
    """Whether it can be asked for what changed since a time; else all of it is read each time."""

    def page(self, cursor: str, since: str, limits: FetchLimits) -> Page:
        """Return the page at a cursor, of what was changed since a time.

        Raises:
            OSError: it cannot be read; says why.
        """
        ...


def reader_of(registry: RegistrySettings) -> Reader:
    """Return the reader of a registry of the settings.

    Raises:
        RegistryError: nobody says where it is.
    """
    match registry.type:
        case "api":
            return ApiReader(registry.url)
        case "list":
            return ListReader(registry.path, registry.url)
        case "github":
            path = registry.path or "servers"
            return GithubReader(registry.repository, registry.ref, path, registry.url)
        case "npm":
            return NpmReader(registry.url or npm_address(), registry.keywords)


# Documents


def document_of(row: Any, place: str) -> Document:
    """Return the document of one row: a server.json, perhaps with `_meta` beside it."""
    entry = as_object(row)
    server = as_object(entry.get("server")) or entry
    meta = as_object(as_object(entry.get("_meta")).get(_OFFICIAL_META))
    if not meta and isinstance(server.get("status"), str):  # before 2025-09-29 it stood inside
        meta = {"status": server["status"]}
    extras = {key: server[key] for key in _EXTRAS if key in server}
    schema = as_text(server.get("$schema")).rstrip("/").split("/")
    if len(schema) > 1:
        extras.setdefault("schema_version", schema[-2])
    name, version = as_text(server.get("name")), as_text(server.get("version"))
    return _checked(Document(name, version, server, server, meta, extras, place))


def _checked(document: Document) -> Document:
    """Return the document, or one that says why it must not be used."""
    try:
        read_server(document.server, has_namespace=document.has_namespace)
        return document
    except Refused as refusal:
        reason = refusal.reason
    except (ValueError, TypeError, KeyError, RecursionError) as cause:
        reason = f"it cannot be read: {type(cause).__name__}"
    # Its name may be anything, of any length; one that is used is neither changed nor cut.
    return _refused(document.name, reason, document.version)


def _refused(name: str, reason: str, version: str = "") -> Document:
    name, version = visible_text(name, NAME_CHARS), visible_text(version, NAME_CHARS)
    return Document(name, version, {}, None, refused=visible_text(reason, TEXT_CHARS))


def _json_at(url: str, limits: FetchLimits) -> tuple[Any, int]:
    """Return what is at a URL, and its size."""
    data = fetch(url, limits, "application/json")
    try:
        return parse(data), len(data)
    except NotReadable as reason:
        words = visible_text(str(reason), TEXT_CHARS)
        raise OSError(f"what is there cannot be read: {words}") from None


# The official API


class ApiReader:
    """A registry with the official API, version 0.1: pages with opaque cursors, and versions."""

    tells_changes = True

    def __init__(self, url: str) -> None:
        self._base = url.rstrip("/").removesuffix(_API) + f"{_API}/servers"

    def page(self, cursor: str, since: str, limits: FetchLimits) -> Page:
        """See `Reader.page`. What was deleted is among what changed since a time."""
        query = {"limit": str(_API_ROWS), "version": "latest", "cursor": cursor}
        query = {key: x for key, x in (query | {"updated_since": since}).items() if x}
        answer, size = _json_at(f"{self._base}?{urlencode(query)}", limits)
        answer = as_object(answer)
        if not isinstance(answer.get("servers"), list):
            raise OSError("the answer has no `servers`: it is no registry of MCP servers")
        following = as_text(as_object(answer.get("metadata")).get("nextCursor"))
        # JSON can say half of a pair, which is no text and cannot be sent.
        is_text = following == following.encode("utf-8", "replace").decode()
        if len(following) > _CURSOR_CHARS or not is_text:
            raise OSError("its cursor is absurdly long, or no text")
        return Page(list(self._documents(answer)), following, size)

    def versions(self, name: str, limits: FetchLimits) -> list[Document]:
        """Return all versions of a server.

        Raises:
            Answered: it has no such server.
            OSError: it cannot be asked; says why.
        """
        answer, _ = _json_at(f"{self._base}/{quote(name, safe='')}/versions", limits)
        # A row of another server is none of its versions.
        return [x for x in self._documents(as_object(answer)) if x.name == name]

    def _documents(self, answer: JsonObject) -> Iterator[Document]:
        for row in as_list(answer.get("servers")):
            server = as_object(as_object(row).get("server"))
            words = (str(server.get(key, ""))[:NAME_CHARS] for key in ("name", "version"))
            name, version = (quote(x, safe="", errors="replace") for x in words)
            yield document_of(row, f"{redact_url(self._base)}/{name}/versions/{version}")


# npm


class NpmReader:
    """The packages of npm that have these keywords. Nothing of what they say is proved."""

    tells_changes = False

    def __init__(self, url: str, keywords: str = "") -> None:
        self._base = url.rstrip("/")
        self._keywords = keywords

    def page(self, cursor: str, since: str, limits: FetchLimits) -> Page:
        """See `Reader.page`."""
        start = int(cursor) if cursor.isdecimal() else 0
        query = {"text": f"keywords:{self._keywords}", "size": str(_NPM_ROWS), "from": str(start)}
        answer, size = _json_at(f"{self._base}/-/v1/search?{urlencode(query)}", limits)
        packages, total = as_list(as_object(answer).get("objects")), as_object(answer).get("total")
        end = start + len(packages)
        following = str(end) if packages and isinstance(total, int) and end < total else ""
        rows = (as_object(as_object(x).get("package")) for x in packages)
        return Page([self._document(x) for x in rows], following, size)

    def document(self, name: str, version: str, limits: FetchLimits) -> Document:
        """Return a package by its name.

        Raises:
            Answered: there is no such package, or no such version.
            OSError: it cannot be asked.
        """
        document = self._document(as_object(self._manifest(name, version, limits)))
        if not document.refused and document.name != name:
            raise OSError("the answer is about another package")
        return document

    def package(self, name: str, version: str, limits: FetchLimits) -> NpmPackage:
        """Return what a package says of itself.

        Raises:
            Answered: there is no such package, or no such version.
            OSError: it cannot be asked, or says something of another package.
        """
        package = NpmPackage.of(self._manifest(name, version, limits))
        if package.name != name or package.version != version:
            raise OSError("the answer is about another package")
        return package

    def _manifest(self, name: str, version: str, limits: FetchLimits) -> Any:
        url = f"{self._base}/{quote(name, safe='@')}/{quote(version, safe='')}"
        return _json_at(url, limits)[0]

    def _document(self, package: JsonObject) -> Document:
        name, version = as_text(package.get("name")), as_text(package.get("version"))
        identity = {"name": name, "version": version}
        server: JsonObject = identity | {
            "description": package.get("description"),
            "repository": {"url": as_object(package.get("links")).get("repository")},
            "packages": [{"registryType": "npm", "identifier": name, "version": version}],
        }
        author = as_object(package.get("publisher")).get("username")
        extras = {"tags": as_texts(package.get("keywords")), "author": author}
        # Scores and dates come and go: what must not change is what a version is.
        return _checked(
            Document(
                name, version, server, identity, {"publishedAt": package.get("date")}, extras,
                redact_url(self._base), has_namespace=False,
            )
        )  # fmt: skip


# Lists, folders and archives


class ListReader:
    """A file or folder here, or a document at a URL."""

    tells_changes = False

    def __init__(self, path: str = "", url: str = "") -> None:
        self._path, self._url = path, url

    def page(self, cursor: str, since: str, limits: FetchLimits) -> Page:
        """See `Reader.page`: all of it is one."""
        if self._url:
            return _page({"": fetch(self._url, limits)}, redact_url(self._url))
        path = Path(self._path)
        if path.is_file():
            return _page({"": _content(path)}, str(path))
        if not path.is_dir():
            raise OSError(f"there is no file or folder {path}")
        return _page(dict(_files_of(path)), str(path))


class GithubReader:
    """What a repository has under `path` at `ref`, a commit or branch; read from its archive."""

    tells_changes = False

    def __init__(self, repository: str, ref: str, path: str = "", url: str = "") -> None:
        self._repository, self._ref, self._path = repository, ref, path.strip("/")
        self._base = (url or _ARCHIVES).rstrip("/")

    def page(self, cursor: str, since: str, limits: FetchLimits) -> Page:
        """See `Reader.page`: all of it is one. The commit is part of the places of documents."""
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
    documents = [x for name in sorted(files) for x in _documents_in(name, files[name], place)]
    return Page(documents, size=sum(map(len, files.values())))


def _documents_in(name: str, data: bytes, place: str) -> Iterator[Document]:
    """Yield the documents of a file: a server.json, or a list of them."""
    path = PurePosixPath(name)
    place = f"{place}/{name}" if name else place
    try:
        value = parse(data)
        servers = as_object(value).get("servers", value)
        if isinstance(servers, list):
            yield from (document_of(x, place) for x in as_list(servers)[:_MOST_DOCUMENTS])
        elif as_object(value).keys() & {"name", "server"}:
            yield document_of(value, place)
        else:
            problem = f"{place} is no list of MCP servers: it has neither a list nor `servers`."
            raise RegistryError(problem)
    except (NotReadable, RegistryError) as reason:
        if not name:
            raise OSError(visible_text(str(reason), TEXT_CHARS)) from None
        is_folder = path.name == _FILE and path.parent.name
        yield _refused(path.parent.name if is_folder else path.name, str(reason))


def _is_readable(path: str) -> bool:
    """Whether a file is a server's own, in any folder, or a list at the top."""
    parts = PurePosixPath(path).parts
    is_list = len(parts) == 1 and parts[0].endswith(_LISTS)
    return is_list or (len(parts) <= _LEVELS and parts[-1] == _FILE)


def _files_of(folder: Path) -> Iterator[tuple[str, bytes]]:
    count = 0
    for here, folders, names in os.walk(folder):
        below = PurePosixPath(Path(here).relative_to(folder).as_posix())
        folders[:] = sorted(x for x in folders if not x.startswith("."))
        if len(below.parts) >= _LEVELS:
            folders.clear()
        for name in sorted(names):
            path, file = str(below / name), Path(here) / name
            if _is_readable(path) and file.is_file() and not file.is_symlink():
                count += 1
                if count > _MOST_FILES:
                    raise OSError(f"it has more than {_MOST_FILES:,} files")
                yield path, _content(file)


def _content(file: Path) -> bytes:
    if file.stat().st_size > _MOST_FILE_BYTES:
        raise OSError(f"{file} is larger than {_MOST_FILE_BYTES // 1024**2} MiB")
    return file.read_bytes()


class _Unpacked(io.RawIOBase):
    """The bytes of a gzip file, up to a limit: a small one may hold anything."""

    def __init__(self, data: bytes) -> None:
        self._file = gzip.GzipFile(fileobj=io.BytesIO(data))
        self._count = 0

    def readable(self) -> bool:
        """It is."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes.

        Raises:
            ValueError: these were too many.
        """
        data = self._file.read(size)
        self._count += len(data)
        if self._count > _MOST_UNPACKED:
            raise ValueError("it is too large when unpacked")
        return data


def _unpacked(data: bytes, path: str) -> tuple[str, Files]:
    """Return the commit of an archive, where it says so, and its files at the path, in memory."""
    files: dict[str, bytes] = {}
    size = 0
    with tarfile.open(fileobj=_Unpacked(data), mode="r|") as archive:
        for number, member in enumerate(archive):
            if number > _MOST_FILES:
                raise ValueError(f"it has more than {_MOST_FILES:,} files")
            inside = _below(member.name, path)
            is_list = inside is not None and (not inside or _is_readable(inside))
            if inside is None or not is_list or not member.isreg():
                continue
            size += member.size
            if member.size > _MOST_FILE_BYTES or size > _MOST_BYTES:
                raise ValueError("it is too large when unpacked")
            content = archive.extractfile(member)
            files[inside] = content.read() if content else b""
        commit = archive.pax_headers.get("comment", "")
    return commit if commit.isalnum() else "", files


def _below(name: str, path: str) -> str | None:
    """Return the path within what is read; an archive's first folder is named after the commit."""
    inside, folder = PurePosixPath(name).parts[1:], PurePosixPath(path).parts
    if inside[: len(folder)] != folder or ".." in inside:
        return None
    return "/".join(inside[len(folder) :])
