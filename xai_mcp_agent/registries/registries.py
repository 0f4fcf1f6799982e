"""The registries of one settings file: searched in the local copy, asked about one server."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from ..core.json import JsonObject, as_object, as_text, as_texts
from ..core.names import did_you_mean
from ..core.visible import visible_text
from ..search import ToolIndex
from ..settings.load import load_settings
from ..settings.models import Settings
from ..settings.sections import RegistrySettings
from ..settings.trust import without_untrusted
from ..sources.fetching import Answered
from .offers import ASK_LIMITS, NOT_FOUND, Listing, offer_of
from .readers import ApiReader, NpmReader, reader_of
from .store import Store
from .sync import SyncLimits, SyncReport, now_text, sync_registry
from .values import NAME_CHARS, Document, Refused, RegistryError, shown

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
class ChangedEntry:
    """An entry of the settings of which something else is said now than when it was added.

    `was` and `now` are digests of its document.
    """

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

    Without settings, those of the file that is found, as far as its user has agreed to it.

    Raises:
        SettingsError: the file is unreadable.
        RegistryError: the local copy cannot be used.
    """

    def __init__(self, settings: Settings | None = None, file: Path | None = None) -> None:
        usable = without_untrusted(load_settings()) if settings is None else settings
        self.settings = usable.registries
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
        index, servers = self._indexed(registry)
        if not servers:
            raise RegistryError(
                "There is no local copy of a registry yet. Run `xai-mcp-agent registry sync`."
            )
        hits = index.search(query, limit)
        return [replace(servers[x.tool["id"]], score=x.score, reasons=x.reasons) for x in hits]

    def _indexed(self, registry: str | None) -> _Indexed:
        """The servers of the local copy, made once for all searches until it changes."""
        if registry not in self._indexes:
            index, servers = ToolIndex[JsonObject](), dict[str, FoundServer]()
            for chosen in self.chosen(registry):
                for stored in self._store.latest(chosen.address):
                    if stored.document.meta.get("status") in _DEPRECATED:
                        continue
                    server = _found(chosen.name, stored.document)
                    key = f"{chosen.name} {server.name}"
                    servers[key] = server
                    index.update(_as_tool(key, server, stored.document))
            self._indexes[registry] = index, servers
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
        homes: list[RegistrySettings] = []
        for chosen in self.chosen(registry):
            if not offline:
                notes[chosen.name] = self._ask(chosen, name, version)
            if reason := self._store.refusal(chosen.address, name, version):
                raise Refused(name, reason)
            if self._store.versions(chosen.address, name):
                homes.append(chosen)
        if len(homes) > 1:
            names = " and ".join(x.name for x in homes)
            raise RegistryError(f"{_quoted(name)} is in {names}. Choose one with --registry.")
        if not homes:
            raise self._unknown(name, registry, notes)
        return self._listing(homes[0], name, version, notes.get(homes[0].name, ""))

    def _ask(self, registry: RegistrySettings, name: str, version: str | None) -> str:
        """Have the registry tell what it has of a server; why it could not, or nothing."""
        try:
            if registry.type == "api":
                documents = ApiReader(registry.url).versions(name, ASK_LIMITS)
            elif registry.type == "npm":
                reader = reader_of(registry)
                assert isinstance(reader, NpmReader)
                documents = [reader.document(name, version or "latest", ASK_LIMITS)]
            else:
                return ""
        except Answered as reason:
            if reason.status == NOT_FOUND:
                return f"{registry.name} has no {_quoted(name)} (any more)"
            return f"{registry.name} could not be asked: {reason}"
        except (OSError, RegistryError) as reason:
            return f"{registry.name} could not be asked: {reason}"
        self._indexes.clear()
        with self._store.writing():
            for document in documents:
                self._store.put(registry.address, document, now_text())
        return ""

    def _listing(
        self, registry: RegistrySettings, name: str, version: str | None, note: str
    ) -> Listing:
        versions = self._store.versions(registry.address, name)
        numbers = tuple(x.document.version for x in versions)
        stored = next((x for x in versions if version in (None, x.document.version)), None)
        if stored is None:
            raise RegistryError(
                f"{name} has no version {_quoted(version or '')}. Known: {', '.join(numbers)}."
            )
        alarms = self._store.alarms(registry.address, name)
        alarms = tuple(x for x in alarms if x.version == stored.document.version)
        return Listing(registry, stored.document, stored.digest, numbers, alarms, note)

    def _unknown(self, name: str, registry: str | None, notes: Mapping[str, str]) -> RegistryError:
        chosen = self.chosen(registry)
        names = [name for x in chosen for name in self._store.names(x.address)]
        hint = did_you_mean(name, names) if names else "Run `xai-mcp-agent registry sync` first."
        reasons = [x for x in notes.values() if x and "has no" not in x]
        why = f" {'. '.join(reasons).rstrip('.')}." if reasons else ""
        where = registry or "any registry of the settings"
        return RegistryError(f"There is no server {_quoted(name)} in {where}.{why} {hint}".rstrip())

    offer = staticmethod(offer_of)

    def accept(self, listing: Listing) -> Listing:
        """Take the changed content of a version for the right one from now on."""
        with self._store.writing():
            for alarm in listing.alarms:
                self._store.accept(alarm)
        name, version = listing.document.name, listing.document.version
        return self._listing(listing.registry, name, version, listing.note)

    def changed_entries(self, configured: Mapping[str, Any]) -> list[ChangedEntry]:
        """Return the entries of the settings of whose document something else is said now.

        `configured` are the entries as they are written; `add` noted in them where they are from.
        """
        return [x for entry, written in configured.items() if (x := self._changed(entry, written))]

    def _changed(self, entry: str, written: Any) -> ChangedEntry | None:
        noted = as_object(as_object(written).get("registry"))
        name, version, was = (as_text(noted.get(x)) for x in ("name", "version", "digest"))
        for registry in self.settings.values():
            if not was or noted.get("from") != registry.noted_as:
                continue
            alarms = self._store.alarms(registry.address, name)
            stored = self._store.version(registry.address, name, version)
            now = next((x.now for x in alarms if x.version == version), "")
            now = now or (stored.digest if stored else was)
            if now != was:
                return ChangedEntry(entry, name, version, was, now)
        return None


def _found(registry: str, document: Document) -> FoundServer:
    title, description = (shown(document.server.get(x)) for x in ("title", "description"))
    return FoundServer(registry, document.name, document.version, title, description, 0.0, ())


_BETWEEN_WORDS = re.compile(r"[./_-]+")


def _as_tool(key: str, server: FoundServer, document: Document) -> JsonObject:
    """A server in the words of the index: what it is called, what it does, what it is tagged."""
    space, _, name = server.name.rpartition("/")
    tags = " ".join(as_texts(document.extras.get("tags")))
    return {
        "id": key,
        "server": _BETWEEN_WORDS.sub(" ", space),
        "name": name or server.name,
        "title": server.title,
        "description": server.description,
        "server_description": shown(tags),
    }


def _quoted(name: str) -> str:
    return repr(visible_text(name, NAME_CHARS))
