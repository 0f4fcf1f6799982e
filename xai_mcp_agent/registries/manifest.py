"""What an orchestrator keeps of a server in a registry: a `RegistryManifest`, as value and JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ..core.json import JsonObject, as_list, as_object, as_texts
from .npm import NpmPackage
from .values import Document, shown

_MOST = 100  # tags, dependencies
_NO_PACKAGE = NpmPackage()


@dataclass(frozen=True, slots=True)
class RegistryManifest:
    """One version of a server (spec 5, registry integration). What a registry does not say is None.

    `manifest_url` is where the document is, `download_url` where the package is; `checksum` is
    that of the package, with the name of its kind in front.
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
        """Return the same for JSON, under the same names."""
        return {**asdict(self), "tags": list(self.tags)}


def manifest_of(document: Document, package: NpmPackage = _NO_PACKAGE) -> RegistryManifest:
    """Return what a document says, and where it says nothing, its package."""
    extras = document.extras
    download, checksum = _download(document.server)
    return RegistryManifest(
        document.name,
        document.version,
        _text(extras.get("mcp_version")),
        _text(extras.get("schema_version")),
        _text(extras.get("manifest_url")) or document.place or None,
        _text(extras.get("download_url")) or download or package.tarball or None,
        _text(extras.get("checksum")) or checksum or package.integrity or None,
        tuple(map(shown, as_texts(extras.get("tags"))[:_MOST])),
        _text(extras.get("author")) or package.author or _owner(document.server),
        _text(extras.get("license")) or package.license or None,
        _dependencies(extras.get("dependencies")) or package.dependencies,
    )


def _download(server: JsonObject) -> tuple[str | None, str | None]:
    """Return the address and hash of the first package that is a file."""
    for package in map(as_object, as_list(server.get("packages"))):
        if sha256 := _text(package.get("fileSha256")):
            return _text(package.get("identifier")), f"sha256:{sha256}"
    return None, None


def _owner(server: JsonObject) -> str | None:
    """Return whose repository it is, from its address."""
    url = _text(as_object(server.get("repository")).get("url")) or ""
    parts = url.split("/")
    return parts[3] if len(parts) > 4 and parts[0] in ("https:", "http:") else None


def _dependencies(value: Any) -> dict[str, str]:
    names = dict.fromkeys(as_texts(value), "")
    entries = list((names or as_object(value)).items())[:_MOST]
    return {shown(str(key)): shown(x) for key, x in entries}


def _text(value: Any) -> str | None:
    return shown(value) or None
