"""Patterns for names: a text with `*`, or a regular expression. None can hang.

`globs` and `fits` compare letter by letter, for lists that select or allow calls. `guard` is for
every list that blocks calls: no server gets past it with another spelling of a name.

Regular expressions use Rust's `regex`, which takes time in proportion to the text, whatever the
expression: it has no look-around and no back-references.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from .names import fold_letters, fold_name, skeleton
from .tools import ToolKey

REGEX = "regex:"
"""Prefix of a regular expression, where one is allowed."""

Fits: TypeAlias = Callable[[str], bool]

_Parts: TypeAlias = tuple[str, ...]
"""A pattern, split at each `*`."""

_MOST_CHARS = 1_000  # of an expression: a longer one is a program, and cannot be reviewed
_MOST_BYTES = 1_000_000  # of a compiled expression: one that counts to thousands is refused


def names_of(key: ToolKey) -> tuple[str, ...]:
    """Return the names by which a pattern may mean a tool: its own, its source's, or both."""
    if not key.source:
        return (key.name,)
    return key.name, key.source, f"{key.source}/{key.name}", f"{key.source}.{key.name}"


def sure_names_of(key: ToolKey) -> tuple[str, ...]:
    """Return `names_of` without an own name that reads like another source's tool.

    For lists that allow calls: any server may call a tool `bank/pay`.
    """
    return tuple(x for x in names_of(key) if x != key.name or not key.source or _is_plain(x))


def _is_plain(name: str) -> bool:
    return "/" not in name and "." not in name


def globs(patterns: Iterable[str]) -> Fits:
    """Return a test whether a name fits one of these patterns; only `*` is special."""
    texts = tuple(patterns)
    plain = frozenset(x for x in texts if "*" not in x)
    wild = tuple(tuple(x.split("*")) for x in texts if "*" in x)
    return lambda name: name in plain or any(_fits(parts, name) for parts in wild)


def with_groups(patterns: Iterable[str], groups: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return the patterns and, at any depth, those in the groups they name; cycles are allowed."""
    expanded = dict.fromkeys(patterns)
    waiting = list(expanded)
    while waiting:
        matches = globs([waiting.pop()])
        members = [x for name, group in groups.items() if matches(name) for x in group]
        waiting += [x for x in dict.fromkeys(members) if x not in expanded]
        expanded.update(dict.fromkeys(members))
    return tuple(expanded)


def unmatched_patterns(patterns: Iterable[str], names: Iterable[str]) -> tuple[str, ...]:
    """Return the patterns of `globs` that fit none of the names, each once."""
    exact = frozenset(names)
    missing = (x for x in dict.fromkeys(patterns) if x not in exact)
    return tuple(x for x in missing if "*" not in x or not any(map(globs([x]), exact)))


def unmatched_guards(patterns: Iterable[str], names: Iterable[str]) -> tuple[str, ...]:
    """Return the patterns of a `guard` that fit none of the names, each once."""
    candidates = list(names)
    return tuple(x for x in dict.fromkeys(patterns) if not any(map(guard(x), candidates)))


def guard(*patterns: str) -> Fits:
    """Return a test whether a name fits one of these patterns or looks like a name that does.

    Case, letters of other alphabets, invisible characters, line breaks and separators of words make
    no difference; see `core.names`.

    Raises:
        ValueError: a pattern is not valid; the message says why.
    """
    matches = guard_of_looks(*patterns)
    return lambda name: matches(looks((name,)))


class Looks(NamedTuple):
    """The readings of some names, one on each line: as letters only, and in words."""

    letters: str
    words: str


@lru_cache(maxsize=1_000)  # several guards read the same names
def looks(names: tuple[str, ...]) -> Looks:
    """Return all readings of these names."""
    in_letters, in_words = [""], [""]
    for name in names:
        look = fold_name(name)
        in_letters.append(look.replace("_", ""))
        together = skeleton("".join(name.split()))
        in_words += {name.replace("\n", " "), look, look.strip("_"), together}
    return Looks("\n".join((*in_letters, "")), "\n".join((*in_words, "")))


def guard_of_looks(*patterns: str) -> Callable[[Looks], bool]:
    """Return a `guard` for the readings of several names; one of the names must fit.

    Raises:
        ValueError: one of the patterns is not valid.
    """
    plain = [f"\n{fold_letters(x)}\n" for x in patterns if not is_wild(x)]
    regexes = [_regex(x.removeprefix(REGEX), "(?i)") for x in patterns if x.startswith(REGEX)]
    wild = {
        y for x in patterns if is_wild(x) and not x.startswith(REGEX) for y in _split_at_stars(x)
    }
    single = [_texts_between(x)[0] for x in wild if len(_texts_between(x)) == 1]
    several = [x for x in wild if len(_texts_between(x)) > 1]

    def is_match(name: Looks) -> bool:
        if any(x in name.letters for x in plain) or any(x in name.words for x in single):
            return True
        if not (several or regexes):
            return False
        lines = name.words.split("\n")[1:-1]
        return any(any(_fits(x, y) for y in lines) for x in several) or any(
            any(map(x, lines)) for x in regexes
        )

    return is_match


def _split_at_stars(pattern: str) -> set[_Parts]:
    parts = pattern.split("*")
    return {tuple(parts), tuple(map(fold_name, parts))}


def _texts_between(pattern: _Parts) -> list[str]:
    """Return the texts between the stars, with a line end at each end that has no star."""
    first, *middle, last = pattern
    ends = [f"\n{first}" * bool(first), f"{last}\n" * bool(last)]
    return [x for x in (ends[0], *middle, ends[1]) if x] or [""]


def is_wild(pattern: str) -> bool:
    """Return whether a pattern may fit several names."""
    return "*" in pattern or pattern.startswith(REGEX)


def fits(pattern: str, *, across_lines: bool = False) -> Fits:
    """Return a test whether a whole text fits this pattern, which may be a regular expression.

    With `across_lines` a line break is a character like any other.

    Raises:
        ValueError: the pattern is not valid; the message says why.
    """
    if pattern.startswith(REGEX):
        fit = _regex(pattern.removeprefix(REGEX))
        return (lambda text: fit(text) or fit(_LINE_ENDS.sub(" ", text))) if across_lines else fit
    if "*" not in pattern:
        return pattern.__eq__
    parts = tuple(pattern.split("*"))
    return lambda text: _fits(parts, text)


def _regex(expression: str, flags: str = "") -> Fits:
    # Imported here because most runs do not need this compiled library for patterns.
    import jsonschema_rs

    if len(expression) > _MOST_CHARS:
        raise ValueError(f"it is longer than {_MOST_CHARS:,} characters")
    limits = jsonschema_rs.RegexOptions(size_limit=_MOST_BYTES, dfa_size_limit=_MOST_BYTES)
    try:
        # Check it alone too: `a)|(b` would break out of the brackets.
        for pattern in (expression, f"{flags}^(?:{expression})$"):
            validator = jsonschema_rs.validator_for({"pattern": pattern}, pattern_options=limits)
    except (ValueError, jsonschema_rs.ValidationError):
        why = "it does not compile or is too large (no look-around, no back-references)"
        raise ValueError(why) from None
    return lambda text: validator.is_valid(_encodable(text))


def _encodable(text: str) -> str:
    """Return the text without lone surrogates, which no other library takes."""
    return text if text.isascii() else _HALF.sub("\ufffd", text)


_HALF = re.compile("[\ud800-\udfff]")
_LINE_ENDS = re.compile("[\n\r\u2028\u2029]")  # characters that `.` does not match


def _fits(pattern: _Parts, name: str) -> bool:
    """Return whether the pattern fits this name, with any text for each `*`; in linear time."""
    if not name.startswith(first := pattern[0]):
        return False
    if len(pattern) == 1:
        return first == name
    last, middle = pattern[-1], pattern[1:-1]
    at, end = len(first), len(name) - len(last)
    if end < at or not name.endswith(last):
        return False
    for part in middle:
        at = name.find(part, at, end) + len(part)
        if at < len(part):
            return False
    return True
