"""What goes into a tool and comes out of it, piece by piece, with the words that name each piece.

An input is a parameter. An output is a leaf of what the tool gives. Where a tool does not say what
it gives, as most servers' do not, its name and description say it: that output is `is_implied`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from ..core.json import JsonObject
from ..core.tools import Tool
from ..search.terms import STOP_WORDS, root, singular, terms
from ..search.tools import key_of
from .deeds import groups_of, listed, listed_roots
from .shapes import ANY, Shape, shape_of

_MAX_LEVELS = 5  # of a result, below which nobody looks for a value
MAX_OUTPUTS = 120
MAX_INPUTS = 100

# Deeds that change something. What they give is how it went, and seldom what others need.
_WRITING = """
    create add insert register delete remove cancel update edit modify change set send post publish
    share book buy reserve order exchange return transfer save write upload mark complete schedule
    rename move reset log make put submit pay stop start
"""
# Deeds that look something up: of what was said in asking, the answer says it again.
_LOOKING_UP_ROOTS = listed_roots(
    "find search get list query lookup fetch retrieve show check browse"
)
_WRITING_ROOTS = frozenset(root(x) for x in _WRITING.split())
# Names of what says which one is meant, and what it is not.
ID_WORDS = listed(
    """
    id ids uuid guid key token sku slug uri urn handle identifier ref reference code hash
    """
)
_SURE_ID_WORDS = ID_WORDS - {"code", "reference", "ref", "hash", "uri"}
# Names that say nothing of what is in it.
_GENERIC = listed(
    """
    id ids uuid name value text data result list info information detail content type title
    number object detail output response input string query status key code description date
    time url entry record body payload response message success amount num1 num2 total keyword
    keywords word phrase sentence file input q topic
    """
)
_OBTAINED = re.compile(
    r"\b(?:obtain(?:ed)?|extract(?:ed)?|retriev(?:ed|able)|return(?:ed)?|fetch(?:ed)?"
    r"|found|looked up|got|taken|comes?|available)"
    r"\s+(?:\w+\s+){0,2}?(?:from|by|in|with|via|through|using)\b"
    r"|\b(?:from|of) the (?:response|result|output)\b",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"(?<!\w)['\"`]([^'\"`\s]{3,40})['\"`](?!\w)")
_GIVEN_BY = re.compile(
    r"\b(?:by|from|for|with|given|using|via|based|of|in|on|to|that|which)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Input:
    """A parameter of a tool.

    `words` are those of its name, `about` those of its description, `examples` what the values look
    like that it shows. `is_opaque` says that it is an id or the like: nobody knows it by
    heart, and another tool gives it. `types` are the URIs of the types that it declares.
    """

    name: str
    shape: Shape
    words: tuple[str, ...]
    about: frozenset[str]
    is_required: bool
    is_opaque: bool
    examples: tuple[str, ...] = ()
    types: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Output:
    """A leaf of what a tool gives, by its path such as `orders[].id`; "" is all of it.

    `words` are those of its last name, `context` those above it, `about` those of its description.
    """

    path: str
    shape: Shape
    words: tuple[str, ...]
    context: frozenset[str]
    about: frozenset[str]
    is_opaque: bool = False
    is_implied: bool = False
    types: frozenset[str] = frozenset()

    @property
    def is_record(self) -> bool:
        """Whether it holds something of which nobody says what is in it: an id, most likely."""
        inner = self.shape.item if self.shape.kind == "array" else self.shape
        if self.is_implied or (self.shape.kind == "string" and self.is_plural):
            return True
        return self.shape.kind in ("array", "object", "any") and (
            inner is None or (inner.kind in ("any", "object") and not inner.fields)
        )

    @property
    def is_plural(self) -> bool:
        """Whether it is called as several: what holds several things, however it is declared."""
        return self.path.endswith("s") and not self.path.endswith(("ss", "us", "is"))


@dataclass(frozen=True, slots=True)
class ToolPorts:
    """A tool as planning sees it. `entity` are the words for what it is about, `deed` its verb."""

    key: Any
    name: str
    server: str
    inputs: tuple[Input, ...]
    outputs: tuple[Output, ...]
    deed: str
    entity: frozenset[str]
    name_words: frozenset[str]
    about: frozenset[str]
    by_name: dict[str, Input] = field(compare=False)
    reads: bool = True
    looks_up: bool = False
    deeds: frozenset[str] = frozenset()

    @property
    def required(self) -> Iterator[Input]:
        """The parameters that must be given."""
        return (x for x in self.inputs if x.is_required)


def ports_of(tool: Tool | JsonObject) -> ToolPorts:
    """What goes in and comes out of a catalog tool, or of a dict as `search.ToolIndex` takes it."""
    name, description = _text(tool, "name"), _text(tool, "description")
    named = terms(name)
    lead = _lead(description)
    deed = _deed(name, lead)
    entity = frozenset(x for x in named if root(x) != root(deed))
    about = frozenset(terms(description))
    schema = _schema(tool, "input_schema")
    inputs = tuple(_inputs(schema))
    outputs = tuple(outputs_of(shape_of(_schema(tool, "output_schema"))))
    if not any(x.path for x in outputs):
        outputs = (*outputs, _implied(name, description))
    return ToolPorts(
        key=key_of(tool), name=name, server=_text(tool, "server"), inputs=inputs, outputs=outputs,
        deed=deed, entity=entity or frozenset(named), name_words=frozenset(named), about=about,
        by_name={x.name: x for x in inputs},
        reads=not ({root(deed), root(lead)} & _WRITING_ROOTS),
        deeds=groups_of((root(deed),)) or groups_of((root(lead),)),
        looks_up=bool({root(deed), root(lead)} & _LOOKING_UP_ROOTS),
    )  # fmt: skip


def input_of(name: str, shape: Shape, *, is_required: bool) -> Input:
    """A parameter by its name and shape."""
    words = tuple(terms(name)) or (name.casefold(),)
    return Input(
        name=name, shape=shape, words=words, about=_described(shape.description),
        is_required=is_required, is_opaque=is_opaque(words, shape),
        examples=_examples(shape.description), types=shape.type_uris,
    )  # fmt: skip


def look_of(text: str) -> str:
    """What a text looks like: its letters as `a`, its digits as `0`, runs of one as one."""
    return re.sub(r"(.)\1+", r"\1", re.sub(r"[^\W\d_]", "a", re.sub(r"\d", "0", text)))


def _examples(description: str) -> tuple[str, ...]:
    """What the values look like that a description shows in quotes, such as `#a0`."""
    return tuple(dict.fromkeys(map(look_of, _QUOTED.findall(description)[:5])))


def output_of(path: str, shape: Shape, *, is_implied: bool = False) -> Output:
    """An output by its path and shape."""
    steps = [x for x in re.split(r"[.\[\]{}]+", path) if x and x != "key"]
    words = tuple(terms(steps[-1])) if steps else ()
    context = frozenset(x for one in steps[:-1] for x in terms(one))
    return Output(
        path, shape, words, context, _described(shape.description),
        is_opaque=is_opaque(words, shape), is_implied=is_implied, types=shape.type_uris,
    )  # fmt: skip


def is_generic(word: str) -> bool:
    """Whether a word in a name says nothing of what it names."""
    return word in _GENERIC


def is_opaque(words: Iterable[str], shape: Shape) -> bool:
    """Whether it is an id or the like: what one looks up, and does not know."""
    if shape.kind in ("boolean", "null") or shape.choices or "date" in shape.format:
        return False
    if shape.format == "uuid" or any(x in _SURE_ID_WORDS for x in words):
        return True
    return bool(shape.description and _OBTAINED.search(shape.description))


def _inputs(schema: Any) -> Iterator[Input]:
    shape = shape_of(schema)
    for one in shape.fields[:MAX_INPUTS]:
        yield input_of(one.name, one.shape, is_required=one.is_required)


def outputs_of(shape: Shape) -> Iterator[Output]:
    """The leaves, those of upper levels first; and what holds several: it may be wanted whole.

    All of it, too, where its type is declared.
    """
    level: list[tuple[str, Shape]] = [("", shape)]
    left = MAX_OUTPUTS
    for _ in range(_MAX_LEVELS):
        below: list[tuple[str, Shape]] = []
        for path, one in level:
            if (path or one.type_uris) and left > 0:
                left -= 1
                yield output_of(path, one)
            below += _below(path, one)
        level = below[:MAX_OUTPUTS]


def _below(path: str, shape: Shape) -> Iterator[tuple[str, Shape]]:
    if shape.kind == "union":
        for one in shape.variants:
            yield from _below(path, one)
    elif shape.kind == "array" and shape.item and shape.item.kind in ("object", "array", "union"):
        yield from _below(f"{path}[]", shape.item)
    for one in shape.fields:
        yield f"{path}.{one.name}" if path else one.name, one.shape
    if shape.extra and shape.extra.kind == "object":
        yield from _below(f"{path}.{{key}}" if path else "{key}", shape.extra)


def _implied(name: str, description: str) -> Output:
    """What a tool gives by what it says of itself: what it names before "by" and the like."""
    said = _GIVEN_BY.split(" ".join(_spelled(name)))[0]
    words = tuple(x for x in terms(said) if not groups_of((root(x),))) or tuple(terms(said))
    about = frozenset(terms(description)) | frozenset(terms(name))
    return Output(
        "", ANY, words, frozenset(), about, is_opaque=any(x in _SURE_ID_WORDS for x in words),
        is_implied=True,
    )  # fmt: skip


def _spelled(name: str) -> list[str]:
    return re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+", name) or [name]


def _deed(name: str, lead: str) -> str:
    """The verb: the word of the name that the description begins with, or the name's first."""
    said = [x.casefold() for x in _spelled(name)]
    if lead and any(root(x) == root(lead) for x in said):
        return next(x for x in said if root(x) == root(lead))
    if said and groups_of((root(said[0]),)):
        return said[0]
    return lead if groups_of((root(lead),)) else ""


def _lead(description: str) -> str:
    said = re.match(r"\W*([A-Za-z]+)", description)
    return singular(said[1].casefold()) if said else ""


def _described(text: str) -> frozenset[str]:
    return _kept_words(text) if text else frozenset()


@lru_cache(maxsize=20_000)
def _kept_words(text: str) -> frozenset[str]:
    return frozenset(x for x in terms(text) if x not in STOP_WORDS)


def _text(tool: Tool | JsonObject, name: str) -> str:
    if isinstance(tool, Tool):
        return str(getattr(tool, "source" if name == "server" else name, None) or "")
    return str(tool.get(name) or "")


def _schema(tool: Tool | JsonObject, name: str) -> Any:
    return getattr(tool, name) if isinstance(tool, Tool) else tool.get(name)
