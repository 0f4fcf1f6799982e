"""Console of one run: its lines or its card, its notes, and its questions to a person."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ..agent.events import RunEvent, RunStarted, ToolProgressed
from ..core.errors import XaiMcpError
from ..secrets.secrets import Mask
from .card import RunCard
from .lines import RunLines
from .screen import SCREEN, Screen, Voice
from .surface import VARIABLE, CardOutput, Detail, detail_in_environment, detail_on
from .text import as_it_is, clean
from .waiting import Clock, Waiting

logger = logging.getLogger(__name__)

T = TypeVar("T")

_SERVERS, _PERSON = "servers", "person"  # keys of waits


class Console:
    """Shows one run, in the thread of its workflow and within a `with` block.

    `show` is the detail written on a port; by default that of the enclosing run, or of the
    environment.

    Raises:
        BadSetting: `show` is not one of the choices.
    """

    _voice: Voice
    _lines: RunLines

    def __init__(
        self, name: str, show: Any = None, *, screen: Screen = SCREEN, clock: Clock = time.monotonic
    ) -> None:
        self._name = clean(name)
        self._detail = detail_on(show)
        self._screen = screen
        self._clock = clock
        self._waiting = Waiting(clock)
        self._mask: Mask = as_it_is
        self._card: RunCard | None = None

    def __enter__(self) -> Console:
        outer = self._screen.current()
        detail = self._detail
        if detail is None and outer is not None:
            detail = outer.detail
        if detail is None:
            detail = detail_in_environment(os.environ.get(VARIABLE, ""))
        self._voice = self._screen.enter(self._name, detail)
        self._lines = RunLines(self._name, self._screen, self._voice, self._clock, self.mask)
        return self

    def __exit__(self, _: object, error: BaseException | None, *__: object) -> None:
        try:
            if self._card is not None:
                words, by_person = str(error), isinstance(error, KeyboardInterrupt)
                self._card.stop(words or type(error).__name__, by_person=by_person)
                if isinstance(error, XaiMcpError):
                    error.is_in_card = self._card.last_error == str(error)
            self._lines.end_speech()
        finally:
            self._screen.leave(self._voice)

    def hide(self, mask: Mask) -> None:
        """Mask secrets in all texts of servers and models from now on."""
        self._mask = mask

    def mask(self, text: str) -> str:
        """Return the text without the secrets that are masked here."""
        return self._mask(text)

    def show(self, event: RunEvent) -> None:
        """Write one event; in the lab a run is a card."""
        self._waiting.follow(event)
        if isinstance(event, RunStarted) and self._voice.shows_cards:
            self._card = self._new_card()
        try:
            (self._card or self._lines).show(event)
        except Exception as reason:  # noqa: BLE001 - a text that cannot be shown must not end a run
            # Only the kind: the text of the error may contain a secret.
            what, why = type(event).__name__, type(reason).__name__
            logger.warning("%s: %s is not shown (%s). The run goes on.", self._name, what, why)
        if isinstance(event, ToolProgressed):
            self.tick()

    def wait_for_servers(self, names: Sequence[str]) -> None:
        """Show that the run waits for these servers; no names mean that it goes on."""
        if not names:
            self._waiting.end(_SERVERS)
            return
        what = f"the server{'s' if len(names) > 1 else ''} {', '.join(names)}"
        self._waiting.begin(_SERVERS, what, anew=False)

    def wait_for(self, what: str) -> None:
        """Show that the run waits for this until its end."""
        self._waiting.begin(what, what)

    def tick(self) -> None:
        """Show the current waits, if it is time to; called whenever nothing else happens."""
        if self._voice.detail != Detail.QUIET:
            (self._card or self._lines).tick(self._waiting)

    def aside(self, do: Callable[[], T]) -> T:
        """Run a person's nodes, which may print freely."""
        self._lines.end_speech()
        self._voice.lines()
        return do()

    def tell(self, mark: str, text: str, *, in_card: bool = False) -> None:
        """Write a line that is shown at any detail; in the card if possible."""
        if in_card and self._card is not None:
            self._card.note(mark, text)
        else:
            self._lines.say(mark, text)

    def ask(self, prompt: str, read: Callable[[], str]) -> str:
        """Write a cleaned prompt, and read the answer."""
        self._lines.end_speech()
        question = " ".join(clean(self._mask(prompt)).split())
        return self._screen.ask(self._voice, f"{self._lines.indent}   {question} ", read)

    def link(self, text: str, url: str) -> None:
        """Write a line with a link to a page of ours, in the lab."""
        self._lines.end_speech()
        self._voice.link(clean(self._mask(text)), url)

    def wait_for_person(self, server: str, what: str = "") -> None:
        """Show that this server waits for the person; "" ends it."""
        key = f"{_PERSON} {server}"
        if what:
            self._waiting.begin(key, what)
        else:
            self._waiting.end(key)

    def note(self, mark: str, text: str) -> None:
        """Write a line, unless the detail is quiet."""
        if self._card is not None:
            self._card.note(mark, text)
        elif self._voice.detail != Detail.QUIET:
            self._lines.say(mark, text)

    def _new_card(self) -> RunCard:
        voice, card = self._voice, CardOutput()

        def draw(page: str, text: str, is_last: bool) -> None:
            voice.card(lambda: card.draw(page, text, is_last))

        return RunCard(
            self._name, voice.detail, draw, self._clock, mask=self.mask, margin=voice.margin
        )
