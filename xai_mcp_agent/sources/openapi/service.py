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
from ...core.json import JsonObject
from ...core.names import did_you_mean
from ...core.schemas import ArgumentChecks, signature
from ...core.tools import definition_of
from .conversion.operations import Operation, Problem, convert
from .document.document import Document, Folder, Place, Site, read_file
from .document.given import as_json_has_it
from .document.parsing import BadDocument
from .document.servers import is_usable
from .plan import RequestPlan

if TYPE_CHECKING:
    import httpx2

    from .calls.auth import Credentials
    from .credentials import Auth
    from .requests.request import Access

_TOKEN = "TOKEN"  # where one would be got first: nothing is sent here


class Service:
    """The operations of one document. `problems` are those that are no tools, and why."""

    def __init__(
        self,
        document: Document,
        base_url: str | None = None,
        auth: Auth | None = None,
    ) -> None:
        self.title = document.title
        self.version = document.version
        server = base_url.rstrip("/") if base_url else None
        converted = convert(document, server=server)
        self.tools: tuple[Operation, ...] = converted.operations
        self.problems: tuple[Problem, ...] = converted.problems
        self._by_name = {x.name: x for x in self.tools}
        self._checks = ArgumentChecks()
        self._credentials = _read_credentials(auth)

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
            CredentialsMissing: credentials were given, and none that the operation takes.
        """
        # Here, because most look at the tools only.
        from .requests.request import build_request

        tool = self.tool(tool_name)
        given = dict(arguments)
        if problems := self._checks.problems(tool.name, tool.input_schema, given):
            raise InvalidArguments(tool.name, problems, signature(tool.input_schema))
        return build_request(tool.plan, given, access=self._access(tool.plan))

    def _access(self, plan: RequestPlan) -> Access:
        """What credentials add. Without any given, nothing: a request is only looked at here."""
        from .calls.auth import access_of, grants_for
        from .requests.request import NO_ACCESS

        if not self._credentials:
            return NO_ACCESS
        grants = grants_for(plan.security, self._credentials, plan.base_url)
        return access_of(grants, lambda _: _TOKEN)


def load_service(
    where: str | os.PathLike[str] | Mapping[str, Any],
    base_url: str | None = None,
    auth: Auth | None = None,
) -> Service:
    """The service that a document describes: a file, a URL, or what a document says.

    `base_url` is where it is called, in place of what the document says; `auth` are credentials,
    as in the settings. Only the document is fetched, without them, and what it refers to in its
    folder or on its host.

    Raises:
        BadDocument: there is none, or it is none.
        BadSetting: `base_url` is no absolute URL.
    """
    if base_url is not None and not (is_usable(base_url) and {*"?#"}.isdisjoint(base_url)):
        raise BadSetting(
            f"`base_url` is {base_url!r}. Give an absolute URL without a query, such as "
            "https://host/v1."
        )
    if isinstance(where, Mapping):
        return Service(Document(as_json_has_it(where)), base_url, auth)
    name = os.fspath(where)
    is_url = name[:8].lower().startswith(("http://", "https://"))
    data, place = _fetched(name) if is_url else _read(name)
    return Service(Document.of(data, place, name), base_url, auth)


def _read_credentials(auth: Auth | None) -> Credentials:
    if not auth:
        return {}
    # Here, because of a library that takes a while to import.
    from .credentials import read_credentials

    return read_credentials(auth)


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
    from ..fetching import fetch, fetch_from

    try:
        data, found_at = fetch_from(url)
        # RFC 3986, 5.1.3: what it refers to is beside where it was found.
        return data, Site(found_at, fetch)
    except OSError as cause:
        raise BadDocument(
            f"{url} cannot be fetched: {cause}. Give another URL, or a file."
        ) from None
