"""Looks into what can be read, where no words surely mean a tool: searches, and lists of things.

Nothing that may change something is called for that. Which of the results answers is known when
they are there: the one that says what is asked about (`sought`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from ...core.schemas import properties
from ..reading.arguments import Filled, fill_arguments
from ..reading.leftover import leftover
from ..reading.named import LIMITS
from ..reading.parameters import Parameter
from ..reading.parts import Part
from ..reading.tools import CHANGING, READING, WordedTool, told_stems
from ..reading.vocabulary import ORDERS, QUESTION_WORDS, SEARCHING_WORDS, SUPERLATIVES
from ..reading.words import is_action, is_generic, is_stop, stem, superlative_in, words

MOST_LOOKS = 6
_MOST_LISTED = 100
_SEARCHING, _QUESTIONS = (frozenset(map(stem, x)) for x in (SEARCHING_WORDS, QUESTION_WORDS))
_EMPTY_FOR_ALL = re.compile(
    r"\bempty\b[^.;]*\b(?:all|every\w*)\b|\b(?:all|every\w*)\b[^.;]*\bempty\b", re.IGNORECASE
)
_ORDER = (*ORDERS, "order", "everything")
_NAMES = ("quoted", "name", "id")
_VALUES = ("path", "url", "email", "zone", "date", "datetime", "id", "quoted")
_ALL = re.compile(r"\b(?:all|everything|every|list of)\b", re.IGNORECASE)


def may_look(part: Part) -> bool:
    """Whether a part asks to be told something, and something in it can be looked for."""
    first = {x.stem for x in words(part.text)[:1]}
    is_question = bool(first & _QUESTIONS)
    told = told_stems(part.matching_text())[:1]
    if not is_question and (first & _SEARCHING or any(x in CHANGING for x in told)):
        return False
    is_told = part.text.endswith("?") or part.is_wish or any(map(is_generic, first))
    is_of_things = superlative_in(part.text) or _ALL.search(part.text)
    return (is_question or is_told) and bool(sought(part) or is_of_things)


def asks_for_all(part: Part) -> bool:
    """Whether a part asks for all of something."""
    return may_look(part) and bool(_ALL.search(part.text))


def sought(part: Part) -> tuple[str, ...]:
    """The words of a part that what is looked for must say: names, else what says something."""
    named = [x for x in part.mentions if x.kind in _NAMES]
    text = " ".join(str(x.value) for x in named) or part.text
    ordered = _ORDER if any(x.text.lower() in ORDERS for x in words(text)) else ()
    found = [x for x in words(text) if named or not _only_asks(x.text, x.stem)]
    found = [x for x in found if x.text.lower() not in ordered]
    return tuple(dict.fromkeys(x.text for x in found))


def looks(
    part: Part, ranked: Iterable[WordedTool], others: Iterable[WordedTool]
) -> list[tuple[WordedTool, Filled]]:
    """Calls that may find what a part asks for, searches first; `ranked` are the tools that its
    words speak for."""
    near = [x for x in ranked if x.only_reads]
    far = [x for x in others if _may_be_read(x) and x not in near and READING & x.name_stems]
    found = [*near, *far]
    searches = [call for x in found for call in _searches(x, part)]
    lists = [call for x in found for call in _lists(x, part)]
    return [*searches, *lists][:MOST_LOOKS]


def by_values(part: Part, tools: Iterable[WordedTool]) -> tuple[WordedTool, Filled] | None:
    """The one tool that only reads and takes just the values that a part states."""
    stated = [x for x in part.mentions if x.kind in _VALUES]
    if CHANGING.intersection(told_stems(part.text)) or not stated:
        return None
    if not all(_only_asks(x.text, x.stem) for x in words(part.matching_text())):
        return None
    found: list[tuple[WordedTool, Filled]] = []
    for tool in tools:
        if tool.read_only and tool.required:
            filled = fill_arguments(tool, part, frozenset())
            if not (filled.missing or filled.is_guess) and filled.used:
                found.append((tool, filled))
    return found[0] if len(found) == 1 else None


def whole_list(tool: WordedTool) -> dict[str, Any] | None:
    """The arguments with which a search gives everything, where it says that it does."""
    query = _query_of(tool)
    if query is None or not _EMPTY_FOR_ALL.search(query.description):
        return None
    arguments: dict[str, Any] = {query.name: ""} if query.required else {}
    for parameter in tool.parameters:
        most = properties(tool.schema).get(parameter.name, {}).get("maximum")
        if parameter.is_number and set(parameter.stems) & LIMITS and isinstance(most, int):
            arguments[parameter.name] = min(most, _MOST_LISTED)
    return arguments


def _may_be_read(tool: WordedTool) -> bool:
    """Whether its server says that it only reads, or it plainly lists something."""
    return bool(tool.read_only) or (tool.only_reads and not tool.required)


def _searches(tool: WordedTool, part: Part) -> Iterator[tuple[WordedTool, Filled]]:
    query = _query_of(tool)
    if query is None:
        return
    text = _searched(query, tool, part)
    if text:
        yield tool, Filled(({query.name: text},), is_guess=True)
    whole = whole_list(tool)
    if whole is not None:
        yield tool, Filled((whole,), is_guess=True)


def _searched(query: Parameter, tool: WordedTool, part: Part) -> str:
    named = [x for x in part.mentions if x.kind in _NAMES]
    if named:
        return str(max(named, key=lambda x: x.end - x.start).value)
    left = leftover(replace(query, topic="query"), tool, part, (), tool.name_stems)
    return str(left.value) if left else ""


def _query_of(tool: WordedTool) -> Parameter | None:
    """What a search takes; None for a tool that is none, or takes more."""
    texts = [x for x in tool.parameters if x.kind == "string" and x.is_wanted]
    if len(texts) != 1 or len(tool.required) > 1 or texts[0].choices:
        return None
    is_search = texts[0].topic == "query" or (
        texts[0].topic == "text" and tool.name_stems & _SEARCHING
    )
    return texts[0] if is_search else None


def _lists(tool: WordedTool, part: Part) -> Iterator[tuple[WordedTool, Filled]]:
    if _query_of(tool) is None:
        filled = fill_arguments(tool, part, frozenset())
        if not (filled.missing or filled.is_guess or filled.needs_earlier):
            yield tool, filled


def _only_asks(text: str, stemmed: str) -> bool:
    return (
        is_stop(stemmed)
        or is_generic(stemmed)
        or is_action(stemmed)
        or stemmed in _QUESTIONS
        or text.lower() in SUPERLATIVES
    )
