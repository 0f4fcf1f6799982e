"""Events of an agent or a node for the panel: without secrets, answers as safe HTML."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ...agent.events import ModelAskedAgain, RunEvent, RunFinished, TextArrived, ThoughtFinished
from ...bridge.transcript import Recorder
from ...core.json import JsonObject
from ...secrets.secrets import Secrets
from .channel import BRIEF, tell

_STREAM_SECONDS = 0.08  # between two events of streamed text, or of a tool's progress
_STREAM_PAUSE = 10.0  # or this many times the rendering time
_EVENTS = BRIEF | {
    "RunStarted", "ToolStarted", "ToolFinished", "ThoughtFinished", "ModelAskedAgain",
    "RunFinished", "RunFailed", "NodeStarted", "NodeFinished", "NodeFailed",
}  # fmt: skip


class PanelRecorder(Recorder):
    """A recorder that sends the events of one agent or node to the panel, streamed text too."""

    def __init__(
        self,
        file: str,
        who: Mapping[str, str],
        secrets: Iterable[Secrets],
        listen: Callable[[JsonObject], None] | None,
    ) -> None:
        super().__init__(file, who, secrets, self._forward)
        self._other_listener = listen
        self._page = ""
        self._text = ""
        self._next = 0.0

    def event(self, event: RunEvent, at: float) -> None:
        """Record an event, and send streamed text too."""
        match event:
            case TextArrived(text):
                self._text += text
                self._stream()
                return
            case ThoughtFinished(text=text) | RunFinished(answer=text):
                self._text, self._page = "", self._as_html(text.strip())
            case ModelAskedAgain():
                self._text = ""
            case _:
                pass
        super().event(event, at)

    def _forward(self, line: JsonObject) -> None:
        if self._other_listener:
            self._other_listener(line)
        if line["event"] == "ToolProgressed":
            if (now := time.monotonic()) < self._next:
                return
            self._next = now + _STREAM_SECONDS
        if line["event"] in _EVENTS:
            tell(**_without_run(line), html=self._page)
        self._page = ""

    def _stream(self) -> None:
        if (now := time.monotonic()) < self._next:
            return
        # An incomplete word may be the beginning of a secret.
        whole = max(self._text.rfind(" "), self._text.rfind("\n")) + 1
        tell("Text", **_without_run(self._who), html=self._as_html(self._text[:whole]))
        pause = (time.monotonic() - now) * _STREAM_PAUSE
        self._next = time.monotonic() + max(_STREAM_SECONDS, pause)

    def _as_html(self, text: str) -> str:
        # Imported here: it is slow, and a run without an answer does not need it.
        from ...console.markdown import first_paragraphs, markdown_as_html
        from ...console.text import MOST_CHARS

        head = first_paragraphs(self._redactor(text), MOST_CHARS)
        return markdown_as_html(head) if head else ""


def _without_run(values: Mapping[str, Any]) -> JsonObject:
    """Return the values without `run`: a transcript's run is not a run of the panel."""
    return {name: x for name, x in values.items() if name != "run"}
