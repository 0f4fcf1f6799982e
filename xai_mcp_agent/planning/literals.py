"""How well something that a request says serves as the value of a parameter."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..search.terms import root, terms
from .deeds import listed
from .ports import ID_WORDS, Input, look_of
from .steps import Request, Step

if TYPE_CHECKING:
    from .reading.mentions import Mention

_TEXT_WORDS = listed(
    """
    text query q message body content question sentence prompt keyword keywords term search
    input task note comment description subject phrase string summary instruction data word
    """
)
# Which words of a parameter's name want which kind of value.
_WANTED = {
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
    "quoted": " ".join(sorted(_TEXT_WORDS)) + " name title",
    "topic": "query q keyword keywords term terms search topic subject theme phrase about",
}  # fmt: skip
_WANTED_ROOTS = {kind: frozenset(root(x) for x in words.split()) for kind, words in _WANTED.items()}
_FORMATS = {"date": "date", "date-time": "datetime datetime date", "time": "time", "uri": "url",
            "url": "url", "email": "email"}  # fmt: skip
_TO = listed("to into destination target arrival receiver recipient end")
_FROM = listed("from origin source departure start sender old")
_PEOPLE = listed(
    """
    reader borrower customer member patient client guest employee student teacher friend colleague
    person user author owner receiver recipient
    """
)
_ENDINGS = {
    "image": "jpg jpeg png gif bmp webp tiff svg", "audio": "wav mp3 flac ogg m4a aac",
    "video": "mp4 avi mov mkv webm", "text": "txt md", "document": "pdf docx doc odt",
    "table": "csv xlsx xls tsv",
}  # fmt: skip
_MEDIA_OF = {ending: media for media, endings in _ENDINGS.items() for ending in endings.split()}
_MEDIA = frozenset(_ENDINGS)
# What has these in its name takes nothing else.
_ONLY_KINDS = {
    "email": "email quoted", "mail": "email quoted", "phone": "phone quoted number id",
    "url": "url quoted path", "zip": "number id quoted", "zipcode": "number id quoted",
    "postcode": "number id quoted", "date": "date datetime quoted number time",
    "time": "time datetime date quoted number",
}  # fmt: skip
_ONLY = frozenset(_ONLY_KINDS)
_CALLED_AN_ID = 0.25
_ITSELF = 0.3
_ID_ROOTS = frozenset(root(x) for x in ID_WORDS)
_BEFORE_IT = (0.45, 0.15, 0.05)
_SHORT_TIME = re.compile(r"HH:MM(?!:SS)", re.IGNORECASE)
_BEFORE = re.compile(r"[\w'-]+")


@dataclass(frozen=True, slots=True)
class Literal:
    """A value for a parameter, how well it serves, and where in the request it is (-1: nowhere)."""

    value: Any
    score: float
    place: int
    reason: str


def literals_for(inp: Input, step: Step, request: Request) -> list[Literal]:
    """What a step says that could be the value of a parameter, the best first."""
    found = [x for one in step.mentions if (x := _from_mention(inp, one, step, request))]
    if choice := _choice(inp, step):
        found.append(choice)
    return sorted(found, key=lambda x: (-x.score, x.place))


def _choice(inp: Input, step: Step) -> Literal | None:
    """One of the values that a parameter allows, where the step says it."""
    for one in inp.shape.choices:
        said = terms(one)
        if said and all(root(x) in step.roots for x in said):
            return Literal(one, 0.85, -1, f"the request says {one!r}")
    return None


def _from_mention(inp: Input, one: Mention, step: Step, request: Request) -> Literal | None:
    score = _by_type(inp, one) + _by_media(inp, one)
    if score <= 0:
        return None
    names = frozenset(root(x) for x in inp.words)
    if inp.shape.choices:
        return None
    if names & _WANTED_ROOTS[one.kind]:
        score += 0.2
    before, after = _around(one, request.text)
    about = {root(x) for x in inp.about}
    telling = names
    if inp.is_opaque:
        telling = frozenset(root(x) for x in inp.words if x not in ID_WORDS) or names
        score += _CALLED_AN_ID * any(word in _ID_ROOTS for word, _ in before)
    near = max((x for word, x in before if word in telling), default=0.0)
    if near:
        score += near
    elif any(word in about for word, _ in before):
        score += 0.1
    if names & after:
        score += 0.2
    if names & {root(x) for x in terms(one.text)}:
        score += _ITSELF
    last = _word_before(one, request.text)
    if last in ("from", "between") and _FROM & {*inp.words}:
        score += 0.3
    if last in ("to", "and", "into") and _TO & {*inp.words}:
        score += 0.2
    if last in ("to", "for") and one.kind == "name" and _PEOPLE & {*inp.words}:
        score += 0.3
    return Literal(
        _value(inp, one), min(score, 1.0), one.start, f"the request says {one.text[:40]!r}"
    )


def _value(inp: Input, one: Mention) -> Any:
    """A mention as the parameter writes it; a time with seconds, unless it says otherwise."""
    if inp.shape.kind == "string" and not isinstance(one.value, str):
        return one.text
    if one.kind == "time" and len(one.value) == len("HH:MM"):
        return one.value if _SHORT_TIME.search(inp.shape.description) else f"{one.value}:00"
    return one.value


def has_media(inp: Input) -> bool:
    """Whether a parameter's name says that it is an image, or the like."""
    return bool(_MEDIA & {*inp.words})


def _by_media(inp: Input, one: Mention) -> float:
    """What the ending of a file's name says for or against a parameter that is called so."""
    ending = one.text.rpartition(".")[2].casefold()
    media = _MEDIA_OF.get(ending, "") if "." in one.text else ""
    wanted = _MEDIA & {*inp.words}
    if not media or not wanted:
        return 0.0
    return 0.25 if media in wanted else -1.0


def _by_type(inp: Input, one: Mention) -> float:
    kinds = _kinds(inp)
    if inp.shape.format and (wanted := _FORMATS.get(inp.shape.format)):
        return 0.6 if one.kind in wanted.split() else 0.0
    if (only := _ONLY & {*inp.words}) and not any(one.kind in _ONLY_KINDS[x] for x in only):
        return 0.0
    if one.kind == "number" and not inp.is_opaque:
        if kinds & {"integer", "number"}:
            return 0.55
        return 0.3 if "string" in kinds else 0.0
    if not kinds & {"string", "any"} and not (inp.is_opaque and one.kind == "number"):
        return 0.0
    if inp.is_opaque:
        return _as_id(inp, one)
    if one.kind == "quoted":
        return 0.5
    if one.kind == "topic":
        return 0.4 if _WANTED_ROOTS["topic"] & {root(x) for x in inp.words} else 0.0
    names = frozenset(root(x) for x in inp.words)
    return 0.4 if names & _WANTED_ROOTS[one.kind] else 0.25


def _as_id(inp: Input, one: Mention) -> float:
    if inp.examples:
        return 0.75 if look_of(one.text) in inp.examples else 0.0
    if one.kind == "number" and sum(x.isdigit() for x in one.text) < 4:
        return 0.0
    return {"id": 0.5, "quoted": 0.45, "number": 0.4, "name": 0.15}.get(one.kind, 0.1)


def _kinds(inp: Input) -> frozenset[str]:
    shape = inp.shape
    if shape.kind == "array":
        shape = shape.item or shape
    if shape.kind == "union":
        return frozenset(x.kind for x in shape.variants)
    return frozenset((shape.kind,))


def _around(one: Mention, text: str) -> tuple[list[tuple[str, float]], frozenset[str]]:
    """The words before a value with what they count, the nearest most; and those behind it."""
    before = terms(text[max(one.start - 60, 0) : one.start])[-3:][::-1]
    after = terms(text[one.end : one.end + 30])[:2]
    counted = [(root(word), x) for word, x in zip(before, _BEFORE_IT, strict=False)]
    return counted, frozenset(root(x) for x in after)


def _word_before(one: Mention, text: str) -> str:
    words = _BEFORE.findall(text[max(one.start - 20, 0) : one.start])
    return words[-1].casefold() if words else ""
