"""Values in a request, and how well each fits a parameter."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..search.terms import root, terms
from .schema_ports import Input, look_of
from .vocabulary import ID_WORDS, root_set, word_set

if TYPE_CHECKING:
    from .request import Mention, PlanRequest, RequestStep

_TEXT_WORDS = (
    "text query q message body content question sentence prompt keyword keywords term search"
    " input task note comment description subject phrase string summary instruction data word"
)
# Kinds of values, and the words in parameters' names that ask for them.
_KIND_WORDS = {
    "email": "email mail recipient to receiver address cc bcc",
    "phone": "phone mobile telephone tel number recipient to",
    "url": "url link uri website site page webpage href address domain source",
    "date": "date day deadline due birthday birthdate dob when start end begin from to until"
            " checkin checkout departure arrival return in out time month year period",
    "time": "time hour at when start end alarm begin until",
    "datetime": "date time when start end datetime timestamp due begin",
    "path": "file path filename image audio video document folder directory picture photo text"
            " input output data source",
    "id": "id code key number sku token name username user identifier account ip address hash",
    "number": "number amount count limit quantity size length width height weight distance price"
              " age year rate radius duration minutes hours days id zip zipcode code value page"
              " percentage volume total term salary people guests adults",
    "name": "name title city country location place origin destination artist author person user"
            " company brand language currency state region team player movie song album book"
            " username topic keyword genre product symbol owner",
    "quoted": f"{_TEXT_WORDS} name title",
    "topic": "query q keyword keywords term terms search topic subject theme phrase about",
}  # fmt: skip
_KIND_ROOTS = {kind: root_set(words) for kind, words in _KIND_WORDS.items()}
_FORMATS = {"date": "date", "date-time": "datetime datetime date", "time": "time", "uri": "url",
            "url": "url", "email": "email"}  # fmt: skip
# Words in the names of parameters that a preposition before the value suggests.
_TO = word_set("to into destination target arrival receiver recipient end")
_FROM = word_set("from origin source departure start sender old")
_PEOPLE = word_set(
    "reader borrower customer member patient client guest employee student teacher friend"
    " colleague person user author owner receiver recipient"
)
_ID_WORD_BEFORE, _NAME_IN_VALUE, _CHOICE = 0.25, 0.3, 0.85
_ID_ROOTS = frozenset(map(root, ID_WORDS))
_NAME_BEFORE = (0.45, 0.15, 0.05)  # bonus for the parameter's name before the value, by distance
_FEWEST_DIGITS = 4  # of a number that may be an id
_WORD = re.compile(r"[\w'-]+")


@dataclass(frozen=True, slots=True)
class Literal:
    """Value for a parameter, its score, and its position in the request (-1: none)."""

    value: Any
    score: float
    place: int
    reason: str


def literals_for(inp: Input, step: RequestStep, request: PlanRequest) -> list[Literal]:
    """Return the values in a step that fit the parameter, the best first."""
    values = _choices(inp, step) if inp.shape.choices else _mentions(inp, step, request)
    return sorted(values, key=lambda x: (-x.score, x.place))


def _choices(inp: Input, step: RequestStep) -> Iterator[Literal]:
    """Yield the first of the parameter's allowed values that the step contains."""
    for one in inp.shape.choices:
        words = terms(one)
        if words and all(root(x) in step.roots for x in words):
            yield Literal(one, _CHOICE, -1, f"the request says {one!r}")
            return


def _mentions(inp: Input, step: RequestStep, request: PlanRequest) -> Iterator[Literal]:
    for one in step.mentions:
        score = _kind_score(inp, one)
        if score > 0:
            score = min(score + _context_score(inp, one, request.text), 1.0)
            is_text = "string" in inp.shape.kinds and not isinstance(one.value, str)
            value = one.text if is_text else one.value
            yield Literal(value, score, one.start, f"the request says {one.text[:40]!r}")


def _kind_score(inp: Input, one: Mention) -> float:
    kinds = {*(inp.shape.items or inp.shape.kinds)}
    if formats := _FORMATS.get(inp.shape.format):
        return 0.6 if one.kind in formats.split() else 0.0
    if one.kind == "number" and not inp.is_opaque:
        if kinds & {"integer", "number"}:
            return 0.55
        return 0.3 if "string" in kinds else 0.0
    if kinds and "string" not in kinds and not (inp.is_opaque and one.kind == "number"):
        return 0.0
    if inp.is_opaque:
        return _id_score(inp, one)
    if one.kind == "quoted":
        return 0.5
    has_kind = bool(_KIND_ROOTS[one.kind] & {root(x) for x in inp.words})
    if one.kind == "topic":
        return 0.4 if has_kind else 0.0
    return 0.4 if has_kind else 0.25


def _id_score(inp: Input, one: Mention) -> float:
    if inp.examples:
        return 0.75 if look_of(one.text) in inp.examples else 0.0
    if one.kind == "number" and sum(x.isdigit() for x in one.text) < _FEWEST_DIGITS:
        return 0.0
    return {"id": 0.5, "quoted": 0.45, "number": 0.4, "name": 0.15}.get(one.kind, 0.1)


def _context_score(inp: Input, one: Mention, text: str) -> float:
    """Return the score of the words around a value."""
    names = {root(x) for x in inp.words}
    around = text[max(one.start - 60, 0) : one.start]
    before = [root(x) for x in terms(around)[-3:][::-1]]
    score = 0.2 * bool(names & _KIND_ROOTS[one.kind])
    distinctive = names
    if inp.is_opaque:
        distinctive = {root(x) for x in inp.words if x not in ID_WORDS} or names
        score += _ID_WORD_BEFORE * any(x in _ID_ROOTS for x in before)
    near = [x for word, x in zip(before, _NAME_BEFORE, strict=False) if word in distinctive]
    if near:
        score += near[0]
    elif {root(x) for x in inp.about} & {*before}:
        score += 0.1
    score += 0.2 * bool(names & {root(x) for x in terms(text[one.end : one.end + 30])[:2]})
    score += _NAME_IN_VALUE * bool(names & {root(x) for x in terms(one.text)})
    small = _WORD.findall(around[-20:])
    last = small[-1].casefold() if small else ""
    score += 0.3 * (last in ("from", "between") and bool(_FROM & {*inp.words}))
    score += 0.2 * (last in ("to", "and", "into") and bool(_TO & {*inp.words}))
    is_for = last in ("to", "for") and one.kind == "name"
    return score + 0.3 * (is_for and bool(_PEOPLE & {*inp.words}))
