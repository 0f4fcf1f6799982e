"""What was asked for when tools were used: rows of the history, by toolbelt and tool."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from ..history.event import Subject
from ..history.history import History
from ..history.learned_rows import (
    LearnedFilter,
    LearnedRow,
    LearnedRows,
    LearnedState,
    Learning,
)

# Twenty texts of one tool: more hardly find it better. All of one toolbelt are read in a moment.
INTENTS = LearnedRows(most_of_toolbelt=4_000, most_of_tool=20)


def intents_in(history: History, which: LearnedFilter) -> list[LearnedRow]:
    """The texts by toolbelt and tool, the last used first."""
    with history.reading() as connection:
        rows = INTENTS.read(connection, history.project_id, which.toolbelt)
    matching = (x for x in rows if which.matches(x.tool))
    return sorted(matching, key=lambda x: (x.toolbelt, x.tool.source, x.tool.tool or ""))


def intents_state(history: History, toolbelt: str) -> LearnedState:
    """Cache key of a toolbelt's texts."""
    with history.reading() as connection:
        return INTENTS.state(connection, history.project_id, toolbelt)


def learn_intents(
    learning: Learning, tool: Subject, toolbelt: str, texts: Sequence[str], time: datetime
) -> None:
    """Remember that a tool was of use for what somebody asked for in these words."""
    if learning.is_forgotten(tool, toolbelt, time):
        return
    for text in texts:
        if words := learning.words_of(text):
            intent = learning.add(INTENTS, toolbelt, tool, time, words)
            learning.note_learned(tool, toolbelt, intent, time)


def forget_intents(learning: Learning, which: LearnedFilter) -> list[LearnedRow]:
    """Forget these texts; what was forgotten."""
    rows = INTENTS.read(learning.connection, learning.project, which.toolbelt)
    matching = [x for x in rows if which.matches(x.tool)]
    INTENTS.remove(learning.connection, learning.project, [x.id for x in matching])
    learning.note_forgotten(Counter((x.tool, x.toolbelt) for x in matching))
    return matching
