"""Rules of a store: replaced by name, in one transaction, and checked when read."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import delete, update

from xai_mcp_agent.core.errors import RulesUnknown
from xai_mcp_agent.history.history import open_history
from xai_mcp_agent.history.place import Place
from xai_mcp_agent.history.tables import rules as table
from xai_mcp_agent.policy.stored_rules import StoredRules, put_rules, read_rules, remove_rules


def rule(name: str, then: str = "deny") -> dict[str, Any]:
    return {"name": name, "when": {"tool": name}, "then": then}


def accept_any(rules: Sequence[Any]) -> None:
    """Accept any rules."""


def test_rules_are_replaced_by_name_and_each_change_has_a_number(place: Place):
    store = open_history(place)
    assert read_rules(store) == StoredRules()
    assert put_rules(store, [rule("a"), rule("b")], accept_any).revision == 1
    odd = "ü\0\ud800"
    stored = put_rules(store, [rule("b", "ask"), rule(odd)], accept_any)
    assert stored.rules == (rule("a"), rule("b", "ask"), rule(odd))
    assert read_rules(store) == stored
    assert put_rules(store, [rule("a")], accept_any) == stored
    assert remove_rules(store, ["a", "unheard"], accept_any).revision == 3
    assert remove_rules(store, ["b", odd], accept_any) == StoredRules(4)
    assert put_rules(store, [rule("c")], accept_any, only=True).rules == (rule("c"),)
    store.close()


def test_people_who_put_rules_at_once_lose_none(lasting_place: Place):
    def put(name: str) -> None:
        store = open_history(lasting_place)
        put_rules(store, [rule(name)], accept_any)
        store.close()

    with ThreadPoolExecutor(4) as people:
        list(people.map(put, "abcdefgh"))
    store = open_history(lasting_place)
    stored = read_rules(store)
    assert ({x["name"] for x in stored.rules}, stored.revision) == ({*"abcdefgh"}, 8)
    store.close()


def test_a_row_that_somebody_changed_in_the_database_is_refused(place: Place):
    store = open_history(place)
    put_rules(store, [rule("a"), rule("b")], accept_any)
    mine = table.c.revision == 1
    for value in ("[]", "no JSON", "{}", "7"):
        with store.writing() as connection:
            connection.execute(update(table).where(mine).values(rules=value))
        with pytest.raises(RulesUnknown, match="revision 1"):
            read_rules(store)
    with store.writing() as connection:
        connection.execute(delete(table).where(mine))
    assert read_rules(store).revision == 0
    store.close()
