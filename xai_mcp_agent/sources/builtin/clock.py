"""`current_time`: the time now in a zone, or on this machine."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Annotated
from zoneinfo import ZoneInfo, available_timezones

from pydantic import Field

from ...core.names import did_you_mean

_MAX_CHARS = 100  # of a zone's name in an error; the longest has 32


@dataclass(frozen=True)
class CurrentTime:
    """The result of `current_time`."""

    time: str
    weekday: str
    zone: str


class UnknownZone(ValueError):
    """There is no time zone of this name; says the nearest."""


def current_time(
    zone: Annotated[
        str, Field(description="An IANA time zone, such as `Europe/Berlin`. Empty: this machine's.")
    ] = "",
) -> CurrentTime:
    """Tell the current date, time and weekday, in a time zone of your choice."""
    now = datetime.now(UTC).astimezone(_zone(zone.strip()))
    name = zone.strip() or now.tzname() or ""
    return CurrentTime(now.isoformat(timespec="seconds"), f"{now:%A}", name)


def _zone(name: str) -> tzinfo | None:
    """Return the zone of a name, or None for the machine's own."""
    if not name:
        return None
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # no such file, a path out of it, a folder of zones
        pass
    zones = available_timezones()
    hint = did_you_mean(name[:_MAX_CHARS], zones) if zones else "This machine knows none."
    examples = "Zones are named as in Europe/Berlin, Asia/Tokyo, UTC."
    words = (f"there is no time zone {name[:_MAX_CHARS]!r}.", hint, examples)
    raise UnknownZone(" ".join(x for x in words if x))
