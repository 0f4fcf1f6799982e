"""Offers: the entry for a version of a server before it is written, its manifest and signals."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from ..core.json import JsonObject, as_list, as_object, as_text, as_texts
from ..settings.registries import RegistrySettings
from ..sources.fetching import Answered, FetchLimits
from .entries import Composition, compose
from .readers import NpmPackage, NpmReader, npm_address
from .server_json import (
    NAME_CHARS,
    Document,
    Package,
    Refused,
    RegistryError,
    clean_text,
    read_server,
)
from .signals import Origin, Signal, signals_of
from .store import Alarm

NOT_FOUND = 404
# For one question about one server, while a person waits.
ASK_LIMITS = FetchLimits(seconds=20.0, read_seconds=10.0, max_bytes=16 * 1024**2)

_MAX_ITEMS = 100  # tags, dependencies
_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)")


@dataclass(frozen=True, slots=True)
class RegistryManifest:
    """One version of a server (spec 5, registry integration); None where a registry says nothing.

    `manifest_url` is the address of its document, `download_url` the address of its package.
    `checksum` is the package's, after the name of its kind.
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
        """Return the manifest for JSON, under the same names."""
        return {**asdict(self), "tags": list(self.tags)}


@dataclass(frozen=True, slots=True)
class Listing:
    """One version of a server in one registry.

    `alarms` say that its content changed; `note` says why the registry could not be asked.
    """

    registry: RegistrySettings
    document: Document
    versions: tuple[str, ...]
    alarms: tuple[Alarm, ...] = ()
    note: str = ""

    @property
    def digest(self) -> str:
        """The digest of its document."""
        return self.document.digest

    @property
    def status(self) -> str:
        """The status in the registry: active, deprecated, deleted or empty."""
        return clean_text(self.document.meta.get("status"), NAME_CHARS)

    @property
    def manifest(self) -> RegistryManifest:
        """The manifest from the registry alone, without the package's own data."""
        return manifest_of(self.document)


@dataclass(frozen=True, slots=True)
class Offer:
    """The entry for the settings before it is written, and what to know first."""

    listing: Listing
    name: str
    composition: Composition
    entry: JsonObject
    manifest: RegistryManifest
    signals: tuple[Signal, ...]

    @property
    def alarms(self) -> list[Signal]:
        """The signals that forbid its use."""
        return [x for x in self.signals if x.weight == "alarm"]


def make_offer(
    listing: Listing,
    name: str,
    *,
    values: Mapping[str, str] | None = None,
    allow: Collection[str] = (),
    prefer: str = "",
    configured: Mapping[str, Any] | None = None,
    offline: bool = False,
) -> Offer:
    """Return the entry of a server under a name, and the signals about it.

    `values` are the person's values, `allow` words of `ALLOWED`, `prefer` a type of package or
    `remote`. `configured` are the entries of the settings, as written.

    Raises:
        Refused: the server must not be used, or nothing that it offers is allowed.
        BadSetting: a value of `values` does not fit.
    """
    configured = configured or {}
    document = listing.document
    _check_status(listing, allow)
    server = read_server(document.server, has_namespace=document.has_namespace)
    taken = _VARIABLE.findall(json.dumps(configured, default=str))
    composition = compose(server, name, values=values, allow=allow, prefer=prefer, taken=taken)
    origin = _origin(listing, composition, offline=offline)
    signals = [
        *map(_changed_content, listing.alarms),
        *signals_of(document, composition, origin, name=name, configured=configured),
    ]
    if listing.note:
        signals.append(Signal("status", "warning", f"{listing.note}; this is the local copy."))
    manifest = manifest_of(document, origin.package)
    entry = _entry(listing, composition, server.description, manifest)
    return Offer(listing, name, composition, entry, manifest, tuple(signals))


def _check_status(listing: Listing, allow: Collection[str]) -> None:
    document = listing.document
    if listing.status == "deleted":
        raise Refused(document.name, "its registry has deleted it")
    if listing.status == "deprecated" and "deprecated" not in allow:
        message = clean_text(document.meta.get("statusMessage"), NAME_CHARS).rstrip(".")
        why = f": {message}" if message else ""
        raise Refused(
            document.name,
            f"its registry calls it deprecated{why} (to allow it: --allow deprecated)",
        )


def _changed_content(alarm: Alarm) -> Signal:
    return Signal(
        "integrity", "alarm",
        f"{alarm.name} {alarm.version} has changed under the same version: its digest was "
        f"{alarm.was[:12]}, and since {alarm.seen} it is {alarm.now[:12]}.",
    )  # fmt: skip


def _entry(
    listing: Listing, composition: Composition, description: str, manifest: RegistryManifest
) -> JsonObject:
    """Return the entry, switched off and locked, with a note of its origin."""
    document = listing.document
    note = {
        "from": listing.registry.origin_name,
        "name": document.name,
        "version": document.version,
        "digest": document.digest,
        "checksum": manifest.checksum or "",
    }
    about = " ".join(description.split())
    return {
        **composition.entry,
        **({"description": about} if about else {}),
        "lock": True,
        "disabled": True,
        "registry": {key: x for key, x in note.items() if x},
    }


def _origin(listing: Listing, composition: Composition, *, offline: bool) -> Origin:
    """Return the origin of a version; npm is asked about its package.

    Raises:
        Refused: npm does not have the package, or it has no command.
    """
    registry, way = listing.registry, composition.way
    origin = Origin(registry.name, registry.is_official, len(listing.versions))
    if not isinstance(way, Package) or way.type != "npm":
        return origin
    if offline:
        return replace(origin, not_asked="npm was not asked")
    title = f"its package {way.identifier} {way.version}"
    try:
        address = registry.url if registry.type == "npm" and registry.url else npm_address()
        package = NpmReader(address).package(way.identifier, way.version, ASK_LIMITS)
    except (OSError, RegistryError) as reason:
        if isinstance(reason, Answered) and reason.status == NOT_FOUND:
            raise Refused(listing.document.name, f"{title} does not exist on npm") from None
        return replace(origin, not_asked=f"npm could not be asked: {str(reason).rstrip('.')}")
    if not package.has_command:
        raise Refused(listing.document.name, f"{title} has no command to run")
    return replace(origin, package=package)


# The manifest


def manifest_of(document: Document, package: NpmPackage | None = None) -> RegistryManifest:
    """Return the manifest of a document, completed from its package."""
    server, package = document.server, package or NpmPackage()
    download, checksum = _download(server)
    schema = as_text(server.get("$schema")).rstrip("/").split("/")
    schema_version = clean_text(schema[-2]) if len(schema) > 1 else None
    return RegistryManifest(
        document.name,
        document.version,
        _text(server.get("mcp_version")),
        _text(server.get("schema_version")) or schema_version,
        _text(server.get("manifest_url")) or document.place or None,
        _text(server.get("download_url")) or download or package.tarball or None,
        _text(server.get("checksum")) or checksum or package.integrity or None,
        tuple(map(clean_text, as_texts(server.get("tags"))[:_MAX_ITEMS])),
        _text(server.get("author")) or package.author or _repository_owner(server),
        _text(server.get("license")) or package.license or None,
        _dependencies(server.get("dependencies")) or package.dependencies,
    )


def _download(server: JsonObject) -> tuple[str | None, str | None]:
    """Return the address and the hash of the first package that is a file."""
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
    return {clean_text(str(key)): clean_text(x) for key, x in entries}


def _text(value: Any) -> str | None:
    return clean_text(value) or None
