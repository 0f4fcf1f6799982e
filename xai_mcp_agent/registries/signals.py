"""What speaks for a server and what against it, in words; trust is for a person, no number.

Reference: what registries prove is little (a name, at the time of publishing); what is not known
is said as well.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast
from urllib.parse import urlsplit

from ..core.json import JsonObject
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

_CLOSE = 2  # edits, of a name that is long enough for them to be few
_LONG_NAME = 6
_MOST_COMPARED = 2_000


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
    """All that is known, in the order in which a person asks it."""
    way = composition.way
    return [
        _namespace(document, origin),
        *_package(document, way, origin),
        *_status(document.meta, origin),
        *_look_alikes(document, way, name, configured or {}),
        *_integrity(way, origin),
        *_asks_for(composition),
        *(Signal("note", "told", x) for x in composition.remarks),
    ]


# Whose it is


def _namespace(document: Document, origin: Origin) -> Signal:
    owner = _owner_of(document.name) if document.has_namespace else ""
    if owner and origin.is_official:
        text = f"Published by {owner}: the registry had them prove that when it was published."
        return Signal("namespace", "good", text)
    said = f" that it is by {owner}" if owner else " whose it is"
    text = f"Not proved{said}: {origin.registry} does not check it."
    return Signal("namespace", "unknown", text)


def _owner_of(name: str) -> str:
    space = name.rpartition("/")[0]
    if space.startswith(("io.github.", "com.github.")):
        return f"the GitHub account {space.split('.', 2)[2]}"
    return f"the owner of {'.'.join(reversed(space.split('.')))}" if "." in space else ""


def _package(document: Document, way: Package | Remote, origin: Origin) -> Iterator[Signal]:
    if isinstance(way, Remote):
        return
    if origin.package is None:
        why = origin.not_asked or f"packages of type {way.type} are not asked"
        yield Signal("package", "unknown", f"Whether {way.identifier} is its package: {why}.")
        return
    said = origin.package.mcp_name
    if not said:
        text = f"{way.identifier} does not say which MCP server it is: anybody can name it here."
        yield Signal("package", "unknown", text)
    elif said == document.name:
        text = f"{way.identifier} says itself that it is {said}: confirmed."
        yield Signal("package", "good", text)
    elif not document.has_namespace:
        yield Signal("package", "told", f"{way.identifier} says that it is {said}.")
    else:
        text = f"{way.identifier} says that it is {said}, and not {document.name}."
        yield Signal("package", "alarm", text)


# How it stands


def _status(meta: JsonObject, origin: Origin) -> Iterator[Signal]:
    status, message = _told(meta, "status"), _told(meta, "statusMessage")
    why = f": {message}" if message else "."
    if status in ("deprecated", "deleted"):
        yield Signal("status", "warning", f"Its registry calls it {status}{why}")
    elif status:
        yield Signal("status", "told", f"Its registry calls it {status}{why}")
    else:
        yield Signal("status", "unknown", "Its registry does not say whether it is kept up.")
    if meta.get("isLatest") is False:
        yield Signal("status", "warning", "It is not the latest version.")
    elif meta.get("isLatest") is True:
        yield Signal("status", "told", "It is the latest version.")
    dates = ((x, _told(meta, key)) for x, key in _DATES)
    if told := [f"{x} {day}" for x, day in dates if day]:
        yield Signal("status", "told", f"It was {' and '.join(told)}.")
    if origin.versions is not None:
        known = "One version is" if origin.versions == 1 else f"{origin.versions} versions are"
        yield Signal("status", "told", f"{known} known.")


_DATES = (("published", "publishedAt"), ("updated", "updatedAt"))


def _told(meta: JsonObject, key: str) -> str:
    return shown(meta.get(key), NAME_CHARS).replace("\n", " ")


# What it may be taken for


def _look_alikes(
    document: Document, way: Package | Remote, name: str, configured: Mapping[str, Any]
) -> Iterator[Signal]:
    package = way.identifier if isinstance(way, Package) else ""
    mine = {"name": name, "server": document.name, "package": _bare(package)}
    for other, entry in list(configured.items())[:_MOST_COMPARED]:
        theirs = {"name": other, **_names_of(entry)}
        if document.has_namespace and theirs.get("server") == document.name:
            yield Signal("look-alike", "told", f"You have it already, as {other}.")
        for kind, own in mine.items():
            like = theirs.get(kind, "")
            if own and like and own != like and looks_like(own, like):
                yield Signal(
                    "look-alike", "warning",
                    f"{own} looks like {like}, which you have as {other}, and is another one.",
                )  # fmt: skip


def looks_like(name: str, other: str) -> bool:
    """Whether a person may take one name for the other."""
    if skeleton(name) == skeleton(other):
        return True
    from rapidfuzz.distance import OSA  # here: most names are compared with none

    most = min(_CLOSE, min(len(name), len(other)) // _LONG_NAME)
    return most > 0 and OSA.distance(name.lower(), other.lower(), score_cutoff=most) <= most


def _names_of(entry: Any) -> dict[str, str]:
    """What a configured entry is in a registry, and which package it starts."""
    given = cast(JsonObject, entry) if isinstance(entry, Mapping) else {}
    from_registry = given.get("registry")
    told = cast(JsonObject, from_registry) if isinstance(from_registry, Mapping) else {}
    found = {"server": str(told.get("name", ""))}
    words = given.get("args")
    for word in cast(list[Any], words) if isinstance(words, list) else []:
        if isinstance(word, str) and not word.startswith("-") and word != "run":
            return {**found, "package": _bare(word)}
    return found


def _bare(package: str) -> str:
    """A package without its version."""
    head = package[:1] + package[1:].partition("@")[0].partition("==")[0]
    last = head.rpartition("/")[2]
    return head[: len(head) - len(last)] + last.partition(":")[0]


# What is pinned


def _integrity(way: Package | Remote, origin: Origin) -> Iterator[Signal]:
    if isinstance(way, Remote):
        text = "What answers behind the URL can be changed any time; its tools are locked."
        yield Signal("integrity", "unknown", text)
        return
    if origin.package and origin.package.integrity:
        text = f"Its version is exact, and its hash is noted: {origin.package.integrity}."
        yield Signal("integrity", "good", text)
    elif way.type == "oci" and not tag_and_digest(way.identifier)[1]:
        text = "Its image is not pinned: whoever owns the tag may change what runs."
        yield Signal("integrity", "warning", text)
    elif way.type == "oci":
        yield Signal("integrity", "good", "Its image is pinned by its digest.")
    else:
        yield Signal("integrity", "told", "Its version is exact; its hash is not known here.")
    if way.type != "oci":
        text = (
            "What it depends on is not pinned: the runner fetches that when it starts it, and may "
            "run scripts of its authors."
        )
        yield Signal("integrity", "warning", text)


# What it wants


def _asks_for(composition: Composition) -> Iterator[Signal]:
    for need in (*composition.needs, *composition.optional):
        yield from _wants(need)
    way = composition.way
    if isinstance(way, Remote):
        yield _network(composition.entry)
    elif way.type == "oci":
        text = "It runs in a container, with access to the network."
        yield Signal("asks for", "told", text)
    else:
        text = "It runs as a program on this machine, and may do there what you may."
        yield Signal("asks for", "warning", text)
    for risk in composition.risks:
        yield Signal("asks for", "warning", f"{risk[0].upper()}{risk[1:]}.")


def _wants(need: Need) -> Iterator[Signal]:
    must = "" if need.is_required else " (if you like)"
    kind = "a secret" if need.is_secret else _KINDS.get(need.format, "a value")
    about = f": {need.description}" if need.description else ""
    text = f"It wants {kind}{must}, {need.name}, for {need.where}{about}".rstrip(".") + "."
    yield Signal("asks for", "told", text)
    if need.variable in os.environ:
        text = (
            f"{need.variable} is set in your environment already: the server is given that value "
            "as soon as it is switched on."
        )
        yield Signal("asks for", "warning", text)


_KINDS = {"filepath": "a file or folder", "number": "a number", "boolean": "yes or no"}


def _network(entry: JsonObject) -> Signal:
    parts = urlsplit(str(entry.get("url")))
    host = parts.netloc.rpartition("@")[2]
    place = place_of_host(parts.hostname or "") if "$" not in host else None
    if place not in (None, INTERNET):
        text = f"It sends what its tools are called with to {host}, which is {place}: why?"
        return Signal("asks for", "warning", text)
    text = f"It sends what its tools are called with to {host}."
    if parts.scheme != "https":
        return Signal("asks for", "warning", f"{text} Unprotected: others on the way can read it.")
    return Signal("asks for", "told", text)
