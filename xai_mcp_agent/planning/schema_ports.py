"""Inputs and outputs of a tool, each with the words that name it.

An input is a parameter. An output is a leaf of the result. If a tool does not declare its result,
as most servers' tools do not, its name and description imply one: that output is `is_implied`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..core.json import JsonObject, is_object
from ..core.schemas import References, properties, required
from ..core.tools import Tool
from ..search.terms import STOP_WORDS, root, singular, terms
from ..search.tools import key_of, schema_of, text_of
from .shapes import Shape, shape_of, variants_of
from .vocabulary import LOOKUP_VERBS, SURE_ID_WORDS, WRITING_VERBS, verb_groups

MAX_INPUTS, MAX_OUTPUTS = 100, 120
MAX_LEVELS = 5  # depth of a result that is searched for values
_QUOTED = re.compile(r"(?<!\w)['\"`]([^'\"`\s]{3,40})['\"`](?!\w)")
_PREPOSITION = re.compile(
    r"\b(?:by|from|for|with|given|using|via|based|of|in|on|to|that|which)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Input:
    """Parameter of a tool.

    `words` come from its name, `about` from its description, `examples` are the forms of its
    example values. `is_opaque`: it is an id or the like, which no person knows by heart; another
    tool supplies it.
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
        """Return whether its content is undeclared, so that it probably contains an id."""
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
    name, description = text_of(tool, "name"), text_of(tool, "description")
    lead = re.match(r"\W*([A-Za-z]+)", description)
    first = singular(lead[1].casefold()) if lead else ""
    verb = _verb(name, first)
    name_words = frozenset(terms(name))
    inputs = tuple(_inputs(schema_of(tool, "input_schema")))
    outputs = tuple(_outputs(schema_of(tool, "output_schema")))
    if not any(x.path for x in outputs):
        outputs = (*outputs, _imply(name, description))
    roots = {root(verb), root(first)}
    return ToolPorts(
        key=key_of(tool), name=name, server=text_of(tool, "server"), inputs=inputs,
        outputs=outputs, verb=verb,
        verb_groups=verb_groups((root(verb),)) or verb_groups((root(first),)),
        entity=frozenset(x for x in name_words if root(x) != root(verb)) or name_words,
        name_words=name_words,
        about=_distinct(terms(description)), reads=not roots & WRITING_VERBS,
        looks_up=bool(roots & LOOKUP_VERBS), by_name={x.name: x for x in inputs},
    )  # fmt: skip


def look_of(text: str) -> str:
    """Return the form of a text: letters as `a`, digits as `0`, several as `00`."""
    return re.sub(r"[^\W\d_]+", "a", re.sub(r"\d{1,7}", "0", text))


def _inputs(schema: JsonObject) -> Iterator[Input]:
    references = References(schema)
    variants = variants_of(references.resolve(schema))
    schemas = {name: x for one in variants for name, x in properties(one, references).items()}
    required_names = {x for one in variants for x in required(one)}
    for name in sorted(schemas)[:MAX_INPUTS]:
        shape = shape_of(schemas[name])
        words = tuple(terms(name)) or (name.casefold(),)
        quoted = _QUOTED.findall(shape.description)[:5]
        yield Input(
            name, shape, words, _words(shape.description), name in required_names,
            is_opaque=_is_opaque(words, shape), examples=tuple(dict.fromkeys(map(look_of, quoted))),
        )  # fmt: skip


def _outputs(schema: JsonObject) -> Iterator[Output]:
    """Yield the leaves and containers of a result, upper levels first.

    They include the whole result if its type is declared.
    """
    references = References(schema)
    level, remaining = [("", references.resolve(schema))], MAX_OUTPUTS
    for _ in range(MAX_LEVELS):
        below: list[tuple[str, JsonObject]] = []
        for path, spec in level:
            shape = shape_of(spec)
            if (path or shape.type_uris) and remaining > 0:
                remaining -= 1
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
    """Yield the paths and schemas in an object, or in the items of a list."""
    for one in variants_of(spec):
        inner = properties(one, references)
        for name in sorted(inner)[:MAX_OUTPUTS]:
            yield f"{path}.{name}" if path else name, inner[name]
        for word, place in (("items", f"{path}[]"), ("additionalProperties", f"{path}.{{key}}")):
            if is_object(one.get(word)) and path.count("[]") + path.count("{key}") < MAX_LEVELS:
                yield from _below(place.lstrip("."), references.resolve(one[word]), references)


def _imply(name: str, description: str) -> Output:
    """Return the output that a tool's name implies, by its words before "by" and the like."""
    text = _PREPOSITION.split(" ".join(_spellings(name)))[0]
    words = tuple(x for x in terms(text) if not verb_groups((root(x),))) or tuple(terms(text))
    about = _distinct((*terms(description), *terms(name)))
    is_opaque = any(x in SURE_ID_WORDS for x in words)
    return Output("", Shape(), words, (), about, is_opaque=is_opaque, is_implied=True)


def _is_opaque(words: Iterable[str], shape: Shape) -> bool:
    """Return whether it is an id or the like, which a tool looks up."""
    if shape.kinds == ("boolean",) or shape.choices or "date" in shape.format:
        return False
    return shape.format == "uuid" or any(x in SURE_ID_WORDS for x in words)


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
