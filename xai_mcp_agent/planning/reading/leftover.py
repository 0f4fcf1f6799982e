"""What is left of a request when its verb, its values and its small words are taken away."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .hints import wanting_ends
from .mentions import Mention
from .parameters import Parameter
from .parts import Part
from .tools import WordedTool
from .words import Word, is_action, is_generic, is_stop, related, stem_set, superlative_in, words

# After one of these the thing itself follows: "books about the sea".
_TOPIC_LEAD = re.compile(
    r"\b(?:about|on the (?:topic|subject) of|regarding|concerning|containing|matching|mentioning|"
    r"titled|called|named|for|by|of|with)\s+(?:(?:the|a|an)\s+)?",
    re.IGNORECASE,
)
# "Remember that my dog is called Rex": all that follows is the text, small words too.
_CLAUSE = re.compile(r"\bthat\s+(?=\S+\s+\S)", re.IGNORECASE)
_LONGEST_NAME_WORDS = 4
# Never what a search or a name is about.
_SURE = ("path", "url", "email", "zone", "date", "time", "datetime")
# Small words that still belong to the request: "say this: ...", "tell me about ...".
_STILL_ASKING = stem_set(
    """
    the a an this that these those following text please to for of me with what is are how do you
    can could would will i my about tell let us in on want need like mind
    """
)
# Led to a value that is taken already: "HEAD in" /some/path.
_DANGLING = stem_set("in of to for with from at by on and into as")
_PUNCTUATION = " \t\n.,;:!?\"'\u201c\u201d()"


def leftover(
    parameter: Parameter,
    tool: WordedTool,
    part: Part,
    used: Sequence[tuple[int, int]],
    chose: frozenset[str],
) -> Mention | None:
    """The words of a part that neither chose the tool nor gave another value; None when none are.

    A search takes only the words it is about; a text to be handled keeps its inner
    words and its end as they are. `chose` are the stems that chose the tool.
    """
    verbatim = parameter.topic in ("text", "expression") and not parameter.is_thing
    found = _first_stretch(part, tool, used, chose, verbatim=verbatim)
    if found and parameter.is_thing:
        found = _whole_thing(part, tool, used, chose)
    if found is None or not _suits(parameter, words(part.text[slice(*found)]), chose):
        return None
    kept = parameter.topic == "text"
    text = part.text[slice(*found)].strip(" .,;:\n" if kept else _PUNCTUATION)
    if not text:
        return None
    start = part.start + part.text.index(text, found[0])
    return Mention("phrase", text, start, start + len(text))


def _first_stretch(
    part: Part, tool: WordedTool, used: Sequence[tuple[int, int]], chose: frozenset[str],
    *, verbatim: bool,
) -> tuple[int, int] | None:  # fmt: skip
    """The first stretch between the values that has words of its own."""
    sure = [(x.start, x.end) for x in part.mentions if x.kind in _SURE]
    for start, end in _unused(part, used if verbatim else [*used, *sure]):
        stretch = _trimmed(part.text, start, end, tool, chose, verbatim=verbatim)
        if stretch[1] > stretch[0]:
            return stretch
    return None


def _whole_thing(
    part: Part, tool: WordedTool, used: Sequence[tuple[int, int]], chose: frozenset[str]
) -> tuple[int, int] | None:
    """`a bottle of oil` from `add a bottle of oil to the list`: no part of it is its topic."""
    first = wanting_ends(part.text)
    for start, end in _unused(part, used):
        said = [x for x in words(part.text) if max(start, first) <= x.start and x.end <= end]
        while said and (said[0].stem in chose or _leads(said[0], tool, verbatim=False)):
            said.pop(0)
        while said and _trails(said[-1], tool, chose):
            said.pop()
        if said:
            return said[0].start, said[-1].end
    return None


def _suits(parameter: Parameter, left: Sequence[Word], chose: frozenset[str]) -> bool:
    """Whether the words may be a value: not only those that chose the tool, and few for a name."""
    if _only_chose(left, chose):
        return False
    if parameter.topic not in ("id", "person", "place"):
        return True
    if parameter.topic == "id" and _names_somebody(left):
        return False
    most = 1 if parameter.topic == "id" else _LONGEST_NAME_WORDS
    return len(left) <= most and not any(x.stem in chose or is_action(x.stem) for x in left)


def _names_somebody(left: Sequence[Word]) -> bool:
    """`Ada` is hardly an id: those have digits, signs or capitals throughout."""
    return all(x.text.istitle() and x.text.isalpha() for x in left)


def _only_chose(left: Sequence[Word], chose: frozenset[str]) -> bool:
    """Whether the words say no more than which tool is meant."""
    telling = [x.stem for x in left if not is_stop(x.stem)]
    return bool(telling) and all(x in chose for x in telling)


def _unused(part: Part, used: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The stretches between the values that were taken."""
    at, free = 0, list[tuple[int, int]]()
    for start, end in sorted(used):
        start, end = start - part.start, end - part.start
        if at <= start and end <= len(part.text):
            free.append((at, start))
            at = end
    return [*free, (at, len(part.text))]


def _trimmed(
    text: str, start: int, end: int, tool: WordedTool, chose: frozenset[str], *, verbatim: bool
) -> tuple[int, int]:
    said = [x for x in words(text) if start <= x.start and x.end <= end]
    kept = list(said)
    while kept and (kept[0].stem in chose or _leads(kept[0], tool, verbatim=verbatim)):
        kept.pop(0)
    while kept and not verbatim and _trails(kept[-1], tool, chose):
        kept.pop()
    cut_short = end < len(text)
    while kept and cut_short and kept[-1].stem in _DANGLING:
        end = kept.pop().start
    if not kept:
        return start, start
    first = kept[0].start
    clause = _CLAUSE.search(text, start) if verbatim else None
    if clause and clause.start() <= first:
        first = clause.end()
    if not verbatim and (lead := _TOPIC_LEAD.search(text, start, kept[-1].start)):
        first = max(first, lead.end())
    # Signs before the first word, such as a bracket or a minus, belong to a text.
    opening = re.search(r"[-(\[{<]+$", text[start:first]) if verbatim else None
    return first - (len(opening[0]) if opening else 0), end if verbatim else kept[-1].end


def _leads(word: Word, tool: WordedTool, *, verbatim: bool) -> bool:
    """Whether a word at the beginning is still the request, not yet its subject."""
    small = word.stem in _STILL_ASKING if verbatim else is_stop(word.stem)
    known = small or is_generic(word.stem) or _is_tool_word(word, tool)
    known = known or (not verbatim and bool(superlative_in(word.text)))
    return known or (is_action(word.stem) and bool(related(word.stem) & tool.name_stems))


def _trails(word: Word, tool: WordedTool, chose: frozenset[str]) -> bool:
    """Whether a word at the end is again the request: "is Dracula available"."""
    return is_stop(word.stem) or word.stem in chose or _is_tool_word(word, tool)


def _is_tool_word(word: Word, tool: WordedTool) -> bool:
    return word.stem in tool.name_stems or bool(related(word.stem) & tool.name_stems)
