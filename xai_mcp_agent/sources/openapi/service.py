"""A service for programs: its operations as tools, and the requests that calls would send."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic_core import to_json

from ...core.errors import BadSetting, InvalidArguments, UnknownTool
from ...core.names import did_you_mean
from ...core.schema_check import ArgumentChecks
from ...core.schemas import signature
from ...core.tools import JsonObject, definition_of
from .document import BadDocument, Document, files_beside, read_document
from .operations import Operation, Problem, convert
from .plan import RequestPlan
from .swagger import is_usable

if TYPE_CHECKING:
    import httpx2

_TOKEN = "TOKEN"  # placeholder for a token that a call would fetch first: nothing is sent here


class Service:
    """The operations of one document. `problems` are the parts that are not tools, and why."""

    def __init__(
        self,
        document: Document,
        base_url: str | None = None,
        auth: Mapping[str, Any] | None = None,
    ) -> None:
        self.title = document.title
        self.version = document.version
        server = base_url.rstrip("/") if base_url else None
        conversion = convert(document, server=server)
        self.tools: tuple[Operation, ...] = conversion.operations
        self.problems: tuple[Problem, ...] = conversion.problems
        self._by_name = {x.name: x for x in self.tools}
        self._checks = ArgumentChecks()
        self._credentials: Any = {}
        if auth:
            # Here, because it imports a slow library.
            from .auth import read_credentials

            self._credentials = read_credentials(auth)

    @cached_property
    def inventory_hash(self) -> str:
        """Hash of the operations; equal for documents that offer the same in any order."""
        digest = hashlib.sha256()
        for operation in sorted(self.tools, key=lambda x: (x.name, x.method, x.path)):
            record: JsonObject = {
                "definition": definition_of(operation.tool),
                "plan": operation.plan.as_json(),
                "tags": sorted(operation.tags),
            }
            text = json.dumps(record, sort_keys=True, separators=(",", ":"), default=str)
            digest.update(text.encode())
        return digest.hexdigest()

    def tool(self, name: str) -> Operation:
        """Return the tool of this name.

        Raises:
            UnknownTool: there is no such tool.
        """
        if name not in self._by_name:
            hint = did_you_mean(name, self._by_name)
            raise UnknownTool(f"{self.title or 'The service'} has no tool {name!r}. {hint}".strip())
        return self._by_name[name]

    def plan(self, tool_name: str) -> RequestPlan:
        """Return the request plan of a tool; its `as_json()` is for printing.

        Raises:
            UnknownTool: there is no such tool.
        """
        return self.tool(tool_name).plan

    def request(self, tool_name: str, arguments: Mapping[str, Any]) -> httpx2.Request:
        """Return the request that a call would send. Nothing is sent.

        Without credentials the request has none: it is only for inspection.

        Raises:
            UnknownTool: there is no such tool.
            InvalidArguments: the arguments do not fit the input schema, or cannot be written in
                their places.
            BadSetting: neither the document nor `base_url` names a server.
            CredentialsMissing: the operation accepts none of the credentials.
        """
        # Here, because most programs only look at the tools.
        from .auth import add_credentials, grants_for
        from .request import build_request

        tool = self.tool(tool_name)
        values, plan = dict(arguments), tool.plan
        if problems := self._checks.problems(tool.name, tool.input_schema, values):
            raise InvalidArguments(tool.name, problems, signature(tool.input_schema))
        request = build_request(plan, values)
        if self._credentials:
            grants = grants_for(plan.security, self._credentials, plan.base_url)
            add_credentials(request, grants, _TOKEN)
        return request


def load_service(
    where: str | os.PathLike[str] | Mapping[str, Any],
    base_url: str | None = None,
    auth: Mapping[str, Any] | None = None,
) -> Service:
    """Load a service from its document: a file, a URL, or the parsed document itself.

    `base_url` replaces the servers in the document; `auth` are credentials, as in the settings. It
    fetches only the document, without credentials, and the files that it refers to in its folder or
    on its host.

    Raises:
        BadDocument: there is no document, or it is not valid.
        BadSetting: `base_url` is not an absolute URL.
    """
    if base_url is not None and not (is_usable(base_url) and {*"?#"}.isdisjoint(base_url)):
        raise BadSetting(
            f"`base_url` is {base_url!r}. Give an absolute URL without a query, such as "
            "https://host/v1."
        )
    if isinstance(where, Mapping):
        return Service(_document_in(where), base_url, auth)
    name = os.fspath(where)
    is_url = name[:8].lower().startswith(("http://", "https://"))
    return Service(_fetch(name) if is_url else _open(name), base_url, auth)


def _document_in(value: Mapping[str, Any]) -> Document:
    # YAML readers return dates, and numbers as keys.
    try:
        text = to_json(dict(value), inf_nan_mode="constants", fallback=str)
    except ValueError as cause:
        raise BadDocument(f"the document cannot be read: {cause}.") from None
    return Document(text)


def _open(name: str) -> Document:
    file = Path(name).expanduser().absolute()
    return Document(read_document(file), file.as_uri(), files_beside(file), name)


def _fetch(url: str) -> Document:
    # Here, because it imports a slow library.
    from ..fetching import fetch, fetch_from

    try:
        data, address = fetch_from(url)
    except OSError as cause:
        raise BadDocument(
            f"{url} cannot be fetched: {cause}. Give another URL or a file."
        ) from None
    # RFC 3986, 5.1.3: references are relative to the final address.
    return Document(data, address, fetch, url)
