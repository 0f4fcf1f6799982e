"""Asking the person in front of a run whether what a server says now is accepted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

from ..core.elicitation import Question
from ..core.errors import ReviewNeeded
from ..core.tools import JsonObject
from ..policy.review import Review, digest_of_reviews, waiting_of
from .decisions import Decided
from .engine import Engine
from .reviews import accept, review

_MOST_TIMES = 5  # that somebody is asked about what goes on to change
_MOST_ASKED = 50  # more than anybody reads in a question
_NOTHING_TO_FILL_IN: JsonObject = {"type": "object", "properties": {}}

Shown = Callable[[Review], str]
"""What is read of a review."""


async def asked_to_accept(
    engine: Engine, asker: str, server: str, tools: Sequence[str], shown: Shown
) -> tuple[Decided | None, str]:
    """What the person accepted of these tools, or of all that the server says, after reading it.

    None where they did not, and why; where nobody is there, or nothing waits, that is empty. Only
    the person in front of the run is asked, no program that answers questions of servers.

    Raises:
        UnknownServer, SettingsError, UnknownTool, SourceFailed: what it says cannot be known.
    """
    host = engine.caller.host
    for _ in range(_MOST_TIMES):
        waiting = waiting_of(await review(engine, server, tools))
        if not waiting or len(waiting) > _MOST_ASKED or host is None or host.why_nobody:
            break
        said = "\n".join(map(shown, waiting))
        text = f"May {server} be used with this from now on?\n{said}"
        answer = await host.answer(Question(asker, text, _NOTHING_TO_FILL_IN))
        if answer.action != "accept":
            return None, answer.reason or "the person said no"
        with suppress(ReviewNeeded):  # it is something else by now, to be read again
            return await accept(engine, server, tools, digest_of_reviews(waiting)), ""
    return None, ""
