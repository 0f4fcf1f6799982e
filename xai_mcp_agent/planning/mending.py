"""What is plainly meant by a name, a value or a path that is nearly right, and nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from ..core.json import JsonObject
from ..core.names import skeleton
from ..core.schemas import SchemaCheck, types_of, value_from_text

_NAMED_ALIKE = 85  # of 100: one letter in a short name, two or three in a long one
_CLEARLY_BEST = 5
_MOST_COMPARED = 300  # characters
_SEPARATORS = re.compile(r"[/:\\]+|(?<=[a-z0-9])(?=[A-Z])")
_DEFINITIONS = ("$defs", "definitions")
_INDEX = re.compile(r"\[(?:\d{1,9}|\*)\]|(?<=\w)\.\d{1,9}(?=\.|\Z)")
_ROOT = re.compile(r"\A(?:\$\.?|(?:result|output|response)s?\.(?=\w))")
_PATH = re.compile(r"[^\s\x00-\x1f]{1,200}")


def plain(name: str) -> str:
    """The same for names that differ in case, and in what separates their words."""
    return skeleton(_SEPARATORS.sub("_", name[:_MOST_COMPARED]))


def nearest_sure(name: str, known: Mapping[str, str]) -> str | None:
    """Which of the known is meant, by its plain name; None where that is not clear.

    The first word must be nearly the same and begin alike: `get_user` is not `set_user`, and
    `subscribe` not `unsubscribe`.
    """
    # Here, because most names are right.
    from rapidfuzz import fuzz, process

    wanted = plain(name)
    if wanted in known:
        return known[wanted]
    found = process.extract(
        wanted.replace("_", ""),
        {x: x.replace("_", "") for x in known if _begin_alike(wanted, x)},
        scorer=fuzz.ratio, limit=2, score_cutoff=_NAMED_ALIKE,
    )  # fmt: skip
    if not found or (len(found) > 1 and found[0][1] - found[1][1] < _CLEARLY_BEST):
        return None
    return known[found[0][2]]


def by_plain_name(names: Iterable[str]) -> dict[str, str]:
    """The names by their plain ones, for `nearest_sure`; those that are told apart only."""
    found: dict[str, str] = {}
    twice = set[str]()
    for name in names:
        if found.setdefault(plain(name), name) != name:
            twice.add(plain(name))
    return {x: name for x, name in found.items() if x not in twice}


def fitted(value: Any, spec: JsonObject, root: JsonObject) -> tuple[Any, str]:
    """The value as the parameter's schema wants it, and what is wrong with it if it cannot be."""
    check = SchemaCheck({**{x: root[x] for x in _DEFINITIONS if x in root}, **spec})
    problems = check.problems(value)
    if problems:
        for one in _readings(value, spec):
            if not check.problems(one):
                return one, ""
    return value, problems[0] if problems else ""


def path_in(field: str) -> str:
    """A path as it is written here, such as `orders[].id` for `$.orders[0].id`; or nothing."""
    path = _INDEX.sub("[]", _ROOT.sub("", field.strip())).removeprefix("[]").strip(".")
    return path if _PATH.fullmatch(path) else ""


def _begin_alike(one: str, other: str) -> bool:
    from rapidfuzz import fuzz

    first, second = one.split("_")[0], other.split("_")[0]
    joined, longer = sorted((one.replace("_", ""), other.replace("_", "")), key=len)
    if joined and longer.startswith(joined):
        return True
    return first[:1] == second[:1] and fuzz.ratio(first, second) >= _NAMED_ALIKE


def _readings(value: Any, spec: JsonObject) -> Iterator[Any]:
    """What it may have been meant as, the likeliest first."""
    kinds = types_of(spec)
    if isinstance(value, str):
        yield value.strip()
        yield value_from_text(value.strip(), spec)
        choices = spec.get("enum")
        if isinstance(choices, list):
            same = plain(value)
            yield from (
                x for x in cast("list[Any]", choices) if isinstance(x, str) and plain(x) == same
            )
    elif not isinstance(value, dict | list) and value is not None:
        yield json.dumps(value)
    if isinstance(value, list) and len(cast("list[Any]", value)) == 1:
        yield value[0]
    if "array" in kinds and not isinstance(value, list):
        yield [value]
    if isinstance(value, dict | list):
        yield json.dumps(value, ensure_ascii=False)
