"""Index of tools: the weights of their texts in a search, and the reasons for a match, in words."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from ..core.json import JsonObject, as_list, as_object, as_texts
from ..core.names import join_names
from ..core.schemas import fields, variants
from ..core.tools import Tool
from .index import LexicalIndex
from .terms import clauses, separate_words, terms, weigh

if TYPE_CHECKING:
    from .embeddings import Closeness, Comparison, DenseIndex, Embed

T = TypeVar("T", Tool, JsonObject)

_SCHEMA_LEVELS = 3  # the parameters, and two levels inside them
_MAX_NAMES = 500  # of parameters: nobody reads so many
_NAME_BONUS = 0.3  # bonus for a name of which the request has every word
_MAX_CLAUSES = 12
_MAX_WORDS, _MAX_LETTERS = 4, 40  # words of a reason; a description may have all of a long request
# Candidates: so many times the limit, and at least this many.
_CANDIDATES, _MIN_CANDIDATES = 4, 32
# Weight of the closest meaning against the best words. Half of it is as good if people use the
# words of the descriptions; this is better if those are terse, and people use their own words.
_MEANING = 1.0
# How long a search waits for the vectors of a few tools: several times what a slow machine takes.
_FILL_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class _Field:
    """Kind of text of a tool: the words of a reason, its weight, and its usual length."""

    matches: str
    weight: float
    usual_length: int


_NAME = _Field("name matches", 2.0, 3)
_INITIALS = _Field("initials match", 1.0, 1)
_MIN_INITIALS = 3
_DESCRIPTION = _Field("description matches", 1.0, 15)
_PARAMETERS = _Field("parameters match", 0.3, 25)
_SERVER = _Field("server matches", 1.0, 2)
_ABOUT_SERVER = _Field("server's description matches", 0.3, 15)
_OUTPUT = _Field("output matches", 0.3, 6)
_REMEMBERED = _Field("requests match", 0.3, 25)
_MAX_REMEMBERED = 1.0  # of one word, however often it occurs: as once in the description


@dataclass(frozen=True, slots=True)
class Hit(Generic[T]):
    """Search result. Scores are relative to the best, which has 1; `reasons` are in words."""

    tool: T
    score: float
    reasons: tuple[str, ...]


class ToolIndex(Generic[T]):
    """Index that finds tools by a person's words. Not thread-safe.

    Tools are catalog tools, or dicts with `id`, `server`, `name`, `description`, `input_schema` and
    perhaps `title`, `output_schema` and `server_description`.

    With `embed`, which takes a list of texts and returns a vector for each, tools are found by
    their meaning, too. It is first called by a search, and then once for each new text. While it
    fails, words alone count. A `DenseIndex` is filled by its owner, and searches do not wait.

    Raises:
        NoEmbeddings: there is an `embed`, and numpy is not installed.
    """

    def __init__(
        self, tools: Iterable[T] = (), embed: Embed | DenseIndex[Any] | None = None
    ) -> None:
        self._tools: dict[Hashable, T] = {}
        self._names: dict[Hashable, list[str]] = {}  # as terms: every search compares dozens
        self._index = LexicalIndex[Any]()
        self._dense, self._fills = _dense_index(embed)
        for tool in tools:
            self.update(tool)

    def __len__(self) -> int:
        return len(self._tools)

    def update(self, tool: T) -> None:
        """Add a tool, or replace the one with its key."""
        weights: defaultdict[str, float] = defaultdict(float)
        for field, text in _texts(tool):
            counts = Counter(terms(text))
            for word, weight in weigh(counts, field.usual_length, field.weight).items():
                weights[word] += weight
        key = key_of(tool)
        self._tools[key], self._names[key] = tool, terms(text_of(tool, "name"))
        self._index.put(key, weights)
        if self._dense:
            self._dense.put(key, _text_to_embed(tool))

    def remove(self, key: Hashable) -> None:
        """Remove a tool by its key (a dict's is its `id`), if it exists."""
        if self._tools.pop(key, None) is not None:
            del self._names[key]
            self._index.remove(key)
            if self._dense:
                self._dense.remove(key)

    def tool(self, key: Hashable) -> T:
        """Return the tool with this key."""
        return self._tools[key]

    def search(
        self,
        query: str,
        limit: int = 10,
        *,
        among: Collection[Hashable] | None = None,
        remembered: Mapping[Any, Mapping[str, float]] | None = None,
    ) -> list[Hit[T]]:
        """Return the tools that fit best, best first, equals by their keys; only those `among`.

        The list is empty if neither words nor meaning fit. `remembered` are weighted terms of
        earlier requests, by tool: one more text of the tool, and a weak one; see `search.usage`.
        """
        scores, close = self._score(query, limit, among, remembered)
        words = self._expand(query)
        return [
            Hit(self._tools[key], score / scores[0][1], self._reasons(key, words, close))
            for key, score in scores[: max(limit, 0)]
        ]

    def scores(self, query: str, limit: int = 10) -> list[tuple[Any, float]]:
        """Like `search`: return the keys of the tools, with scores that compare between queries.

        A word in the tool's description, and in one of a hundred others, counts about 5.
        """
        scores, _ = self._score(query, limit, None, None)
        return scores[: max(limit, 0)]

    def look_up(self, query: str) -> None:
        """Let the embedding model make the vectors of a query, so that `search` need not wait.

        It may take as long as the model needs, and may run in parallel with anything else.
        """
        if self._dense:
            self._dense.look_up(query, _parts_of(query))

    def rarity(self, word: str) -> float:
        """Return the weight of a word of a request: the rarest weigh most."""
        return self._index.rarity(word)

    def coverage(
        self, query: str, key: Hashable, remembered: Mapping[Any, Mapping[str, float]] | None = None
    ) -> float:
        """Return the share of a query, 0 to 1, that a tool covers; rare words count more."""
        has = {*self._index.terms_of(key), *(remembered or {}).get(key, ())}
        total, shared = 0.0, 0.0
        for word in dict.fromkeys(terms(query)):
            near = self._index.expand([word])
            total += (rarity := self._index.rarity(word))
            shared += rarity * max((near[x] for x in near.keys() & has), default=0.0)
        return shared / total if total else 0.0

    def _score(
        self,
        query: str,
        limit: int,
        among: Collection[Hashable] | None,
        remembered: Mapping[Any, Mapping[str, float]] | None,
    ) -> tuple[list[tuple[Any, float]], Mapping[Any, Closeness]]:
        parts = _parts_of(query)
        comparison = self._compare(query, parts)
        near = comparison.nearest(_MIN_CANDIDATES, among) if comparison else ()
        words, words_of_parts = self._expand(query), [self._expand(x) for x in parts]
        count = max(_CANDIDATES * limit, _MIN_CANDIDATES)
        matches = self._index.search(
            words, count, words_of_parts, extra_terms=remembered, among=among, also=near
        )
        by_words = {x: score * self._name_bonus(x, words) for x, score in matches}
        close = comparison.closeness({*near, *by_words}) if comparison else {}
        scores = _join(by_words, close) if close else by_words
        return sorted(scores.items(), key=lambda x: (-x[1], x[0])), close

    def _compare(self, query: str, parts: Sequence[str]) -> Comparison[Any] | None:
        if not self._dense:
            return None
        while self._fills and self._dense.fill(seconds=_FILL_SECONDS):
            pass
        self._dense.look_up(query, parts)
        return self._dense.compare(query, parts)

    def _reasons(
        self, key: Hashable, words: Mapping[str, float], close: Mapping[Any, Closeness]
    ) -> tuple[str, ...]:
        reasons = _reasons(self._tools[key], words)
        if key not in close or not close[key].is_near:
            return reasons
        return (*reasons, f"meaning is near ({close[key].cosine:.2f})")

    def _expand(self, text: str) -> dict[str, float]:
        return self._index.expand(list(dict.fromkeys(terms(text))))

    def _name_bonus(self, key: Hashable, words: Mapping[str, float]) -> float:
        """Return a factor that grows with the share of the name's words in the request."""
        rarity = {word: self._index.rarity(word) for word in self._names[key]}
        share = sum(x for word, x in rarity.items() if word in words)
        return 1 + _NAME_BONUS * share / (sum(rarity.values()) or 1.0)


def key_of(tool: Tool | JsonObject) -> Any:
    """Return the key of a tool in an index."""
    return tool.key if isinstance(tool, Tool) else tool["id"]


def remembered_terms(counts: Mapping[str, float]) -> dict[str, float]:
    """Return the weights of the terms of requests that a tool was used for, for `ToolIndex`."""
    weights = weigh(counts, _REMEMBERED.usual_length, _REMEMBERED.weight)
    return {term: min(weight, _MAX_REMEMBERED) for term, weight in weights.items()}


def _initials(name: str) -> str:
    """Return `bmi` for `body_mass_index`; "" for a name of two words."""
    letters = [x[0] for x in separate_words(name).split()]
    return "".join(letters).lower() if len(letters) >= _MIN_INITIALS else ""


def _parts_of(query: str) -> list[str]:
    parts = clauses(query)[:_MAX_CLAUSES]
    return parts if len(parts) > 1 else []


def _dense_index(embed: Embed | DenseIndex[Any] | None) -> tuple[DenseIndex[Any] | None, bool]:
    """Return the dense index, if there is one, and whether searches have to fill it."""
    if embed is None:
        return None, False
    # Imported here, because it takes as long to load as the rest of this package.
    from .embeddings import DenseIndex, Embedder

    if isinstance(embed, DenseIndex):
        return cast("DenseIndex[Any]", embed), False
    return DenseIndex[Any](Embedder(embed, "", "the function passed as `embed`")), True


def _join(by_words: Mapping[Any, float], close: Mapping[Any, Closeness]) -> dict[Any, float]:
    """Combine words and meaning, each relative to its best. Better than joining the two orders."""
    most = max(by_words.values(), default=1.0)
    return {
        key: by_words.get(key, 0.0) / most + (_MEANING * close[key].share if key in close else 0.0)
        for key in {*by_words, *close}
    }


def _text_to_embed(tool: Tool | JsonObject) -> str:
    """Return the text with most of its meaning; parameters and servers add nothing."""
    name = f"{separate_words(text_of(tool, 'name'))}."
    return " ".join(x for x in (name, text_of(tool, "title"), text_of(tool, "description")) if x)


def text_of(tool: Tool | JsonObject, name: str) -> str:
    """Return a text of a tool, such as its `description`; "" if it has none."""
    return str(_value(tool, name) or "")  # a dict may contain anything


def schema_of(tool: Tool | JsonObject, name: str) -> JsonObject:
    """Return a schema of a tool, such as its `input_schema`; an empty one if it has none."""
    return as_object(_value(tool, name))


def _value(tool: Tool | JsonObject, name: str) -> Any:
    if isinstance(tool, Tool):
        return getattr(tool, "source" if name == "server" else name, None)
    return tool.get(name)


def _texts(tool: Tool | JsonObject) -> Iterator[tuple[_Field, str]]:
    name = text_of(tool, "name")
    yield _NAME, name
    yield _INITIALS, _initials(name)
    yield _DESCRIPTION, f"{text_of(tool, 'title')} {text_of(tool, 'description')}"
    yield _PARAMETERS, " ".join(_names(schema_of(tool, "input_schema"), described=True))
    yield _SERVER, text_of(tool, "server")
    yield _ABOUT_SERVER, text_of(tool, "server_description")
    yield _OUTPUT, " ".join(_names(schema_of(tool, "output_schema"), described=False))


def _names(schema: JsonObject, *, described: bool) -> list[str]:
    """Return names of properties on the first levels, perhaps with descriptions and choices."""
    names: list[str] = []
    for path, spec, _ in islice(fields(schema, _SCHEMA_LEVELS), _MAX_NAMES):
        names.append(path[-1])
        for part in variants(spec) if described else ():
            names += as_texts([part.get("description"), *as_list(part.get("enum"))[:_MAX_NAMES]])
    return names[:_MAX_NAMES]


def _reasons(tool: Tool | JsonObject, words: Mapping[str, float]) -> tuple[str, ...]:
    """Return for each of its texts the words of the query in it, as a reason."""
    reasons: list[str] = []
    for field, text in _texts(tool):
        if matches := [f"'{x[:_MAX_LETTERS]}'" for x in dict.fromkeys(terms(text)) if x in words]:
            reasons.append(f"{field.matches} {join_names(matches, _MAX_WORDS)}")
    return tuple(reasons)
