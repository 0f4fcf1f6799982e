"""Rules of a project in the history's database: one row, with the number of changes so far.

They are kept beside the log, because the log never decides. The row is checked against its digest;
the reader decides whether there are any, and which of them count.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from sqlalchemy import Connection, delete, insert, select

from ..core.errors import RulesUnknown
from ..core.json import JsonObject
from ..history.history import History
from ..history.tables import rules as table

_DIGEST_CHARS = 32
_PUT = "Put all of them there: `xai-mcp-agent rules put FILE --only`."

Check: TypeAlias = Callable[[Sequence[JsonObject]], None]
"""Raises if rules are not valid."""


@dataclass(frozen=True, slots=True)
class StoredRules:
    """The rules as written, and their number of changes; 0 if there never were any."""

    revision: int = 0
    rules: tuple[JsonObject, ...] = ()


def read_rules(history: History) -> StoredRules:
    """Return the stored rules.

    Raises:
        RulesUnknown: they were changed outside this program.
    """
    with history.reading() as connection:
        return _rules_in(_row(connection, history), history)


def put_rules(
    history: History, rules: Sequence[JsonObject], check: Check, *, only: bool = False
) -> StoredRules:
    """Store rules in place of rules with the same names; with `only`, in place of all.

    `check` gets all resulting rules, and nothing is changed if it raises.

    Raises:
        RulesUnknown: the other rules stay, but cannot be read.
    """
    with history.writing() as connection:
        row = _row(connection, history)
        before = StoredRules(row.revision if row else 0) if only else _rules_in(row, history)
        new = {x.get("name"): x for x in rules}
        all_rules = [*(new.pop(x["name"], x) for x in before.rules), *new.values()]
        return _write(connection, history, before, all_rules, check)


def remove_rules(history: History, names: Collection[str], check: Check) -> StoredRules:
    """Remove the rules of these names, ignoring unknown names; see `put_rules`."""
    with history.writing() as connection:
        before = _rules_in(_row(connection, history), history)
        rest = [x for x in before.rules if x["name"] not in names]
        return _write(connection, history, before, rest, check)


def _write(
    connection: Connection,
    history: History,
    before: StoredRules,
    rules: Sequence[JsonObject],
    check: Check,
) -> StoredRules:
    new = StoredRules(before.revision + 1, tuple(rules))
    if before.rules and new.rules == before.rules:
        return before
    check(new.rules)
    values = {"project": history.project_id, "revision": new.revision, "digest": _digest(new)}
    connection.execute(delete(table).where(table.c.project == history.project_id))
    connection.execute(insert(table).values(**values, rules=json.dumps(new.rules)))
    return new


def _row(connection: Connection, history: History) -> Any:
    query = select(table).where(table.c.project == history.project_id)
    return connection.execute(query).first()


def _rules_in(row: Any, history: History) -> StoredRules:
    if row is None:
        return StoredRules()
    try:
        stored = StoredRules(row.revision, tuple(json.loads(row.rules)))
        if row.digest == _digest(stored):
            return stored
    except (TypeError, ValueError):
        pass  # somebody changed the row by hand
    problem = f"they were altered after they were put there (revision {row.revision})."
    raise RulesUnknown(history.place.label, problem, _PUT)


def _digest(stored: StoredRules) -> str:
    text = json.dumps([stored.revision, stored.rules], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGEST_CHARS]
