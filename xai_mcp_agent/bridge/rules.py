"""Rules on the bridge: read from the store, asked about many tools at once, used in rankings."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import anyio
import anyio.to_thread

from ..core.approval import Ruling
from ..core.calls import Caller
from ..core.errors import RulesUnknown, SettingsError, StoreFailed
from ..core.json import JsonObject
from ..core.tools import Tool, ToolKey
from ..history.recording.recorder import HistoryRecorder
from ..policy.rules import ReadStored, RuleBook, RuleGate
from ..search.ranking import Ranked, Rule
from ..settings import rules as written
from ..settings.models import Settings

if TYPE_CHECKING:
    from ..history.kept_rules import KeptRules
    from ..history.store import Store

_READ_SECONDS = 20.0  # a file that another process writes is free again by then
_NEVER = "no rules were ever put into it, or they are lost."
_OLDER = "its rules are at revision {}, and the settings want {} or a later one."
_PUT = "Put all of them there: `xai-mcp-agent rules put FILE --only`."
_LOOK = "See to the store, or take `from: store` out of the rules in the settings."
_MOST_CALLERS = 20  # whose rulings are kept
_MOST_KEPT = 100_000  # tools, also such as went meanwhile
_RULED_AT_ONCE = 100  # tools, on the event loop: milliseconds


class Rulings:
    """What rules say of tools before anything is known of a call: asked once for each tool."""

    def __init__(self, gate: RuleGate) -> None:
        self._gate = gate
        self._book: RuleBook | None = None
        self._rulings: dict[tuple[str, str], dict[ToolKey, tuple[Tool, Ruling]]] = {}

    async def of(self, tools: Mapping[ToolKey, Tool], caller: Caller) -> Mapping[ToolKey, Ruling]:
        """By key; nothing where there are no rules. As for an agent, whoever the caller is."""
        await self._gate.look()
        book = self._gate.book
        if not book:
            return {}
        if self._book is not book or len(self._rulings) > _MOST_CALLERS:
            self._book, self._rulings = book, {}
        rulings = self._rulings.get((caller.name, caller.toolbelt), {})
        rulings = rulings if len(rulings) < _MOST_KEPT else {}
        new = [x for key, x in tools.items() if key not in rulings or rulings[key][0] is not x]
        rule = partial(self._rule, book, new, replace(caller, kind="agent"))
        ruled = rule() if len(new) <= _RULED_AT_ONCE else await anyio.to_thread.run_sync(rule)
        rulings = {**rulings, **ruled}
        self._rulings[caller.name, caller.toolbelt] = rulings
        return {key: rulings[key][1] for key in tools}

    def _rule(
        self, book: RuleBook, tools: Sequence[Tool], caller: Caller
    ) -> dict[ToolKey, tuple[Tool, Ruling]]:
        return {x.key: (x, book.ruling(self._gate.facts(x, caller))) for x in tools}


def ranking_rules(gate: RuleGate, caller: Caller) -> Sequence[Rule]:
    """How the rules of a person move tools in a ranking: by what they prefer."""
    if not gate.may_prefer:
        return ()

    def preferred(query: str, found: Sequence[Ranked[Any]]) -> Sequence[Ranked[Any]]:
        return [_moved(x, gate, caller) for x in found]

    return (preferred,)


def _moved(ranked: Ranked[Any], gate: RuleGate, caller: Caller) -> Ranked[Any]:
    tool = cast(Tool | JsonObject, ranked.tool)
    if not isinstance(tool, Tool):
        return ranked
    ruling = gate.book.ruling(gate.facts(tool, caller))
    if not ruling.prefer:
        return ranked
    verb = "preferred" if ruling.prefer > 0 else "put behind others"
    reasons = (*ranked.reasons, f"{verb} by the rule {', '.join(ruling.preferred_by)!r}")
    return replace(ranked, score=max(0.0, ranked.score * (1 + ruling.prefer)), reasons=reasons)


def stored_rules(settings: Settings, recorder: HistoryRecorder) -> ReadStored | None:
    """What reads the rules of the store as they count here, if the settings ask for them."""
    if settings.stored_rules is None:
        return None
    return partial(_read, settings, recorder, settings.stored_rules)


async def _read(
    settings: Settings, recorder: HistoryRecorder, least: int
) -> tuple[written.Rule, ...]:
    where = recorder.place.shown
    try:
        with anyio.fail_after(_READ_SECONDS):
            stored = await asyncio.wrap_future(recorder.read(kept_in))
        rules = written.rules_of_store(stored.rules, folder_of(settings))
    except StoreFailed as why:
        raise RulesUnknown(where, why.problem, why.next_step or _LOOK) from why
    except SettingsError as why:
        raise RulesUnknown(where, str(why), _LOOK) from why
    except TimeoutError:
        raise RulesUnknown(where, f"no answer within {_READ_SECONDS:g} s.", _LOOK) from None
    if stored.revision < least:
        problem = _OLDER.format(stored.revision, least) if stored.revision else _NEVER
        raise RulesUnknown(where, problem, _PUT)
    return rules


def folder_of(settings: Settings) -> str:
    """What folders in rules of the store begin in."""
    return str(Path(settings.file).parent if settings.file else Path.cwd())


# Here, because SQLAlchemy takes a while, and few settings have rules in the store.
def kept_in(store: Store) -> KeptRules:
    """The rules that are kept there."""
    from ..history.kept_rules import RulesDamaged, kept_rules

    try:
        return kept_rules(store)
    except RulesDamaged as why:
        raise damaged(store, why) from None


def damaged(store: Store, why: Exception) -> RulesUnknown:
    """What to tell of rules that are not what was put there."""
    return RulesUnknown(store.place.shown, str(why), _PUT)
