"""Finding tools by what somebody wants to do: what counts how much, and why a tool is found."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from ..core.json import JsonObject
from ..core.schemas import References, properties, walk
from ..core.tools import Tool
from .index import LexicalIndex
from .terms import clauses, spaced, terms, weighted

if TYPE_CHECKING:
    from .embeddings import Closeness, DenseIndex, Embed

T = TypeVar("T", Tool, JsonObject)

_SCHEMA_LEVELS = 3  # the parameters, and two levels in them
_MOST_NAMES = 500  # of parameters: nobody reads so many
_NAME_COVERAGE = 0.3  # for a name of which every word is wanted
_MOST_CLAUSES = 12
_MOST_WORDS, _MOST_LETTERS = 4, 40  # in a reason; a description may have all of a long request
# The order is made anew, with all that counts, of so many times as many as are wanted.
_CANDIDATES, _LEAST_CANDIDATES = 4, 32
# The closest meaning against the best words. Half of it is as good where people use the words of
# the descriptions; this is better where these are terse, and people ask in words of their own.
_MEANING = 1.0
# That a search waits for the vectors of a few tools: several times what a slow machine takes.
_FILL_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Field:
    """A kind of text that tools have: what its words count, and how many of them are usual.

    `matches` says that there are wanted ones in it.
    """

    matches: str
    weight: float
    usual_length: int


_NAME = Field("name matches", 2.0, 3)
_INITIALS = Field("initials match", 1.0, 1)
_LEAST_INITIALS = 3
_DESCRIPTION = Field("description matches", 1.0, 15)
_PARAMETERS = Field("parameters match", 0.3, 25)
_SERVER = Field("server matches", 1.0, 2)
_ABOUT_SERVER = Field("server's description matches", 0.3, 15)
_OUTPUT = Field("output matches", 0.3, 6)
_REMEMBERED = Field("requests match", 0.3, 25)
_MOST_REMEMBERED = 1.0  # of one word, however often it was said: as once in the description


@dataclass(frozen=True, slots=True)
class Hit(Generic[T]):
    """A tool that was found. Scores are relative to the best, which has 1; `reasons` are words."""

    tool: T
    score: float
    reasons: tuple[str, ...]


class ToolIndex(Generic[T]):
    """Tools, found by what somebody wants to do. Not for several threads at once.

    They are catalog tools, or dicts with `id`, `server`, `name`, `description`, `input_schema` and
    perhaps `title`, `output_schema` and `server_description`.

    With `embed`, which takes a list of texts and gives a vector for each, they are found by what
    they mean, too. It is called by the first search, so that an index is made at once and cannot
    fail, and then for each new text once. While it fails, words alone count. A `DenseIndex` is
    filled by its owner, perhaps in a thread of its own, and searches do not wait for that.
    """

    def __init__(
        self, tools: Iterable[T] = (), embed: Embed | DenseIndex[Any] | None = None
    ) -> None:
        self._tools: dict[Hashable, T] = {}
        self._names: dict[Hashable, list[str]] = {}  # as terms: every search looks at dozens
        self._index = LexicalIndex[Any]()
        self._dense, self._fills = _dense_index(embed)
        for tool in tools:
            self.update(tool)

    def __len__(self) -> int:
        return len(self._tools)

    def update(self, tool: T) -> None:
        """Add a tool, or replace the one that has its key."""
        weights: defaultdict[str, float] = defaultdict(float)
        for field, text in _texts(tool):
            counts = Counter(terms(text))
            for word, weight in weighted(counts, field.usual_length, field.weight).items():
                weights[word] += weight
        key = key_of(tool)
        self._tools[key], self._names[key] = tool, terms(_text(tool, "name"))
        self._index.put(key, weights)
        if self._dense:
            self._dense.put(key, _text_to_embed(tool))

    def remove(self, key: Hashable) -> None:
        """Forget a tool by its key (a dict's is its `id`), if it is there."""
        if self._tools.pop(key, None) is not None:
            del self._names[key]
            self._index.remove(key)
            if self._dense:
                self._dense.remove(key)

    def tool(self, key: Hashable) -> T:
        """The tool that has this key."""
        return self._tools[key]

    def search(
        self,
        query: str,
        limit: int = 10,
        *,
        among: Collection[Hashable] | None = None,
        remembered: Mapping[Any, Mapping[str, float]] | None = None,
    ) -> list[Hit[T]]:
        """The tools that fit best, best first, equals by their keys; only of those `among`.

        None where neither a word fits nor the meaning. `remembered` are terms, and how much each
        counts, of what was asked for when tools were used, by their keys: one more text of those
        tools, and a weak one; see `search.usage`.
        """
        scored, close = self._scored(query, limit, among, remembered)
        wanted = self._wanted(query)
        return [
            Hit(self._tools[key], score / scored[0][1], self._reasons(key, wanted, close))
            for key, score in scored[: max(limit, 0)]
        ]

    def scores(
        self,
        query: str,
        limit: int = 10,
        *,
        remembered: Mapping[Any, Mapping[str, float]] | None = None,
    ) -> list[tuple[Any, float]]:
        """As `search`: the keys of the tools, with scores that compare between queries, too.

        A word that the tool's description has, and one in a hundred others, counts about 5.
        """
        scored, _ = self._scored(query, limit, None, remembered)
        return scored[: max(limit, 0)]

    def _scored(
        self,
        query: str,
        limit: int,
        among: Collection[Hashable] | None,
        remembered: Mapping[Any, Mapping[str, float]] | None,
    ) -> tuple[list[tuple[Any, float]], Mapping[Any, Closeness]]:
        parts = _parts_of(query)
        meant = self._meant(query, parts)
        near = self._dense.nearest(meant, _LEAST_CANDIDATES, among) if self._dense else ()
        wanted, wanted_by_parts = self._wanted(query), [self._wanted(x) for x in parts]
        most = max(_CANDIDATES * limit, _LEAST_CANDIDATES)
        found = self._index.search(
            wanted, most, wanted_by_parts, added=remembered, among=among, also=near
        )
        by_words = {x: score * self._coverage(x, wanted) for x, score in found}
        close = self._dense.closeness(meant, {*near, *by_words}) if self._dense else {}
        joined = _joined(by_words, close) if close else by_words
        return sorted(joined.items(), key=lambda x: (-x[1], x[0])), close

    def look_up(self, query: str) -> None:
        """Have it known what a query means, where a `DenseIndex` tells it; then `search` need not.

        May take as long as its model, and may be called beside anything else.
        """
        self._meant(query, _parts_of(query))

    def rarity(self, word: str) -> float:
        """How much a word of a request says here: one that few tools have says most."""
        return self._index.rarity(word)

    def covered(
        self, query: str, key: Hashable, remembered: Mapping[Any, Mapping[str, float]] | None = None
    ) -> float:
        """The share of what a query says, 0 to 1, that a tool says, too; rare words say more."""
        has = {*self._index.terms_of(cast(Any, key)), *(remembered or {}).get(key, ())}
        said, found = 0.0, 0.0
        for word in dict.fromkeys(terms(query)):
            near = self._index.wanted([word])
            said += (rarity := self._index.rarity(word))
            found += rarity * max((near[x] for x in near.keys() & has), default=0.0)
        return found / said if said else 0.0

    def _meant(self, query: str, parts: Sequence[str]) -> Sequence[Any]:
        """The vectors of a query and its parts; none if there is no telling."""
        while self._dense and self._fills and self._dense.fill(seconds=_FILL_SECONDS):
            pass
        return self._dense.vectors(query, parts) if self._dense else ()

    def _reasons(
        self, key: Hashable, wanted: Mapping[str, float], close: Mapping[Any, Closeness]
    ) -> tuple[str, ...]:
        by_words = _reasons(self._tools[key], wanted)
        if key not in close or not close[key].is_near:
            return by_words
        return (*by_words, f"meaning is near ({close[key].cosine:.2f})")

    def _wanted(self, text: str) -> dict[str, float]:
        return self._index.wanted(list(dict.fromkeys(terms(text))))

    def _coverage(self, key: Hashable, wanted: Mapping[str, float]) -> float:
        """More for a name that says little else than what is wanted."""
        rarity = {word: self._index.rarity(word) for word in self._names[key]}
        share = sum(x for word, x in rarity.items() if word in wanted)
        return 1 + _NAME_COVERAGE * share / (sum(rarity.values()) or 1.0)


def _parts_of(query: str) -> list[str]:
    parts = clauses(query)[:_MOST_CLAUSES]
    return parts if len(parts) > 1 else []


def _dense_index(embed: Embed | DenseIndex[Any] | None) -> tuple[DenseIndex[Any] | None, bool]:
    """What finds by meaning, if there is anything, and whether searches have to fill it."""
    if embed is None:
        return None, False
    # Here, as it takes as long as all the rest of this package to load.
    from .embeddings import DenseIndex, Embedder

    if isinstance(embed, DenseIndex):
        return cast("DenseIndex[Any]", embed), False
    return DenseIndex[Any](Embedder(embed, "", "the function given as `embed`")), True


def _joined(by_words: Mapping[Any, float], close: Mapping[Any, Closeness]) -> dict[Any, float]:
    """Words and meaning, each against the best of its kind. Better than to join the two orders."""
    most = max(by_words.values(), default=1.0)
    return {
        key: by_words.get(key, 0.0) / most + (_MEANING * close[key].share if key in close else 0.0)
        for key in {*by_words, *close}
    }


def _text_to_embed(tool: Tool | JsonObject) -> str:
    """What says most of its meaning; parameters and servers in it add nothing."""
    name = f"{spaced(_text(tool, 'name'))}."
    return " ".join(x for x in (name, _text(tool, "title"), _text(tool, "description")) if x)


def remembered_terms(counts: Mapping[str, float]) -> dict[str, float]:
    """What the terms weigh of all that was asked for when a tool was used, for `ToolIndex`."""
    weights = weighted(counts, _REMEMBERED.usual_length, _REMEMBERED.weight)
    return {term: min(weight, _MOST_REMEMBERED) for term, weight in weights.items()}


def key_of(tool: Tool | JsonObject) -> Any:
    """What an index knows a tool by."""
    return tool.key if isinstance(tool, Tool) else tool["id"]


def initials(name: str) -> str:
    """`bmi` of `body_mass_index`; empty for a name of two words."""
    found = [x[0] for x in spaced(name).split()]
    return "".join(found).lower() if len(found) >= _LEAST_INITIALS else ""


def _value(tool: Tool | JsonObject, name: str) -> Any:
    if isinstance(tool, Tool):
        return getattr(tool, "source" if name == "server" else name, None) or ""
    return tool.get(name) or ""


def _text(tool: Tool | JsonObject, name: str) -> str:
    return str(_value(tool, name))  # in a dict there may be anything


def _texts(tool: Tool | JsonObject) -> Iterator[tuple[Field, str]]:
    name = _text(tool, "name")
    yield _NAME, name
    yield _INITIALS, initials(name)
    yield _DESCRIPTION, f"{_text(tool, 'title')} {_text(tool, 'description')}"
    yield _PARAMETERS, " ".join(_names(_value(tool, "input_schema"), described=True))
    yield _SERVER, _text(tool, "server")
    yield _ABOUT_SERVER, _text(tool, "server_description")
    yield _OUTPUT, " ".join(_names(_value(tool, "output_schema"), described=False))


def _names(schema: Any, *, described: bool) -> list[str]:
    """The names of properties on the first levels; if wanted, with what they say and choices."""
    found, references = list[str](), References(schema)
    level = [cast(Mapping[str, Any], schema)] if isinstance(schema, dict) else []
    for _ in range(_SCHEMA_LEVELS):
        specs = chain.from_iterable(properties(x, references).items() for x in level)
        inner: list[Mapping[str, Any]] = []
        for name, spec in islice(specs, _MOST_NAMES):
            found.append(name)
            parts = list(walk(spec))
            if described:
                found += (text for x in parts for text in _said_in(x))
            inner += (x for x in parts if "properties" in x)
        level = inner[:_MOST_NAMES]
    return found[:_MOST_NAMES]


def _said_in(spec: Mapping[str, Any]) -> Iterator[str]:
    """The description of a parameter, and the texts among its choices."""
    choices = spec.get("enum")
    listed = cast(list[Any], choices) if isinstance(choices, list) else []
    return (x for x in (spec.get("description"), *listed[:_MOST_NAMES]) if isinstance(x, str))


def _reasons(tool: Tool | JsonObject, wanted: Mapping[str, float]) -> tuple[str, ...]:
    """Which of its texts have which of the wanted words."""
    matched = [
        (field, [x for x in dict.fromkeys(terms(text)) if x in wanted])
        for field, text in _texts(tool)
    ]
    return tuple(f"{field.matches} {_shown(words)}" for field, words in matched if words)


def _shown(words: Sequence[str]) -> str:
    shown = ", ".join(f"'{x[:_MOST_LETTERS]}'" for x in words[:_MOST_WORDS])
    more = len(words) - _MOST_WORDS
    return f"{shown} and {more} more" if more > 0 else shown
