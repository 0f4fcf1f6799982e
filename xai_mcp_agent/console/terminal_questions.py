"""A server's question asked at the terminal, one field after the other."""

from __future__ import annotations

import logging
import os
import select
import sys
import threading
import time
import webbrowser
from collections.abc import Callable
from typing import Any, TypeVar

from ..core.questions import Answer, Question, too_late
from .form import NO_DEFAULT, Field, Unfit, fields_of, yes_or_no
from .question_words import host_of, words_of

T = TypeVar("T")

logger = logging.getLogger(__name__)

Say = Callable[[str, str], None]
"""Writes lines with a mark in front."""
Read = Callable[[str], str]
"""Writes a prompt and returns the typed line."""

# After so many mistakes another try does not help.
_MOST_TRIES = 5
_DECLINE, _CANCEL, _SKIP = "/decline", "/cancel", "/skip"
_LINE_BYTES = 65_536  # a terminal's own limit for a line is smaller
_LOOK_SECONDS = 0.2  # seconds between checks whether the answer is still needed
_POLL_SECONDS = 0.05  # if a console cannot be awaited


class QuestionsEnded(Exception):
    """The person ended the questions with this answer."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.reason)
        self.answer = answer


def why_not_here() -> str:
    """Return why nobody can be asked in this thread's terminal, or ""."""
    if os.environ.get("CI"):
        return "this run is not attended (the environment variable CI is set)"
    if threading.current_thread() is not threading.main_thread():
        return "only the main thread of a program can read what is typed"
    try:
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            return "there is no terminal to type in"
        is_in_front = os.name == "nt" or os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except (AttributeError, OSError, ValueError):  # no stream, or closed
        return "there is no terminal to type in"
    return "" if is_in_front else "the program runs in the background"


def ask_in_terminal(question: Question, say: Say, read: Read) -> Answer:
    """Ask, in the thread of the run; `read` raises as `read_line` does."""
    words, fields = words_of(question), fields_of(question.schema or {})
    separator = "\n" if question.heading else ": "
    say("??", f"{words.title}{separator}{words.message}")
    try:
        if question.schema is None:
            return _ask_to_open(question.url, say, read)
        if not fields:
            return _ask_to_accept(f"{words.yes}?", say, read)
        return _Form(fields, say, read).answer(question.server)
    except QuestionsEnded as end:
        answer = end.answer
    except TimeoutError:
        answer = too_late(question)
    say("??", f"not answered: {answer.reason}")
    return answer


def read_line(deadline: float, over: threading.Event) -> str:
    """Read a line from the terminal.

    Raises:
        Ended: the terminal was closed, or it is `over`.
        TimeoutError: the deadline (of `time.monotonic`) has passed.
    """
    if sys.platform == "win32":
        return _read_console(deadline, over)
    file = sys.stdin.fileno()
    while not select.select([file], [], [], _LOOK_SECONDS)[0]:
        _go_on(deadline, over)
    # `sys.stdin` may read ahead, and then waiting for more input would hang.
    data = os.read(file, _LINE_BYTES)
    if not data:
        raise QuestionsEnded(Answer.cancelled("the terminal's input ended"))
    return data.decode(sys.stdin.encoding or "utf-8", "replace").rstrip("\r\n")


def discard_input() -> None:
    """Discard typed input that was not read yet."""
    try:
        if sys.platform == "win32":
            import msvcrt

            while msvcrt.kbhit():
                msvcrt.getwch()
        else:
            import termios

            termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
    except (ImportError, OSError, ValueError, AttributeError):
        logger.debug("what was typed before cannot be discarded", exc_info=True)


def _go_on(deadline: float, over: threading.Event) -> None:
    if over.is_set():
        raise QuestionsEnded(Answer.cancelled("the call that it belongs to has ended"))
    if time.monotonic() >= deadline:
        raise TimeoutError


class _Form:
    """Asks for the fields one after the other."""

    def __init__(self, fields: list[Field], say: Say, read: Read) -> None:
        self._fields = fields
        self._say = say
        self._read = read

    def answer(self, server: str) -> Answer:
        self._say("  ", f"Type an answer and Enter. {_DECLINE} says no, {_CANCEL} stops asking.")
        for _ in range(_MOST_TRIES):
            content = {x.name: v for x in self._fields if (v := self._ask(x)) is not NO_DEFAULT}
            if len(self._fields) == 1 or self._is_right(server, content):
                return Answer.accepted(content)
        raise _too_often()

    def _ask(self, field: Field) -> Any:
        """Return the value of one field, or `NO_DEFAULT` if the person leaves it out."""
        if field.description:
            self._say("  ", f"{field.label}: {field.description}")
        for number, label in enumerate(field.choices.values(), 1):
            self._say("  ", f"  {number}. {label}")

        def value_of(text: str) -> Any:
            if text.strip() == _SKIP and not field.is_needed:
                return NO_DEFAULT
            if text.strip():
                return field.read(text)
            if field.is_needed and field.default is NO_DEFAULT:
                raise Unfit(f"An answer is needed here: {field.expected()}.")
            return field.default

        return ask_until(value_of, self._prompt(field), self._say, self._read)

    def _prompt(self, field: Field) -> str:
        if field.default is not NO_DEFAULT:
            skip = f", {_SKIP} to leave it out" if not field.is_needed else ""
            empty = f"; Enter: {field.value_text(field.default)}{skip}"
        else:
            empty = "" if field.is_needed else "; Enter to leave it out"
        commas = " separated by commas" if field.kind == "many" else ""
        return f"{field.label} ({field.expected()}{commas}{empty}): "

    def _is_right(self, server: str, content: dict[str, Any]) -> bool:
        for field in self._fields:
            if field.name in content:
                self._say("  ", f"{field.label}: {field.value_text(content[field.name])}")
        prompt = f"Send this to {server}? (yes; no: start over): "
        return agrees(prompt, self._say, self._read)


def _ask_to_open(url: str, say: Say, read: Read) -> Answer:
    say("  ", url)
    answer = _ask_to_accept(f"Open {host_of(url)}?", say, read)
    if not open_page(url):
        say("  ", "Open it in your browser: copy the address above.")
    return answer


def _ask_to_accept(question: str, say: Say, read: Read) -> Answer:
    if not agrees(f"{question} (yes or no; {_CANCEL} stops asking): ", say, read):
        raise QuestionsEnded(Answer.declined("the person said no"))
    return Answer.accepted()


def open_page(url: str) -> bool:
    """Open a page in the desktop's browser, if there is one; never in the terminal itself."""
    has_desktop = sys.platform in ("win32", "darwin") or any(
        os.environ.get(x) for x in ("DISPLAY", "WAYLAND_DISPLAY")
    )
    try:
        return has_desktop and webbrowser.open(url)
    except webbrowser.Error:
        return False


def agrees(prompt: str, say: Say, read: Read) -> bool:
    """Ask yes or no at the terminal.

    Raises:
        Ended: the person stopped the questions, closed the terminal, or gave neither answer too
            often.
        TimeoutError: as `read` does.
    """
    return ask_until(yes_or_no, prompt, say, read)


def ask_until(value_of: Callable[[str], T], prompt: str, say: Say, read: Read) -> T:
    """Ask until the typed text has a value that fits; raise as `agrees` does."""
    for _ in range(_MOST_TRIES):
        text = read(prompt)
        if text.strip() == _DECLINE:
            raise QuestionsEnded(Answer.declined("the person said no"))
        if text.strip() == _CANCEL:
            raise QuestionsEnded(Answer.cancelled("the person stopped the questions"))
        try:
            return value_of(text)
        except Unfit as why:
            say("!!", str(why))
    raise _too_often()


def _too_often() -> QuestionsEnded:
    return QuestionsEnded(Answer.cancelled(f"no valid answer in {_MOST_TRIES} tries"))


def _read_console(deadline: float, over: threading.Event) -> str:
    """Read a line from a Windows console, which cannot be awaited."""
    if sys.platform != "win32":
        raise AssertionError("only there")
    import msvcrt

    line = ""
    while True:
        _go_on(deadline, over)
        if not msvcrt.kbhit():
            time.sleep(_POLL_SECONDS)
            continue
        match msvcrt.getwche():
            case "\r" | "\n":
                msvcrt.putwch("\n")
                return line
            case "\x03":
                raise KeyboardInterrupt
            case "\x1a":
                raise QuestionsEnded(Answer.cancelled("the terminal's input ended"))
            case "\b":
                line = line[:-1]
                msvcrt.putwch(" ")
                msvcrt.putwch("\b")
            case letter:
                line += letter
