"""Manifests: one version of a server in the words of a package registry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ..core.json import JsonObject, as_list, as_object, as_text, as_texts
from .readers import NpmPackage
from .server_json import Document, shown

_MAX_ITEMS = 100  # tags, dependencies


@dataclass(frozen=True, slots=True)
class RegistryManifest:
    """One version of a server (spec 5, registry integration); None where a registry says nothing.

    `manifest_url` is the address of its document, `download_url` that of its package. `checksum` is
    the package's, after the name of its kind.
    """

    name: str
    version: str
    mcp_version: str | None = None
    schema_version: str | None = None
    manifest_url: str | None = None
    download_url: str | None = None
    checksum: str | None = None
    tags: tuple[str, ...] = ()
    author: str | None = None
    license: str | None = None
    dependencies: Mapping[str, str] = field(default_factory=dict[str, str])

    def as_json(self) -> JsonObject:
        """Return it for JSON, under the same names."""
        return {**asdict(self), "tags": list(self.tags)}


def manifest_of(document: Document, package: NpmPackage | None = None) -> RegistryManifest:
    """Return what a document says, and where it says nothing, its package."""
    server, package = document.server, package or NpmPackage()
    download, checksum = _download(server)
    schema = as_text(server.get("$schema")).rstrip("/").split("/")
    schema_version = shown(schema[-2]) if len(schema) > 1 else None
    return RegistryManifest(
        document.name,
        document.version,
        _text(server.get("mcp_version")),
        _text(server.get("schema_version")) or schema_version,
        _text(server.get("manifest_url")) or document.place or None,
        _text(server.get("download_url")) or download or package.tarball or None,
        _text(server.get("checksum")) or checksum or package.integrity or None,
        tuple(map(shown, as_texts(server.get("tags"))[:_MAX_ITEMS])),
        _text(server.get("author")) or package.author or _repository_owner(server),
        _text(server.get("license")) or package.license or None,
        _dependencies(server.get("dependencies")) or package.dependencies,
    )


def _download(server: JsonObject) -> tuple[str | None, str | None]:
    """The address and the hash of the first package that is a file."""
    for package in map(as_object, as_list(server.get("packages"))):
        if sha256 := _text(package.get("fileSha256")):
            return _text(package.get("identifier")), f"sha256:{sha256}"
    return None, None


def _repository_owner(server: JsonObject) -> str | None:
    url = _text(as_object(server.get("repository")).get("url")) or ""
    parts = url.split("/")
    return parts[3] if len(parts) > 4 and parts[0] in ("https:", "http:") else None


def _dependencies(value: Any) -> dict[str, str]:
    names = dict.fromkeys(as_texts(value), "")
    entries = list((names or as_object(value)).items())[:_MAX_ITEMS]
    return {shown(str(key)): shown(x) for key, x in entries}


def _text(value: Any) -> str | None:
    return shown(value) or None
