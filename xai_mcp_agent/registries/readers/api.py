"""A registry with the official API, version 0.1: pages with opaque cursors, and versions."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote, urlencode

from ...core.json import JsonObject, as_list, as_object
from ...secrets.redactor import redact_url
from ...sources.fetching import FetchLimits
from ..forms.lists import entry_document
from ..values import NAME_CHARS, Document
from .base import CURSOR_CHARS, Page, fetched_json, is_text

_PAGE = 100  # rows; the official registry gives no more
_VERSION = "/v0.1"


class ApiReader:
    """`url` is where the registry is, without the version of its API."""

    def __init__(self, url: str) -> None:
        self._base = url.rstrip("/").removesuffix(_VERSION) + f"{_VERSION}/servers"

    def page(self, cursor: str, since: str, limits: FetchLimits) -> Page:
        """See `Reader.page`. What was deleted is told where a time is given."""
        asked = {"limit": str(_PAGE), "version": "latest"}
        asked |= {"cursor": cursor} if cursor else {}
        asked |= {"updated_since": since} if since else {}
        found, size = fetched_json(f"{self._base}?{urlencode(asked)}", limits)
        given = as_object(found)
        if not isinstance(given.get("servers"), list):
            raise OSError("the answer has no `servers`: it is no registry of MCP servers")
        following = as_object(given.get("metadata")).get("nextCursor")
        cursor = following if isinstance(following, str) else ""
        if len(cursor) > CURSOR_CHARS or not is_text(cursor):
            raise OSError("its cursor is absurdly long, or no text")
        return Page(list(self._documents(given)), cursor, size)

    def versions(self, name: str, limits: FetchLimits) -> list[Document]:
        """All versions of a server.

        Raises:
            Answered: it has no such server.
            OSError: it cannot be asked; says why.
        """
        found, _ = fetched_json(f"{self._base}/{quote(name, safe='')}/versions", limits)
        # A row of another server is none of its versions.
        return [x for x in self._documents(as_object(found)) if x.name == name]

    def _documents(self, given: JsonObject) -> Iterator[Document]:
        for row in as_list(given.get("servers")):
            server = as_object(as_object(row).get("server"))
            yield entry_document(row, self._place(server))

    def _place(self, server: JsonObject) -> str:
        name, version = (str(server.get(key, "")) for key in ("name", "version"))
        base = redact_url(self._base)
        # Halves of characters, which are no text, are in names that are refused.
        parts = (quote(x[:NAME_CHARS], safe="", errors="replace") for x in (name, version))
        return f"{base}/{'/versions/'.join(parts)}"
