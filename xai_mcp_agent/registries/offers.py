"""What a server of a registry would come to in settings, and all that is to be known of it."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..core.json import JsonObject
from ..settings.sections import RegistrySettings
from ..sources.fetching import Answered, FetchLimits
from .compose import Composition, compose
from .manifest import RegistryManifest, manifest_of
from .npm import NpmPackage, npm_address
from .readers import NpmReader
from .server_json import read_server
from .signals import Origin, Signal, signals_of
from .store import Alarm
from .values import NAME_CHARS, Document, Package, Refused, RegistryError, shown

NOT_FOUND = 404
_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)")
ASK_LIMITS = FetchLimits(seconds=20.0, read_seconds=10.0, max_bytes=16 * 1024**2)
"""For one question about one server, for which a person waits."""


@dataclass(frozen=True, slots=True)
class Listing:
    """All that is known of one version of a server in one registry.

    `digest` is that of its document. `alarms` are versions whose content was changed; `note` says
    where the registry itself could not be asked.
    """

    registry: RegistrySettings
    document: Document
    digest: str
    versions: tuple[str, ...]
    alarms: tuple[Alarm, ...] = ()
    note: str = ""

    @property
    def status(self) -> str:
        """What the registry says of it: active, deprecated, deleted or nothing."""
        return shown(self.document.meta.get("status"), NAME_CHARS)

    @property
    def manifest(self) -> RegistryManifest:
        """What the registry says, without what a package says of itself."""
        return manifest_of(self.document)


@dataclass(frozen=True, slots=True)
class Offer:
    """What would be written into the settings for a server, and all that is to be known before."""

    listing: Listing
    name: str
    composition: Composition
    entry: JsonObject
    manifest: RegistryManifest
    signals: tuple[Signal, ...]

    @property
    def alarms(self) -> list[Signal]:
        """Why it must not be used."""
        return [x for x in self.signals if x.weight == "alarm"]


def offer_of(
    listing: Listing,
    name: str,
    *,
    given: Mapping[str, str] | None = None,
    allow: Collection[str] = (),
    prefer: str = "",
    configured: Mapping[str, Any] | None = None,
    offline: bool = False,
) -> Offer:
    """Return what would be written for a server under a name, and what is to be known of it.

    `given` are values of the person, `allow` words of `ALLOWED`, `prefer` a type of package or
    `remote`. `configured` are the entries of the settings, as they are written.

    Raises:
        Refused: it must not be used, or there is no way that may be.
        BadSetting: a value that was given does not fit.
    """
    configured = configured or {}
    document = listing.document
    _check_status(listing, allow)
    server = read_server(document.server, has_namespace=document.has_namespace)
    taken = _VARIABLE.findall(json.dumps(configured, default=str))
    composition = compose(server, name, given=given, allow=allow, prefer=prefer, taken=taken)
    origin = _origin(listing, composition, offline=offline)
    signals = [
        *(_changed(x) for x in listing.alarms),
        *signals_of(document, composition, origin, name=name, configured=configured),
    ]
    if listing.note:
        signals.append(Signal("status", "warning", f"{listing.note}; this is the local copy."))
    manifest = manifest_of(document, origin.package or NpmPackage())
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


def _changed(alarm: Alarm) -> Signal:
    return Signal(
        "integrity", "alarm",
        f"{alarm.name} {alarm.version} says something else than before, under the same version: "
        f"its digest was {alarm.was[:12]}, and since {alarm.seen} it is {alarm.now[:12]}.",
    )  # fmt: skip


def _entry(
    listing: Listing, composition: Composition, description: str, manifest: RegistryManifest
) -> JsonObject:
    """The entry, switched off and locked, with where it is from."""
    document = listing.document
    noted = {
        "from": listing.registry.noted_as,
        "name": document.name,
        "version": document.version,
        "digest": listing.digest,
        "checksum": manifest.checksum or "",
    }
    about = " ".join(description.split())
    return {
        **composition.entry,
        **({"description": about} if about else {}),
        "lock": True,
        "disabled": True,
        "registry": {key: x for key, x in noted.items() if x},
    }


# What npm says of a package


def _origin(listing: Listing, composition: Composition, *, offline: bool) -> Origin:
    registry, way = listing.registry, composition.way
    origin = Origin(registry.name, registry.is_official, len(listing.versions))
    if not isinstance(way, Package) or way.type != "npm":
        return origin
    if offline:
        return replace(origin, not_asked="npm was not asked")
    lack = ""
    try:
        address = registry.url if registry.type == "npm" and registry.url else npm_address()
        package = NpmReader(address).package(way.identifier, way.version, ASK_LIMITS)
        lack = "" if package.has_command else "has no command to run"
        origin = replace(origin, package=package)
    except (OSError, RegistryError) as reason:
        if isinstance(reason, Answered) and reason.status == NOT_FOUND:
            lack = "is not there: npm has no such version"
        origin = replace(origin, not_asked=f"npm could not be asked: {str(reason).rstrip('.')}")
    if lack:
        raise Refused(listing.document.name, f"its package {way.identifier} {way.version} {lack}")
    return origin
