"""Readers of registries: the official API, lists and folders, GitHub repositories, npm's search.

Each returns documents in the form of server.json. A bad document is refused; the others remain.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tarfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from glob import glob
from pathlib import Path, PurePosixPath
from typing import Any, TypeAlias
from urllib.parse import quote, urlencode

from ..core.json import JsonObject, as_list, as_object, as_text, as_texts
from ..core.tools import digest_of_value
from ..core.visible import visible_text
from ..secrets.redactor import redact_url
from ..settings.entry import url_problem
from ..settings.registries import RegistrySettings
from ..sources.fetching import FetchLimits, fetch
from ..sources.openapi.document import NotReadable, parse
from .server_json import (
    NAME_CHARS,
    TEXT_CHARS,
    Refused,
    RegistryDocument,
    read_server,
)

_API = "/v0.1"
_API_ROWS = 100  # of a page; the official registry allows no more
_OFFICIAL_META = "io.modelcontextprotocol.registry/official"
_NPM_ROWS = 250  # npm allows no more
_ARCHIVES = "https://codeload.github.com"
_FILE = "server.json"
_LISTS = (".json", ".yaml", ".yml")
_FOLDER_LEVELS = 4
_MAX_UNPACKED = 256 * 1024**2  # of an archive, including the files that are not read
_GZIP = 16 + zlib.MAX_WBITS
_NPM_VARIABLE = "npm_config_registry"
_NPM_SECONDS = 20.0  # npm takes a second or two to start


@dataclass(frozen=True, slots=True)
class RegistryPage:
    """Some documents. `next` is the cursor of the next page, empty at the end."""

    documents: list[RegistryDocument]
    next: str = ""


ReadPage: TypeAlias = Callable[[str, str, FetchLimits], RegistryPage]
"""Reads the page at a cursor, or raises an OSError that says why it cannot be read.

The official API returns only the changes since a time, which include deleted servers.
"""


def page_reader(registry: RegistrySettings) -> ReadPage:
    """Return the function that reads the pages of a registry; raises as `npm_address`."""
    match registry.type:
        case "api":
            return partial(_api_page, _api(registry.url))
        case "list":
            return partial(_list_page, registry)
        case "github":
            return partial(_github_page, registry)
        case "npm":
            return partial(_npm_page, registry.url or npm_address(), registry.keywords)


# Documents


def document_of(row: Any, place: str) -> RegistryDocument:
    """Return the document of one row: a server.json, perhaps with `_meta` beside it."""
    entry = as_object(row)
    server = as_object(entry.get("server")) or entry
    meta = as_object(as_object(entry.get("_meta")).get(_OFFICIAL_META))
    # before 2025-09-29 it was inside the document
    if not meta and isinstance(server.get("status"), str):
        meta = {"status": server["status"]}
    return _check_document(server, meta, place)


def _check_document(
    server: JsonObject, meta: JsonObject, place: str, *, is_npm: bool = False
) -> RegistryDocument:
    """Return the document, or one with the reason why it must not be used.

    Its content must not change within a version; npm forbids that, and its search returns more.
    """
    name, version = as_text(server.get("name")), as_text(server.get("version"))
    try:
        read_server(server, is_npm=is_npm)
        digest = digest_of_value({"name": name, "version": version} if is_npm else server)
        return RegistryDocument(name, version, server, digest, meta, place)
    except Refused as refusal:
        return _bad_document(name, refusal.reason, version, meta)
    except (ValueError, TypeError, KeyError, RecursionError) as cause:
        return _bad_document(name, f"it cannot be read: {type(cause).__name__}", version, meta)


def _bad_document(
    name: str, reason: str, version: str = "", meta: JsonObject | None = None
) -> RegistryDocument:
    name, version = visible_text(name, NAME_CHARS), visible_text(version, NAME_CHARS)
    reason = visible_text(reason, TEXT_CHARS)
    return RegistryDocument(name, version, {}, meta=meta or {}, refused=reason)


def _json_at(url: str, limits: FetchLimits) -> JsonObject:
    """Return the object at a URL."""
    data = fetch(url, limits, "application/json")
    try:
        return as_object(parse(data))
    except NotReadable as reason:
        text = visible_text(str(reason), TEXT_CHARS)
        raise OSError(f"the answer cannot be read: {text}") from None


# The official API, version 0.1: pages with opaque cursors, and versions


def api_versions(url: str, name: str, limits: FetchLimits) -> list[RegistryDocument]:
    """Return all versions of a server, or raise an OSError (`HttpStatusError` if it has none)."""
    base = _api(url)
    answer = _json_at(f"{base}/{quote(name, safe='')}/versions", limits)
    return [x for x in _api_documents(base, answer) if x.name == name]


def _api(url: str) -> str:
    return f"{url.rstrip('/').removesuffix(_API)}{_API}/servers"


def _api_page(base: str, cursor: str, since: str, limits: FetchLimits) -> RegistryPage:
    query = {"limit": str(_API_ROWS), "version": "latest", "cursor": cursor, "updated_since": since}
    query = {key: x for key, x in query.items() if x}
    answer = _json_at(f"{base}?{urlencode(query)}", limits)
    if not isinstance(answer.get("servers"), list):
        raise OSError("the answer has no `servers`: this is not a registry of MCP servers")
    cursor = as_text(as_object(answer.get("metadata")).get("nextCursor"))
    return RegistryPage(list(_api_documents(base, answer)), cursor)


def _api_documents(base: str, answer: JsonObject) -> Iterator[RegistryDocument]:
    for row in as_list(answer.get("servers")):
        server = as_object(as_object(row).get("server"))
        parts = (str(server.get(key, ""))[:NAME_CHARS] for key in ("name", "version"))
        name, version = (quote(x, safe="") for x in parts)
        yield document_of(row, f"{redact_url(base)}/{name}/versions/{version}")


# npm's search by keywords. npm verifies none of the claims of packages.


def npm_document(url: str, name: str, version: str, limits: FetchLimits) -> RegistryDocument:
    """Return the document of a package; raises as `npm_package` does."""
    return _npm_document(url, npm_package(url, name, version, limits))


def npm_package(url: str, name: str, version: str, limits: FetchLimits) -> JsonObject:
    """Return one version of a package, or its `latest`, as its `package.json` describes it.

    Raises:
        HttpStatusError: there is no such package, or no such version.
        OSError: npm cannot be reached.
    """
    place = f"{url.rstrip('/')}/{quote(name, safe='@')}/{quote(version, safe='')}"
    package = _json_at(place, limits)
    if package.get("name") != name or version not in ("latest", package.get("version")):
        raise OSError("the answer is about another package")
    return package


def _npm_page(
    url: str, keywords: str, cursor: str, _since: str, limits: FetchLimits
) -> RegistryPage:
    start = int(cursor) if cursor.isdecimal() else 0
    query = {"text": f"keywords:{keywords}", "size": str(_NPM_ROWS), "from": str(start)}
    answer = _json_at(f"{url.rstrip('/')}/-/v1/search?{urlencode(query)}", limits)
    rows, total = as_list(answer.get("objects")), answer.get("total")
    end = start + len(rows)
    next_cursor = str(end) if rows and isinstance(total, int) and end < total else ""
    packages = (as_object(as_object(x).get("package")) for x in rows)
    return RegistryPage([_npm_document(url, x) for x in packages], next_cursor)


def _npm_document(url: str, package: JsonObject) -> RegistryDocument:
    name, version = as_text(package.get("name")), as_text(package.get("version"))
    server: JsonObject = {
        "name": name,
        "version": version,
        "description": package.get("description"),
        "repository": {"url": as_object(package.get("links")).get("repository")},
        "packages": [{"registryType": "npm", "identifier": name, "version": version}],
        "tags": as_texts(package.get("keywords")),
        "author": as_object(package.get("publisher")).get("username"),
    }
    meta: JsonObject = {"publishedAt": package.get("date")}
    return _check_document(server, meta, redact_url(url.rstrip("/")), is_npm=True)


def npm_address() -> str:
    """Return the address of npm's registry, from its variable or from npm itself.

    Raises:
        OSError: neither has the address.
    """
    address = os.environ.get(_NPM_VARIABLE, "").strip()
    if not address and (npm := shutil.which("npm")):
        # only npm knows its configuration files and its default
        command = [npm, "config", "get", "registry"]
        with suppress(OSError, subprocess.SubprocessError):
            address = subprocess.run(
                command, capture_output=True, text=True, timeout=_NPM_SECONDS, check=True,
                stdin=subprocess.DEVNULL,
            ).stdout.strip()  # fmt: skip
    if url_problem(address):
        raise OSError(
            "the address of npm's registry is not known: npm is not installed, and "
            f"{_NPM_VARIABLE} is not set. Write it as `url` of that registry in the settings."
        )
    return address.rstrip("/")


# Lists, folders and archives are one page


def _list_page(
    registry: RegistrySettings, _cursor: str, _since: str, limits: FetchLimits
) -> RegistryPage:
    """Read a local file or folder, or a document at a URL."""
    if registry.url:
        return _page({"": fetch(registry.url, limits)}, redact_url(registry.url))
    path = Path(registry.path)
    if path.is_file():
        return _page({"": path.read_bytes()}, str(path))
    if not path.is_dir():
        raise OSError(f"there is no file or folder {path}")
    return _page(dict(_files_in(path)), str(path))


def _github_page(
    registry: RegistrySettings, _cursor: str, _since: str, limits: FetchLimits
) -> RegistryPage:
    """Read the archive of a repository at `ref`. The place of a document names the commit."""
    base, folder = (registry.url or _ARCHIVES).rstrip("/"), (registry.path or "servers").strip("/")
    url = f"{base}/{registry.repository}/tar.gz/{quote(registry.ref)}"
    try:
        commit, files = _unpack(fetch(url, limits), folder)
    except (tarfile.TarError, EOFError, zlib.error, ValueError) as cause:
        raise OSError(f"its archive cannot be read: {cause}") from None
    if not files:
        raise OSError(f"it has nothing at {folder or 'its root'}: check `path` and `ref`")
    parts = (redact_url(base), registry.repository, commit or registry.ref, folder)
    return _page(files, "/".join(x for x in parts if x))


def _page(files: Mapping[str, bytes], place: str) -> RegistryPage:
    documents = [x for name in sorted(files) for x in _documents_in(name, files[name], place)]
    return RegistryPage(documents)


def _documents_in(name: str, data: bytes, place: str) -> Iterator[RegistryDocument]:
    """Yield the documents in a file: one server.json, or a list of them."""
    place = f"{place}/{name}" if name else place
    try:
        value = parse(data)
        servers = as_object(value).get("servers", value)
        if isinstance(servers, list):
            yield from (document_of(x, place) for x in as_list(servers))
        elif as_object(value).keys() & {"name", "server"}:
            yield document_of(value, place)
        else:
            raise NotReadable(f"{place} has neither a list of MCP servers nor `servers`.")
    except NotReadable as reason:
        if not name:
            raise OSError(visible_text(str(reason), TEXT_CHARS)) from None
        yield _bad_document(name, str(reason))


def _is_readable(path: str) -> bool:
    """Return whether a file is a server.json, in any folder, or a list at the top."""
    parts = PurePosixPath(path).parts
    is_list = len(parts) == 1 and parts[0].endswith(_LISTS)
    return is_list or (len(parts) <= _FOLDER_LEVELS and parts[-1] == _FILE)


def _files_in(folder: Path) -> Iterator[tuple[str, bytes]]:
    deeper = (f"{'*/' * level}{_FILE}" for level in range(1, _FOLDER_LEVELS))
    for pattern in (*(f"*{x}" for x in _LISTS), *deeper):
        for name in glob(pattern, root_dir=folder):
            if (folder / name).is_file():
                yield name, (folder / name).read_bytes()


def _unpack(data: bytes, path: str) -> tuple[str, Mapping[str, bytes]]:
    """Return an archive's commit, if it names one, and its files at the path, in memory."""
    files: dict[str, bytes] = {}
    unpacker = zlib.decompressobj(_GZIP)
    plain = unpacker.decompress(data, _MAX_UNPACKED)
    if unpacker.unconsumed_tail:  # a small archive may unpack to any size
        raise ValueError("it is too large when unpacked")
    with tarfile.open(fileobj=io.BytesIO(plain)) as archive:
        for member in archive:
            inside = _path_below(member.name, path)
            if inside is None or not member.isreg() or (inside and not _is_readable(inside)):
                continue
            content = archive.extractfile(member)
            files[inside] = content.read() if content else b""
        commit = archive.pax_headers.get("comment", "")
    return commit if commit.isalnum() else "", files


def _path_below(name: str, path: str) -> str | None:
    """Return the path below `path`; the first folder of an archive is named after the commit."""
    inside, folder = PurePosixPath(name).parts[1:], PurePosixPath(path).parts
    if inside[: len(folder)] != folder or ".." in inside:
        return None
    return "/".join(inside[len(folder) :])
