"""Changes the rules that are kept in the store, and lists them, for the command."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from ..core.tools import JsonObject
from ..settings.rules import rules_of_store
from .engine import Engine
from .history import answer
from .stored_rules import damaged, folder_of, kept_in

if TYPE_CHECKING:
    from ..history.kept_rules import Check, KeptRules
    from ..history.store import Store


async def listed_rules(engine: Engine) -> KeptRules:
    """The rules that the store has, whether they count here or not.

    Raises:
        StoreFailed, RulesUnknown: it cannot be read.
    """
    return await answer(engine, kept_in, from_any_file=True)


async def put_rules(
    engine: Engine, rules: Sequence[JsonObject], *, only: bool = False
) -> KeptRules:
    """Put these into the store, for those of the same names, or for all of them.

    Raises:
        SettingsError: something in one of them is wrong; nothing was changed.
        StoreFailed, RulesUnknown: the store cannot be used.
    """
    return await answer(engine, partial(_put, rules, _check(engine), only))


async def remove_rules(engine: Engine, names: Sequence[str]) -> KeptRules:
    """Take the rules of these names out of the store; raises as `put_rules`."""
    return await answer(engine, partial(_remove, names, _check(engine)))


def _check(engine: Engine) -> Check:
    folder = folder_of(engine.settings)

    def check(rules: Sequence[JsonObject]) -> None:
        rules_of_store(rules, folder)

    return check


# In these, because SQLAlchemy takes a while, and few settings have rules in the store.
def _put(rules: Sequence[JsonObject], check: Check, only: bool, store: Store) -> KeptRules:
    from ..history.kept_rules import RulesDamaged
    from ..history.kept_rules import put_rules as put

    try:
        return put(store, rules, check, only=only)
    except RulesDamaged as why:
        raise damaged(store, why) from None


def _remove(names: Sequence[str], check: Check, store: Store) -> KeptRules:
    from ..history.kept_rules import RulesDamaged
    from ..history.kept_rules import remove_rules as remove

    try:
        return remove(store, names, check)
    except RulesDamaged as why:
        raise damaged(store, why) from None
