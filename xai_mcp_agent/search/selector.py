"""Selection: which of the available tools a request shows, within a budget of tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..catalog.definitions import ToolDefinition
from ..core.json import JsonObject
from ..core.tools import META, STATIC, ToolKey
from .meta_tools import is_meta_tool
from .shortening import MAX_STEPS, shorten

# Share of the budget for tools that the run finds: core tools are shortened rather than take it.
_RUN_SHARE = 0.25
# Tokens of the shortest definition: a name of one letter and no parameters.
_MIN_TOKENS = 25

_ALL_FIT = "all tools fit"
_FROM_RUN = "found or used in this run"
_ALWAYS_SHOWN = "always shown"
_REASONS = {META.name: "always there", STATIC.name: "drawn on the canvas"}


@dataclass(frozen=True, slots=True)
class ShownTool:
    """Tool in a request. Its `definition` there is `shortened` in so many steps."""

    definition: ToolDefinition
    why: str
    shortened: int = 0

    @property
    def tokens(self) -> int:
        """Return its estimated cost."""
        return self.definition.tokens


@dataclass(frozen=True, slots=True)
class OmittedTool:
    """Tool without room in the request. The model may call it all the same."""

    definition: ToolDefinition
    why: str


@dataclass(frozen=True, slots=True)
class Selection:
    """Tools that a request shows, in its order; the model may call the others, too.

    `deferred` are the tools that `tool_search` finds, and `left_out` those without room.
    `budget_tokens` is 0 without a budget.
    """

    shown: tuple[ShownTool, ...]
    deferred: tuple[ToolDefinition, ...] = ()
    left_out: tuple[OmittedTool, ...] = ()
    budget_tokens: int = 0

    @property
    def tokens(self) -> int:
        """Return the estimated cost of the shown definitions."""
        return _tokens(self.shown)

    @property
    def is_whole(self) -> bool:
        """Return whether everything available is shown."""
        return not self.deferred and not self.left_out

    @property
    def in_short(self) -> str:
        """Return in a few words how many of all tools it shows, and their cost."""
        total = len(self.shown) + len(self.deferred) + len(self.left_out)
        of_budget = f" of {self.budget_tokens:,}" if self.budget_tokens else ""
        return f"{len(self.shown)} of {total:,} tools shown, {self.tokens:,}{of_budget} tokens"

    def as_json(self, *, deferred_names: bool = True) -> JsonObject:
        """Return it as JSON; without `deferred_names` only the number of deferred tools."""
        deferred = list(map(_as_json, self.deferred)) if deferred_names else len(self.deferred)
        return {
            "budget_tokens": self.budget_tokens,
            "tokens": self.tokens,
            "shown": [
                {**_as_json(x.definition), "why": x.why}
                | ({"shortened": x.shortened} if x.shortened else {})
                for x in self.shown
            ],
            "deferred": deferred,
            "left_out": [{**_as_json(x.definition), "why": x.why} for x in self.left_out],
        }


class BudgetSelector:
    """Shows all tools if they fit the budget, else core tools and tools that the run has found.

    Core tools are drawn tools, our own tools that find others, and tools that are always shown. New
    tools come last. Once the budget is full, the run's oldest tool is shortened first, and then
    omitted. It examines only as many tools as can have room. A budget of 0 is no limit.

    It decides for the requests of one run, one after the other, perhaps in a worker thread.
    """

    def __init__(
        self, budget_tokens: int = 0, is_always_shown: Callable[[ToolKey], bool] = lambda _: False
    ) -> None:
        self._budget = budget_tokens
        self._is_always_shown = is_always_shown
        self._max_count = budget_tokens // _MIN_TOKENS + 1
        self._parts: _Parts | None = None
        self._forms: dict[ToolKey, list[ToolDefinition]] = {}  # from the whole to the shortest
        # Of the last selection: its order, and the steps by which tools of the run were shortened.
        self._order: Mapping[ToolKey, None] = {}
        self._steps: Mapping[ToolKey, int] = {}

    def select(
        self, available: Sequence[ToolDefinition], run_tools: Sequence[ToolKey] = ()
    ) -> Selection:
        """Return the selection of the next request; it never exceeds the budget.

        `run_tools` are tools that the run has found, explained or used, the newest last.
        """
        if self._parts is None or self._parts.available is not available:
            self._parts = self._parts_of(available)
        parts = self._parts
        if not self._budget or parts.tokens <= self._budget:
            shown = tuple(ShownTool(x, _ALL_FIT) for x in parts.all_but_search)
            return Selection(shown, budget_tokens=self._budget)
        core, no_room = self._fit_core(parts.core)
        in_run = [parts.others[x] for x in dict.fromkeys(run_tools) if x in parts.others]
        newest = {x.tool.key: x for x in in_run[-self._max_count :]}
        recent, too_old = self._fit_run_tools(newest, self._budget - _tokens(core))
        deferred = tuple(x for key, x in parts.others.items() if key not in newest)
        # Shown tools keep their place, for the service's cache.
        by_key = {x.definition.tool.key: x for x in (*core, *recent)}
        self._order = dict.fromkeys((*(x for x in self._order if x in by_key), *by_key))
        shown = tuple(by_key[x] for x in self._order)
        return Selection(shown, deferred, (*parts.too_many, *no_room, *too_old), self._budget)

    def _parts_of(self, available: Sequence[ToolDefinition]) -> _Parts:
        core: list[tuple[ToolDefinition, str]] = []
        too_many: list[OmittedTool] = []
        others: dict[ToolKey, ToolDefinition] = {}
        for definition in available:
            key = definition.tool.key
            why = _REASONS.get(key.kind) or (_ALWAYS_SHOWN if self._is_always_shown(key) else "")
            if not why:
                others[key] = definition
            elif len(core) < self._max_count or is_meta_tool(key):
                core.append((definition, why))
            else:
                problem = f"no more than {self._max_count} tools fit into {self._budget} tokens"
                too_many.append(OmittedTool(definition, f"{why}, but {problem}"))
        all_but_search = [x for x in available if not is_meta_tool(x.tool.key)]
        tokens = sum(x.tokens for x in all_but_search)
        return _Parts(available, core, too_many, others, all_but_search, tokens)

    def _fit_core(
        self, core: Sequence[tuple[ToolDefinition, str]]
    ) -> tuple[list[ShownTool], list[OmittedTool]]:
        """Return all core tools, shortened to leave room for others; or as many as fit."""
        for steps in range(MAX_STEPS):
            forms = [self._form(x, why, steps) for x, why in core]
            if _tokens(forms) <= self._budget * (1 - _RUN_SHARE):
                return forms, []
        forms = [self._form(x, why, MAX_STEPS) for x, why in core]
        # Tools that find others come first.
        order = sorted(forms, key=lambda x: not is_meta_tool(x.definition.tool.key))
        omitted = self._without_room(order, self._budget)
        omitted_keys = {x.definition.tool.key for x in omitted}
        return [x for x in forms if x.definition.tool.key not in omitted_keys], omitted

    def _fit_run_tools(
        self, definitions: Mapping[ToolKey, ToolDefinition], room: int
    ) -> tuple[list[ShownTool], list[OmittedTool]]:
        """Return the run's tools that fit; the newest are the longest, and none grows again."""
        shortest = [self._form(x, _FROM_RUN, MAX_STEPS) for x in definitions.values()]
        omitted = self._without_room(reversed(shortest), room)[::-1]
        omitted_keys = {x.definition.tool.key for x in omitted}
        forms = {
            key: self._form(x, _FROM_RUN, self._steps.get(key, 0))
            for key, x in definitions.items()  # the oldest first
            if key not in omitted_keys
        }
        excess = _tokens(forms.values()) - room
        for key in forms:
            while excess > 0 and (before := forms[key]).shortened < MAX_STEPS:
                forms[key] = self._form(definitions[key], _FROM_RUN, before.shortened + 1)
                excess -= before.tokens - forms[key].tokens
        self._steps = {key: x.shortened for key, x in forms.items()}
        return list(forms.values()), omitted

    def _without_room(self, forms: Iterable[ShownTool], room: int) -> list[OmittedTool]:
        """Return the tools without room if the first come first."""
        omitted = list[OmittedTool]()
        for form in forms:
            if form.tokens <= room:
                room -= form.tokens
            else:
                problem = f"{form.tokens} tokens in its shortest form, and {max(room, 0)} of"
                why = f"{form.why}, but {problem} {self._budget} are left"
                omitted.append(OmittedTool(form.definition, why))
        return omitted

    def _form(self, definition: ToolDefinition, why: str, steps: int) -> ShownTool:
        forms = self._forms.get(definition.tool.key)
        if forms is None or forms[0] is not definition:
            forms = self._forms[definition.tool.key] = [definition]
        while len(forms) <= steps:
            forms.append(shorten(forms[-1], len(forms)))
        return ShownTool(forms[steps], why, steps)


@dataclass(frozen=True)
class _Parts:
    """Available tools: the core tools with the reasons, and the others by their keys.

    `too_many` are core tools that cannot have room. `tokens` is the cost of all except the search
    tools, which are useless if all are shown.
    """

    available: Sequence[ToolDefinition]
    core: Sequence[tuple[ToolDefinition, str]]
    too_many: Sequence[OmittedTool]
    others: Mapping[ToolKey, ToolDefinition]
    all_but_search: Sequence[ToolDefinition]
    tokens: int


def _tokens(shown: Iterable[ShownTool]) -> int:
    return sum(x.tokens for x in shown)


def _as_json(definition: ToolDefinition) -> JsonObject:
    tool = definition.tool
    return {"name": definition.name, "server": tool.source, "tokens": definition.tokens}
