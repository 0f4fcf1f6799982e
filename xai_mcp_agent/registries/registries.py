"""The registries of one settings file: search in the local copy, and offers of single servers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

from ..core.json import JsonObject, as_object, as_text, as_texts
from ..core.names import did_you_mean
from ..core.visible import visible_text
from ..search import ToolIndex
from ..settings.load import load_settings
from ..settings.models import Settings
from ..settings.registries import RegistrySettings
from ..settings.trust import without_untrusted
from ..sources.fetching import HttpStatusError
from .offers import ASK_LIMITS, NOT_FOUND, Listing, make_offer
from .readers import api_versions, npm_address, npm_document
from .server_json import (
    NAME_CHARS,
    Refused,
    RegistryDocument,
    RegistryError,
    clean_text,
)
from .store import SYNC_SECONDS, RegistryStore, SyncReport, sync_registry

_HIDDEN = ("deprecated", "deleted")  # from a search
_BETWEEN_WORDS = re.compile(r"[./_-]+")


@dataclass(frozen=True, slots=True)
class FoundServer:
    """A result of a search; `score` is relative to the best result's, which is 1."""

    registry: str
    name: str
    version: str
    title: str
    description: str
    score: float = 0.0
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ChangedEntry:
    """An entry of the settings with a changed document; `was` and `now` are digests."""

    entry: str
    server: str
    version: str
    was: str
    now: str


class Registries:
    """The registries of some settings, with their local copy in `file`. A `with` block closes it.

    Without settings, it searches for the settings file, and uses the parts that its user trusts.

    Raises:
        SettingsError: the file is unreadable.
        RegistryError: the local copy cannot be used.
    """

    def __init__(self, settings: Settings | None = None, file: Path | None = None) -> None:
        usable_settings = without_untrusted(load_settings()) if settings is None else settings
        self.settings = usable_settings.registries
        cache = user_cache_path("xai-mcp-agent", appauthor=False)
        self._store = RegistryStore(file or cache / "registries.db")

    def __enter__(self) -> Registries:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the local copy."""
        self._store.close()

    def select(self, name: str | None) -> list[RegistrySettings]:
        """Return the registry of this name, or all of them.

        Raises:
            RegistryError: there is no such registry.
        """
        if name is None:
            return list(self.settings.values())
        if name not in self.settings:
            names = ", ".join(self.settings) or "none"
            hint = did_you_mean(name, self.settings)
            raise RegistryError(
                f"No registry {name!r} in the settings, under `registries`. Known: {names}. {hint}"
            )
        return [self.settings[name]]

    def sync(self, name: str | None = None, seconds: float = SYNC_SECONDS) -> list[SyncReport]:
        """Bring the local copy of one or all registries up to date; see `sync_registry`."""
        return [sync_registry(self._store, x, seconds) for x in self.select(name)]

    def search(
        self, query: str, limit: int = 10, *, registry: str | None = None
    ) -> list[FoundServer]:
        """Search the local copy for servers that do what the query says, best first.

        It omits deprecated, deleted and refused servers.

        Raises:
            RegistryError: there is no such registry, or no local copy of any.
        """
        index, servers = ToolIndex[JsonObject](), dict[str, FoundServer]()
        for source in self.select(registry):
            for document in self._store.latest(source.address):
                if document.meta.get("status") not in _HIDDEN:
                    fields = _index_document(source.name, document)
                    servers[fields["id"]] = FoundServer(
                        source.name, document.name, document.version, fields["title"],
                        fields["description"],
                    )  # fmt: skip
                    index.update(fields)
        if not servers:
            raise RegistryError(
                "There is no local copy of a registry yet. Run `xai-mcp-agent registry sync`."
            )
        hits = index.search(query, limit)
        return [replace(servers[x.tool["id"]], score=x.score, reasons=x.reasons) for x in hits]

    # One server

    def find(
        self, name: str, *, registry: str | None = None, version: str | None = None,
        offline: bool = False,
    ) -> Listing:  # fmt: skip
        """Return a server by its name, after asking its registry for changes unless `offline`.

        Raises:
            RegistryError: there is no such server, or several registries have it.
            Refused: its document must not be used.
        """
        notes: dict[str, str] = {}
        listings: list[Listing] = []
        for selected in self.select(registry):
            if not offline:
                notes[selected.name] = self._ask(selected, name, version)
            if listing := self._listing(selected, name, version, notes.get(selected.name, "")):
                listings.append(listing)
        if len(listings) > 1:
            names = " and ".join(x.registry.name for x in listings)
            raise RegistryError(f"{_quote(name)} is in {names}. Choose one with --registry.")
        if not listings:
            raise self._unknown_server(name, registry, notes)
        return listings[0]

    def _ask(self, registry: RegistrySettings, name: str, version: str | None) -> str:
        """Fetch a registry's documents of a server; return why that failed, or nothing."""
        try:
            if registry.type == "api":
                documents = api_versions(registry.url, name, ASK_LIMITS)
            elif registry.type == "npm":
                address = registry.url or npm_address()
                documents = [npm_document(address, name, version or "latest", ASK_LIMITS)]
            else:
                return ""
        except OSError as reason:
            if not isinstance(reason, HttpStatusError) or reason.status != NOT_FOUND:
                return f"{registry.name} could not be asked: {reason}"
            if registry.type == "api":  # npm and lists are read in full at each sync
                self._store.mark_deleted(registry.address, name)
            return f"{registry.name} has no {_quote(name)} (any more)"
        with self._store.writing():
            for document in documents:
                self._store.put(registry.address, document)
        return ""

    def _listing(
        self, registry: RegistrySettings, name: str, version: str | None, note: str
    ) -> Listing | None:
        """Return a version of a server, or the latest; None if the registry has no such server.

        Raises:
            RegistryError: the server has no such version.
            Refused: its document must not be used; an older one does not replace it.
        """
        documents = self._store.versions(registry.address, name)
        document = next((x for x in documents if version in (None, x.version)), None)
        if document is not None and document.refused:
            raise Refused(name, document.refused)
        versions = tuple(x.version for x in documents if not x.refused)
        if document is not None:
            return Listing(registry, document, versions, note)
        if not versions:
            return None
        names = ", ".join(versions)
        raise RegistryError(f"{name} has no version {_quote(version or '')}. Known: {names}.")

    def _unknown_server(
        self, name: str, registry: str | None, notes: Mapping[str, str]
    ) -> RegistryError:
        names = [y.name for x in self.select(registry) for y in self._store.latest(x.address)]
        hint = did_you_mean(name, names) if names else "Run `xai-mcp-agent registry sync` first."
        reasons = [x for x in notes.values() if x and "has no" not in x]
        why = f" {'. '.join(reasons).rstrip('.')}." if reasons else ""
        where = registry or "any registry of the settings"
        return RegistryError(f"There is no server {_quote(name)} in {where}.{why} {hint}".rstrip())

    offer = staticmethod(make_offer)

    def accept(self, listing: Listing) -> Listing:
        """Accept the changed content of a version from now on."""
        with self._store.writing():
            self._store.accept(listing.registry.address, listing.document)
        return replace(listing, document=listing.document.changed or listing.document)

    def changed_entries(self, configured: Mapping[str, Any]) -> list[ChangedEntry]:
        """Return the settings' entries with documents that changed since they were added.

        `configured` are the entries as written; `registry` in each names its origin.
        """
        changes: list[ChangedEntry] = []
        for entry, content in configured.items():
            origin = as_object(as_object(content).get("registry"))
            name, version, was = (as_text(origin.get(x)) for x in ("name", "version", "digest"))
            homes = [x for x in self.settings.values() if x.origin_name == origin.get("from")]
            documents = [y for x in homes for y in self._store.versions(x.address, name)]
            now = next(
                ((x.changed or x).digest for x in documents if x.digest and x.version == version),
                was,
            )
            if was and now != was:
                changes.append(ChangedEntry(entry, name, version, was, now))
        return changes


def _index_document(registry: str, document: RegistryDocument) -> JsonObject:
    """Return a server as a document of the index: its name, description and tags."""
    space, _, name = document.name.rpartition("/")
    return {
        "id": f"{registry} {document.name}",
        "server": _BETWEEN_WORDS.sub(" ", space),
        "name": name or document.name,
        "title": clean_text(document.server.get("title")),
        "description": clean_text(document.server.get("description")),
        "server_description": clean_text(" ".join(as_texts(document.server.get("tags")))),
    }


def _quote(name: str) -> str:
    return repr(visible_text(name, NAME_CHARS))
