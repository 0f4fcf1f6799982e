"""Inputs and outputs of a tool, piece by piece, with the words that name each piece.

An input is a parameter. An output is a leaf of the result. If a tool does not declare its result,
as most servers' tools do not, its name and description imply one: that output is `is_implied`.
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
_MAX_LEVELS = 5  # depth of a result that is searched for values
_MAX_CHOICES = 50


def listed(words: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(words.split())


def listed_roots(words: str) -> frozenset[str]:
    """Return the roots of the words of a text."""
    return frozenset(map(root, words.split()))


# Verbs with roughly the same meaning.
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
# Verbs that are nouns, too.
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
# Names that identify a thing without saying what it is.
ID_WORDS = listed(
    "id ids uuid guid key token sku slug uri urn handle identifier ref reference code hash"
)
_SURE_ID_WORDS = ID_WORDS - {"code", "reference", "ref", "hash", "uri"}
# Names that say nothing about their content.
_GENERIC = listed(
    "id ids uuid name value text data result list info information detail content type title"
    " number object detail output response input string query status key code description date"
    " time url entry record body payload response message success amount num1 num2 total"
    " keyword keywords word phrase sentence file input q topic"
)
_QUOTED = re.compile(r"(?<!\w)['\"`]([^'\"`\s]{3,40})['\"`](?!\w)")
_GIVEN_BY = re.compile(
    r"\b(?:by|from|for|with|given|using|via|based|of|in|on|to|that|which)\b", re.IGNORECASE
)
# Schema keys under which services declare the meaning of a value.
_TYPE_URIS = ("x-type", "x-type-uri", "typeUri", "type_uri", "@type", "x-semantic-type")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+")
_NO_URIS: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Shape:
    """Values that a schema allows, as far as it matters for what fits what.

    `kinds` are JSON types without null, `items` the types of an array's items; empty means any.
    `is_open`: the content is not declared.
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
    """How well an output fits an input, 0 to 1, and the necessary conversion, "" for none."""

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
    """Parameter of a tool.

    `words` come from its name, `about` from its description, `examples` are the forms of its
    example values. `is_opaque`: it is an id or the like, which no person knows by heart and another
    tool supplies.
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
    """Leaf of a tool's result, by its path such as `orders[].id`; "" is all of it.

    `words` come from its last name, `context` from the names above, `about` from its description.
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
        """Return whether its content is not declared, so that it probably contains an id."""
        is_plural = self.path.endswith("s") and not self.path.endswith(("ss", "us", "is"))
        is_texts = is_plural and "string" in self.shape.kinds
        return self.is_implied or self.shape.is_open or is_texts


@dataclass(frozen=True, slots=True)
class ToolPorts:
    """Tool as planning sees it.

    `entity` are the words of its subject, `verb` is what it does, `verb_groups` are the groups of
    verbs with the same meaning. `looks_up`: its result repeats its inputs.
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
        """Return the required parameters."""
        return (x for x in self.inputs if x.is_required)


def ports_of(tool: Tool | JsonObject) -> ToolPorts:
    """Return the ports of a catalog tool, or of a dict as for `search.ToolIndex`."""
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
        outputs = (*outputs, _imply(name, description))
    roots = {root(verb), root(first)}
    return ToolPorts(
        key=key_of(tool), name=name, server=server, inputs=inputs, outputs=outputs, verb=verb,
        verb_groups=verb_groups((root(verb),)) or verb_groups((root(first),)),
        entity=frozenset(x for x in named if root(x) != root(verb)) or named, name_words=named,
        about=_distinct(terms(description)), reads=not roots & _WRITING,
        looks_up=bool(roots & _LOOKING_UP), by_name={x.name: x for x in inputs},
    )  # fmt: skip


def fit(output: Shape, input_: Shape) -> Fit:
    """Return how well one shape serves as another; `flows` compares the names."""
    if output.type_uris & input_.type_uris:
        return Fit(1.0)
    if not output.kinds or not input_.kinds:
        return _UNKNOWN
    fits = (_fit_kinds(output, x, input_, y) for x in output.kinds for y in input_.kinds)
    best = max(fits, key=lambda x: x.score)
    if output.type_uris and input_.type_uris:  # both declared, and different
        return Fit(best.score * 0.2, best.conversion)
    return best


def verb_groups(roots: Iterable[str]) -> frozenset[str]:
    """Return the verb groups among some roots."""
    words = {*roots}
    return frozenset(group for group, verbs in _VERB_ROOTS.items() if verbs & words)


def begins_step(verb: str, following: str) -> bool:
    """Return whether a verb's root after "and" begins a step, judged by the next word."""
    return bool(verb_groups((verb,))) and (not is_noun(verb) or following in _DETERMINERS)


def is_noun(verb: str) -> bool:
    """Return whether a verb's root is a noun, too."""
    return verb in _ALSO_NOUNS


def is_generic(word: str) -> bool:
    """Return whether a word in a name says nothing about the thing."""
    return word in _GENERIC


def look_of(text: str) -> str:
    """Return the form of a text: letters as `a`, digits as `0`, several as `00`."""
    return re.sub(r"[^\W\d_]+", "a", re.sub(r"\d{1,7}", "0", text))


def _fit_kinds(output: Shape, kind: str, input_: Shape, input_kind: str) -> Fit:
    if kind == input_kind == "array":
        one = _fit_items(output.items, input_.items)
        return Fit(one.score, f"each {one.conversion}" if one.conversion else "")
    if input_kind == "array":
        return _wrapped(_fit_items((kind,), input_.items), "{}, put in a list")
    if kind == "array":
        return _wrapped(_fit_items(output.items, (input_kind,)), "one of them, {}")
    if kind != input_kind or kind == "object":
        return _OF_KINDS.get((kind, input_kind), _NO_FIT)
    if output.choices and input_.choices and not {*output.choices} & {*input_.choices}:
        return Fit(0.1, "none of its values is allowed")
    if output.format and input_.format and output.format != input_.format:
        return Fit(0.25, f"{output.format} in place of {input_.format}")
    return Fit(1.0)


def _fit_items(outputs: tuple[str, ...], inputs: tuple[str, ...]) -> Fit:
    pairs = ((x, y) for x in outputs for y in inputs)
    fits = (Fit(1.0) if x == y != "object" else _OF_KINDS.get((x, y), _NO_FIT) for x, y in pairs)
    return max(fits, key=lambda x: x.score, default=_UNKNOWN)


def _wrapped(one: Fit, words: str) -> Fit:
    return Fit(0.8 * one.score, words.format(one.conversion).strip(", "))


def _inputs(schema: JsonObject) -> Iterator[Input]:
    references = References(schema)
    variants = _variants(references.resolve(schema))
    schemas = {name: x for one in variants for name, x in properties(one, references).items()}
    needed = {x for one in variants for x in required(one)}
    for name in sorted(schemas)[:MAX_INPUTS]:
        shape = _shape(schemas[name])
        words = tuple(terms(name)) or (name.casefold(),)
        quoted = _QUOTED.findall(shape.description)[:5]
        yield Input(
            name, shape, words, _words(shape.description), name in needed,
            is_opaque=_is_opaque(words, shape), examples=tuple(dict.fromkeys(map(look_of, quoted))),
        )  # fmt: skip


def _outputs(schema: JsonObject) -> Iterator[Output]:
    """Yield the leaves of a result, upper levels first, and containers, which may be used whole.

    The whole result is included if its type is declared.
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
    """Yield what an object or the items of a list contain, by paths."""
    for one in _variants(spec):
        inner = properties(one, references)
        for name in sorted(inner)[:MAX_OUTPUTS]:
            yield f"{path}.{name}" if path else name, inner[name]
        for word, place in (("items", f"{path}[]"), ("additionalProperties", f"{path}.{{key}}")):
            if is_object(one.get(word)) and path.count("[]") + path.count("{key}") < _MAX_LEVELS:
                yield from _below(place.lstrip("."), references.resolve(one[word]), references)


def _imply(name: str, description: str) -> Output:
    """Return the output that a tool's words imply: what it names before "by" and the like."""
    text = _GIVEN_BY.split(" ".join(_spellings(name)))[0]
    words = tuple(x for x in terms(text) if not verb_groups((root(x),))) or tuple(terms(text))
    about = _distinct((*terms(description), *terms(name)))
    is_opaque = any(x in _SURE_ID_WORDS for x in words)
    return Output("", Shape(), words, (), about, is_opaque=is_opaque, is_implied=True)


def _variants(spec: JsonObject) -> list[JsonObject]:
    """Return a schema with resolved references, and the schemas it combines or chooses from."""
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
    kinds = dict[str, None]()
    for one in variants:
        types = types_of(one) or [
            kind
            for word, kind in (("properties", "object"), ("items", "array"), ("format", "string"))
            if word in one
        ]
        kinds.update(dict.fromkeys(types))
    return tuple(x for x in kinds if x != "null")


def _is_open(variants: Iterable[JsonObject]) -> bool:
    """Return whether the content is not declared."""
    kinds = _kinds(variants)
    return {*kinds} <= {"object", "array"} and not any(x.get("properties") for x in variants)


def _type_uri(spec: JsonObject) -> str:
    """Return the declared meaning of a schema's values: a key for it, or an `$id` with a scheme."""
    uri = next((x for x in as_texts([spec.get(y) for y in _TYPE_URIS]) if x), "")
    named = spec.get("$id")
    return uri or (named if isinstance(named, str) and _URI.fullmatch(named) else "")


def _is_opaque(words: Iterable[str], shape: Shape) -> bool:
    """Return whether it is an id or the like, which one looks up."""
    if shape.kinds == ("boolean",) or shape.choices or "date" in shape.format:
        return False
    return shape.format == "uuid" or any(x in _SURE_ID_WORDS for x in words)


def _verb(name: str, first: str) -> str:
    """Return the verb: the word of the name that begins the description, or the first."""
    words = [x.casefold() for x in _spellings(name)]
    if first and (same := [x for x in words if root(x) == root(first)]):
        return same[0]
    if verb_groups((root(words[0]),)):
        return words[0]
    return first if verb_groups((root(first),)) else ""


def _spellings(name: str) -> list[str]:
    return re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+", name) or [name]


def _words(text: str) -> tuple[str, ...]:
    return _distinct(x for x in terms(text) if x not in STOP_WORDS)


def _distinct(words: Iterable[str]) -> tuple[str, ...]:
    """Return each word once. Tuples take a fifth of the memory of sets."""
    return tuple(dict.fromkeys(words))
