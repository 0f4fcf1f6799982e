"""Searches that nobody asked for in words: for the number of a thing that is called by its name,
and in a memory for what nothing else can tell.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeAlias

from ..reading.arguments import Filled
from ..reading.leftover import leftover
from ..reading.mentions import Mention
from ..reading.parameters import Parameter
from ..reading.parts import Part
from ..reading.tools import WordedTool
from ..reading.words import name_words, words

Givers: TypeAlias = Callable[[WordedTool, Parameter], Iterable[WordedTool]]
"""The tools that may give what a parameter of a tool takes, best first."""

_MEMORY = frozenset(name_words("memory_memories_note_notes"))
_ABOUT_ONESELF = re.compile(r"\b(?:my|mine|me|i|our|we)\b", re.IGNORECASE)
_QUESTION = re.compile(r"wh\w+\b|how\b|.*\?\s*$", re.IGNORECASE | re.DOTALL)
_ID_WORDS = frozenset(name_words("id_key_code_number_no"))


def lookup(
    part: Part, tool: WordedTool, filled: Filled, givers: Givers
) -> tuple[WordedTool, Filled, str] | None:
    """A search that gives the one id that is missing: the tool, its arguments, and the name.

    For "borrow Dracula": `book_id` is missing, `givers` says which tool gives it, and
    "Dracula" is left of the words.
    """
    if len(filled.missing) != 1 or filled.missing[0].topic != "id":
        return None
    things = frozenset(filled.missing[0].stems) - _ID_WORDS
    giving = givers(tool, filled.missing[0]) if things else ()
    searching = next((x for x in giving if _searches(x)), None)
    if searching is None:
        return None
    query = next(x for x in searching.parameters if x.is_wanted)
    used = [(x.start, x.end) for x in filled.used]
    chose = things | tool.name_stems | {*tool.sentence_stems}
    stated = [x for x in part.mentions if x.kind in ("quoted", "name") and x not in filled.used]
    named = _only_name(part, stated) or leftover(
        replace(query, topic="query"), tool, part, used, chose
    )
    if named is None or all(x.stem in things for x in words(named.value)):
        return None
    return searching, Filled(({query.name: named.value},), is_guess=True), named.value


def _only_name(part: Part, stated: Sequence[Mention]) -> Mention | None:
    """The one name that stands within a part: at its beginning a capital says nothing."""
    inner = [x for x in stated if x.kind == "quoted" or x.start > part.start]
    return inner[0] if len(inner) == 1 and " and " not in inner[0].text else None


def recall(part: Part, tools: Iterable[WordedTool]) -> tuple[WordedTool, Filled] | None:
    """A search of what is remembered, for a question about the one who asks: "what is my name?"."""
    if not (_ABOUT_ONESELF.search(part.text) and _QUESTION.match(part.text)):
        return None
    remembering = (x for x in tools if _MEMORY & x.name_stems and _searches(x))
    searching = next(remembering, None)
    if searching is None:
        return None
    query = next(x for x in searching.parameters if x.is_wanted)
    return searching, Filled(({query.name: part.text.strip(" ?!.")},), is_guess=True)


def _searches(tool: WordedTool) -> bool:
    return not tool.changes and tool.takes_any_words and len(tool.required) <= 1
