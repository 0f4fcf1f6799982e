"""An agent as the history knows it: what it learns is kept, and told in the log."""

from __future__ import annotations

from typing import Self

from xai_mcp_agent.history.place import Place
from xai_mcp_agent.history.recording.recorder import HistoryRecorder
from xai_mcp_agent.secrets.redactor import Redactor
from xai_mcp_agent.secrets.secrets import Secrets

SECONDS = 30.0


class LearningAgent:
    """Records what a bridge has its agents learn; a secret is known to it, and these."""

    def __init__(self, place: Place, *secrets: str) -> None:
        known = Secrets(["zebra-crossing", *secrets])
        self.recorder = HistoryRecorder(place, Redactor([known]), secrets=known)

    def log(self) -> list[dict[str, object]]:
        """What the events of the log say."""
        events = self.recorder.ask(lambda x: x.events()).result(SECONDS)
        return [{"change": x.change, "tool": x.subject.tool, **x.payload} for x in events]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.recorder.close(SECONDS)
