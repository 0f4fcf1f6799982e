"""A run as a card: question, calls that unfold, notes, answer; its plain text is the answer."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from ..agent.events import (
    ModelAskedAgain,
    RunEvent,
    RunFailed,
    RunFinished,
    RunStarted,
    TextArrived,
    ThoughtFinished,
    ToolFinished,
    ToolStarted,
)
from ..core.json import JsonObject
from ..secrets.redactor import redact_value
from ..secrets.secrets import Mask
from .markdown import code_marks_as_html, first_paragraphs, markdown_as_html
from .notes import Note, Notes, about_text, totals_text
from .surface import Detail
from .text import (
    MOST_CHARS,
    as_it_is,
    clean,
    count,
    lay_out,
    opening,
    short_arguments,
    template,
)
from .waiting import Clock, Waiting

if TYPE_CHECKING:
    from markupsafe import Markup

_HTML = Path(__file__).with_suffix(".html")

_FOLD_CHARS, _ANSWER_CHARS = 5_000, 50_000  # a browser draws all folds
_OPENING_LINES, _OPENING_CHARS = 3, 300  # characters of a call's error
_NOTE_LINES = 4  # further lines are folded
# A card is drawn as a whole, so drawing is limited: interval, share of the time, bytes a second.
_PAUSE_SECONDS = 0.3
_PAUSE_FOR_WORK = 10.0  # factor for the time that drawing took here
_CHARS_PER_SECOND = 100_000

Draw: TypeAlias = Callable[[str, str, bool], None]
"""Shows the card's HTML and text; the last argument says whether it is final."""


@dataclass
class _CardCall:
    """A call on the card."""

    key: int
    title: str
    arguments: str
    is_running: bool = True
    is_error: bool = False
    seconds: str = ""
    opening: Markup | str = ""
    result: str = ""


@dataclass
class _View:
    """Values of the page; texts are cleaned and masked."""

    agent: str
    margin: float
    about: str = ""
    question: str = ""
    entries: list[Markup] = field(default_factory=lambda: list[Any]())
    answer: Markup | str = ""
    error: Markup | str = ""
    ending: str = ""
    has_failed: bool = False


class RunCard:
    """Shows the events of one run, in the thread of its workflow.

    It is drawn again at a limited rate while the run goes on, and once at its end.
    """

    def __init__(
        self,
        name: str,
        detail: Detail,
        draw: Draw,
        clock: Clock = time.monotonic,
        *,
        mask: Mask = as_it_is,
        margin: float = 0.0,
    ) -> None:
        self._name = name
        self._draw = draw
        self._clock = clock
        self._mask = mask
        self._notes = Notes(detail, clock)
        self._plain = list[str]()  # for viewers that cannot show the card
        self._view = _View(name, margin)
        self._calls = dict[str, _CardCall]()  # calls by run and id, since a model may reuse an id
        self._has_tools = True
        self._speech = list[str]()  # of this turn, as it streams
        self._next_drawing = 0.0
        self._is_old = False
        self.is_over = False
        self.last_error = ""  # of the run, as the card shows it

    def show(self, event: RunEvent) -> None:
        """Process an event; the card is drawn now, or soon."""
        self._view.ending = ""
        match event:
            case TextArrived(text):
                self._speech.append(text)
            case RunStarted():
                self._start(event)
            case ModelAskedAgain():
                self._speech, self._view.answer = [], ""
            case ThoughtFinished():
                self._finish_thought(event)
            case ToolStarted():
                self._start_call(event)
            case ToolFinished():
                self._finish_call(event)
            case _:
                pass
        for note in self._notes.of(event):
            self._add_note(note)
        self._is_old = True
        match event:
            case RunFinished():
                self._finish(event)
            case RunFailed():
                self._fail(event)
            case _:
                self._draw_soon()

    def note(self, mark: str, text: str) -> None:
        """Add a line."""
        self._add_note(Note(mark, text))
        self._view.has_failed |= mark == "!!" and not self._has_tools
        self._is_old = True

    def tick(self, waiting: Waiting) -> None:
        """Draw pending changes and the current wait, if it is time to."""
        if wait := waiting.to_rewrite():
            self._view.ending = clean(self._mask(wait))
            self._is_old = True
        self._draw_soon()

    def stop(self, reason: str, *, by_person: bool = False) -> None:
        """Mark the run as stopped from outside, unless it is over."""
        if self.is_over:
            return
        if by_person:
            self._end(reason)
        else:
            self.show(RunFailed(reason))

    def _start(self, event: RunStarted) -> None:
        self._view.about = clean(about_text(event))
        self._plain.append(f"== {self._name}: {self._view.about}")
        question = self._mask(event.asked.strip())
        self._view.question = _cut(question)
        self._has_tools = bool(event.tool_names)
        self._view.has_failed = bool(event.left_out and not self._has_tools)

    def _finish_thought(self, event: ThoughtFinished) -> None:
        self._speech, self._view.answer = [], ""
        text = self._mask(event.text.strip())
        if text and event.call_count:
            self._view.entries.append(_macros().thought(markdown_as_html(_cut(text))))
        elif text:
            self._view.answer = self._answer(text)

    def _start_call(self, event: ToolStarted) -> None:
        title = f"{event.tool}({short_arguments(event.arguments, self._mask)})"
        arguments = _cut(_pretty(event.arguments, self._mask))
        key = len(self._view.entries)
        call = self._calls[event.call_id] = _CardCall(key, clean(title), arguments)
        self._view.entries.append(_macros().fold(call, key))

    def _finish_call(self, event: ToolFinished) -> None:
        if event.call_id not in self._calls:
            self._start_call(ToolStarted(event.call_id, event.tool, event.arguments))
        call = self._calls.pop(event.call_id)
        call.is_running, call.is_error = False, event.result.is_error
        call.seconds = f"{event.seconds:.2f} s"
        text = self._mask(event.result.text.strip()) or "(nothing)"
        notes = "".join(f"\nnote: {self._mask(x)}" for x in event.result.notes)
        # Masked again: pretty-printing decodes JSON's escapes.
        call.result = _cut(self._mask(lay_out(text, 2)) + notes)
        if call.is_error:
            call.opening = code_marks_as_html(clean(opening(text, _OPENING_LINES, _OPENING_CHARS)))
        self._view.entries[call.key] = _macros().fold(call, call.key)

    def _finish(self, event: RunFinished) -> None:
        if event.answer.strip():
            answer = self._mask(event.answer.strip())
            self._view.answer = self._answer(answer)
            self._plain.append(clean(opening(answer, MOST_CHARS, MOST_CHARS)))
        self._view.has_failed |= event.stopped not in ("answered", "waiting")
        self._end(totals_text(event))

    def _fail(self, event: RunFailed) -> None:
        self.last_error = event.error
        error = _cut(self._mask(event.error))
        self._view.error = code_marks_as_html(error)
        self._view.has_failed = True
        self._plain.append(f"!! {self._name} stopped: {error}")
        self._end("failed: it had no tools" if event.stopped == "no_tools" else "")

    def _end(self, ending: str) -> None:
        self._speech, self.is_over = [], True
        self._view.ending = clean(ending)
        self._plain += [f"== {self._name}: {self._view.ending}"] if ending else []
        self._draw_now()

    def _add_note(self, note: Note) -> None:
        """Add a note; trouble is set apart, and many lines are folded."""
        text, body = clean(self._mask(note.text)), note.body
        if note.mark == "!!":
            self._plain.append(f"!! {text}")
            self._view.entries.append(_macros().trouble("", code_marks_as_html(text)))
            return
        if text.count("\n") >= _NOTE_LINES:
            text, _, body = text.partition("\n")
        key = len(self._view.entries)
        details = _cut(self._mask(body)) if body else ""
        self._view.entries.append(_macros().note(code_marks_as_html(text), details, key))

    def _answer(self, text: str) -> Markup:
        head = first_paragraphs(text, _ANSWER_CHARS)
        rest = len(text) - len(head)
        page = markdown_as_html(head)
        return page + _macros().rest(count(rest, "more character")) if rest else page

    def _draw_soon(self) -> None:
        if self._is_old and not self.is_over and self._clock() >= self._next_drawing:
            self._draw_now()

    def _draw_now(self) -> None:
        start = self._clock()
        page = self._page()
        text = "\n".join(self._plain) if self.is_over else f"== {self._name} is at work"
        self._draw(page, text, self.is_over)
        self._is_old = False
        now = self._clock()
        work, size = (now - start) * _PAUSE_FOR_WORK, len(page) / _CHARS_PER_SECOND
        self._next_drawing = now + max(_PAUSE_SECONDS, work, size)

    def _page(self) -> str:
        if self._speech:
            text = self._mask("".join(self._speech))
            # An incomplete word may be the beginning of a secret.
            self._view.answer = self._answer(text[: max(text.rfind(" "), text.rfind("\n")) + 1])
        return str(_macros().page(self._view)).strip()


@cache
def _macros() -> Any:
    return template(_HTML).module


def _pretty(arguments: JsonObject | None, mask: Mask) -> str:
    """Return arguments to read; secrets are masked before quoting, and again in the whole."""
    if arguments is None:
        return "(not readable)"
    return mask(json.dumps(redact_value(arguments, mask), ensure_ascii=False, indent=2))


def _cut(text: str) -> str:
    """Cut a masked text to the limit of a fold, say how much more there is, and clean it."""
    return clean(opening(text, _FOLD_CHARS, _FOLD_CHARS))
