"""What rules may ask of a call: the tool, who calls it, with what, when, and what was before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast

from ...core.calls import Caller
from ...core.json import JsonObject
from ...core.patterns import names_of, sure_names_of
from ...core.schemas import properties
from ...core.tools import Tool, ToolKey
from ...settings.rules import ANNOTATIONS, ANY_ARGUMENT, ARGUMENT, DAYS, EARLIER

_CHARS_PER_VALUE = 1_000
NAMES = ("tool", "run.called", "run.succeeded", "run.failed")
"""The fields that are names of tools."""
_SURELY = "surely "
OF_OTHERS = ":"
"""Stands in no word that a rule derives."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Of a call of `caller`. Without `arguments` and `now` only what is certain before a call.

    Of the words that were derived before, those that begin with `own` count, and no others.
    """

    tool: Tool
    caller: Caller
    arguments: JsonObject | None = None
    now: datetime | None = None
    own: str = ""
    _found: dict[str, tuple[Any, ...] | None] = field(
        default_factory=dict[str, "tuple[Any, ...] | None"], compare=False, repr=False
    )

    def known(self, name: str) -> tuple[Any, ...] | None:
        """All that the field is of this call, any of which may fit; None where it is not known."""
        if name not in self._found:  # many rules ask for the same
            self._found[name] = self._look(name)
        return self._found[name]

    def known_surely(self, name: str) -> tuple[Any, ...] | None:
        """The same without names of tools that a source may have chosen to be taken for another."""
        return self.known(_SURELY + name if name in NAMES else name)

    def values_up_to(self, most: int) -> int:
        """How many values the arguments have, a long text as several; not counted beyond so many.

        One more for the tool itself.
        """
        count = 1
        for value in _leaves(self.arguments):
            count += 1 + (len(value) // _CHARS_PER_VALUE if isinstance(value, str) else 0)
            if count > most:
                break
        return count

    def _look(self, name: str) -> tuple[Any, ...] | None:
        if name.startswith(ARGUMENT):
            return self._argument(name)
        if name.removeprefix(_SURELY) in NAMES:
            return self._names(name)
        if (known := _CERTAIN.get(name)) is not None:
            return known(self)
        return None if self.now is None else _OF_NOW[name](self, self.now)

    def _names(self, name: str) -> tuple[str, ...] | None:
        which = name.removeprefix(_SURELY)
        if which != "tool" and self.now is None:
            return None
        names = sure_names_of if name.startswith(_SURELY) else names_of
        return tuple(x for key in _TOOLS[which](self) for x in names(key))

    def _argument(self, name: str) -> tuple[Any, ...] | None:
        """Every value in it; of one that is not given, what its schema says is taken then."""
        if self.arguments is None:
            return None
        if name == ANY_ARGUMENT:
            return tuple(_leaves(self.arguments))
        parts = name.removeprefix(ARGUMENT).split(".")
        values = [*_at(self.arguments, parts)] or [*_defaults(self.tool.input_schema, parts)]
        return tuple(leaf for x in values for leaf in _leaves(x))


def _at(value: Any, parts: Sequence[str]) -> Iterator[Any]:
    """All values that a path may mean: names may have dots themselves, lists have several.

    All of them count: else one that nobody reads could hide the one that is meant.
    """
    rest: list[tuple[Any, Sequence[str]]] = [(value, parts)]
    while rest:
        one, left = rest.pop()
        if not left:
            yield one
        elif isinstance(one, list | tuple):
            rest += [(x, left) for x in cast(list[Any], one)]
        elif isinstance(one, dict):
            given = cast(dict[str, Any], one)
            rest += [(given[name], after) for name, after in _ways(left) if name in given]


def _defaults(schema: JsonObject, parts: Sequence[str]) -> Iterator[Any]:
    """What the schema says is taken where nothing is given for a path."""
    for name, rest in _ways(parts):
        inner = properties(schema).get(name, {})
        default = inner.get("default")
        found = [] if default is None else [*_at(default, rest)]
        yield from found or (_defaults(inner, rest) if rest else ())


def _ways(parts: Sequence[str]) -> Iterator[tuple[str, Sequence[str]]]:
    """How a path may begin, and what is left of it then."""
    return ((".".join(parts[:x]), parts[x:]) for x in range(1, len(parts) + 1))


def _leaves(value: Any) -> Iterator[Any]:
    """All plain values in it, however deep; the keys of objects are none."""
    rest: list[Any] = [value]
    while rest:
        one = rest.pop()
        if isinstance(one, dict):
            rest += cast(dict[str, Any], one).values()
        elif isinstance(one, list | tuple):
            rest += cast(list[Any], one)
        elif one is not None:
            yield one


def _own_words(facts: Facts) -> Iterator[str]:
    for word in facts.caller.facts.was:
        begin, mark, rest = word.rpartition(OF_OTHERS)
        if begin + mark == facts.own:
            yield rest


def _annotations(facts: Facts) -> tuple[str, ...]:
    said = facts.tool.annotations
    return tuple(x for x in ANNOTATIONS if getattr(said, x) is True)


_CERTAIN: Mapping[str, Callable[[Facts], tuple[str, ...]]] = {
    "server": lambda x: (x.tool.source,),
    "kind": lambda x: (x.tool.key.kind,),
    "tool.params": lambda x: tuple(properties(x.tool.input_schema)),
    "tag": lambda x: x.tool.tags,
    "annotation": _annotations,
    "agent": lambda x: (x.caller.name,),
    "toolbelt": lambda x: (x.caller.toolbelt,),
}

_OF_NOW: Mapping[str, Callable[[Facts, datetime], tuple[Any, ...]]] = {
    "time": lambda _, now: (now.hour * 60 + now.minute,),
    "day": lambda _, now: (DAYS[now.weekday()],),
    EARLIER: lambda x, _: tuple(_own_words(x)),
}

_TOOLS: Mapping[str, Callable[[Facts], Iterable[ToolKey]]] = {
    "tool": lambda x: (x.tool.key,),
    "run.called": lambda x: x.caller.facts.succeeded | x.caller.facts.failed,
    "run.succeeded": lambda x: x.caller.facts.succeeded,
    "run.failed": lambda x: x.caller.facts.failed,
}
