"""Offers: the entry for a version of a server, with its manifest and signals, before it is written.

Signals are facts for and against a server, in words: a person decides, there is no score.
Registries prove little (a name, at the time of publishing). An unknown fact is a signal, too.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

from ..core.json import JsonObject, as_list, as_object, as_text, as_texts
from ..core.names import skeleton
from ..core.places import INTERNET, place_of_host
from ..settings.registries import RegistrySettings
from ..sources.fetching import FetchLimits, HttpStatusError
from .entries import Composition, Need, compose
from .readers import npm_address, npm_package
from .server_json import (
    NAME_CHARS,
    RUNNERS,
    Package,
    Refused,
    RegistryDocument,
    Remote,
    clean_text,
    read_server,
    tag_and_digest,
)
from .store import Alarm, alarm_of

NOT_FOUND = 404
# For one question about one server, while a person waits.
ASK_LIMITS = FetchLimits(seconds=20.0, max_bytes=16 * 1024**2)

Weight: TypeAlias = Literal["good", "told", "unknown", "warning", "alarm"]
"""good: proved or pinned. told: as the registry says. unknown: unverified. warning: look twice.
alarm: it must not be used."""

_SCHEMA = re.compile(r"([^/]+)/[^/]+/?$")  # the folder of a schema is its version
_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)")
_MAX_EDITS = 2  # between two names that look alike
_CHARS_PER_EDIT = 6  # shorter names may differ less
_KINDS = {"filepath": "a file or folder", "number": "a number", "boolean": "yes or no"}


@dataclass(frozen=True, slots=True)
class Signal:
    """One fact to know. `about` is its kind: namespace, package, status, integrity, ..."""

    about: str
    weight: Weight
    text: str


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
    """One version of a server in one registry; `note` says why the registry could not be asked."""

    registry: RegistrySettings
    document: RegistryDocument
    versions: tuple[str, ...]
    note: str = ""

    @property
    def alarm(self) -> Alarm | None:
        """The alarm that its content has changed, if it has."""
        return alarm_of(self.document)

    @property
    def is_npm(self) -> bool:
        """Whether its name is that of an npm package, without a namespace to prove."""
        return self.registry.type == "npm"

    @property
    def status(self) -> str:
        """The status in the registry: active, deprecated, deleted or empty."""
        return clean_text(self.document.meta.get("status"), NAME_CHARS)

    @property
    def manifest(self) -> RegistryManifest:
        """The manifest from the registry alone, without the package's own data."""
        return manifest_of(self.document, {})


@dataclass(frozen=True, slots=True)
class Offer:
    """The entry for the settings before it is written, and the facts to know first."""

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
    configured, document = configured or {}, listing.document
    _check_status(listing, allow)
    server = read_server(document.server, is_npm=listing.is_npm)
    other_variables = _VARIABLE.findall(json.dumps(configured, default=str))
    composition = compose(
        server, name, values=values, allow=allow, prefer=prefer, other_variables=other_variables
    )
    package = _ask_npm(listing, composition, offline=offline)
    manifest = manifest_of(document, package if isinstance(package, dict) else {})
    origin = {
        "from": listing.registry.origin_name,
        "name": document.name,
        "version": document.version,
        "digest": document.digest,
        "checksum": manifest.checksum or "",
    }
    description = " ".join(server.description.split())
    entry = {
        **composition.entry,
        **({"description": description} if description else {}),
        "lock": True,
        "disabled": True,
        "registry": {key: x for key, x in origin.items() if x},
    }
    signals = tuple(signals_of(listing, composition, package, name, configured))
    return Offer(listing, name, composition, entry, manifest, signals)


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


def _ask_npm(listing: Listing, composition: Composition, *, offline: bool) -> JsonObject | str:
    """Return the package of a version as npm has it, or why it is not known.

    Raises:
        Refused: npm does not have the package, or it has no command.
    """
    registry, way, name = listing.registry, composition.way, listing.document.name
    if not isinstance(way, Package) or way.type != "npm":
        return f"packages of type {way.type} are not checked"
    if offline:
        return "npm was not asked"
    title = f"its package {way.identifier} {way.version}"
    try:
        address = registry.url if listing.is_npm and registry.url else npm_address()
        package = npm_package(address, way.identifier, way.version, ASK_LIMITS)
    except OSError as reason:
        if isinstance(reason, HttpStatusError) and reason.status == NOT_FOUND:
            raise Refused(name, f"{title} does not exist on npm") from None
        return f"npm could not be asked: {str(reason).rstrip('.')}"
    if not package.get("bin"):
        raise Refused(name, f"{title} has no command to run")
    return package


# The manifest


def manifest_of(document: RegistryDocument, package: JsonObject) -> RegistryManifest:
    """Return the manifest of a document, completed from its package on npm."""
    server, dist, author = document.server, as_object(package.get("dist")), package.get("author")
    files = map(as_object, as_list(server.get("packages")))
    file = next((x for x in files if clean_text(x.get("fileSha256"))), JsonObject())
    sha256 = clean_text(file.get("fileSha256"))
    names = dict.fromkeys(as_texts(server.get("dependencies")), "")
    dependencies = names or as_object(server.get("dependencies") or package.get("dependencies"))
    return RegistryManifest(
        document.name,
        document.version,
        _first(server.get("mcp_version")),
        _first(server.get("schema_version"), *_SCHEMA.findall(as_text(server.get("$schema")))),
        _first(server.get("manifest_url"), document.place),
        _first(server.get("download_url"), file.get("identifier"), dist.get("tarball")),
        _first(server.get("checksum"), sha256 and f"sha256:{sha256}", dist.get("integrity")),
        tuple(map(clean_text, as_texts(server.get("tags")))),
        _first(server.get("author"), as_object(author).get("name"), author, _owner(server)),
        _first(server.get("license"), package.get("license")),
        {clean_text(name): clean_text(x) for name, x in dependencies.items()},
    )


def _first(*values: Any) -> str | None:
    """Return the first visible text among these values."""
    return next((x for x in map(clean_text, values) if x), None)


def _owner(server: JsonObject) -> str:
    """Return the owner of a repository by its URL, or nothing."""
    parts = clean_text(as_object(server.get("repository")).get("url")).split("/")
    return parts[3] if len(parts) > 4 and parts[0] in ("https:", "http:") else ""


# Signals, in the order in which a person would ask


def signals_of(
    listing: Listing,
    composition: Composition,
    package: JsonObject | str,
    name: str,
    configured: Mapping[str, Any],
) -> Iterator[Signal]:
    """Yield all signals about an entry. `package` may be the reason why npm was not asked."""
    way = composition.way
    if alarm := listing.alarm:
        yield Signal(
            "integrity", "alarm",
            f"{alarm.name} {alarm.version} has changed under the same version: its digest was "
            f"{alarm.was[:12]}, and since {alarm.since} it is {alarm.now[:12]}.",
        )  # fmt: skip
    yield _namespace(listing)
    if isinstance(way, Package):
        yield _package(listing, way.identifier, package)
    yield from _status(listing)
    yield from _look_alikes(listing, way, name, configured)
    yield from _integrity(way, package)
    for need in (*composition.needs, *composition.optional):
        yield from _request(need)
    yield _reach(composition)
    if risk := composition.risk:
        yield Signal("asks for", "warning", f"{risk[0].upper()}{risk[1:]}.")
    if isinstance(way, Package):
        yield from _notes(way)
    if listing.note:
        yield Signal("status", "warning", f"{listing.note}; this is the local copy.")


def _namespace(listing: Listing) -> Signal:
    space, owner = listing.document.name.rpartition("/")[0], ""
    if space.startswith(("io.github.", "com.github.")):
        owner = f"the GitHub account {space.split('.', 2)[2]}"
    elif "." in space:
        owner = f"the owner of {'.'.join(reversed(space.split('.')))}"
    if owner and listing.registry.is_official:
        text = f"Published by {owner}, who proved it to the registry when publishing."
        return Signal("namespace", "good", text)
    claim = f"that it is by {owner}" if owner and not listing.is_npm else "who publishes it"
    return Signal("namespace", "unknown", f"{listing.registry.name} does not check {claim}.")


def _package(listing: Listing, package_name: str, package: JsonObject | str) -> Signal:
    name = listing.document.name
    if isinstance(package, str):
        text = f"It is not known whether {package_name} is its own: {package}."
        return Signal("package", "unknown", text)
    server = clean_text(package.get("mcpName"), NAME_CHARS)
    if not server:
        text = f"{package_name} does not say which MCP server it is: anybody can name it here."
        return Signal("package", "unknown", text)
    if server == name:
        return Signal("package", "good", f"{package_name} confirms that it is {server}.")
    if listing.is_npm:
        return Signal("package", "told", f"{package_name} says that it is {server}.")
    return Signal("package", "alarm", f"{package_name} says that it is {server}, not {name}.")


def _status(listing: Listing) -> Iterator[Signal]:
    meta, count = listing.document.meta, len(listing.versions)
    status, message, published, updated = (
        clean_text(meta.get(x), NAME_CHARS).replace("\n", " ")
        for x in ("status", "statusMessage", "publishedAt", "updatedAt")
    )
    if status:
        weight = "warning" if status in ("deprecated", "deleted") else "told"
        why = f": {message}" if message else "."
        yield Signal("status", weight, f"Its registry calls it {status}{why}")
    else:
        yield Signal("status", "unknown", "Its registry does not say whether it is maintained.")
    if meta.get("isLatest") is False:
        yield Signal("status", "warning", "It is not the latest version.")
    elif meta.get("isLatest") is True:
        yield Signal("status", "told", "It is the latest version.")
    days = [f"{word} {x}" for word, x in (("published", published), ("updated", updated)) if x]
    if days:
        yield Signal("status", "told", f"It was {' and '.join(days)}.")
    versions = "One version is" if count == 1 else f"{count} versions are"
    yield Signal("status", "told", f"{versions} known.")


def _look_alikes(
    listing: Listing, way: Package | Remote, name: str, configured: Mapping[str, Any]
) -> Iterator[Signal]:
    package = _without_version(way.identifier) if isinstance(way, Package) else ""
    mine = {"name": name, "server": listing.document.name, "package": package}
    for other, entry in configured.items():
        theirs = {"name": other, **_names_of(entry)}
        if theirs["server"] == mine["server"]:
            yield Signal("look-alike", "told", f"You already have it, as {other}.")
        for kind, own in mine.items():
            like = theirs[kind]
            if own and like and own != like and looks_like(own, like):
                text = f"{own} looks like {like}, which you have as {other}, but is not the same."
                yield Signal("look-alike", "warning", text)


def looks_like(name: str, other: str) -> bool:
    """Return whether a person may confuse two names."""
    if skeleton(name) == skeleton(other):
        return True
    from rapidfuzz.distance import OSA  # here: most names are never compared

    most = min(_MAX_EDITS, min(len(name), len(other)) // _CHARS_PER_EDIT)
    return most > 0 and OSA.distance(name.lower(), other.lower(), score_cutoff=most) <= most


def _names_of(entry: Any) -> dict[str, str]:
    """Return the name of a configured entry in its registry, and the package it starts."""
    registry = as_object(as_object(entry).get("registry"))
    words = as_texts(as_object(entry).get("args"))
    package = next((x for x in words if not x.startswith("-") and x != "run"), "")
    return {"server": as_text(registry.get("name")), "package": _without_version(package)}


def _without_version(package: str) -> str:
    head = package[:1] + package[1:].partition("@")[0].partition("==")[0]
    folder, slash, last = head.rpartition("/")
    return folder + slash + last.partition(":")[0]


def _integrity(way: Package | Remote, package: JsonObject | str) -> Iterator[Signal]:
    if isinstance(way, Remote):
        text = "The server behind the URL may change at any time; its tools are locked."
        yield Signal("integrity", "unknown", text)
    elif way.type == "oci" and tag_and_digest(way.identifier)[1]:
        yield Signal("integrity", "good", "Its image is pinned by its digest.")
    elif way.type == "oci":
        text = "Its image is not pinned: the owner of the tag may change what runs."
        yield Signal("integrity", "warning", text)
    else:
        dist = {} if isinstance(package, str) else as_object(package.get("dist"))
        if package_hash := clean_text(dist.get("integrity"), NAME_CHARS):
            text = f"Its version is exact, and its hash is noted: {package_hash}."
            yield Signal("integrity", "good", text)
        else:
            yield Signal("integrity", "told", "Its version is exact; its hash is not known here.")
        text = (
            "Its dependencies are not pinned: the runner fetches them when it starts it, and may "
            "run their scripts."
        )
        yield Signal("integrity", "warning", text)


def _request(need: Need) -> Iterator[Signal]:
    kind = "a secret" if need.spec.is_secret else _KINDS.get(need.spec.format, "a value")
    choice = "" if need.spec.is_required else " (optional)"
    about = f": {need.spec.description}" if need.spec.description else ""
    text = f"It asks for {kind}{choice}, {need.name}, for {need.where}{about}".rstrip(".") + "."
    yield Signal("asks for", "told", text)
    if need.variable in os.environ:
        text = (
            f"{need.variable} is already set in your environment: the server gets that value as "
            "soon as it is switched on."
        )
        yield Signal("asks for", "warning", text)


def _notes(package: Package) -> Iterator[Signal]:
    if package.type == "pypi":
        text = (
            "uvx starts the command that has the name of the package. If its command has another "
            f"name, write `--from {package.identifier}=={package.version}` and that name instead."
        )
        yield Signal("note", "told", text)
    if package.registry_base_url:
        text = (
            f"The registry says that the package is at {package.registry_base_url}; "
            f"{RUNNERS[package.type]} asks the package registry that is configured here."
        )
        yield Signal("note", "told", text)


def _reach(composition: Composition) -> Signal:
    """Return the signal about what the server can reach, or what reaches it."""
    if isinstance(composition.way, Package):
        if composition.way.type == "oci":
            text = "It runs in a container, with access to the network."
            return Signal("asks for", "told", text)
        text = "It runs as a program on this machine, and can do there whatever you can."
        return Signal("asks for", "warning", text)
    parts = urlsplit(as_text(composition.entry.get("url")))
    host = parts.netloc.rpartition("@")[2]
    place = place_of_host(parts.hostname or "") if "$" not in host else None
    text = f"It sends the arguments of its tools to {host}"
    if place not in (None, INTERNET):
        return Signal("asks for", "warning", f"{text}, which is {place}: why?")
    if parts.scheme != "https":
        return Signal("asks for", "warning", f"{text}, unencrypted: others can read them.")
    return Signal("asks for", "told", f"{text}.")
