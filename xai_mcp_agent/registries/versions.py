"""Versions: which are exact, for each kind of package, and which of two is later."""

from __future__ import annotations

import re

_MOST_CHARS = 255
_MOVING = frozenset({
    "latest", "next", "beta", "alpha", "canary", "dev", "edge", "main", "master", "nightly",
    "stable", "snapshot", "*", "x",
})  # fmt: skip
_SEMANTIC = re.compile(r"\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?")
_PLAIN = re.compile(r"v?\d[0-9A-Za-z._+!-]*")
_WILD = re.compile(r"(?:^|\.)[xX*](?:\.|$)")
_DIGEST = re.compile(r"@sha256:[0-9a-f]{64}\Z")
_TAG = re.compile(r":([A-Za-z0-9_][A-Za-z0-9_.-]{0,127})\Z")
_PART = re.compile(r"\d+|[A-Za-z]+")


def wrong_with(version: str, *, semantic: bool = False) -> str:
    """Why a version is not exact, for a sentence; empty where it is.

    `semantic`: where fewer than three numbers are a range, as in npm.
    """
    if not version:
        return "it names no version"
    if len(version) > _MOST_CHARS:
        return "its version is too long"
    shown = version if version.isprintable() else ascii(version)
    if version.lower() in _MOVING:
        return f"its version {shown!r} moves: it is another one tomorrow"
    exact = _SEMANTIC if semantic else _PLAIN
    if exact.fullmatch(version) and not _WILD.search(version):
        return ""
    return f"its version {shown!r} is not an exact one"


def tag_and_digest(image: str) -> tuple[str, bool]:
    """The tag of an image, empty where it has none, and whether its digest is named."""
    bare = _DIGEST.sub("", image)
    found = _TAG.search(bare.rpartition("/")[2])
    return found[1] if found else "", bare != image


def order_of(version: str) -> tuple[tuple[int, int, str], ...]:
    """What sorts versions: by their numbers, a release after what led up to it."""
    plain, _, before = version.removeprefix("v").partition("+")[0].partition("-")
    return (*_parts(plain), (1 if not before else 0, 0, ""), *_parts(before))


def _parts(text: str) -> list[tuple[int, int, str]]:
    # Longer numbers are no versions, and slow to read.
    found = _PART.findall(text[:_MOST_CHARS])
    return [(2, int(x[:18]), "") if x.isdecimal() else (1, 0, x) for x in found]
