"""The registries of one settings file: searched in the local copy, asked about one server."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from ..core.names import did_you_mean
from ..core.tools import JsonObject
from ..core.visible import visible_text
from ..search import ToolIndex
from ..settings.models import Settings
from ..settings.registries import RegistrySettings
from ..sources.openapi.document.values import list_of, object_of, text_of
from ..sources.web.fetching import Answered, FetchLimits
from .compose import Composition, compose
from .forms.npm import Manifest
from .manifest import RegistryManifest, manifest_of
from .readers.api import ApiReader
from .readers.npm import NpmReader, npm_address
from .readers.readers import reader_of
from .server_json import read_server
from .signals import Origin, Signal, signals_of
from .store import Alarm, Store
from .sync import SyncLimits, SyncReport, now_text, sync_registry
from .values import NAME_CHARS, TEXT_CHARS, Document, Package, Refused, RegistryError

_NOT_FOUND = 404
_ASK_LIMITS = FetchLimits(seconds=20.0, read_seconds=10.0, max_bytes=16 * 1024**2)
_DEPRECATED = ("deprecated", "deleted")


@dataclass(frozen=True, slots=True)
class FoundServer:
    """A server that a search found; `score` is relative to the best, which has 1."""

    registry: str
    name: str
    version: str
    title: str
    description: str
    score: float
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Listing:
    """All that is known of one version of a server in one registry.

    `digest` is that of its document. `alarms` are versions whose content was changed; `note` says
    where the registry itself could not be asked.
    """

    registry: RegistrySettings
    document: Document
    digest: str
    seen: str
    versions: tuple[str, ...]
    alarms: tuple[Alarm, ...] = ()
    note: str = ""

    @property
    def status(self) -> str:
        """What the registry says of it: active, deprecated, deleted or nothing."""
        found = self.document.meta.get("status")
        return found if isinstance(found, str) else ""


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


@dataclass(frozen=True, slots=True)
class PinAlarm:
    """An entry of the settings whose server says something else now than when it was added."""

    entry: str
    server: str
    version: str
    was: str
    now: str


_Indexed: TypeAlias = tuple[ToolIndex[JsonObject], dict[str, FoundServer]]


def user_registry_store() -> Path:
    """Where this user's local copy is; it need not exist."""
    # Here, as most commands need no cache.
    from platformdirs import user_cache_path

    return user_cache_path("xai-mcp-agent", appauthor=False) / "registries.db"


class Registries:
    """Those of some settings, with their local copy in `file`. A `with` block closes it.

    Raises:
        RegistryError: the local copy cannot be used.
    """

    def __init__(self, settings: Settings, file: Path | None = None) -> None:
        self.settings = settings.registries
        self._store = Store(file or user_registry_store())
        self._indexes: dict[str | None, _Indexed] = {}

    def __enter__(self) -> Registries:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the local copy."""
        self._store.close()

    def chosen(self, name: str | None) -> list[RegistrySettings]:
        """The registry of this name, or all.

        Raises:
            RegistryError: there is none.
        """
        if name is None:
            return list(self.settings.values())
        if name not in self.settings:
            known = ", ".join(self.settings) or "none"
            hint = did_you_mean(name, self.settings)
            raise RegistryError(
                f"No registry {name!r} in the settings, under `registries`. Known: {known}. {hint}"
            )
        return [self.settings[name]]

    def sync(self, name: str | None = None, limits: SyncLimits | None = None) -> list[SyncReport]:
        """Bring the local copy of this registry, or of all, up to date; see `sync_registry`."""
        self._indexes.clear()
        return [sync_registry(self._store, x, limits) for x in self.chosen(name)]

    # Searching

    def search(
        self, query: str, limit: int = 10, *, registry: str | None = None
    ) -> list[FoundServer]:
        """The servers of the local copy that do what somebody wants, best first.

        Those that are deprecated, deleted or refused are left out.

        Raises:
            RegistryError: there is no such registry, or no local copy of any.
        """
        index, known = self._indexed(registry)
        if not known:
            raise RegistryError(
                "There is no local copy of a registry yet. Run `xai-mcp-agent registry sync`."
            )
        hits = index.search(query, limit)
        return [replace(known[x.tool["id"]], score=x.score, reasons=x.reasons) for x in hits]

    def _indexed(self, registry: str | None) -> _Indexed:
        """The servers of the local copy, made once for all searches until it changes."""
        if registry not in self._indexes:
            index, known = ToolIndex[JsonObject](), dict[str, FoundServer]()
            for one in self.chosen(registry):
                for kept in self._store.latest(one.address):
                    if kept.document.meta.get("status") in _DEPRECATED:
                        continue
                    found = _found(one.name, kept.document)
                    key = f"{one.name} {found.name}"
                    known[key] = found
                    index.update(_as_tool(key, found, kept.document))
            self._indexes[registry] = index, known
        return self._indexes[registry]

    # One server

    def find(
        self, name: str, *, registry: str | None = None, version: str | None = None,
        offline: bool = False,
    ) -> Listing:  # fmt: skip
        """A server by its name; its registry is asked for news of it, unless `offline`.

        Raises:
            RegistryError: there is none, or several registries have it.
            Refused: its document must not be used.
        """
        notes: dict[str, str] = {}
        found: list[RegistrySettings] = []
        for one in self.chosen(registry):
            if not offline:
                notes[one.name] = self._ask(one, name, version)
            if reason := self._store.refusal(one.address, name, version):
                raise Refused(name, reason)
            if self._store.versions(one.address, name):
                found.append(one)
        if len(found) > 1:
            names = " and ".join(x.name for x in found)
            raise RegistryError(f"{_shown(name)} is in {names}. Choose one with --registry.")
        if not found:
            raise self._unknown(name, registry, notes)
        return self._listing(found[0], name, version, notes.get(found[0].name, ""))

    def _ask(self, registry: RegistrySettings, name: str, version: str | None) -> str:
        """Have the registry tell what it has of a server; why it could not, or nothing."""
        try:
            if registry.type == "api":
                documents = ApiReader(registry.url).versions(name, _ASK_LIMITS)
            elif registry.type == "npm":
                reader = reader_of(registry)
                assert isinstance(reader, NpmReader)
                documents = [reader.document(name, version or "latest", _ASK_LIMITS)]
            else:
                return ""
        except Answered as reason:
            if reason.status == _NOT_FOUND:
                return f"{registry.name} has no {_shown(name)} (any more)"
            return f"{registry.name} could not be asked: {reason}"
        except (OSError, RegistryError) as reason:
            return f"{registry.name} could not be asked: {reason}"
        self._indexes.clear()
        with self._store.written():
            for document in documents:
                self._store.put(registry.address, document, now_text())
        return ""

    def _listing(
        self, registry: RegistrySettings, name: str, version: str | None, note: str
    ) -> Listing:
        versions = self._store.versions(registry.address, name)
        kept = next((x for x in versions if version in (None, x.document.version)), None)
        if kept is None:
            known = ", ".join(x.document.version for x in versions)
            raise RegistryError(f"{name} has no version {_shown(version or '')}. Known: {known}.")
        alarms = [
            x for x in self._store.alarms(registry.address, name)
            if x.version == kept.document.version
        ]  # fmt: skip
        told = tuple(x.document.version for x in versions)
        return Listing(registry, kept.document, kept.digest, kept.seen, told, tuple(alarms), note)

    def _unknown(self, name: str, registry: str | None, notes: Mapping[str, str]) -> RegistryError:
        names = [x for one in self.chosen(registry) for x in self._store.names(one.address)]
        hint = did_you_mean(name, names) if names else "Run `xai-mcp-agent registry sync` first."
        told = [x for x in notes.values() if x and "has no" not in x]
        why = f" {'. '.join(told).rstrip('.')}." if told else ""
        where = registry or "any registry of the settings"
        return RegistryError(f"There is no server {_shown(name)} in {where}.{why} {hint}".rstrip())

    # What it would come to

    def offer(
        self,
        listing: Listing,
        name: str,
        *,
        given: Mapping[str, str] | None = None,
        allow: Collection[str] = (),
        prefer: str = "",
        configured: Mapping[str, Any] | None = None,
        offline: bool = False,
    ) -> Offer:
        """What would be written for it under a name, and what is to be known of it.

        Raises:
            Refused: it must not be used, or there is no way that may be.
            BadSetting: a value that was given does not fit.
        """
        document = listing.document
        if listing.status == "deleted":
            raise Refused(document.name, "its registry has deleted it")
        if listing.status == "deprecated" and "deprecated" not in allow:
            message = visible_text(str(document.meta.get("statusMessage") or ""), NAME_CHARS)
            why = f": {message.rstrip('.')}" if message else ""
            raise Refused(
                document.name,
                f"its registry calls it deprecated{why} (to allow it: --allow deprecated)",
            )
        server = read_server(document.server, has_namespace=document.has_namespace)
        composition = compose(server, name, given=given, allow=allow, prefer=prefer)
        origin = self._origin(listing, composition, offline=offline)
        signals = [
            *(_changed(x) for x in listing.alarms),
            *signals_of(document, composition, origin, name=name, configured=configured),
        ]
        if listing.note:
            signals.append(Signal("status", "warning", f"{listing.note}; this is the local copy."))
        manifest = manifest_of(document, origin.package or Manifest("", ""))
        entry = _entry(listing, composition, server.description, manifest, configured or {})
        return Offer(listing, name, composition, entry, manifest, tuple(signals))

    def accept(self, listing: Listing) -> Listing:
        """Take the changed content of a version for the right one from now on."""
        with self._store.written():
            for alarm in listing.alarms:
                self._store.accept(alarm)
        name, version = listing.document.name, listing.document.version
        return self._listing(listing.registry, name, version, listing.note)

    def _origin(self, listing: Listing, composition: Composition, *, offline: bool) -> Origin:
        registry, way = listing.registry, composition.way
        told = Origin(registry.name, registry.is_official, len(listing.versions))
        if not isinstance(way, Package) or way.type != "npm":
            return told
        if offline:
            return replace(told, not_asked="npm was not asked")
        try:
            is_npm = registry.type == "npm" and registry.url
            reader = NpmReader(registry.url if is_npm else npm_address(), "")
            package = reader.manifest(way.identifier, way.version, _ASK_LIMITS)
        except Answered as reason:
            if reason.status == _NOT_FOUND:
                raise Refused(
                    listing.document.name, f"npm has no {way.identifier} {way.version}"
                ) from None
            return replace(told, not_asked=f"npm could not be asked: {reason}")
        except (OSError, RegistryError) as reason:
            return replace(told, not_asked=f"npm could not be asked: {str(reason).rstrip('.')}")
        if not package.has_command:
            raise Refused(
                listing.document.name,
                f"its package {way.identifier} {way.version} has no command to run",
            )
        return replace(told, package=package, hash_before=self._hash_before(way, package))

    def _hash_before(self, way: Package, package: Manifest) -> str:
        if not package.integrity:
            return ""
        with self._store.written():
            key = f"npm {way.identifier}@{way.version}"
            return self._store.changed_package(key, package.integrity, now_text())

    # What was added

    def changed_pins(self, configured: Mapping[str, Any]) -> list[PinAlarm]:
        """Which entries of the settings have another content now than when they were added."""
        return list(self._changed_pins(configured))

    def _changed_pins(self, configured: Mapping[str, Any]) -> Iterator[PinAlarm]:
        for entry, written in configured.items():
            told = {key: str(x) for key, x in object_of(object_of(written).get("registry")).items()}
            name, version, was = (told.get(x, "") for x in ("name", "version", "digest"))
            for one in self.settings.values():
                if not was or told.get("from") != one.address:
                    continue
                kept = self._store.kept(one.address, name, version)
                alarms = self._store.alarms(one.address, name)
                changed = [x.now for x in alarms if x.version == version]
                now = changed[0] if changed else kept.digest if kept else was
                if now != was:
                    yield PinAlarm(entry, name, version, was, now)


def _changed(alarm: Alarm) -> Signal:
    return Signal(
        "integrity", "alarm",
        f"{alarm.name} {alarm.version} says something else than before, under the same version: "
        f"its digest was {alarm.was[:12]}, and since {alarm.seen} it is {alarm.now[:12]}.",
    )  # fmt: skip


def _entry(
    listing: Listing, composition: Composition, description: str, manifest: RegistryManifest,
    configured: Mapping[str, Any],
) -> JsonObject:  # fmt: skip
    """The entry, switched off and pinned, with where it is from."""
    document = listing.document
    noted = {
        "from": listing.registry.address,
        "name": document.name,
        "version": document.version,
        "digest": listing.digest,
        "checksum": manifest.checksum or "",
    }
    about = " ".join(description.split())
    return {
        **composition.entry,
        **({"description": about} if about else {}),
        "pin": True,
        "disabled": True,
        "registry": {key: x for key, x in noted.items() if x},
    }


def _found(registry: str, document: Document) -> FoundServer:
    told = (document.server.get(x) for x in ("title", "description"))
    title, about = (text_of(x, TEXT_CHARS) for x in told)
    return FoundServer(registry, document.name, document.version, title, about, 0.0, ())


_TEMPLATE = re.compile(r"[./_-]+")


def _as_tool(key: str, found: FoundServer, document: Document) -> JsonObject:
    """A server in the words of the index: what it is called, what it does, what it is tagged."""
    space, _, name = found.name.rpartition("/")
    extras = document.extras
    tags = " ".join(str(x) for x in (*list_of(extras.get("tags")), *list_of(extras.get("tools"))))
    return {
        "id": key,
        "server": _TEMPLATE.sub(" ", space),
        "name": name or found.name,
        "title": found.title,
        "description": found.description,
        "server_description": visible_text(tags, TEXT_CHARS),
    }


def _shown(name: str) -> str:
    return repr(visible_text(name, NAME_CHARS))
