"""A selector that keeps the definitions in a request within a budget of tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..catalog.definitions import ToolDefinition
from ..core.tools import META, STATIC, ToolKey
from .meta_tools import is_meta_tool
from .selector import ALL_FIT, LeftOut, Selection, Shown
from .shortening import MOST_STEPS, shortened

# Of the budget, for tools that the run finds: core tools are shortened rather than take it.
_FOUND_SHARE = 0.25
# With a name of a letter and no parameters: no definition takes less.
_LEAST_TOKENS = 25

_FOUND = "found or used in this run"
_ALWAYS_SHOWN = "always shown"
_REASONS = {META.name: "always there", STATIC.name: "drawn on the canvas"}
_NO_ROOM = "{} tokens in its shortest form, and {} of {} are left"
_TOO_MANY = "no more than {} tools can have room in {} tokens"


class BudgetSelector:
    """Shows all tools that fit the budget together; else core tools, and what the run has found.

    Core tools are those that `is_always_shown` says, those drawn on the canvas, and our own, with
    which the others are found. The order of what is shown only grows at its end, as long as nothing
    has to give way: the oldest of what was found first gets shorter, and goes then. However many
    are always shown or were found, only as many are looked at as can have room.
    """

    def __init__(self, budget_tokens: int, is_always_shown: Callable[[ToolKey], bool]) -> None:
        self._budget = budget_tokens
        self._is_always_shown = is_always_shown
        self._most = budget_tokens // _LEAST_TOKENS + 1
        self._parted: _Parted | None = None
        # Of the selection before: its order, how short the found ones were, and all forms.
        self._order: Mapping[ToolKey, None] = {}
        self._steps: Mapping[ToolKey, int] = {}
        self._forms: dict[ToolKey, list[ToolDefinition]] = {}
        self._forms_before: Mapping[ToolKey, list[ToolDefinition]] = {}

    def select(
        self, available: Sequence[ToolDefinition], found: Sequence[ToolKey] = ()
    ) -> Selection:
        """See `Selector`; never more tokens than the budget."""
        parted = self._parts_of(available)
        if parted.tokens <= self._budget:
            shown = tuple(Shown(x, ALL_FIT) for x in parted.all_but_search)
            return Selection(shown, budget_tokens=self._budget)
        self._forms, self._forms_before = {}, self._forms
        core, no_room = self._core_shown(parted.core)
        others = [parted.others[x] for x in dict.fromkeys(found) if x in parted.others]
        newest = others[-self._most :]
        recent, given_way = self._found_shown(newest, self._budget - _tokens(core))
        wanted = {x.tool.key for x in newest}
        deferred = tuple(x for key, x in parted.others.items() if key not in wanted)
        left_out = (*parted.too_many, *no_room, *given_way)
        return Selection(self._in_order([*core, *recent]), deferred, left_out, self._budget)

    def _in_order(self, shown: Sequence[Shown]) -> tuple[Shown, ...]:
        """Those that were shown keep their place, for the service's cache."""
        by_key = {x.definition.tool.key: x for x in shown}
        before = (x for x in self._order if x in by_key)
        self._order = dict.fromkeys((*before, *by_key))
        return tuple(by_key[x] for x in self._order)

    def _parts_of(self, available: Sequence[ToolDefinition]) -> _Parted:
        parted = self._parted
        if parted is None or parted.available is not available:
            why_not = _TOO_MANY.format(self._most, self._budget)
            parted = _parted(available, self._why_core, self._most, why_not)
            self._parted = parted
        return parted

    def _why_core(self, key: ToolKey) -> str:
        return _REASONS.get(key.kind) or (_ALWAYS_SHOWN if self._is_always_shown(key) else "")

    def _core_shown(
        self, core: Sequence[tuple[ToolDefinition, str]]
    ) -> tuple[list[Shown], list[LeftOut]]:
        """All core tools, as little shortened as leaves room for others; or as many as fit."""
        for steps in range(MOST_STEPS):
            forms = [self._form(x, why, steps) for x, why in core]
            if _tokens(forms) <= self._budget * (1 - _FOUND_SHARE):
                return forms, []
        forms = [self._form(x, why, MOST_STEPS) for x, why in core]
        # Those with which the others are found come first.
        order = sorted(forms, key=lambda x: not is_meta_tool(x.definition.tool.key))
        left_out = self._too_many(order, self._budget)
        gone = {x.definition.tool.key for x in left_out}
        return [x for x in forms if x.definition.tool.key not in gone], left_out

    def _found_shown(
        self, found: Sequence[ToolDefinition], room: int
    ) -> tuple[list[Shown], list[LeftOut]]:
        """As many as fit, the newest as whole as can be, and none longer than it was shown."""
        shortest = [self._form(x, _FOUND, MOST_STEPS) for x in found]
        left_out = self._too_many(reversed(shortest), room)[::-1]
        gone = {x.definition.tool.key for x in left_out}
        kept = {x.tool.key: x for x in found if x.tool.key not in gone}  # the oldest first
        forms = {key: self._form(x, _FOUND, self._steps.get(key, 0)) for key, x in kept.items()}
        too_many = _tokens(forms.values()) - room
        for key, definition in kept.items():
            while too_many > 0 and (before := forms[key]).shortened < MOST_STEPS:
                forms[key] = self._form(definition, _FOUND, before.shortened + 1)
                too_many -= before.tokens - forms[key].tokens
        self._steps = {key: x.shortened for key, x in forms.items()}
        return list(forms.values()), left_out

    def _too_many(self, forms: Iterable[Shown], room: int) -> list[LeftOut]:
        """Those for which there is no room, when the first come first."""
        left, left_out = room, list[LeftOut]()
        for form in forms:
            if form.tokens <= left:
                left -= form.tokens
            else:
                left_out.append(self._left_out(form, left))
        return left_out

    def _left_out(self, form: Shown, room: int) -> LeftOut:
        why = _NO_ROOM.format(form.tokens, max(room, 0), self._budget)
        return LeftOut(form.definition, f"{form.why}, but {why}")

    def _form(self, definition: ToolDefinition, why: str, steps: int) -> Shown:
        key = definition.tool.key
        forms = self._forms.get(key) or self._forms_before.get(key)
        if forms is None or forms[0] is not definition:
            forms = [definition]
        self._forms[key] = forms
        while len(forms) <= steps:
            forms.append(shortened(forms[-1], len(forms)))
        return Shown(forms[steps], why, steps)


@dataclass(frozen=True)
class _Parted:
    """What is available: the core tools with the reasons, and the others by their keys.

    `too_many` are core tools that cannot have room. `tokens` is what all take but those to search
    with, which are of no use where all are shown.
    """

    available: Sequence[ToolDefinition]
    core: Sequence[tuple[ToolDefinition, str]]
    too_many: Sequence[LeftOut]
    others: Mapping[ToolKey, ToolDefinition]
    all_but_search: Sequence[ToolDefinition]
    tokens: int


def _parted(
    available: Sequence[ToolDefinition], why_core: Callable[[ToolKey], str], most: int, why_not: str
) -> _Parted:
    core: list[tuple[ToolDefinition, str]] = []
    too_many: list[LeftOut] = []
    others: dict[ToolKey, ToolDefinition] = {}
    for one in available:
        if not (why := why_core(one.tool.key)):
            others[one.tool.key] = one
        elif len(core) < most or is_meta_tool(one.tool.key):
            core.append((one, why))
        else:
            too_many.append(LeftOut(one, f"{why}, but {why_not}"))
    all_but_search = [x for x in available if not is_meta_tool(x.tool.key)]
    tokens = sum(x.tokens for x in all_but_search)
    return _Parted(available, core, too_many, others, all_but_search, tokens)


def _tokens(shown: Iterable[Shown]) -> int:
    return sum(x.tokens for x in shown)
