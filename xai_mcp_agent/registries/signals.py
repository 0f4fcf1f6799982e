"""Signals for and against a server, in words: a person decides, there is no score.

Registries prove little (a name, at the time of publishing). An unknown fact is a signal, too.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

from ..core.json import JsonObject, as_object, as_text, as_texts
from ..core.names import skeleton
from ..core.places import INTERNET, place_of_host
from .entries import Composition, Need
from .readers import NpmPackage
from .server_json import NAME_CHARS, Document, Package, Remote, clean_text, tag_and_digest

Weight: TypeAlias = Literal["good", "told", "unknown", "warning", "alarm"]
"""good: proved or pinned. told: as the registry says. unknown: nobody knows. warning: look twice.
alarm: it must not be used."""

_MAX_EDITS = 2  # between two names that look alike
_CHARS_PER_EDIT = 6  # shorter names may differ less
_MAX_COMPARED = 2_000
_KINDS = {"filepath": "a file or folder", "number": "a number", "boolean": "yes or no"}


@dataclass(frozen=True, slots=True)
class Signal:
    """One fact to know. `about` is its kind: namespace, package, status, integrity, ..."""

    about: str
    weight: Weight
    text: str


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of a server's version.

    `is_official`: its registry makes publishers prove their names. `versions` is the number of its
    versions, if known. `package` is its npm package, or `not_asked` says why npm was not asked.
    """

    registry: str
    is_official: bool
    versions: int | None = None
    package: NpmPackage | None = None
    not_asked: str = ""


def signals_of(
    document: Document,
    composition: Composition,
    origin: Origin,
    *,
    name: str = "",
    configured: Mapping[str, Any] | None = None,
) -> list[Signal]:
    """Return all signals, in the order in which a person would ask."""
    way = composition.way
    package = [_package(document, way, origin)] if isinstance(way, Package) else []
    return [
        _namespace(document, origin),
        *package,
        *_status(document.meta, origin),
        *_look_alikes(document, way, name, configured or {}),
        *_integrity(way, origin),
        *_asks_for(composition),
        *(Signal("note", "told", x) for x in composition.remarks),
    ]


# Owner


def _namespace(document: Document, origin: Origin) -> Signal:
    space, owner = document.name.rpartition("/")[0], ""
    if document.has_namespace and space.startswith(("io.github.", "com.github.")):
        owner = f"the GitHub account {space.split('.', 2)[2]}"
    elif document.has_namespace and "." in space:
        owner = f"the owner of {'.'.join(reversed(space.split('.')))}"
    if owner and origin.is_official:
        text = f"Published by {owner}, who proved it to the registry when publishing."
        return Signal("namespace", "good", text)
    claim = f"that it is by {owner}" if owner else "who publishes it"
    return Signal("namespace", "unknown", f"{origin.registry} does not check {claim}.")


def _package(document: Document, way: Package, origin: Origin) -> Signal:
    package = way.identifier
    if origin.package is None:
        why = origin.not_asked or f"packages of type {way.type} are not checked"
        return Signal("package", "unknown", f"It is not known whether {package} is its own: {why}.")
    server = origin.package.mcp_name
    if not server:
        text = f"{package} does not say which MCP server it is: anybody can name it here."
        return Signal("package", "unknown", text)
    if server == document.name:
        return Signal("package", "good", f"{package} confirms that it is {server}.")
    if document.has_namespace:
        text = f"{package} says that it is {server}, not {document.name}."
        return Signal("package", "alarm", text)
    return Signal("package", "told", f"{package} says that it is {server}.")


# Status


def _status(meta: JsonObject, origin: Origin) -> Iterator[Signal]:
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
    if origin.versions is not None:
        versions = "One version is" if origin.versions == 1 else f"{origin.versions} versions are"
        yield Signal("status", "told", f"{versions} known.")


# Look-alikes


def _look_alikes(
    document: Document, way: Package | Remote, name: str, configured: Mapping[str, Any]
) -> Iterator[Signal]:
    package = _without_version(way.identifier) if isinstance(way, Package) else ""
    mine = {"name": name, "server": document.name, "package": package}
    for other, entry in list(configured.items())[:_MAX_COMPARED]:
        theirs = {"name": other, **_names_of(entry)}
        if document.has_namespace and theirs["server"] == document.name:
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


# Pinning


def _integrity(way: Package | Remote, origin: Origin) -> Iterator[Signal]:
    if isinstance(way, Remote):
        text = "The server behind the URL may change at any time; its tools are locked."
        yield Signal("integrity", "unknown", text)
    elif way.type == "oci":
        if tag_and_digest(way.identifier)[1]:
            yield Signal("integrity", "good", "Its image is pinned by its digest.")
        else:
            text = "Its image is not pinned: the owner of the tag may change what runs."
            yield Signal("integrity", "warning", text)
    else:
        if origin.package and origin.package.integrity:
            text = f"Its version is exact, and its hash is noted: {origin.package.integrity}."
            yield Signal("integrity", "good", text)
        else:
            yield Signal("integrity", "told", "Its version is exact; its hash is not known here.")
        text = (
            "Its dependencies are not pinned: the runner fetches them when it starts it, and may "
            "run their scripts."
        )
        yield Signal("integrity", "warning", text)


# Requests


def _asks_for(composition: Composition) -> Iterator[Signal]:
    for need in (*composition.needs, *composition.optional):
        yield from _wants(need)
    if isinstance(composition.way, Remote):
        yield _network(composition.entry)
    elif composition.way.type == "oci":
        text = "It runs in a container, with access to the network."
        yield Signal("asks for", "told", text)
    else:
        text = "It runs as a program on this machine, and can do there whatever you can."
        yield Signal("asks for", "warning", text)
    for risk in composition.risks:
        yield Signal("asks for", "warning", f"{risk[0].upper()}{risk[1:]}.")


def _wants(need: Need) -> Iterator[Signal]:
    kind = "a secret" if need.is_secret else _KINDS.get(need.format, "a value")
    choice = "" if need.is_required else " (optional)"
    about = f": {need.description}" if need.description else ""
    text = f"It asks for {kind}{choice}, {need.name}, for {need.where}{about}".rstrip(".") + "."
    yield Signal("asks for", "told", text)
    if need.variable in os.environ:
        text = (
            f"{need.variable} is already set in your environment: the server gets that value as "
            "soon as it is switched on."
        )
        yield Signal("asks for", "warning", text)


def _network(entry: JsonObject) -> Signal:
    parts = urlsplit(as_text(entry.get("url")))
    host = parts.netloc.rpartition("@")[2]
    place = place_of_host(parts.hostname or "") if "$" not in host else None
    text = f"It sends the arguments of its tools to {host}"
    if place not in (None, INTERNET):
        return Signal("asks for", "warning", f"{text}, which is {place}: why?")
    if parts.scheme != "https":
        return Signal("asks for", "warning", f"{text}, unencrypted: others can read them.")
    return Signal("asks for", "told", f"{text}.")
