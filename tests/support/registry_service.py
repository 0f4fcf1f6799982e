"""A registry behind HTTP: the pages, versions, lists, archives and packages of the fixtures.

Cursors, `updated_since` and 404s are as the official API has them. `faults` by path: `repeat` the
cursor, be `slow`, be `broken`, answer like an `other` service, or a status such as `503`.
"""

from __future__ import annotations

import gzip
import io
import itertools
import json
import tarfile
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote

from tests.support.http_service import HttpService, Received, Reply, as_json

DATA = Path(__file__).parents[1] / "data" / "registry"
COMMIT = "818bf169b365e7b7d5b117352e32757c54844718"
PAGES = ("servers-page1", "servers-page2", "servers-page3")
OFFICIAL = "io.modelcontextprotocol.registry/official"
_API = "/v0.1/servers"


def document(path: str) -> Any:
    """Return one of the fixtures."""
    return json.loads((DATA / path).read_text(encoding="utf-8"))


def invalid() -> list[Any]:
    """Return the documents that a client must refuse."""
    return [json.loads(x.read_bytes()) for x in sorted((DATA / "invalid").glob("*.json"))]


class RegistryService:
    """What it serves can be changed: `pages` are rows by cursor, `npm` manifests by their path."""

    def __init__(self, http: HttpService) -> None:
        self.http = http
        self.faults: dict[str, str] = {}
        self.npm: dict[str, Any] = {
            "@example-org/notes-mcp/1.4.0": document("npm/packument-version.json")
        }
        self.search = document("npm/search.json")
        self.archives: dict[str, bytes] = {COMMIT: archive()}
        self.over = threading.Event()
        self.pages: dict[str, Any] = {}
        cursor = ""
        for name in PAGES:
            page = document(f"official-v0.1/{name}.json")
            self.pages[cursor] = page
            cursor = page["metadata"].get("nextCursor", "")
        http.replies["*"] = self._reply

    @property
    def url(self) -> str:
        """Its base URL."""
        return self.http.url

    def queries(self, path: str = _API) -> list[dict[str, str]]:
        """Return the queries so far at a path."""
        return [
            {key: x[0] for key, x in parse_qs(got.query).items()}
            for got in self.http.got
            if got.path == path
        ]

    def rows(self) -> Iterator[Any]:
        """Yield all rows of all pages."""
        return itertools.chain.from_iterable(x["servers"] for x in self.pages.values())

    def row(self, name: str) -> Any:
        """Return the row of a server, which a test may change."""
        return next(x for x in self.rows() if x["server"]["name"] == name)

    def _reply(self, got: Received) -> Reply:
        fault = self.faults.get(got.path) or self.faults.get("*", "")
        if fault == "slow":
            self.over.wait(30)
            return Reply(503)
        if fault == "other":
            return as_json({"mcpServers": {}})
        if fault == "broken":
            return Reply(200, b'{"servers": [')
        if fault.isdecimal():
            return as_json({"error": "try later"}, int(fault))
        return self._answer(got, fault)

    def _answer(self, got: Received, fault: str) -> Reply:
        query = {key: x[0] for key, x in parse_qs(got.query).items()}
        path = got.path.strip("/").split("/")
        if got.path == _API:
            return self._page(query, fault)
        if got.path.startswith(f"{_API}/") and path[-1] == "versions":
            return self._versions(unquote(path[2]))
        if got.path.startswith("/lists/"):
            return Reply(200, (DATA / "static-list" / path[-1]).read_bytes())
        if "tar.gz" in path:
            return Reply(200, self.archives[path[-1]]) if path[-1] in self.archives else Reply(404)
        if got.path == "/-/v1/search":
            return self._search(query)
        if unquote(got.path.strip("/")) in self.npm:
            return as_json(self.npm[unquote(got.path.strip("/"))])
        return as_json(document("official-v0.1/error-404.json"), 404)

    def _page(self, query: dict[str, str], fault: str) -> Reply:
        since = query.get("updated_since", "")
        page = self.pages.get(query.get("cursor", ""))
        if page is None:
            return as_json({"error": "invalid cursor"}, 400)
        rows = [x for x in page["servers"] if _updated_at(x) >= since]
        if not since:
            rows = [x for x in rows if _status(x) != "deleted"]
        metadata = {**page["metadata"], "count": len(rows)}
        if fault == "repeat":
            metadata["nextCursor"] = "always:the-same"
            self.pages["always:the-same"] = page
        return as_json({"servers": rows, "metadata": metadata})

    def _versions(self, name: str) -> Reply:
        fixtures = document("official-v0.1/server-versions.json")["servers"]
        mine = [x for x in self.rows() if x["server"]["name"] == name]
        versions = {
            x["server"]["version"]: x for x in (*fixtures, *mine) if x["server"]["name"] == name
        }
        if not versions:
            return as_json(document("official-v0.1/error-404.json"), 404)
        return as_json({"servers": list(versions.values()), "metadata": {"count": len(versions)}})

    def _search(self, query: dict[str, str]) -> Reply:
        start, size = int(query.get("from", 0)), min(int(query.get("size", 20)), 250)
        objects = self.search["objects"][start : start + size]
        return as_json({**self.search, "objects": objects, "total": len(self.search["objects"])})


@contextmanager
def registry_service() -> Generator[RegistryService]:
    """Run a service for the length of the block."""
    from tests.support.http_service import http_service

    with http_service() as http:
        service = RegistryService(http)
        try:
            yield service
        finally:
            service.over.set()


def archive(folder: Path = DATA / "repository") -> bytes:
    """Return an archive like GitHub's, with the folder under `servers` and other files."""
    archive_file = io.BytesIO()
    form, headers = tarfile.PAX_FORMAT, {"comment": COMMIT}
    with tarfile.open(fileobj=archive_file, mode="w", format=form, pax_headers=headers) as tar:
        _add(tar, "mcp-registry-x/README.md", b"# Registry")
        for file in sorted(folder.rglob("*.*")):
            inside = file.relative_to(folder).as_posix()
            _add(tar, f"mcp-registry-x/servers/{inside}", file.read_bytes())
    return gzip.compress(archive_file.getvalue())


def _add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(data)
    tar.addfile(member, io.BytesIO(data))


def _updated_at(row: Any) -> str:
    return str(row.get("_meta", {}).get(OFFICIAL, {}).get("updatedAt", "9"))


def _status(row: Any) -> str:
    return str(row.get("_meta", {}).get(OFFICIAL, {}).get("status", ""))
