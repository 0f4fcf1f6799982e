"""Time zones that a text names: IANA names, cities, countries. Known from Python's `zoneinfo`."""

from __future__ import annotations

import re
import zoneinfo
from collections.abc import Iterator
from difflib import get_close_matches
from functools import cache
from typing import NamedTuple

from .vocabulary import PLACES

_AREAS = ("Africa", "America", "Antarctica", "Asia", "Atlantic", "Australia", "Europe", "Indian",
          "Pacific")  # fmt: skip
_IANA = re.compile(r"(?<![\w/])[A-Za-z]{2,20}(?:/[A-Za-z][\w+-]{0,30}){1,2}(?![\w/])")
_PLACE_WORD = re.compile(r"[A-Za-z][A-Za-z'\u2019.-]*")
_SHORT = frozenset({"UTC", "GMT", "CET", "EET", "WET", "EST", "MST", "HST"})
# In lower case, a word is only taken for a place where a place would stand.
_BEFORE_PLACE = re.compile(r"(?:\b(?:in|from|to|for|at|into|and|or|between|near)|,)\s+$", re.I)
_LEAST_LETTERS, _LEAST_LIKENESS = 5, 0.85
_LONGEST_NAME_WORDS = 3


class Zone(NamedTuple):
    """An IANA time zone and where the text names it."""

    name: str
    start: int
    end: int


def zones(text: str) -> Iterator[Zone]:
    """Every time zone the text names, and every place that has one, in order."""
    for found in _IANA.finditer(text):
        if name := _by_lower_name().get(found[0].lower()):
            yield Zone(name, found.start(), found.end())
            text = text[: found.start()] + " " * len(found[0]) + text[found.end() :]
    found_words = list(_PLACE_WORD.finditer(text))
    at = 0
    while at < len(found_words):
        zone, length = _zone_at(text, found_words[at : at + _LONGEST_NAME_WORDS])
        if zone:
            yield zone
        at += length


def _zone_at(text: str, following: list[re.Match[str]]) -> tuple[Zone | None, int]:
    for length in range(len(following), 0, -1):
        start, end = following[0].start(), following[length - 1].end()
        written = text[start:end].rstrip(".")
        name = _zone_of(written)
        if name and (
            written[0].isupper() or _BEFORE_PLACE.search(text[max(0, start - 12) : start])
        ):
            return Zone(name, start, start + len(written)), length
    return None, 1


def _zone_of(written: str) -> str | None:
    if written in _SHORT:
        return written
    key = re.sub(r"['\u2019]s$", "", written).lower().replace(" ", "_")
    return _by_place().get(key)


@cache
def _available() -> frozenset[str]:
    return frozenset(zoneinfo.available_timezones())


@cache
def _by_lower_name() -> dict[str, str]:
    return {name.lower(): name for name in _available()}


@cache
def _by_place() -> dict[str, str]:
    """The zone of each place, by its name in lower case: the last segment of the zone's name."""
    cities: dict[str, str] = {}
    # A shorter name is the usual one: America/Louisville before America/Kentucky/Louisville.
    for zone in sorted(_available(), key=lambda name: (name.count("/"), name), reverse=True):
        area, _, place = zone.rpartition("/")
        if area.split("/")[0] in _AREAS:
            cities[place.lower()] = zone
    countries = {zone.lower(): zone for zone in _available() if "/" not in zone and len(zone) > 3}
    stated = {place: zone for place, zone in PLACES.items() if zone in _available()}
    return countries | cities | stated


def zone_like(written: str) -> str | None:
    """The zone of the place that a misspelt name was meant for, if one is very like it."""
    key = written.lower().replace(" ", "_")
    near = get_close_matches(key, _by_place(), n=1, cutoff=_LEAST_LIKENESS)
    return _by_place()[near[0]] if near and len(key) >= _LEAST_LETTERS else None


def is_zone(name: str) -> bool:
    """Whether this is the name of an IANA time zone."""
    return name in _available()
