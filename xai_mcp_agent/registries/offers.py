"""Offers: the entry that would be written for a version of a server, and the signals about it."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..core.json import JsonObject
from ..settings.registries import RegistrySettings
from ..sources.fetching import Answered, FetchLimits
from .entries import Composition, compose
from .manifest import RegistryManifest, manifest_of
from .readers import NpmReader, npm_address
from .server_json import (
    NAME_CHARS,
    Document,
    Package,
    Refused,
    RegistryError,
    read_server,
    shown,
)
from .signals import Origin, Signal, signals_of
from .store import Alarm

NOT_FOUND = 404
# For one question about one server, for which a person waits.
ASK_LIMITS = FetchLimits(seconds=20.0, read_seconds=10.0, max_bytes=16 * 1024**2)

_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)")


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
        """Its status in the registry: active, deprecated, deleted or empty."""
        return shown(self.document.meta.get("status"), NAME_CHARS)

    @property
    def manifest(self) -> RegistryManifest:
        """What the registry says of it, without what its package says."""
        return manifest_of(self.document)


@dataclass(frozen=True, slots=True)
class Offer:
    """The entry that would be written into the settings for a server, and what to know before."""

    listing: Listing
    name: str
    composition: Composition
    entry: JsonObject
    manifest: RegistryManifest
    signals: tuple[Signal, ...]

    @property
    def alarms(self) -> list[Signal]:
        """The signals because of which it must not be used."""
        return [x for x in self.signals if x.weight == "alarm"]


def make_offer(
    listing: Listing,
    name: str,
    *,
    given: Mapping[str, str] | None,
    allow: Collection[str],
    prefer: str,
    configured: Mapping[str, Any],
    offline: bool,
) -> Offer:
    """Return the offer of a listing; see `Registries.offer`."""
    document = listing.document
    _check_status(listing, allow)
    server = read_server(document.server, has_namespace=document.has_namespace)
    taken = _VARIABLE.findall(json.dumps(configured, default=str))
    composition = compose(server, name, given=given, allow=allow, prefer=prefer, taken=taken)
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
        message = shown(document.meta.get("statusMessage"), NAME_CHARS).rstrip(".")
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
    """The entry, switched off and locked, with a note of where it is from."""
    document = listing.document
    note = {
        "from": listing.registry.noted_as,
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
    """Where a version comes from; npm is asked about its package.

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
