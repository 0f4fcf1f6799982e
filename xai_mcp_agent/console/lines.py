"""A run as lines: its turns, tool calls with results, errors, totals."""

from __future__ import annotations

from ..agent.events import (
    ModelAsked,
    RunEvent,
    RunFailed,
    RunFinished,
    RunStarted,
    TextArrived,
    ThoughtFinished,
    ToolFinished,
    ToolStarted,
)
from ..core.results import ToolResult
from ..secrets.secrets import Mask
from .notes import Notes, about_text, totals_text
from .screen import Screen, Voice
from .surface import Detail
from .text import (
    ARGUMENT_CHARS,
    MOST_CHARS,
    Line,
    Style,
    clean,
    columns,
    lay_out,
    marked_lines,
    opening,
    short_arguments,
    wrap,
)
from .waiting import Clock, Waiting

_BODY = "    "
_RESULT_LINES = 6
_ERROR_LINES, _ERROR_CHARS = 20, 2_000  # of an error: the next step stands at the end
_MOST_WORD = 10_000  # characters


class RunLines:
    """Writes the events of one run, in the thread of its workflow.

    `mask` hides secrets in all texts of servers and models.
    """

    def __init__(self, name: str, screen: Screen, voice: Voice, clock: Clock, mask: Mask) -> None:
        self._mask = mask
        self._name = name
        self._screen = screen
        self._voice = voice
        self._notes = Notes(voice.detail, clock)
        self._is_verbose = voice.detail == Detail.VERBOSE
        self._speech = ""  # streamed text that is not a whole line yet
        self._has_spoken = False  # in this turn
        self._gutter = self._body = ""  # prefixes of the next line and of all further ones
        self._step = 0

    @property
    def indent(self) -> str:
        """Return the indent of the run's lines."""
        return self._body

    def show(self, event: RunEvent) -> None:
        """Write one event."""
        if self._voice.detail == Detail.QUIET:
            self._show_trouble(event)
            return
        match event:
            case RunStarted():
                self.say("==", f"{event.agent}: {about_text(event)}", style="bold")
                self._gutter = self._body = _BODY
            case TextArrived(text):
                self._stream(text)
            case ThoughtFinished(text=text):
                self._finish_thought(text)
            case ToolStarted():
                limit = MOST_CHARS if self._is_verbose else ARGUMENT_CHARS
                arguments = short_arguments(event.arguments, self._mask, limit)
                self.say("->", f"{event.tool}({arguments})")
            case ToolFinished():
                self._finish_tool(event)
            case RunFailed(error):
                self.say("!!", f"{self._name} stopped: {error}")
            case _:
                pass
        self._show_notes(event)
        if isinstance(event, ModelAsked) and event.step != self._step:
            self._step, self._gutter = event.step, f"{event.step:2}. "
        elif isinstance(event, RunFinished):
            self._gutter = self._body = ""
            self.say("==", f"{self._name}: {totals_text(event)}", style="bold")

    def tick(self, waiting: Waiting) -> None:
        """Write the current waits, if it is time to."""
        rewrites = self._screen.can_rewrite(self._voice)
        text = self._mask(waiting.to_rewrite() if rewrites else waiting.to_add())
        if not text:
            return
        self.end_speech()  # the stream has paused; it continues below
        if rewrites:
            self._screen.show_status(self._voice, f"{self._body}.. {clean(text)}")
        else:
            lines = marked_lines("..", text, self._voice.width, self._body, self._body)
            self._voice.lines(*lines)

    def say(self, mark: str, text: str, *, style: Style = "") -> None:
        """Write lines that begin with a mark."""
        self.end_speech()
        first, masked = self._take_gutter(), self._mask(text)
        style = style or ("red" if mark == "!!" else "")
        self._voice.lines(*marked_lines(mark, masked, self._voice.width, first, self._body, style))

    def end_speech(self) -> None:
        """End the streamed line, complete or not."""
        text, self._speech = self._speech, ""
        if text.strip():
            self._write_speech(self._wrap(self._mask(text)))

    def _show_trouble(self, event: RunEvent) -> None:
        """Write an error with the name of its run."""
        match event:
            case ToolFinished(tool=tool, result=result) if result.is_error:
                self.say("!!", f"{self._name}, {tool}: {self._short_error(result)}")
            case RunFailed(error):
                self.say("!!", f"{self._name} stopped: {error}")
            case _:
                for note in self._notes.of(event):
                    if note.mark == "!!":
                        self.say("!!", f"{self._name}, {note.text}")

    def _show_notes(self, event: RunEvent) -> None:
        for note in self._notes.of(event):
            if note.body:
                self._show_text(note.mark, note.text, note.body)
            else:
                self.say(note.mark, note.text)

    def _stream(self, text: str) -> None:
        """Write the whole lines of a streamed text, and show the last one in part.

        An incomplete word may be the beginning of a secret.
        """
        self._speech += clean(text) if self._has_spoken else clean(text).lstrip()
        self._has_spoken = self._has_spoken or bool(self._speech)
        end = max(self._speech.rfind(" "), self._speech.rfind("\n")) + 1
        tail = self._speech[end:]
        if columns(tail) > len(tail) or len(tail) > _MOST_WORD:
            end = len(self._speech)  # letters that may break anywhere, or no word
        *whole, last = self._wrap(self._mask(self._speech[:end]))
        space = " " if self._speech[:end].endswith(" ") else ""
        lead = len(self._body if whole else self._gutter)
        self._speech = last[lead:] + space + self._speech[end:]
        self._write_speech(whole)
        if self._speech.strip():
            self._screen.show_status(self._voice, last)

    def _finish_thought(self, text: str) -> None:
        self.end_speech()
        has_spoken, self._has_spoken = self._has_spoken, False
        if text.strip() and not has_spoken:
            text = opening(self._mask(text.strip()), MOST_CHARS, MOST_CHARS)
            self._write_speech(self._wrap(text))

    def _finish_tool(self, event: ToolFinished) -> None:
        title = f"{event.tool} ({event.seconds:.2f} s)"
        if event.result.is_error:
            self.say("!!", f"{title}: {self._short_error(event.result)}")
            return
        text = event.result.text.strip() or "(nothing)"
        self._show_text("<-", title, text if self._is_verbose else lay_out(text, None))
        for note in event.result.notes:
            self.say("  ", f"note: {note}")

    def _show_text(self, mark: str, title: str, text: str) -> None:
        """Write the beginning of a long text under its title, or a short text beside it."""
        text = clean(self._mask(text))  # masked before cutting: half a secret is not recognised
        width, after = self._voice.width, f"{self._body}   "
        if "\n" not in text and columns(f"{after}{title}: {text[:width]}") <= width:
            self.say(mark, f"{title}: {text}")
            return
        self.say(mark, title)
        limits = (_RESULT_LINES, _RESULT_LINES * width)
        if self._is_verbose:
            limits = (MOST_CHARS, MOST_CHARS)
        lines = wrap(opening(text, *limits), width, after, after)
        self._voice.lines(*(Line(x.rstrip()) for x in lines))

    def _short_error(self, result: ToolResult) -> str:
        text = self._mask(result.text.strip()) or "it failed and did not say why."
        return opening(text, _ERROR_LINES, _ERROR_CHARS)

    def _wrap(self, text: str) -> list[str]:
        return wrap(text, self._voice.width, self._gutter, self._body)

    def _write_speech(self, lines: list[str]) -> None:
        if lines:
            self._take_gutter()
            self._voice.lines(*map(Line, lines))

    def _take_gutter(self) -> str:
        """Return the start of the next line: the number of the turn, once."""
        gutter, self._gutter = self._gutter, self._body
        return gutter
