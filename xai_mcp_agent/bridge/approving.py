"""Approving calls of tools for good, taking that back, and what is approved."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from ..core.approval import ApprovalAnswer
from ..core.errors import LockFailed
from ..history.recording.reports import Decided as DecidedReport
from ..policy.decisions import Choice
from ..policy.review import Review, require_read
from .decisions import Decided, KnownTools, kept, known_tools
from .engine import Engine
from .reviews import definition_lines

_BY = "whoever ran `xai-mcp-agent approve`"


class Approved(NamedTuple):
    """Calls of `tool` need no question, as long as its definition has this `digest`.

    `always`: whatever it becomes. Not `counts`: this user has not agreed to it yet.
    """

    source: str
    tool: str
    digest: str
    counts: bool


async def to_approve(engine: Engine, server: str, tools: Sequence[str]) -> list[Review]:
    """What the server says of these tools now, all of it, to be read before they are approved.

    Raises:
        UnknownServer, SettingsError, UnknownTool, SourceFailed: it cannot be known.
    """
    known = await known_tools(engine, server)
    names = list(dict.fromkeys(tools))
    await known.find(names)
    if known.source in engine.settings.names:
        await known.ask_server(if_it_can_be=True)
    return [await _review(known, x) for x in names]


async def approve(engine: Engine, server: str, tools: Sequence[str], digest: str) -> Decided:
    """Have calls of these tools need no question, if this is the digest of what they are now.

    Raises:
        ReviewNeeded: it is not; nothing was approved. And what `to_approve` raises.
    """
    reviews = await to_approve(engine, server, tools)
    wanted = require_read(reviews, digest, "approve")
    known = await known_tools(engine, server)
    trouble: LockFailed | None = None
    for read in wanted:
        for entry in known.entries(read.tool):
            answer = ApprovalAnswer("always", by=_BY)
            engine.recorder.answered(entry.key, answer, read.digest)
            trouble = await kept(engine.decisions.approve(entry.key, read.digest)) or trouble
    return Decided([Choice(server, x.tool, "approved", x in wanted) for x in reviews], trouble)


async def withdraw(engine: Engine, server: str, tools: Sequence[str]) -> Decided:
    """Have calls of these tools be asked for again; they need not be there any more.

    Raises:
        UnknownServer, SettingsError: no such server.
    """
    await engine.decisions.read()
    found = [x for x in engine.decisions.approvals() if x.source == server]
    choices: list[Choice] = []
    trouble: LockFailed | None = None
    for name in dict.fromkeys(tools):
        keys = [x for x in found if x.name == name]
        for key in keys:
            now, subject = datetime.now(UTC), engine.recorder.subject(key)
            engine.recorder.decided(DecidedReport(subject, now, "withdrawn"))
            trouble = await kept(engine.decisions.approve(key, "")) or trouble
        choices.append(Choice(server, name, "withdrawn", bool(keys)))
    return Decided(choices, trouble)


async def approved(engine: Engine) -> list[Approved]:
    """All that is approved for good."""
    await engine.decisions.read()
    found = engine.decisions.approvals()
    return [
        Approved(x.source, x.name, word, engine.decisions.approved(x) == word)
        for x, word in found.items()
    ]


async def _review(known: KnownTools, name: str) -> Review:
    entry, decisions = known.entries(name)[0], known.engine.decisions
    digest, lines = await definition_lines(known, name)
    is_approved = decisions.approved(entry.key) == digest
    return Review(known.server, name, digest, "accepted" if is_approved else "new", lines)
