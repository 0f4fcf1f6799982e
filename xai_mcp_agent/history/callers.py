"""The names of who made calls, each combination kept once: rows of the log have its number."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import cast

from sqlalchemy import Connection, delete, select

from ..core.json import JsonObject
from .database import insert_rows
from .tables import callers, kept_json, kept_words, log_rows
from .use import Use

_DIGEST_CHARS = 32
_NUMBERS = 2**31
_AT_ONCE = 500  # databases take only so many values in one statement


def caller_numbers(
    connection: Connection, project: int, wanted: Iterable[Use]
) -> Mapping[Use, int]:
    """The numbers of these names; each gets one. In a transaction for writing."""
    by_digest = {_digest(x): x for x in wanted if x}
    digests, found = list(by_digest), dict[Use, int]()
    for first in range(0, len(digests), _AT_ONCE):
        is_one = callers.c.digest.in_(digests[first : first + _AT_ONCE])
        query = select(callers.c.id, callers.c.digest).where(callers.c.project == project, is_one)
        found |= {by_digest[x.digest]: x.id for x in connection.execute(query)}
    new = {x: _free_number(connection, project) for x in by_digest.values() if x not in found}
    rows = ((project, number, _digest(x), *_row(x)) for x, number in new.items())
    insert_rows(connection, callers, rows, are_new=True)
    return found | new


class KnownCallers:
    """The names by their numbers, each looked up once in a transaction; none where lost."""

    def __init__(self, connection: Connection, project: int) -> None:
        self._connection = connection
        self._project = project
        self._found: dict[int, JsonObject] = {}

    def __getitem__(self, number: int) -> JsonObject:
        """What a payload has of them."""
        if number not in self._found:
            is_it = callers.c.project == self._project, callers.c.id == number
            known = self._connection.execute(select(callers.c.names).where(*is_it)).scalar()
            self._found[number] = cast(JsonObject, known or {})
        return self._found[number]


def drop_unused_callers(connection: Connection, project: int) -> None:
    """Remove the names that no row of the log has any more."""
    is_used = log_rows.c.project == project, log_rows.c.caller.is_not(None)
    used = select(log_rows.c.caller).where(*is_used).distinct()
    unused = callers.c.project == project, callers.c.id.not_in(used)
    connection.execute(delete(callers).where(*unused))


@lru_cache(maxsize=1000)
def _digest(names: Use) -> str:
    return hashlib.sha256(kept_json(names).encode()).hexdigest()[:_DIGEST_CHARS]


def _row(names: Use) -> tuple[str | None, str]:
    told = dict(names)
    agent = told.get("agent")
    return None if agent is None else kept_words(agent), kept_json(told)


def _free_number(connection: Connection, project: int) -> int:
    """By chance: one that was lost, as by a damaged file, is not given again."""
    while True:
        number = random.randrange(1, _NUMBERS)
        is_it = callers.c.project == project, callers.c.id == number
        if connection.execute(select(callers.c.id).where(*is_it)).first() is None:
            return number
