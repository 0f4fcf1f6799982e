"""Which form a document has, and what documents are in it; one that is bad costs only itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ...core.json import JsonObject, as_list, as_object
from ...core.visible import visible_text
from ..server_json import read_server
from ..values import NAME_CHARS, TEXT_CHARS, Document, Refused, RegistryError
from .docker import docker_document, is_docker
from .legacy import is_legacy, legacy_document
from .ready import ready_document

OFFICIAL_META = "io.modelcontextprotocol.registry/official"
MOST_DOCUMENTS = 50_000  # of one list; the largest registry has some thousands

_EXTRAS = (
    "mcp_version", "schema_version", "manifest_url", "download_url", "checksum", "tags", "author",
    "license", "dependencies",
)  # fmt: skip


def documents_in(value: Any, place: str) -> Iterator[Document]:
    """The documents that a file holds: server.json, lists of them, maps, `server.yaml`s.

    Raises:
        RegistryError: it has none of these forms.
    """
    given = as_object(value)
    if isinstance(value, list):
        yield from _several(as_list(value), place)
    elif isinstance(given.get("servers"), list):
        yield from _several(as_list(given["servers"]), place)
    elif isinstance(given.get("mcpServers"), dict):
        for name, entry in list(as_object(given["mcpServers"]).items())[:MOST_DOCUMENTS]:
            yield safely(lambda n=name, e=entry: ready_document(n, e, place), name)
    elif is_docker(value):
        yield safely(lambda: docker_document(given, place), given.get("name"))
    elif "name" in given or "server" in given:
        yield entry_document(value, place)
    else:
        raise RegistryError(
            f"{place} is no list of MCP servers: it has neither a list, nor `servers`, nor "
            "`mcpServers`."
        )


def _several(found: list[Any], place: str) -> Iterator[Document]:
    for value in found[:MOST_DOCUMENTS]:
        yield entry_document(value, place)


def entry_document(value: Any, place: str) -> Document:
    """One member of a list: a server.json, perhaps with `_meta` beside it, or an older form."""
    given = as_object(value)
    server = as_object(given.get("server")) or given
    if is_docker(server):
        return safely(lambda: docker_document(server, place), server.get("name"))
    if is_legacy(server):
        return safely(lambda: legacy_document(server, place), server.get("name"))
    return safely(
        lambda: _of_server(given, server, place), server.get("name"), server.get("version")
    )


def _of_server(given: JsonObject, server: JsonObject, place: str) -> Document:
    meta = as_object(as_object(given.get("_meta")).get(OFFICIAL_META))
    if not meta and isinstance(server.get("status"), str):  # before 2025-09-29 it stood inside
        meta = {"status": server["status"]}
    extras = {key: server[key] for key in _EXTRAS if key in server}
    schema = server.get("$schema")
    if isinstance(schema, str):
        extras.setdefault("schema_version", _date_in(schema))
    name, version = text_of(server.get("name")), text_of(server.get("version"))
    return Document(name, version, server, server, meta, extras, place)


def text_of(value: Any) -> str:
    """The text, or an empty one."""
    return value if isinstance(value, str) else ""


def _date_in(schema: str) -> str:
    parts = schema.rstrip("/").split("/")
    return parts[-2] if len(parts) > 1 else ""


def safely(make: Callable[[], Document], name: Any, version: Any = "") -> Document:
    """The document, read once to see whether it may be used; if not, it says why."""
    # It may be anything, of any length; a name that is used is neither changed nor cut.
    told = (visible_text(text_of(name), NAME_CHARS), visible_text(text_of(version), NAME_CHARS))
    try:
        document = make()
        read_server(document.server, has_namespace=document.has_namespace)
    except Refused as reason:
        return Document(*told, {}, None, refused=visible_text(reason.reason, TEXT_CHARS))
    except (ValueError, TypeError, KeyError, RecursionError) as cause:
        said = f"it cannot be read: {type(cause).__name__}"
        return Document(*told, {}, None, refused=said)
    return document
