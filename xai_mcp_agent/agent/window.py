"""Fits a conversation to the context window of a model: what is sent, never what is kept.

Old results are shown in part first, then older turns are left out, a call always together with its
results, and at last long texts are cut. It is done in large steps, and what was folded stays so:
requests begin alike for many turns, which services cache.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from ..core.util import tokens_in
from .messages import ADDED, Message, text_of
from .results import evenly, excerpt

DEFAULT_WINDOW_TOKENS = 128_000

_GOAL = 0.6  # of the room, once something has to be folded
_LEAST_ROOM = 0.125  # of the window, however much the tools and the system message take
_ANSWER = 0.125  # of the window
_FOLDED_CHARS = 300
_LEAST_TEXT_TOKENS = 100
_LEAST_TEXT_CHARS = 200  # beside what says that there is more
_FRAME_TOKENS = 4  # the role of a message, and what is between messages
_PICTURE_TOKENS = 1_000  # of a usual one; services scale large ones down
_LEFT_OUT = (
    "[The {count} earlier messages of this conversation are left out here, to fit your window."
)
_SUMMED_UP = " What they came to:\n{summary}]"


@dataclass(frozen=True, slots=True)
class ContextWindow:
    """How much a model takes in, answer included, as it is set; `tokens` 0: nobody says.

    `sums_up` says that the model is asked to sum up what is left out.
    """

    tokens: int = DEFAULT_WINDOW_TOKENS
    answer_tokens: int | None = None
    sums_up: bool = True

    def size(self, folding: Folding) -> int:
        """The tokens of the whole window; 0 when it is not known."""
        known = [x for x in (self.tokens, folding.window_tokens) if x]
        return min(known, default=0)

    def room(self, folding: Folding, fixed_tokens: int) -> float:
        """What is left for the conversation beside what every request holds, as we count."""
        size = self.size(folding)
        if not size:
            return math.inf
        answer = min(self.answer_tokens or size * _ANSWER, size / 2)
        return max((size - answer) / folding.scale - fixed_tokens, size * _LEAST_ROOM)


@dataclass(frozen=True, slots=True)
class Folding:
    """What of a conversation is not sent as it is, and what was learned of its model's window.

    Of the turns, the results before `results_before` are shown in part, those before `left_out`
    not at all but as `summary`, and no text before `cut_before` is longer than `cut_chars`.
    `window_tokens` is what the service said; it counts `scale` tokens for one of ours.
    """

    results_before: int = 0
    left_out: int = 0
    cut_before: int = 0
    cut_chars: int = 0
    summary: str = ""
    window_tokens: int = 0
    scale: float = 1.0


@dataclass(frozen=True, slots=True)
class Fitted:
    """The turns as they are sent, and their tokens, as we count.

    `texts` has the whole texts of what is shown in part, by the id to read them with; `left_out`
    the messages that were still sent before; `folded` counts those that were sent with more text.
    """

    messages: list[Message]
    folding: Folding
    tokens: int
    texts: dict[str, str] = field(default_factory=dict[str, str])
    left_out: Sequence[Message] = ()
    folded: int = 0


def fit(turns: Sequence[Message], room: float, folding: Folding, reader: str = "") -> Fitted:
    """Fold what has to be, so that the turns take no more than `room` tokens, as far as they can.

    `turns` begin with those that `folding` was made for. `reader` is the tool that reads what is
    shown in part. The last person's request and the latest turn are always sent.
    """
    fitting = _Fitting(turns, folding, reader)
    if fitting.tokens > room:
        goal = room * _GOAL
        fitting.fold_results(goal)
        fitting.leave_out(goal)
        if fitting.tokens > room:
            fitting.cut(goal)
    return fitting.fitted()


def tokens_of(message: Message) -> int:
    """About how many tokens a message takes."""
    content, more = message.get("content"), [message.get(x) for x in ("tool_calls", ADDED)]
    tokens = _FRAME_TOKENS + tokens_in(text_of(message))
    if isinstance(content, list):
        tokens += _PICTURE_TOKENS * sum(not _is_text(x) for x in cast(list[Any], content))
    if any(more):
        tokens += tokens_in(json.dumps(more, ensure_ascii=False, default=str))
    return tokens


class _Fitting:
    """The turns while they are being fitted."""

    def __init__(self, turns: Sequence[Message], before: Folding, reader: str) -> None:
        self._turns, self._before, self._reader = turns, before, reader
        self._now = before
        self._texts: dict[int, dict[str, str]] = {}
        self._folded = 0
        asked = (n for n in range(len(turns) - 1, -1, -1) if _is_persons(turns[n]))
        self._request = next(asked, None)
        begins = range(before.left_out, len(turns))
        self._starts = [n for n in begins if not _is_answer(turns[n])]
        self._shown = {n: self._as_shown(n) for n in begins}
        if self._request is not None:
            self._shown.setdefault(self._request, self._as_shown(self._request))
        self._sizes = {n: tokens_of(x) for n, x in self._shown.items()}
        self._sum = sum(self._sizes.values())

    @property
    def tokens(self) -> int:
        """What all of it takes now."""
        return self._sum + tokens_in(self._note)

    def fold_results(self, goal: float) -> None:
        """Show results in part, the oldest first; not those of the latest turn."""
        for n in range(self._now.results_before, self._starts[-1] if self._starts else 0):
            self._now = replace(self._now, results_before=n + 1)
            if n in self._shown and _is_answer(self._turns[n]):
                self._show(n)
            if self.tokens <= goal:
                return

    def leave_out(self, goal: float) -> None:
        """Leave out turns, the oldest first; not the latest, and not what the person asked."""
        for end in self._starts[1:]:
            if self.tokens <= goal:
                return
            for n in range(self._now.left_out, end):
                if n != self._request:
                    del self._shown[n]
                    self._sum -= self._sizes.pop(n)
                    self._texts.pop(n, None)
            self._now = replace(self._now, left_out=end)

    def cut(self, goal: float) -> None:
        """Cut the longest texts of what is left."""
        texts = {n: x for n, x in self._sizes.items() if self._turns[n]["role"] in ("user", "tool")}
        others = self.tokens - sum(texts.values())
        most = max(evenly(texts.values(), goal - others), _LEAST_TEXT_TOKENS)
        longest = max(texts, key=lambda n: texts[n], default=None)
        if longest is None:
            return
        # In the characters of the longest: a token has fewer of them in some scripts.
        chars = int(len(text_of(self._shown[longest])) * most / texts[longest])
        if self._now.cut_chars:
            chars = min(chars, self._now.cut_chars)
        chars = max(chars, _LEAST_TEXT_CHARS)
        self._now = replace(self._now, cut_before=len(self._turns), cut_chars=chars)
        for n in texts:
            self._show(n)

    def fitted(self) -> Fitted:
        """What it came to."""
        out = range(self._before.left_out, self._now.left_out)
        left_out = [self._turns[n] for n in out if n != self._request]
        texts = {name: x for texts in self._texts.values() for name, x in texts.items()}
        return Fitted(self._messages(), self._now, self.tokens, texts, left_out, self._folded)

    def _messages(self) -> list[Message]:
        shown = [self._shown[n] for n in sorted(self._shown)]
        if not self._note:
            return shown
        if shown and _is_persons(shown[0]):
            return [_with_note(self._note, shown[0]), *shown[1:]]
        return [{"role": "user", "content": self._note}, *shown]

    @property
    def _note(self) -> str:
        count = self._now.left_out
        if self._request is not None and self._request < count:
            count -= 1
        if not count:
            return ""
        summary = self._now.summary
        ending = _SUMMED_UP.format(summary=summary) if summary else "]"
        return _LEFT_OUT.format(count=count) + ending

    def _show(self, n: int) -> None:
        """Show a message as it is to be shown now."""
        was, self._shown[n] = self._shown[n], self._as_shown(n)
        self._folded += self._shown[n] != was
        size = tokens_of(self._shown[n])
        self._sum += size - self._sizes[n]
        self._sizes[n] = size

    def _as_shown(self, n: int) -> Message:
        message, most = self._turns[n], math.inf
        if message["role"] not in ("user", "tool"):
            return message
        if n < self._now.cut_before:
            most = self._now.cut_chars
        if n < self._now.results_before and _is_answer(message):
            most = min(most, _FOLDED_CHARS)
        return message if most == math.inf else self._cut(message, n, int(most))

    def _cut(self, message: Message, n: int, most: int) -> Message:
        numbers = itertools.count(1)

        def shorter(text: str) -> str:
            name = f"text_{n}.{next(numbers)}"
            shown = excerpt(text, most, name, self._reader)
            if len(shown) >= len(text):
                return text
            self._texts.setdefault(n, {})[name] = text
            return shown

        return _changed(message, shorter)


def _changed(message: Message, change: Callable[[str], str]) -> Message:
    """The message with other texts."""
    content = message.get("content")
    if isinstance(content, str):
        return {**message, "content": change(content)}
    if isinstance(content, list):
        return {**message, "content": [_changed_part(x, change) for x in cast(list[Any], content)]}
    return message


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and "text" in part


def _changed_part(part: Any, change: Callable[[str], str]) -> Any:
    if isinstance(part, dict) and isinstance(text := cast(Message, part).get("text"), str):
        return {**cast(Message, part), "text": change(text)}
    return cast(Any, part)


def _with_note(note: str, message: Message) -> Message:
    """One message for both: strict chat templates want roles in turn."""
    content = message.get("content")
    if isinstance(content, list):
        return {**message, "content": [{"type": "text", "text": note}, *content]}
    return {**message, "content": f"{note}\n\n{content or ''}"}


def _is_answer(message: Message) -> bool:
    """Whether it holds the result of a call before it."""
    return message["role"] == "tool"


def _is_persons(message: Message) -> bool:
    return message["role"] == "user"
