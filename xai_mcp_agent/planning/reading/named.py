"""Values that a text gives by a parameter's own name: `limit 5`, `message "x"`, `3 days`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from .mentions import Mention, whole
from .parameters import Parameter
from .parts import Part
from .vocabulary import word_set
from .words import is_generic, is_stop, plain_name, stem, stem_set, words

# Words of a name that people leave out: they say "book 7", not "book id 7".
_LEFT_OUT = word_set("id name value number no text string max min num count of the")
_LINK = (
    r"\s*(?P<link>(?:(?:is|are|of|to|as|at|set|equals?|number|no\.?|id|name|the|=|:|named|called)"
    r"(?=\W)\s*|[=:#]\s*)*)"
)
_FIRM = re.compile(r"[=:]|\b(?:named|called|is|equals?|set to)\b")
_STATING = re.compile(r"(?:\b(?:with|using|and|set)|[,(])\s+(?:the\s+|a\s+|an\s+)?$", re.IGNORECASE)
_BARE = re.compile(r"(?<=\s)\w")
_TOKEN = re.compile(r"[^\s,;!?\"']+(?<![.,])")
_STRETCH = re.compile(r"[^,;\n]+?(?=\s+(?:and|with|in|to|for)\b|[,;\n]|[.!?]?\s*$)")
LIMITS = stem_set("limit max maximum count top n num size first result take k page")
_LIMIT_LEADS = re.compile(
    r"\b(?:first|top|last|latest|recent|most|to|than|limit(?:ed)?(?: to| of)?|max(?:imum)?(?: of)?|"
    r"only|newest|oldest|past|previous|next|show(?: me)?|list|find|get|give me|fetch|return)\s+$",
    re.IGNORECASE,
)
_SURE_LIMIT = re.compile(r"\b(?:first|top|last|at most|up to|no more than)\s+$", re.IGNORECASE)
_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800}
_BACK = frozenset({"ago", "before", "earlier", "back"})
_TYPED: dict[str, tuple[str, ...]] = {
    "zone": ("zone",), "url": ("url",), "email": ("email",), "path": ("path", "quoted"),
    "datetime": ("datetime", "date"), "date": ("date", "datetime"), "time": ("time",),
}  # fmt: skip
_LOOSE = ("quoted", "name", "id", "number", "path", "url", "email", "date", "time", "unit")


def named(
    parameter: Parameter, part: Part, free: Sequence[Mention], *, bare: bool = False
) -> Mention | None:
    """The value right after the parameter's name, if one of the right kind stands there.

    `bare`: so may any word: `namespace blue`.
    """
    for written, is_all in _spellings(parameter):
        pattern = re.compile(rf"(?<![\w-]){written}(?:e?s)?(?!\w){_LINK}", re.IGNORECASE)
        for found in pattern.finditer(part.text):
            stated = _STATING.search(part.text[: found.start()][-12:])
            is_bare = bare and not found["link"] and _BARE.match(part.text, found.end())
            firm = is_all and bool(is_bare or stated or _FIRM.search(found["link"]))
            mention = _at(parameter, part, free, found.end(), firm=firm)
            if mention:
                return mention
    return None


def limited(parameter: Parameter, part: Part, numbers: Sequence[Mention]) -> Iterator[Mention]:
    """Numbers that say how many are wanted, for a parameter that limits a list."""
    if set(parameter.stems) & LIMITS:
        for number in numbers:
            lead = part.text[: number.start - part.start]
            if _LIMIT_LEADS.search(lead[-20:]):
                yield number


def is_limit(part: Part, number: Mention) -> bool:
    """Whether a number says how many are wanted, whatever is asked: `the first 3`."""
    return bool(_SURE_LIMIT.search(part.text[: number.start - part.start][-20:]))


def counted(parameter: Parameter, part: Part, numbers: Sequence[Mention]) -> Iterator[Mention]:
    """Numbers before the thing that the parameter counts: `3 days`, `5 context lines`."""
    if parameter.topic == "id":
        return  # "3 books" is not book 3.
    telling = {x for x in parameter.stems if not is_stop(x) and x not in _LEFT_OUT}
    for number in numbers:
        after = words(part.text[number.end - part.start :][:40])[:2]
        if any(x.stem in telling for x in after):
            yield number


def measured(parameter: Parameter, part: Part, mention: Mention, value: float | int) -> float | int:
    """A number in the unit and with the sign that the parameter wants: `2 weeks` are 14 `days`.

    `3 days ago` is negative where the description says that this means earlier.
    """
    after = words(part.text[mention.end - part.start :][:40])[:2]
    said = after[0].stem if after else ""
    wanted = next((x for x in parameter.stems if x in _SECONDS), "")
    if wanted and said in _SECONDS:
        scaled = value * _SECONDS[said] / _SECONDS[wanted]
        exact = whole(scaled)
        value = scaled if exact is None else exact
    is_back = any(x.text.lower() in _BACK for x in after)
    return -abs(value) if is_back and "negative" in parameter.description.lower() else value


def _spellings(parameter: Parameter) -> Iterator[tuple[str, bool]]:
    """How a text may write the name, and whether that is all of it."""
    spoken = plain_name(parameter.name).split()
    if not spoken:
        return
    yield r"[ _-]?".join(re.escape(x) for x in spoken), True
    short = [x for x in spoken if x not in _LEFT_OUT]
    if short and short != spoken and not all(is_generic(stem(x)) for x in short):
        yield r"[ _-]?".join(re.escape(x) for x in short), False


def _at(
    parameter: Parameter, part: Part, free: Sequence[Mention], at: int, *, firm: bool
) -> Mention | None:
    typed = _TYPED.get(parameter.topic, _LOOSE)
    kinds = ("number", "id") if parameter.is_number else typed
    start = part.start + at
    here = [x for x in free if x.kind in kinds and 0 <= x.start - start <= 1]
    here = [x for x in here if x.start == start or part.text[at] in "#$"]
    if here:
        return max(here, key=lambda x: (x.kind == "quoted", x.end))
    if parameter.kind != "string" or kinds is not _LOOSE or not firm:
        return None
    return _unquoted(parameter, part, at)


def _unquoted(parameter: Parameter, part: Part, at: int) -> Mention | None:
    """`branch called fix-1`, `text = hello world`: bare words after a firm link."""
    one_word = parameter.topic not in ("query", "text", "name", "place", "person")
    found = (_TOKEN if one_word else _STRETCH).match(part.text, at)
    if not found or all(is_stop(x.stem) for x in words(found[0])):
        return None
    return Mention("quoted", found[0].strip(), part.start + found.start(), part.start + found.end())
