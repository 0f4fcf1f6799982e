"""What sources said of tools, which the store keeps once by its digest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from sqlalchemy import Connection, select

from ..core.json import JsonObject
from .tables import definitions, loaded

_DIGESTS_AT_A_TIME = 500  # databases take only so many values in one statement


def kept_definitions(connection: Connection, digests: Iterable[str]) -> set[str]:
    """Of these digests those of which the store has the definition."""
    found: set[str] = set()
    for some in _portions(digests):
        is_one = definitions.c.digest.in_(some)
        found |= set(connection.execute(select(definitions.c.digest).where(is_one)).scalars())
    return found


def definitions_of(connection: Connection, digests: Iterable[str]) -> dict[str, JsonObject]:
    """What sources said of tools, by the digests; those that were lost are left out."""
    found: dict[str, JsonObject] = {}
    for some in _portions(digests):
        known = connection.execute(select(definitions).where(definitions.c.digest.in_(some)))
        found |= {row.digest: loaded(row.body) for row in known}
    return found


def _portions(digests: Iterable[str]) -> Iterator[Sequence[str]]:
    wanted = sorted(set(digests))
    return (
        wanted[first : first + _DIGESTS_AT_A_TIME]
        for first in range(0, len(wanted), _DIGESTS_AT_A_TIME)
    )
