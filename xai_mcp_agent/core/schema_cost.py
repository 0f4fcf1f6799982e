"""How much work a JSON Schema makes, at most: bounded before it is compiled, or anything checked.

References may double at every step, so that two kilobytes ask for more steps than there is time;
and `jsonschema_rs` holds the interpreter meanwhile. It matches most patterns in time linear in the
text; those with large repeats take long to compile, those that look around take long to match.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from itertools import chain
from typing import Any, cast
from urllib.parse import unquote

from .tools import JsonObject

# Lists and objects, and tens of others: the largest of real tools have a few thousand, and to
# count and compile so many takes 0.05 s.
_MAX_PARTS = 10_000
_MAX_DEPTH = 500
# To count those of a result takes 0.05 s.
_MAX_VALUES = 300_000
_MAX_PATTERNS = 500
_MAX_PATTERN_CHARACTERS = 2_000
# In units of about 0.2 microseconds, for all patterns of a schema.
_MAX_COMPILING = 100_000
# Checks of one value in a value, in units of about 0.05 microseconds.
_MAX_STEPS = 100_000
# So deep in a value they are counted before there is one.
_FIRST_LEVELS = 4
# A schema of schemas, which whoever checks has with him.
_IS_BUILT_IN, _OF_BUILT_IN = "json-schema.org/", 500
# So much counting of costs takes 0.05 s.
_MAX_COUNTING = 200_000
_ENDLESS = 10**12  # more than anybody waits for, and still a small number for Python

# `unevaluatedProperties` checks everything beside it again, and again inside that.
_TIMES_UNEVALUATED = 3

# A copy of a class of Unicode is some thousand states; one of any character a few.
_OF_A_UNICODE_CLASS, _OF_A_WIDE_CLASS = 500, 10
_LOOKS_AROUND = re.compile(r"\(\?<?[=!]|\(\?>|\\[1-9k]")
# For each character, before such a pattern is given up.
_OF_LOOKING_AROUND = 2_000
_TOKEN = re.compile(
    r"\\[pP](?:\{[^}]*\}|.)|\\[WDSB]|\\.|\{(\d{1,6})(?:,(\d{0,6}))?\}|\[\^?\]?|\(\?<?[=!:>]|\(\?[a-zA-Z-]+:?|.",
    re.DOTALL,
)


class TooCostly(ValueError):
    """A schema that would take too long to compile, or to check anything against."""


class SchemaCost:
    """What checking against one schema costs at most.

    Raises:
        TooCostly: too much for any value.
    """

    def __init__(self, schema: JsonObject) -> None:
        check_size(schema)
        graph = _Graph(schema)
        self.compiling = graph.compiling
        """Of its patterns, in units of about 0.2 microseconds."""
        self.has_patterns_for_names = graph.has_patterns_for_names
        self.steps = _Levels(graph.nodes, lambda node: node.weight).at
        """For one value that is so deep in another."""
        self.matching = _Levels(graph.nodes, lambda node: node.matching).at
        """For one character of a text that is so deep: states of all patterns that may apply."""
        if any(self.steps(depth) > _MAX_STEPS for depth in range(_FIRST_LEVELS)):
            raise TooCostly("its references and choices multiply to more than can be checked")


class Work:
    """What it takes at most to check one value: `steps`, states of patterns `matching` its texts.

    `quoted` is how many values may stand in what is said of it.
    """

    def __init__(self, cost: SchemaCost, value: Any) -> None:
        self.steps = self.matching = 0
        parts = most_steps = depth = 0
        level, above = [value], list[JsonObject]()
        while level and depth < _MAX_DEPTH:  # deeper ones are refused by whoever checks
            parts, steps, matching = parts + len(level), cost.steps(depth), cost.matching(depth)
            if parts > _MAX_VALUES or steps >= _ENDLESS:
                self.steps = _ENDLESS
                break
            self.steps += len(level) * steps
            if matching:  # where a value is, its name is matched too
                texts = [x for x in level if isinstance(x, str)]
                names = map(str, chain.from_iterable(above))
                self.matching += sum(map(len, chain(texts, names))) * matching
            most_steps, depth = max(most_steps, steps), depth + 1
            level, above = _next_level(level)
        self.quoted = parts * most_steps


def _next_level(level: list[Any]) -> tuple[list[Any], list[JsonObject]]:
    """All values that are directly in these, and those of these that are objects."""
    inner, objects = list[Any](), list[JsonObject]()
    for value in level:
        if isinstance(value, dict):
            objects.append(found := cast(JsonObject, value))
            inner += found.values()
        elif isinstance(value, list):
            inner += cast(list[Any], value)
    return inner, objects


def compiling_cost(pattern: str) -> int:
    """The states of a regular expression with its repeats written out, roughly.

    Raises:
        TooCostly: it is too long.
    """
    if len(pattern) > _MAX_PATTERN_CHARACTERS:
        raise TooCostly(f"a pattern is longer than {_MAX_PATTERN_CHARACTERS:,} characters")
    # Of each open group: what it costs so far, and what its last item did.
    groups, in_class = [[0, 0]], False
    for found in _TOKEN.finditer(pattern):
        token, group = found[0], groups[-1]
        if in_class and token != "]":
            _extend(group, _OF_A_UNICODE_CLASS if token[:2] in ("\\p", "\\P") else 0)
        elif token == "]":
            in_class = False
        elif token[0] == "[":
            in_class = True
            _add(group, _OF_A_WIDE_CLASS if "^" in token else 1)
        elif token[0] == "(":
            groups.append([1, 0])
        elif token == ")" and len(groups) > 1:
            _add(groups[-2], groups.pop()[0])
        elif found[1]:
            times = max(int(found[1]), int(found[2] or 0))
            _extend(group, group[1] * (times - 1))
        else:
            _add(group, _cost_of(token))
    return sum(cost for cost, _ in groups)


def _add(group: list[int], cost: int) -> None:
    group[0], group[1] = min(group[0] + cost, _ENDLESS), cost


def _extend(group: list[int], cost: int) -> None:
    group[0], group[1] = min(group[0] + cost, _ENDLESS), min(group[1] + cost, _ENDLESS)


def _cost_of(token: str) -> int:
    if token[:2] in ("\\p", "\\P"):
        return _OF_A_UNICODE_CLASS
    return _OF_A_WIDE_CLASS if token in (".", "\\W", "\\D", "\\S") else 1


def check_size(schema: JsonObject) -> None:
    """Raise TooCostly where a schema is too large to do anything with it."""
    level: list[Any] = [schema]
    parts = depth = 0
    while level:
        parts, depth = parts + _size_of(level), depth + 1
        if parts > _MAX_PARTS:
            raise TooCostly(f"it is made of more than {_MAX_PARTS:,} parts")
        if depth > _MAX_DEPTH:
            raise TooCostly(f"it is nested more than {_MAX_DEPTH} deep")
        level = [inner for value in level for inner in inside(value)]


def _size_of(values: list[Any]) -> int:
    """Numbers and texts are a tenth of the work that lists and objects are."""
    whole = sum(isinstance(x, dict | list) for x in values)
    return whole + (len(values) - whole) // 10


def inside(value: Any) -> Iterable[Any]:
    """The values that are directly in this one."""
    if isinstance(value, dict):
        return cast(JsonObject, value).values()
    return cast(list[Any], value) if isinstance(value, list) else ()


class _Node:
    """One schema in the whole: what is checked with it, on the same value and on those inside."""

    __slots__ = ("each", "in_place", "matching", "one", "times", "weight")

    def __init__(self, weight: int, matching: int) -> None:
        self.weight = weight
        self.matching = matching
        self.times = 1
        self.in_place: list[_Node] = []
        self.each: list[_Node] = []
        self.one: list[list[_Node]] = []  # of each group, one applies to a value


class _Graph:
    """All schemas that a check may come to, those that need no other one first."""

    def __init__(self, root: JsonObject) -> None:
        self.compiling = 0
        self.has_patterns_for_names = False
        self._patterns = 0
        self._names = _Names(root)
        self._nodes: dict[int, _Node] = {}
        self._all: list[_Node] = []
        self._waiting: list[tuple[JsonObject, _Node]] = []
        first = self._node(root)
        while self._waiting:
            self._join(*self._waiting.pop())
        alone = [x for x in self._all if not x.in_place]
        joined = TopologicalSorter({x: x.in_place for x in self._all if x.in_place})
        try:
            self.nodes = [*alone, *(x for x in joined.static_order() if x.in_place)]
        except CycleError:
            raise TooCostly("it refers to itself without an end") from None
        # Whoever asks wants to know about the whole.
        self.nodes.append(whole := _Node(0, 0))
        whole.in_place.append(first)

    def _new(self, weight: int = 1, matching: int = 0) -> _Node:
        node = _Node(weight, matching)
        self._all.append(node)
        return node

    def _node(self, schema: Any) -> _Node:
        known = self._nodes.get(id(schema))
        if known is None:
            known = self._new()
            if isinstance(schema, dict):
                self._nodes[id(cast(JsonObject, schema))] = known
                self._waiting.append((cast(JsonObject, schema), known))
        return known

    def _join(self, schema: JsonObject, node: _Node) -> None:
        for word, value in schema.items():
            join = _JOINING.get(word)
            if join is not None:
                join(self, value, node)

    def join_here(self, value: Any, node: _Node) -> None:
        """It is checked on the same value."""
        several = cast(list[Any], value) if isinstance(value, list) else [value]
        node.in_place += [self._node(x) for x in several if isinstance(x, dict)]

    def join_members_here(self, value: Any, node: _Node) -> None:
        """Its members are."""
        node.in_place += [self._node(x) for x in inside(value) if isinstance(x, dict)]

    def join_reference(self, value: Any, node: _Node) -> None:
        """What it leads to is."""
        if _IS_BUILT_IN in str(value):
            whole = self._new(_OF_BUILT_IN)
            whole.each.append(whole)
            node.in_place.append(whole)
        else:
            node.in_place += [self._node(x) for x in self._names.targets(value)]

    def join_each(self, value: Any, node: _Node) -> None:
        """It is checked on each value inside; of a list, one on each."""
        if isinstance(value, list):
            self.join_one(cast(Any, value), node)
        elif isinstance(value, dict):
            node.each.append(self._node(cast(Any, value)))

    def join_unevaluated(self, value: Any, node: _Node) -> None:
        """What it is checked on is found by checking everything else again."""
        node.times = _TIMES_UNEVALUATED
        self.join_each(value, node)

    def join_one(self, value: Any, node: _Node) -> None:
        """One of its members is checked on each value inside."""
        node.one.append([self._node(x) for x in inside(value) if isinstance(x, dict | bool)])

    def join_by_pattern(self, value: Any, node: _Node) -> None:
        """All of its members may be, each depending on a pattern."""
        for pattern, schema in cast(JsonObject, value if isinstance(value, dict) else {}).items():
            self.has_patterns_for_names = True
            node.each += [self._new(matching=self._pattern(pattern)), self._node(schema)]

    def join_pattern(self, value: Any, node: _Node) -> None:
        """A text has to match it."""
        if isinstance(value, str):
            node.matching += self._pattern(value)

    def join_values(self, value: Any, node: _Node) -> None:
        """They are compared, one by one."""
        node.weight += _size(value)

    def _pattern(self, pattern: str) -> int:
        cost = compiling_cost(pattern)
        self.compiling += cost
        self._patterns += 1
        if self.compiling > _MAX_COMPILING or self._patterns > _MAX_PATTERNS:
            raise TooCostly("its patterns are too many, or repeat too much")
        return cost + (_OF_LOOKING_AROUND if _LOOKS_AROUND.search(pattern) else 0)


class _Levels:
    """A cost of all nodes for values on each level of depth, found when it is asked for."""

    def __init__(self, nodes: list[_Node], cost: Callable[[_Node], int]) -> None:
        self._nodes = nodes
        self._own = cost
        self._found: list[int] = []
        self._last: dict[_Node, int] = {}

    def at(self, depth: int) -> int:
        """What one value so deep costs at most."""
        if depth < len(self._found):
            return self._found[depth]
        if depth >= max(_MAX_COUNTING // len(self._nodes), _FIRST_LEVELS):
            return _ENDLESS
        while len(self._found) <= depth:
            self._last = self._next(is_top=not self._found)
            self._found.append(self._last[self._nodes[-1]])
        return self._found[depth]

    def _next(self, *, is_top: bool) -> dict[_Node, int]:
        above, found = self._last, dict[_Node, int]()
        for node in self._nodes:
            cost = self._own(node) if is_top else self._inside(node, above)
            cost += sum(found[x] for x in node.in_place)
            found[node] = min(cost * node.times, _ENDLESS)
        return found

    def _inside(self, node: _Node, above: dict[_Node, int]) -> int:
        """Every value inside is checked with each of these, and with one of each group."""
        cost = sum(above[x] for x in node.each)
        return cost + sum(max((above[x] for x in group), default=0) for group in node.one)


class _Names:
    """What references lead to. One that may lead to several leads to all of them here."""

    def __init__(self, root: JsonObject) -> None:
        self._root = root
        self._anchors: dict[str, list[Any]] = {}
        self._documents: dict[str, list[Any]] = {}
        self._walk(root)

    def targets(self, reference: Any) -> list[Any]:
        """Every schema that this may lead to."""
        if not isinstance(reference, str):
            return []
        base, _, fragment = (unquote(x) for x in reference.partition("#"))
        if fragment and not fragment.startswith("/"):
            return self._anchors.get(fragment, [])
        found = [_at(x, fragment) for x in self._called(base)]
        schemas = [cast(JsonObject, x) for x in found if isinstance(x, dict)]
        return [*{id(x): x for x in schemas}.values()]

    def _called(self, base: str) -> list[Any]:
        if name := _last(base):
            return self._documents.get(name, [])
        return [self._root, *(x for several in self._documents.values() for x in several)]

    def _walk(self, root: JsonObject) -> None:
        waiting: list[Any] = [root]
        while waiting:
            part = waiting.pop()
            waiting += inside(part)
            if isinstance(part, dict):
                self._note(cast(JsonObject, part))

    def _note(self, part: JsonObject) -> None:
        for word in ("$anchor", "$dynamicAnchor"):
            if isinstance(name := part.get(word), str):
                self._anchors.setdefault(name, []).append(part)
        for word in ("$id", "id"):
            if isinstance(name := part.get(word), str):
                base, _, fragment = name.partition("#")
                named, key = (self._documents, _last(unquote(base))) if base else (
                    self._anchors, unquote(fragment)
                )  # fmt: skip
                named.setdefault(key, []).append(part)
        if "$recursiveAnchor" in part:
            self._documents.setdefault("", []).append(part)


def _last(address: str) -> str:
    """What is left of an address however it was resolved; empty where that is nothing."""
    name = address.rstrip("#").rpartition("/")[2].casefold()
    return "" if name in (".", "..") else name


def _at(document: Any, pointer: str) -> Any:
    for name in pointer.split("/")[1:]:
        name = name.replace("~1", "/").replace("~0", "~")
        if isinstance(document, dict):
            document = cast(JsonObject, document).get(name)
        elif isinstance(document, list) and name.isdecimal():
            members = cast(list[Any], document)
            document = members[int(name)] if int(name) < len(members) else None
        else:
            return None
    return document


def _size(value: Any) -> int:
    """How many lists and objects it is made of, and tens of others."""
    count, level = 0, [value]
    while level:
        count += _size_of(level)
        level = [inner for part in level for inner in inside(part)]
    return count


_JOINING: Mapping[str, Callable[[_Graph, Any, _Node], None]] = {
    **dict.fromkeys(("allOf", "anyOf", "oneOf", "not", "if", "then", "else"), _Graph.join_here),
    **dict.fromkeys(("dependentSchemas", "dependencies"), _Graph.join_members_here),
    **dict.fromkeys(("$ref", "$dynamicRef", "$recursiveRef"), _Graph.join_reference),
    **dict.fromkeys(
        ("items", "additionalItems", "additionalProperties", "contains", "propertyNames"),
        _Graph.join_each,
    ),
    **dict.fromkeys(("unevaluatedItems", "unevaluatedProperties"), _Graph.join_unevaluated),
    **dict.fromkeys(("properties", "prefixItems"), _Graph.join_one),
    **dict.fromkeys(("enum", "required"), _Graph.join_values),
    "patternProperties": _Graph.join_by_pattern,
    "pattern": _Graph.join_pattern,
}
