"""Rules of a project that are kept in its store: each change is a row with a number of its own.

They are beside the log, because the log never decides. What a row says is held against its digest;
whether there are any, and which of them count, is for who reads them to say.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from sqlalchemy import Connection, delete, select

from ..core.json import JsonObject
from .database import insert_rows
from .history import History
from .tables import Unreadable, facts, loaded

_NAME = "rules of {} at "
_MOST_KEPT = 20  # of the changes before, for who repairs a store
_DIGEST_CHARS = 32

Check: TypeAlias = Callable[[Sequence[JsonObject]], None]
"""Raises where rules are not as they must be."""


class RulesDamaged(Exception):
    """What is kept is not what was put there."""


@dataclass(frozen=True, slots=True)
class KeptRules:
    """The rules as they were written, and how often they were changed; 0: there never were any."""

    revision: int = 0
    rules: tuple[JsonObject, ...] = ()


def kept_rules(history: History) -> KeptRules:
    """The rules that are kept now.

    Raises:
        RulesDamaged: they cannot be read.
    """
    with history.reading() as connection:
        return _newest(_rows(connection, history.project_id))


def put_rules(
    history: History, rules: Sequence[JsonObject], check: Check, *, only: bool = False
) -> KeptRules:
    """Keep these; those of the same names are replaced, and the others stay unless it is `only`.

    `check` is given all together, and nothing is changed where it raises.

    Raises:
        RulesDamaged: others shall stay, and cannot be read.
    """
    with history.writing() as connection:
        rows = _rows(connection, history.project_id)
        before = KeptRules(max(rows, default=0)) if only else _newest(rows)
        return _keep(connection, history.project_id, before, _put(before.rules, rules), check)


def remove_rules(history: History, names: Collection[str], check: Check) -> KeptRules:
    """Keep none of these names any more; others are passed over."""
    with history.writing() as connection:
        before = _newest(_rows(connection, history.project_id))
        rest = [x for x in before.rules if x["name"] not in names]
        return _keep(connection, history.project_id, before, rest, check)


def _put(before: Sequence[JsonObject], rules: Sequence[JsonObject]) -> list[JsonObject]:
    new = {x.get("name"): x for x in rules}
    return [*(new.pop(x["name"], x) for x in before), *new.values()]


def _keep(
    connection: Connection,
    project: int,
    before: KeptRules,
    rules: Sequence[JsonObject],
    check: Check,
) -> KeptRules:
    kept = KeptRules(before.revision + 1, tuple(rules))
    if before.revision and before.rules and kept.rules == before.rules:
        return before
    check(kept.rules)
    value = {"digest": _digest(kept), "rules": kept.rules}
    name = _NAME.format(project)
    insert_rows(connection, facts, [(f"{name}{kept.revision}", json.dumps(value))], are_new=True)
    old = f"{name}{kept.revision - _MOST_KEPT}"
    connection.execute(delete(facts).where(facts.c.name == old))
    return kept


def _rows(connection: Connection, project: int) -> dict[int, str]:
    name = _NAME.format(project)
    query = select(facts).where(facts.c.name.startswith(name, autoescape=True))
    found = ((x.name.removeprefix(name), x.value) for x in connection.execute(query))
    return {int(x): value for x, value in found if x.isdigit()}


def _newest(rows: Mapping[int, str]) -> KeptRules:
    revision = max(rows, default=0)
    return _read(revision, rows[revision]) if revision else KeptRules()


def _read(revision: int, value: str) -> KeptRules:
    try:
        found = loaded(value)
        kept = KeptRules(revision, tuple(cast(list[JsonObject], found["rules"])))
        if found["digest"] == _digest(kept):
            return kept
    except (Unreadable, KeyError, TypeError):
        pass  # told below
    raise RulesDamaged(f"they are not what was put there (revision {revision}).")


def _digest(kept: KeptRules) -> str:
    text = json.dumps([kept.revision, kept.rules], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGEST_CHARS]
