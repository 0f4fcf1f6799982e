"""A selector that keeps the definitions in a request within a budget of tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..catalog.definitions import ToolDefinition
from ..core.kinds import META, STATIC
from ..core.tools import ToolKey
from .meta_tools import is_meta_tool
from .selector import ALL_FIT, LeftOut, Selection, Shown
from .shortening import MOST_STEPS, shortened

# Of the budget, for tools that the run finds: core tools are shortened rather than take it.
_FOUND_SHARE = 0.25
# Shortened forms that are kept; a run shows a few dozen tools.
_MOST_FORMS = 2_000

_FOUND = "found or used in this run"
_PINNED = "pinned"
_REASONS = {META.name: "always there", STATIC.name: "drawn on the canvas"}
_NO_ROOM = "{} tokens in its shortest form, and {} of {} are left"


class BudgetSelector:
    """Shows all tools that fit the budget together; else core tools, and what the run has found.

    Core tools are those that `is_pinned` says, those drawn on the canvas, and our own, with which
    the others are found. The order of what is shown only grows at its end, as long as nothing has
    to give way: the oldest of what was found first gets shorter, and goes then.
    """

    def __init__(self, budget_tokens: int, is_pinned: Callable[[ToolKey], bool]) -> None:
        self._budget = budget_tokens
        self._is_pinned = is_pinned
        self._forms: dict[tuple[ToolKey, int], tuple[ToolDefinition, ToolDefinition]] = {}
        self._steps: dict[ToolKey, int] = {}  # of those found that are shown, in their order
        self._parted: _Parted | None = None

    def select(
        self, available: Sequence[ToolDefinition], found: Sequence[ToolKey] = ()
    ) -> Selection:
        """See `Selector`; never more tokens than the budget."""
        parted = self._parts_of(available)
        if parted.tokens <= self._budget:
            shown = tuple(Shown(x, ALL_FIT) for x in parted.all_but_search)
            return Selection(shown, budget_tokens=self._budget)
        core, no_room = self._core_shown(parted.core)
        others = [parted.others[x] for x in dict.fromkeys(found) if x in parted.others]
        room = self._budget - sum(x.tokens for x in core)
        recent, given_way = self._found_shown(others, room)
        wanted = {x.tool.key for x in others}
        deferred = tuple(x for key, x in parted.others.items() if key not in wanted)
        return Selection((*core, *recent), deferred, (*no_room, *given_way), self._budget)

    def _parts_of(self, available: Sequence[ToolDefinition]) -> _Parted:
        parted = self._parted
        if parted is None or parted.available is not available:
            parted = self._parted = _parted(available, self._why_core)
        return parted

    def _why_core(self, key: ToolKey) -> str:
        return _REASONS.get(key.kind) or (_PINNED if self._is_pinned(key) else "")

    def _core_shown(
        self, core: Sequence[tuple[ToolDefinition, str]]
    ) -> tuple[list[Shown], list[LeftOut]]:
        """All core tools, as little shortened as leaves room for others; or as many as fit."""
        for steps in range(MOST_STEPS):
            forms = [self._form(x, why, steps) for x, why in core]
            if sum(x.tokens for x in forms) <= self._budget * (1 - _FOUND_SHARE):
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
        """As many as fit, the newest as whole as can be; those that were shown keep their place."""
        shortest = [self._form(x, _FOUND, MOST_STEPS) for x in found]
        left_out = self._too_many(reversed(shortest), room)[::-1]
        gone = {x.definition.tool.key for x in left_out}
        kept = {x.tool.key: x for x in found if x.tool.key not in gone}  # the oldest first
        order = dict.fromkeys((*(x for x in self._steps if x in kept), *kept))
        forms = {x: self._form(kept[x], _FOUND, self._steps.get(x, 0)) for x in order}
        too_many = sum(x.tokens for x in forms.values()) - room
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
        form = definition
        for step in range(1, steps + 1):
            form = self._shortened(form, step)
        return Shown(form, why, steps)

    def _shortened(self, form: ToolDefinition, step: int) -> ToolDefinition:
        place = form.tool.key, step
        known = self._forms.get(place)
        if known is None or known[0] is not form:
            if len(self._forms) >= _MOST_FORMS:
                del self._forms[next(iter(self._forms))]
            known = self._forms[place] = form, shortened(form, step)
        return known[1]


@dataclass(frozen=True)
class _Parted:
    """What is available: the core tools with the reasons, and the others by their keys.

    `tokens` is what all take but those to search with, which are of no use where all are shown.
    """

    available: Sequence[ToolDefinition]
    core: Sequence[tuple[ToolDefinition, str]]
    others: Mapping[ToolKey, ToolDefinition]
    all_but_search: Sequence[ToolDefinition]
    tokens: int


def _parted(available: Sequence[ToolDefinition], why_core: Callable[[ToolKey], str]) -> _Parted:
    reasons = [(x, why_core(x.tool.key)) for x in available]
    core = [(x, why) for x, why in reasons if why]
    others = {x.tool.key: x for x, why in reasons if not why}
    all_but_search = [x for x in available if not is_meta_tool(x.tool.key)]
    return _Parted(available, core, others, all_but_search, sum(x.tokens for x in all_but_search))
