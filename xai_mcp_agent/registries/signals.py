"""What speaks for a server and what against it, in words; trust is for a person, no number.

What registries prove is little (a name, at the time of publishing); what is not known is said, too.
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
from .compose import Composition
from .npm import NpmPackage
from .placeholders import Need
from .values import NAME_CHARS, Document, Package, Remote, shown
from .versions import tag_and_digest

Weight: TypeAlias = Literal["good", "told", "unknown", "warning", "alarm"]
"""good: proved or pinned. told: as the registry says. unknown: nobody knows. warning: look twice.
alarm: it must not be used."""

_MOST_EDITS = 2  # between two names that look alike,
_CHARS_PER_EDIT = 6  # if they are so long
_MOST_COMPARED = 2_000
_KINDS = {"filepath": "a file or folder", "number": "a number", "boolean": "yes or no"}


@dataclass(frozen=True, slots=True)
class Signal:
    """One thing to know. `about` names its kind: namespace, package, status, integrity, ..."""

    about: str
    weight: Weight
    text: str


@dataclass(frozen=True, slots=True)
class Origin:
    """What is known of a version of a server, besides its document.

    `is_official`: its registry has publishers prove their names. `versions` is how many it has;
    None: not told. `package` is what its npm package says of itself, `not_asked` why nobody
    asked it.
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
    """Return all that is known, in the order in which a person asks it."""
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


# Whose it is


def _namespace(document: Document, origin: Origin) -> Signal:
    space, owner = document.name.rpartition("/")[0], ""
    if document.has_namespace and space.startswith(("io.github.", "com.github.")):
        owner = f"the GitHub account {space.split('.', 2)[2]}"
    elif document.has_namespace and "." in space:
        owner = f"the owner of {'.'.join(reversed(space.split('.')))}"
    if owner and origin.is_official:
        text = f"Published by {owner}: the registry had them prove that when it was published."
        return Signal("namespace", "good", text)
    claim = f" that it is by {owner}" if owner else " whose it is"
    text = f"Not proved{claim}: {origin.registry} does not check it."
    return Signal("namespace", "unknown", text)


def _package(document: Document, way: Package, origin: Origin) -> Signal:
    package, weight = way.identifier, "told"
    if origin.package is None:
        why = origin.not_asked or f"packages of type {way.type} are not asked"
        return Signal("package", "unknown", f"Whether {package} is its package: {why}.")
    server = origin.package.mcp_name
    if not server:
        text = f"{package} does not say which MCP server it is: anybody can name it here."
        return Signal("package", "unknown", text)
    if server == document.name:
        text = f"{package} says itself that it is {server}: confirmed."
        return Signal("package", "good", text)
    contradiction = f", and not {document.name}" if document.has_namespace else ""
    weight = "alarm" if document.has_namespace else "told"
    return Signal("package", weight, f"{package} says that it is {server}{contradiction}.")


# How it stands


def _status(meta: JsonObject, origin: Origin) -> Iterator[Signal]:
    status, message, published, updated = (
        shown(meta.get(x), NAME_CHARS).replace("\n", " ")
        for x in ("status", "statusMessage", "publishedAt", "updatedAt")
    )
    if status:
        weight = "warning" if status in ("deprecated", "deleted") else "told"
        why = f": {message}" if message else "."
        yield Signal("status", weight, f"Its registry calls it {status}{why}")
    else:
        yield Signal("status", "unknown", "Its registry does not say whether it is kept up.")
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


# What it may be taken for


def _look_alikes(
    document: Document, way: Package | Remote, name: str, configured: Mapping[str, Any]
) -> Iterator[Signal]:
    package = _without_version(way.identifier) if isinstance(way, Package) else ""
    mine = {"name": name, "server": document.name, "package": package}
    for other, entry in list(configured.items())[:_MOST_COMPARED]:
        theirs = {"name": other, **_names_of(entry)}
        if document.has_namespace and theirs["server"] == document.name:
            yield Signal("look-alike", "told", f"You have it already, as {other}.")
        for kind, own in mine.items():
            like = theirs[kind]
            if own and like and own != like and looks_like(own, like):
                text = f"{own} looks like {like}, which you have as {other}, and is another one."
                yield Signal("look-alike", "warning", text)


def looks_like(name: str, other: str) -> bool:
    """Whether a person may take one name for the other."""
    if skeleton(name) == skeleton(other):
        return True
    from rapidfuzz.distance import OSA  # here: most names are compared with none

    most = min(_MOST_EDITS, min(len(name), len(other)) // _CHARS_PER_EDIT)
    return most > 0 and OSA.distance(name.lower(), other.lower(), score_cutoff=most) <= most


def _names_of(entry: Any) -> dict[str, str]:
    """Return what a configured entry is in a registry, and which package it starts."""
    registry = as_object(as_object(entry).get("registry"))
    words = as_texts(as_object(entry).get("args"))
    package = next((x for x in words if not x.startswith("-") and x != "run"), "")
    return {"server": as_text(registry.get("name")), "package": _without_version(package)}


def _without_version(package: str) -> str:
    head = package[:1] + package[1:].partition("@")[0].partition("==")[0]
    folder, slash, last = head.rpartition("/")
    return folder + slash + last.partition(":")[0]


# What is pinned


def _integrity(way: Package | Remote, origin: Origin) -> Iterator[Signal]:
    if isinstance(way, Remote):
        text = "What answers behind the URL can be changed any time; its tools are locked."
        yield Signal("integrity", "unknown", text)
    elif way.type == "oci":
        if tag_and_digest(way.identifier)[1]:
            yield Signal("integrity", "good", "Its image is pinned by its digest.")
        else:
            text = "Its image is not pinned: whoever owns the tag may change what runs."
            yield Signal("integrity", "warning", text)
    else:
        digest = origin.package.integrity if origin.package else ""
        text = f"its hash is noted: {digest}." if digest else "its hash is not known here."
        weight = "good" if digest else "told"
        joint = ", and " if digest else "; "
        yield Signal("integrity", weight, f"Its version is exact{joint}{text}")
        text = (
            "What it depends on is not pinned: the runner fetches that when it starts it, and may "
            "run scripts of its authors."
        )
        yield Signal("integrity", "warning", text)


# What it wants


def _asks_for(composition: Composition) -> Iterator[Signal]:
    for need in (*composition.needs, *composition.optional):
        yield from _wants(need)
    if isinstance(composition.way, Remote):
        yield _network(composition.entry)
    elif composition.way.type == "oci":
        text = "It runs in a container, with access to the network."
        yield Signal("asks for", "told", text)
    else:
        text = "It runs as a program on this machine, and may do there what you may."
        yield Signal("asks for", "warning", text)
    for risk in composition.risks:
        yield Signal("asks for", "warning", f"{risk[0].upper()}{risk[1:]}.")


def _wants(need: Need) -> Iterator[Signal]:
    kind = "a secret" if need.is_secret else _KINDS.get(need.format, "a value")
    choice = "" if need.is_required else " (if you like)"
    about = f": {need.description}" if need.description else ""
    text = f"It wants {kind}{choice}, {need.name}, for {need.where}{about}".rstrip(".") + "."
    yield Signal("asks for", "told", text)
    if need.variable in os.environ:
        text = (
            f"{need.variable} is set in your environment already: the server is given that value "
            "as soon as it is switched on."
        )
        yield Signal("asks for", "warning", text)


def _network(entry: JsonObject) -> Signal:
    parts = urlsplit(as_text(entry.get("url")))
    host = parts.netloc.rpartition("@")[2]
    place = place_of_host(parts.hostname or "") if "$" not in host else None
    text = f"It sends what its tools are called with to {host}"
    if place not in (None, INTERNET):
        return Signal("asks for", "warning", f"{text}, which is {place}: why?")
    if parts.scheme != "https":
        warning = "Unprotected: others on the way can read it."
        return Signal("asks for", "warning", f"{text}. {warning}")
    return Signal("asks for", "told", f"{text}.")
