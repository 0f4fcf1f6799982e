"""An agent as the history knows it: learned rows are kept, and events are in the log."""

from __future__ import annotations

from typing import Self

from xai_mcp_agent import ToolKey
from xai_mcp_agent.history.event import tool_subject
from xai_mcp_agent.history.learned_rows import LearnedFilter, LearnedRow, read_learned
from xai_mcp_agent.history.place import Place
from xai_mcp_agent.history.recording.recorder import HistoryRecorder
from xai_mcp_agent.secrets.redactor import Redactor
from xai_mcp_agent.secrets.secrets import Secrets

SECONDS = 30.0


class LearningAgent:
    """Records learned rows as a bridge does; it knows a secret."""

    def __init__(self, place: Place) -> None:
        secrets = Secrets(["zebra-crossing"])
        self.recorder = HistoryRecorder(place, Redactor([secrets]), secrets=secrets)

    def learn(self, key: ToolKey, *texts: str, toolbelt: str = "default") -> None:
        self.recorder.learn(tool_subject(key), toolbelt, texts)

    def rows(self, which: LearnedFilter | None = None) -> list[LearnedRow]:
        return self.recorder.ask(lambda x: read_learned(x, which or LearnedFilter())).result(
            SECONDS
        )

    def words(self, toolbelt: str = "default") -> list[str]:
        return [x.words for x in self.rows(LearnedFilter(toolbelt))]

    def forget(self, **which: str) -> list[str]:
        rows = self.recorder.forget(LearnedFilter(**which)).result(SECONDS)
        return [x.words for x in rows]

    def log(self) -> list[dict[str, object]]:
        """Return the events of the log."""
        events = self.recorder.ask(lambda x: x.events()).result(SECONDS)
        return [{"change": x.change, "tool": x.subject.tool, **x.payload} for x in events]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.recorder.close(SECONDS)
