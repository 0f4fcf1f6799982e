"""Learning from use: the requests that tools were used for, and their weight in a search.

The history stores the words, by toolbelt and tool; see `history.learned_rows`.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from ..core.tools import META, ToolKey
from ..history.event import tool_subject
from .terms import root, terms
from .tools import remembered_terms

if TYPE_CHECKING:
    from ..history.history import History
    from ..history.learned_rows import LearnedRow
    from ..history.recording.recorder import HistoryRecorder

logger = logging.getLogger(__name__)

_DEFAULT_TOOLBELT = "default"

# People's work changes within months. A request of half a year ago counts a sixty-fourth, and is
# then removed.
_HALF_LIFE = timedelta(days=30)
# How long a search waits for the store, which answers in milliseconds unless it is locked.
_PATIENCE_SECONDS = 0.3
# Limit for requests that others have forgotten meanwhile, in a long run.
_FRESH_SECONDS = 10.0
SAME_REQUEST_SECONDS = 600.0
"""A tool that is called again and again for one request was useful for it once."""
_MAX_NEWS = 1000  # requests that were just learned
# Words for "go on", which ask for nothing.
_CONTINUING = "continue ok okay sure yeah yes no nope right correct ja nein gut weiter oui non si"
_NO_INTENTS = frozenset(terms(_CONTINUING))
_MAX_INTENT_CHARS = 300  # of a text, checked for a request
# Share of the shorter of two requests, with rare words weighing more.
_SIMILAR = 0.5


@dataclass(frozen=True, slots=True)
class Intent:
    """Request that a tool was used for: its terms with repetitions, and `uses`.

    `weight` falls with its age, from 1 to 0, and rises a little with its uses.
    """

    terms: Mapping[str, float]
    uses: int = 1
    weight: float = 1.0


class Remembered(dict[ToolKey, Mapping[str, float]]):
    """Requests that the tools of one toolbelt were used for: weighted terms by tool.

    `ToolIndex.search` takes it as it is.
    """

    def __init__(self, intents: Mapping[ToolKey, Sequence[Intent]]) -> None:
        super().__init__({key: _join(some) for key, some in intents.items()})
        self._intents = intents

    def uses_like(self, key: ToolKey, words: Iterable[str], rarity: Callable[[str], float]) -> int:
        """Return how often a tool was used for a similar request.

        Similar requests share half of the shorter one, with rare words weighing more: sharing
        "list" and "file" is not enough, sharing "invoice" may be.
        """
        request = _by_root(words, rarity)
        intents = ((x.uses, _by_root(x.terms, rarity)) for x in self._intents.get(key, ()))
        return sum(uses for uses, weights in intents if _are_similar(request, weights))


NOTHING_REMEMBERED = Remembered({})


@dataclass
class _Scope:
    """State of one toolbelt: its requests, their cache key, and the reading in progress."""

    remembered: Remembered = field(default_factory=lambda: NOTHING_REMEMBERED)
    state: Any = None
    reading: asyncio.Future[tuple[Remembered, Any] | None] | None = None
    began: float = -math.inf  # the last reading


class UsageMemory:
    """Requests that the tools of one bridge were used for, on the bridge's loop.

    If the history cannot be read there are none, and one warning says so. Without `learns` nothing
    is remembered or learned.
    """

    def __init__(self, recorder: HistoryRecorder, *, learns: bool = True) -> None:
        self._recorder, self._learns = recorder, learns
        self._has_warned = False
        self._scopes = defaultdict[str, _Scope](_Scope)
        self._news: dict[tuple[str, ToolKey, int], float] = {}

    def learn(self, toolbelt: str, key: ToolKey, requests: Iterable[str]) -> None:
        """Remember that a tool served requests in these words. Returns at once.

        The same is learned once in ten minutes. Possible secrets are not stored; see `mask_speech`.
        """
        if not self._learns or key.kind == META.name:
            return
        toolbelt = toolbelt or _DEFAULT_TOOLBELT
        new = [x for x in dict.fromkeys(requests) if _asks(x) and self._is_new(toolbelt, key, x)]
        if new:
            self._recorder.learn(tool_subject(key), toolbelt, new)

    def follow(self, toolbelt: str) -> None:
        """Start reading the remembered requests, at the start of a run. Returns at once."""
        if self._learns:
            self._read(toolbelt or _DEFAULT_TOOLBELT)

    async def remembered(self, toolbelt: str) -> Remembered:
        """Return the requests that its tools were used for.

        It waits a moment for the store at most, and otherwise returns the earlier state.
        """
        if not self._learns:
            return NOTHING_REMEMBERED
        toolbelt = toolbelt or _DEFAULT_TOOLBELT
        scope = self._scopes[toolbelt]
        if time.monotonic() - scope.began > _FRESH_SECONDS:
            self._read(toolbelt)
        if scope.reading is not None:
            seconds = scope.began + _PATIENCE_SECONDS - time.monotonic()
            await asyncio.wait([scope.reading], timeout=max(seconds, 0.0))
        return scope.remembered

    def _is_new(self, toolbelt: str, key: ToolKey, text: str) -> bool:
        news, now = (toolbelt, key, hash(text)), time.monotonic()
        is_new = now - self._news.pop(news, -math.inf) > SAME_REQUEST_SECONDS
        self._news[news] = now
        if len(self._news) > _MAX_NEWS:
            del self._news[next(iter(self._news))]
        return is_new

    def _read(self, toolbelt: str) -> None:
        scope = self._scopes[toolbelt]
        if scope.reading is None:
            state = scope.state
            request = self._recorder.read(lambda x: _read(x, toolbelt, state), None)
            scope.began, scope.reading = time.monotonic(), asyncio.wrap_future(request)
            scope.reading.add_done_callback(lambda x: self._take(scope, x))

    def _take(self, scope: _Scope, reading: asyncio.Future[tuple[Remembered, Any] | None]) -> None:
        scope.reading = None
        if reading.cancelled():
            return
        if (reason := reading.exception()) is not None:
            logger.debug("The requests that tools were used for cannot be read", exc_info=reason)
            if not self._has_warned:
                self._has_warned = True
                logger.warning("Tools are found without what they were used for before: %s", reason)
        elif (result := reading.result()) is not None:
            scope.remembered, scope.state = result


def _read(history: History, toolbelt: str, cache_key: Any) -> tuple[Remembered, Any] | None:
    """Return the requests and their cache key, or None if the key is `cache_key`.

    Runs in the thread that owns the store.
    """
    # Imported here: SQLAlchemy takes a while.
    from ..history.learned_rows import LearnedFilter, learned_state, read_learned

    now = datetime.now(UTC)
    state = learned_state(history, toolbelt), now.date()
    if state == cache_key:
        return None
    intents = defaultdict[ToolKey, list[Intent]](list)
    for row in read_learned(history, LearnedFilter(toolbelt)):
        intents[row.tool.key].append(_intent(row, now))
    return Remembered(intents), state


def _intent(row: LearnedRow, now: datetime) -> Intent:
    age = max(now - row.used, timedelta())
    # Frequent use counts more, but not in proportion.
    weight = 0.5 ** (age / _HALF_LIFE) * (1 + math.log2(row.times))
    return Intent(Counter(terms(row.words)), row.times, weight)


def _asks(text: str) -> bool:
    """Return whether a text has a word to find a tool by."""
    return not _NO_INTENTS.issuperset(terms(text[:_MAX_INTENT_CHARS]))


def _join(intents: Sequence[Intent]) -> dict[str, float]:
    counts = defaultdict[str, float](float)
    for intent in intents:
        for term, count in intent.terms.items():
            counts[term] += count * intent.weight
    return remembered_terms(counts)


def _by_root(words: Iterable[str], rarity: Callable[[str], float]) -> dict[str, float]:
    return {root(word): rarity(word) for word in words}


def _are_similar(one: Mapping[str, float], other: Mapping[str, float]) -> bool:
    shared = sum(min(one[x], other[x]) for x in one.keys() & other.keys())
    shorter = min(sum(one.values()), sum(other.values()))
    return 0 < shorter * _SIMILAR <= shared
