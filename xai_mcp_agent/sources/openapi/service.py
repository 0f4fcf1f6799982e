"""A service for programs: its operations as tools, and the requests that calls of them would be."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core.errors import BadSetting, InvalidArguments, UnknownTool
from ...core.fingerprint import definition_of
from ...core.names import did_you_mean
from ...core.schemas import ArgumentChecks, signature
from ...core.tools import JsonObject
from .document import Document, Folder, Place, Site, read_file
from .operations import Operation, Problem, convert
from .parsing import BadDocument
from .plan import RequestPlan
from .servers import is_usable

if TYPE_CHECKING:
    import httpx2


class Service:
    """The operations of one document. `problems` are those that are no tools, and why."""

    def __init__(self, document: Document, base_url: str | None = None) -> None:
        self.title = document.title
        self.version = document.version
        server = base_url.rstrip("/") if base_url else None
        converted = convert(document, server=server)
        self.tools: tuple[Operation, ...] = converted.operations
        self.problems: tuple[Problem, ...] = converted.problems
        self._by_name = {x.name: x for x in self.tools}
        self._checks = ArgumentChecks()

    @cached_property
    def inventory_hash(self) -> str:
        """Equal for documents that offer the same, in whatever order they say it."""
        return inventory_hash(self.tools)

    def tool(self, name: str) -> Operation:
        """The tool of this name.

        Raises:
            UnknownTool: there is none.
        """
        if name not in self._by_name:
            hint = did_you_mean(name, self._by_name)
            raise UnknownTool(f"{self.title or 'The service'} has no tool {name!r}. {hint}".strip())
        return self._by_name[name]

    def plan(self, tool_name: str) -> RequestPlan:
        """How a call of this tool becomes a request; `as_json()` of it is for printing.

        Raises:
            UnknownTool: there is none.
        """
        return self.tool(tool_name).plan

    def request(self, tool_name: str, arguments: Mapping[str, Any]) -> httpx2.Request:
        """The request that a call would send. Nothing is sent.

        Raises:
            UnknownTool: there is no such tool.
            InvalidArguments: they do not fit its input schema, or cannot be written where they go.
            BadSetting: nobody says which server it is.
        """
        # Here, because most look at the tools only.
        from .request import build_request

        tool = self.tool(tool_name)
        given = dict(arguments)
        if problems := self._checks.problems(tool.name, tool.input_schema, given):
            raise InvalidArguments(tool.name, problems, signature(tool.input_schema))
        return build_request(tool.plan, given)


def load_service(
    where: str | os.PathLike[str] | Mapping[str, Any], base_url: str | None = None
) -> Service:
    """The service that a document describes: a file, a URL, or what a document says.

    `base_url` is where it is called, in place of what the document says. Only the document is
    fetched, and what it refers to in its folder or on its host.

    Raises:
        BadDocument: there is none, or it is none.
        BadSetting: `base_url` is no absolute URL.
    """
    if base_url is not None and not is_usable(base_url):
        raise BadSetting(
            f"`base_url` is {base_url!r}. Give an absolute URL, such as https://host/v1."
        )
    if isinstance(where, Mapping):
        return Service(Document(dict(where)), base_url)
    name = os.fspath(where)
    data, place = _fetched(name) if name.startswith(("http://", "https://")) else _read(name)
    return Service(Document.of(data, place, name), base_url)


def inventory_hash(operations: tuple[Operation, ...]) -> str:
    """A digest of all that operations are, whatever their order."""
    digest = hashlib.sha256()
    for operation in sorted(operations, key=lambda x: (x.name, x.method, x.path)):
        digest.update(_record(operation).encode())
    return digest.hexdigest()


def _record(operation: Operation) -> str:
    record: JsonObject = {
        "definition": definition_of(operation.tool),
        "plan": operation.plan.as_json(),
        "tags": sorted(operation.tags),
    }
    return json.dumps(record, sort_keys=True, separators=(",", ":"), default=str)


def _read(name: str) -> tuple[bytes, Place]:
    file = Path(name).expanduser()
    try:
        return read_file(file), Folder(file)
    except OSError as cause:
        problem = cause.strerror or str(cause)
        raise BadDocument(f"{name} cannot be read: {problem}. Give the file, or a URL.") from None


def _fetched(url: str) -> tuple[bytes, Place]:
    # Here, because of a library that takes a while to import.
    from .fetching import fetch

    try:
        return fetch(url), Site(url, fetch)
    except OSError as cause:
        raise BadDocument(
            f"{url} cannot be fetched: {cause}. Give another URL, or a file."
        ) from None
