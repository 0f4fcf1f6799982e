"""What npm's search and its manifests say of a package."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ...core.json import JsonObject, as_list, as_object
from ...core.visible import visible_text
from ...sources.openapi.document.values import texts_of
from ..values import NAME_CHARS, Document


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a package says of itself at one version; `mcp_name` is the server that it says it is."""

    name: str
    version: str
    mcp_name: str = ""
    has_command: bool = False
    integrity: str = ""
    tarball: str = ""
    license: str = ""
    author: str = ""
    dependencies: dict[str, str] = field(default_factory=dict[str, str])


def npm_document(found: Any, place: str) -> Document:
    """One of the packages of a search. Nothing of it is proved."""
    package = as_object(as_object(found).get("package"))
    name, version = package.get("name"), package.get("version")
    told = [x if isinstance(x, str) else "" for x in (name, version)]
    links = as_object(package.get("links"))
    server: JsonObject = {
        "name": name,
        "description": package.get("description"),
        "version": version,
        "repository": {"url": links.get("repository")},
        "packages": [
            {
                "registryType": "npm",
                "identifier": name,
                "version": version,
                "transport": {"type": "stdio"},
            }
        ],
    }
    publisher = as_object(package.get("publisher")).get("username")
    extras = {"tags": texts_of(package.get("keywords")), "author": publisher}
    meta = {"publishedAt": package.get("date")}
    # Scores and dates come and go: what must not change is what a version is.
    same = {"name": name, "version": version}
    return Document(told[0], told[1], server, same, meta, extras, place, has_namespace=False)


def npm_manifest(value: Any) -> Manifest:
    """What the manifest of one version says."""
    given, dist = as_object(value), as_object(as_object(value).get("dist"))
    author = given.get("author")
    needs = as_object(given.get("dependencies"))
    return Manifest(
        _text(given.get("name")),
        _text(given.get("version")),
        _text(given.get("mcpName")),
        bool(as_object(given.get("bin")) or _text(given.get("bin"))),
        _text(dist.get("integrity")),
        _text(dist.get("tarball")),
        _text(given.get("license")),
        _text(author if isinstance(author, str) else as_object(author).get("name")),
        {_text(key): _text(x) for key, x in list(needs.items())[:NAME_CHARS]},
    )


def packages_in(value: Any) -> tuple[list[Any], int]:
    """The packages of an answer to a search, and how many there are in all."""
    given = as_object(value)
    total = given.get("total")
    return as_list(given.get("objects")), total if isinstance(total, int) else 0


def _text(value: Any) -> str:
    return visible_text(value, NAME_CHARS).strip() if isinstance(value, str) else ""
