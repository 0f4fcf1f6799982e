"""What goes into a tool and comes out of it, piece by piece, with the words that name each piece.

An input is a parameter. An output is a leaf of what the tool gives. Where a tool does not say what
it gives, as most servers' do not, its name and description say it: that output is `is_implied`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..core.json import JsonObject, as_list, as_object, as_texts, is_object
from ..core.schemas import References, properties, required, types_of
from ..core.tools import Tool
from ..search.terms import STOP_WORDS, root, singular, terms
from ..search.tools import key_of

MAX_INPUTS, MAX_OUTPUTS = 100, 120
_MAX_LEVELS = 5  # of a result, below which nobody looks for a value
_MAX_CHOICES = 50


def listed(words: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(words.split())


def listed_roots(words: str) -> frozenset[str]:
    """The roots of the words of a text."""
    return frozenset(map(root, words.split()))


# What people call the same deed, roughly.
_VERBS = {
    "read": "get list show retrieve find search query check view display tell read lookup fetch"
    " what when where who which how see look browse know learn review inspect monitor"
    " gather obtain",
    "create": "add create new insert register set make schedule book write generate compose sign"
    " open reserve plan build produce draw arrange put buy order purchase append",
    "change": "update edit modify change set adjust alter move shift reschedule rename replace"
    " exchange switch correct fix turn reset increase decrease",
    "remove": "delete remove clear cancel drop erase unfollow discard clean",
    "send": "send post message share email mail text notify reply publish forward deliver inform",
    "finish": "complete finish mark close end done",
    "compute": "calculate compute evaluate estimate sum count convert",
}
_VERB_ROOTS = {group: listed_roots(words) for group, words in _VERBS.items()}
# Names of things, too.
_ALSO_NOUNS = listed_roots(
    "text email mail message order count review plan end close set look book list share post"
    " purchase view display mark exchange estimate what when where who which how query reserve"
    " reply notify search done reset design"
)
_DETERMINERS = listed(
    "a an the my me it them their his her all some this that those these its any each him us"
    " for up out our your to every"
)
_WRITING = listed_roots(
    "create add insert register delete remove cancel update edit modify change set send post"
    " publish share book buy reserve order exchange return transfer save write upload mark complete"
    " schedule rename move reset log make put submit pay stop start"
)
_LOOKING_UP = listed_roots("find search get list query lookup fetch retrieve show check browse")
# Names of what says which one is meant, and not what it is.
ID_WORDS = listed(
    "id ids uuid guid key token sku slug uri urn handle identifier ref reference code hash"
)
_SURE_ID_WORDS = ID_WORDS - {"code", "reference", "ref", "hash", "uri"}
# Names that say nothing of what is in it.
_GENERIC = listed(
    "id ids uuid name value text data result list info information detail content type title"
    " number object detail output response input string query status key code description date"
    " time url entry record body payload response message success amount num1 num2 total"
    " keyword keywords word phrase sentence file input q topic"
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
# Whoever declares what a value is, does it under one of these names.
_TYPE_URIS = ("x-type", "x-type-uri", "typeUri", "type_uri", "@type", "x-semantic-type")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+")
# Types as Python and people write them, met in public sets of tools.
_SPELLED = {
    "str": "string", "text": "string", "date": "string", "file": "string", "int": "integer",
    "long": "integer", "float": "number", "double": "number", "decimal": "number",
    "bool": "boolean", "list": "array", "tuple": "array", "set": "array", "dict": "object",
    "map": "object", "none": "null",
}  # fmt: skip
_NO_URIS: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Shape:
    """What values a schema allows, as far as it matters for what fits what.

    `kinds` are JSON types without null, `items` those of an array's items; none means any.
    `is_open` says that nobody says what is in it.
    """

    kinds: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    format: str = ""
    type_uris: frozenset[str] = _NO_URIS
    description: str = ""
    is_open: bool = True


@dataclass(frozen=True, slots=True)
class Fit:
    """How well an output fits an input, 0 to 1, and what has to be done to it, "" for nothing."""

    score: float
    conversion: str = ""


_NO_FIT = Fit(0.0)
_UNKNOWN = Fit(0.8, "its type is not declared")
_OF_KINDS = {
    ("integer", "number"): Fit(1.0),
    ("number", "integer"): Fit(0.7, "rounded"),
    ("integer", "string"): Fit(0.6, "written as text"),
    ("number", "string"): Fit(0.6, "written as text"),
    ("boolean", "string"): Fit(0.3, "written as text"),
    ("string", "integer"): Fit(0.35, "read as a number"),
    ("string", "number"): Fit(0.35, "read as a number"),
    ("object", "string"): Fit(0.3, "written as JSON"),
    ("object", "object"): Fit(0.8),
}


@dataclass(frozen=True, slots=True)
class Input:
    """A parameter of a tool.

    `words` are those of its name, `about` those of its description, `examples` what the values look
    like that it shows. `is_opaque` says that it is an id or the like: nobody knows it by
    heart, and another tool gives it.
    """

    name: str
    shape: Shape
    words: tuple[str, ...]
    about: tuple[str, ...]
    is_required: bool
    is_opaque: bool
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Output:
    """A leaf of what a tool gives, by its path such as `orders[].id`; "" is all of it.

    `words` are those of its last name, `context` those above it, `about` those of its description.
    """

    path: str
    shape: Shape
    words: tuple[str, ...]
    context: tuple[str, ...]
    about: tuple[str, ...]
    is_opaque: bool = False
    is_implied: bool = False

    @property
    def is_record(self) -> bool:
        """Whether it holds something of which nobody says what is in it: an id, most likely."""
        is_plural = self.path.endswith("s") and not self.path.endswith(("ss", "us", "is"))
        is_texts = is_plural and "string" in self.shape.kinds
        return self.is_implied or self.shape.is_open or is_texts


@dataclass(frozen=True, slots=True)
class ToolPorts:
    """A tool as planning sees it.

    `entity` are the words for what it is about, `verb` says what it does, and `verb_groups` which
    verbs mean the same. `looks_up`: what was said in asking, its answer says again.
    """

    key: Any
    name: str
    server: str
    inputs: tuple[Input, ...]
    outputs: tuple[Output, ...]
    verb: str
    verb_groups: frozenset[str]
    entity: frozenset[str]
    name_words: frozenset[str]
    about: tuple[str, ...]
    reads: bool
    looks_up: bool
    by_name: Mapping[str, Input] = field(compare=False)

    @property
    def required(self) -> Iterator[Input]:
        """The parameters that must be given."""
        return (x for x in self.inputs if x.is_required)


def ports_of(tool: Tool | JsonObject) -> ToolPorts:
    """What goes in and comes out of a catalog tool, or of a dict as `search.ToolIndex` takes it."""
    if isinstance(tool, Tool):
        name, description, server = tool.name, tool.description, tool.source
        takes, gives = tool.input_schema, as_object(tool.output_schema)
    else:
        name, description, server = (
            str(tool.get(x) or "") for x in ("name", "description", "server")
        )
        takes, gives = (as_object(tool.get(x)) for x in ("input_schema", "output_schema"))
    lead = re.match(r"\W*([A-Za-z]+)", description)
    first = singular(lead[1].casefold()) if lead else ""
    verb = _verb(name, first)
    named = frozenset(terms(name))
    inputs = tuple(_inputs(takes))
    outputs = tuple(_outputs(gives))
    if not any(x.path for x in outputs):
        outputs = (*outputs, _implied(name, description))
    roots = {root(verb), root(first)}
    return ToolPorts(
        key=key_of(tool), name=name, server=server, inputs=inputs, outputs=outputs, verb=verb,
        verb_groups=verb_groups((root(verb),)) or verb_groups((root(first),)),
        entity=frozenset(x for x in named if root(x) != root(verb)) or named, name_words=named,
        about=_distinct(terms(description)), reads=not roots & _WRITING,
        looks_up=bool(roots & _LOOKING_UP), by_name={x.name: x for x in inputs},
    )  # fmt: skip


def fit(given: Shape, wanted: Shape) -> Fit:
    """How well a value of one shape serves where another is wanted; names are for `flows`."""
    if given.type_uris & wanted.type_uris:
        return Fit(1.0)
    if not given.kinds or not wanted.kinds:
        return _UNKNOWN
    found = (_fit_kinds(given, x, wanted, y) for x in given.kinds for y in wanted.kinds)
    best = max(found, key=lambda x: x.score)
    if given.type_uris and wanted.type_uris:  # declared, and not the same
        return Fit(best.score * 0.2, best.conversion)
    return best


def verb_groups(roots: Iterable[str]) -> frozenset[str]:
    """The groups of the verbs among some roots."""
    said = {*roots}
    return frozenset(group for group, verbs in _VERB_ROOTS.items() if verbs & said)


def begins_step(verb: str, following: str) -> bool:
    """Whether a verb (its root) behind "and" asks for something, by the word that follows it."""
    return bool(verb_groups((verb,))) and (not is_noun(verb) or following in _DETERMINERS)


def is_noun(verb: str) -> bool:
    """Whether a verb (its root) is the name of a thing, too."""
    return verb in _ALSO_NOUNS


def is_generic(word: str) -> bool:
    """Whether a word in a name says nothing of what it names."""
    return word in _GENERIC


def look_of(text: str) -> str:
    """What a text looks like: letters as `a`, digits as `0`, many of them as `00`."""
    return re.sub(r"[^\W\d_]+", "a", re.sub(r"\d{1,7}", "0", text))


def _fit_kinds(given: Shape, kind: str, wanted: Shape, wanted_kind: str) -> Fit:
    if kind == wanted_kind == "array":
        one = _fit_items(given.items, wanted.items)
        return Fit(one.score, f"each {one.conversion}" if one.conversion else "")
    if wanted_kind == "array":
        return _wrapped(_fit_items((kind,), wanted.items), "{}, put in a list")
    if kind == "array":
        return _wrapped(_fit_items(given.items, (wanted_kind,)), "one of them, {}")
    if kind != wanted_kind or kind == "object":
        return _OF_KINDS.get((kind, wanted_kind), _NO_FIT)
    if given.choices and wanted.choices and not {*given.choices} & {*wanted.choices}:
        return Fit(0.1, "none of its values is one of those that are allowed")
    if given.format and wanted.format and given.format != wanted.format:
        return Fit(0.25, f"{given.format} in place of {wanted.format}")
    return Fit(1.0)


def _fit_items(given: tuple[str, ...], wanted: tuple[str, ...]) -> Fit:
    pairs = ((x, y) for x in given for y in wanted)
    found = (Fit(1.0) if x == y != "object" else _OF_KINDS.get((x, y), _NO_FIT) for x, y in pairs)
    return max(found, key=lambda x: x.score, default=_UNKNOWN)


def _wrapped(one: Fit, words: str) -> Fit:
    return Fit(0.8 * one.score, words.format(one.conversion).strip(", "))


def _inputs(schema: JsonObject) -> Iterator[Input]:
    references = References(schema)
    variants = _variants(references.resolve(schema))
    found = {name: x for one in variants for name, x in properties(one, references).items()}
    needed = {x for one in variants for x in required(one)}
    for name in sorted(found)[:MAX_INPUTS]:
        shape = _shape(found[name])
        words = tuple(terms(name)) or (name.casefold(),)
        shown = _QUOTED.findall(shape.description)[:5]
        yield Input(
            name, shape, words, _words(shape.description), name in needed,
            is_opaque=_is_opaque(words, shape), examples=tuple(dict.fromkeys(map(look_of, shown))),
        )  # fmt: skip


def _outputs(schema: JsonObject) -> Iterator[Output]:
    """The leaves, those of upper levels first; and what holds several: it may be wanted whole.

    All of it, too, where its type is declared.
    """
    references = References(schema)
    level, left = [("", references.resolve(schema))], MAX_OUTPUTS
    for _ in range(_MAX_LEVELS):
        below: list[tuple[str, JsonObject]] = []
        for path, spec in level:
            shape = _shape(spec)
            if (path or shape.type_uris) and left > 0:
                left -= 1
                yield _output(path, shape)
            if len(below) < MAX_OUTPUTS:
                below += _below(path, spec, references)
        level = below[:MAX_OUTPUTS]


def _output(path: str, shape: Shape) -> Output:
    steps = [x for x in re.split(r"[.\[\]{}]+", path) if x and x != "key"]
    words = tuple(terms(steps[-1])) if steps else ()
    context = _distinct(x for one in steps[:-1] for x in terms(one))
    is_opaque = _is_opaque(words, shape)
    return Output(path, shape, words, context, _words(shape.description), is_opaque=is_opaque)


def _below(path: str, spec: JsonObject, references: References) -> Iterator[tuple[str, JsonObject]]:
    """What lies in an object or in the items of a list, by paths."""
    for one in _variants(spec):
        inner = properties(one, references)
        for name in sorted(inner)[:MAX_OUTPUTS]:
            yield f"{path}.{name}" if path else name, inner[name]
        for word, place in (("items", f"{path}[]"), ("additionalProperties", f"{path}.{{key}}")):
            if is_object(one.get(word)) and path.count("[]") + path.count("{key}") < _MAX_LEVELS:
                yield from _below(place.lstrip("."), references.resolve(one[word]), references)


def _implied(name: str, description: str) -> Output:
    """What a tool gives by what it says of itself: what it names before "by" and the like."""
    said = _GIVEN_BY.split(" ".join(_spelled(name)))[0]
    words = tuple(x for x in terms(said) if not verb_groups((root(x),))) or tuple(terms(said))
    about = _distinct((*terms(description), *terms(name)))
    is_opaque = any(x in _SURE_ID_WORDS for x in words)
    return Output("", Shape(), words, (), about, is_opaque=is_opaque, is_implied=True)


def _variants(spec: JsonObject) -> list[JsonObject]:
    """A schema whose references are resolved, and what it combines or chooses from."""
    inner = [y for x in ("allOf", "anyOf", "oneOf") for y in as_list(spec.get(x))[:_MAX_CHOICES]]
    return [spec, *(x for x in inner if is_object(x))]


def _shape(spec: JsonObject) -> Shape:
    variants = _variants(spec)
    items = [as_object(x["items"]) for x in variants if "items" in x]
    values = [y for x in variants for y in (*as_list(x.get("enum"))[:_MAX_CHOICES], x.get("const"))]
    plain = {str(x) for x in values if isinstance(x, str | int | float) and not isinstance(x, bool)}
    texts = (x.get(y) for x in variants for y in ("description", "title"))
    kinds, kinds_of_items = _kinds(variants), _kinds(items)
    uris = [y for x in (*variants, *items) if (y := _type_uri(x))]
    return Shape(
        kinds=kinds, items=kinds_of_items, choices=tuple(sorted(plain)),
        format=next((x["format"] for x in variants if isinstance(x.get("format"), str)), ""),
        type_uris=frozenset(uris) if uris else _NO_URIS,
        description=next((x for x in texts if isinstance(x, str) and x), "")[:300],
        is_open=_is_open(variants) and all(_is_open([x]) for x in items),
    )  # fmt: skip


def _kinds(variants: Iterable[JsonObject]) -> tuple[str, ...]:
    found = dict[str, None]()
    for one in variants:
        said = types_of(one) or [
            kind
            for word, kind in (("properties", "object"), ("items", "array"), ("format", "string"))
            if word in one
        ]
        lower = [x.strip().lower() for x in said]
        found.update(dict.fromkeys(_SPELLED.get(x, x) for x in lower))
    return tuple(x for x in found if x not in ("null", "any", ""))


def _is_open(variants: Iterable[JsonObject]) -> bool:
    """Whether nobody says what is in it."""
    kinds = _kinds(variants)
    return {*kinds} <= {"object", "array"} and not any(x.get("properties") for x in variants)


def _type_uri(spec: JsonObject) -> str:
    """What a schema declares its values to be: in a word for that, or in an `$id` with a scheme."""
    said = next((x for x in as_texts([spec.get(y) for y in _TYPE_URIS]) if x), "")
    named = spec.get("$id")
    return said or (named if isinstance(named, str) and _URI.fullmatch(named) else "")


def _is_opaque(words: Iterable[str], shape: Shape) -> bool:
    """Whether it is an id or the like: what one looks up, and does not know."""
    if shape.kinds == ("boolean",) or shape.choices or "date" in shape.format:
        return False
    if shape.format == "uuid" or any(x in _SURE_ID_WORDS for x in words):
        return True
    return bool(_OBTAINED.search(shape.description))


def _verb(name: str, first: str) -> str:
    """The word of the name that the description begins with, or else the name's first."""
    said = [x.casefold() for x in _spelled(name)]
    if first and (same := [x for x in said if root(x) == root(first)]):
        return same[0]
    if verb_groups((root(said[0]),)):
        return said[0]
    return first if verb_groups((root(first),)) else ""


def _spelled(name: str) -> list[str]:
    return re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+", name) or [name]


def _words(text: str) -> tuple[str, ...]:
    return _distinct(x for x in terms(text) if x not in STOP_WORDS)


def _distinct(words: Iterable[str]) -> tuple[str, ...]:
    """Each word once. Tuples take a fifth of the memory of sets, which counts at 50,000 tools."""
    return tuple(dict.fromkeys(words))
