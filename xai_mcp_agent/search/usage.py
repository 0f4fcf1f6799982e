"""Learning from use: what tools were used for, remembered in the history by toolbelt and tool."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from ..core.tools import META, ToolKey
from ..history.event import Subject
from ..history.recording.recorder import HistoryRecorder
from .remembered import NOTHING_REMEMBERED, Intent, Remembered
from .terms import terms

if TYPE_CHECKING:
    from ..history.history import History
    from ..history.learned_rows import LearnedRow, LearnedState, Learning

logger = logging.getLogger(__name__)

DEFAULT_TOOLBELT = "default"
"""That of agents whose toolbelt has no name."""

# People's work changes within months. What was asked for half a year ago, when it goes, counts
# a sixty-fourth.
_HALF_LIFE = timedelta(days=30)
# A search may wait so long for the store, which answers in milliseconds when nobody holds it.
_PATIENCE_SECONDS = 0.3
# In a long run: what others forgot meanwhile counts no longer than this.
_FRESH_SECONDS = 10.0
# A tool that is called again and again for one request was of use for it once.
_SAME_REQUEST_SECONDS = 600.0
_MOST_NEWS = 1000  # of which is known that they were just told
# What is said to go on with, and not to ask for something.
_GOES_ON = "continue ok okay sure yeah yes no nope right correct ja nein gut weiter oui non si"
_NO_INTENTS = frozenset(terms(_GOES_ON))
_LOOKED_AT_CHARS = 300  # of a text, to see whether it asks for anything

_State: TypeAlias = "tuple[LearnedState, date] | None"


@dataclass
class _Scope:
    """What is known of one toolbelt. `digested` are the terms of words by their ids."""

    remembered: Remembered = field(default_factory=lambda: NOTHING_REMEMBERED)
    state: _State = None
    digested: Mapping[str, Mapping[str, float]] = field(default_factory=dict[str, Counter[str]])
    reading: asyncio.Future[_Read | None] | None = None
    began: float = -math.inf  # when it was read last, or begun to be


@dataclass(frozen=True)
class _Read:
    remembered: Remembered
    state: _State
    digested: Mapping[str, Mapping[str, float]]


class UsageMemory:
    """What the tools of one bridge were used for, by toolbelt. Used on the bridge's loop.

    It is kept in the history of the project. Where that cannot be read nothing is remembered, and
    `tell` is told so once. Without `learns` nothing is, and nothing is learned.
    """

    def __init__(
        self,
        recorder: HistoryRecorder,
        *,
        learns: bool = True,
        tell: Callable[[str], None] = logger.warning,
    ) -> None:
        self._recorder = recorder
        self._learns = learns
        self._tell = tell
        self._has_told = False
        self._scopes: dict[str, _Scope] = {}
        self._news: dict[tuple[str, ToolKey, int], float] = {}

    def learn(self, toolbelt: str, key: ToolKey, intents: Iterable[str]) -> None:
        """A tool was called well for what somebody asked for in these words. Returns at once.

        The same is learned once in ten minutes. What may be a secret is not kept; see
        `kept_speech`.
        """
        if self._learns and key.kind != META.name:
            belt = toolbelt or DEFAULT_TOOLBELT
            new = [x for x in dict.fromkeys(intents) if _asks(x) and self._is_new(belt, key, x)]
            if new:
                learn = partial(_learn, self._recorder.subject(key), belt, new)
                self._recorder.learn(learn)

    def follow(self, toolbelt: str) -> None:
        """Begin to read what is remembered by now, at the begin of a run. Returns at once."""
        if self._learns:
            scope = self._scope(toolbelt)
            if scope.reading is None:
                self._read(toolbelt or DEFAULT_TOOLBELT, scope)

    async def remembered(self, toolbelt: str) -> Remembered:
        """What its tools were used for.

        Waits a moment for the store at most; where that takes longer, it is as it was before.
        """
        if not self._learns:
            return NOTHING_REMEMBERED
        scope = self._scope(toolbelt)
        if scope.reading is None and time.monotonic() - scope.began > _FRESH_SECONDS:
            self._read(toolbelt or DEFAULT_TOOLBELT, scope)
        if scope.reading is not None:
            left = scope.began + _PATIENCE_SECONDS - time.monotonic()
            await asyncio.wait([scope.reading], timeout=max(left, 0.0))
        return scope.remembered

    def _scope(self, toolbelt: str) -> _Scope:
        return self._scopes.setdefault(toolbelt or DEFAULT_TOOLBELT, _Scope())

    def _is_new(self, toolbelt: str, key: ToolKey, text: str) -> bool:
        news, now = (toolbelt, key, hash(text)), time.monotonic()
        is_new = now - self._news.pop(news, -math.inf) > _SAME_REQUEST_SECONDS
        self._news[news] = now
        if len(self._news) > _MOST_NEWS:
            del self._news[next(iter(self._news))]
        return is_new

    def _read(self, toolbelt: str, scope: _Scope) -> None:
        state, digested = scope.state, scope.digested
        asked = self._recorder.read(
            lambda history: _read(history, toolbelt, state, digested), _NOTHING
        )
        scope.began = time.monotonic()
        scope.reading = _on_loop(asked)
        scope.reading.add_done_callback(lambda x: self._take(scope, x))

    def _take(self, scope: _Scope, read: asyncio.Future[_Read | None]) -> None:
        scope.reading = None
        if read.cancelled():
            return
        if (reason := read.exception()) is not None:
            logger.debug("What tools were used for cannot be read", exc_info=reason)
            if not self._has_told:
                self._has_told = True
                self._tell(f"Tools are found without what they were used for before: {reason}")
        elif (found := read.result()) is not None:
            scope.remembered, scope.state = found.remembered, found.state
            scope.digested = found.digested


_NOTHING = _Read(NOTHING_REMEMBERED, None, {})


def _on_loop(asked: Future[_Read | None]) -> asyncio.Future[_Read | None]:
    return asyncio.wrap_future(asked)


def _asks(text: str) -> bool:
    """Whether there is something in it to find a tool by."""
    return not _NO_INTENTS.issuperset(terms(text[:_LOOKED_AT_CHARS]))


# What follows runs in the thread that owns the store.


def _learn(
    tool: Subject, toolbelt: str, texts: Sequence[str], learning: Learning, time: datetime
) -> None:
    from .intents import learn_intents  # loads SQLAlchemy

    learn_intents(learning, tool, toolbelt, texts, time)


def _read(
    history: History, toolbelt: str, known: _State, digested: Mapping[str, Mapping[str, float]]
) -> _Read | None:
    """What is remembered; None where it is as it is `known`."""
    from ..history.learned_rows import LearnedFilter  # loads SQLAlchemy
    from .intents import intents_in, intents_state

    now = datetime.now(UTC)
    state = intents_state(history, toolbelt), now.date()
    if state == known:
        return None
    kept = intents_in(history, LearnedFilter(toolbelt))
    words = {x.id: digested.get(x.id) or Counter(terms(x.words)) for x in kept}
    return _Read(_remembered(kept, words, now), state, words)


def _remembered(
    kept: Sequence[LearnedRow], words: Mapping[str, Mapping[str, float]], now: datetime
) -> Remembered:
    found: dict[ToolKey, list[Intent]] = {}
    for one in kept:
        age = max(now - one.used, timedelta())
        # Used often it says more, but not as many times as much.
        weight = 0.5 ** (age / _HALF_LIFE) * (1 + math.log2(one.times))
        found.setdefault(one.tool.key, []).append(Intent(words[one.id], one.times, weight))
    return Remembered(found)
