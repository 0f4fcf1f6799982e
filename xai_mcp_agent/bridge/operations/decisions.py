"""What people decide of tools: switched off, accepted, approved for good.

It counts in this process at once, and in others at their next look at the file of decisions.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import NamedTuple

from ...catalog.entry import CatalogEntry
from ...core.approval import ApprovalAnswer
from ...core.calls import PROGRAM
from ...core.errors import LockFailed, ReviewNeeded, UnknownTool, XaiMcpError
from ...core.json import JsonObject
from ...core.names import did_you_mean, listed
from ...core.questions import Question
from ...core.tools import STATIC, Tool, ToolKey, digest_of
from ...core.visible import escaped
from ...history.event import NAMELESS
from ...history.recording.reports import Decided as DecidedReport
from ...policy.decisions import Choice, changes_between
from ...policy.review import Review, digest_of_reviews, require_read, waiting_of
from ...sources.canvas import CANVAS
from ..context import Context
from .tools import Tools

_MOST_NAMES = 5
# For tools that are not here now. A history that is slower than this may still say it is none.
_RECORD_SECONDS = 10.0
_BY = "whoever ran `xai-mcp-agent approve`"
_NOT_KNOWN = "what it says is not known here: connect the server, and accept it then"
_MOST_TIMES = 5  # that somebody is asked about what goes on to change
_MOST_ASKED = 50  # more than anybody reads in a question
_NOTHING_TO_FILL_IN: JsonObject = {"type": "object", "properties": {}}


class Approved(NamedTuple):
    """Calls of `tool` need no question, as long as its definition has this `digest`.

    `always`: whatever it becomes. Not `counts`: this user has not agreed to it yet.
    """

    source: str
    tool: str
    digest: str
    counts: bool


class Deciding(Tools):
    """Decisions of a person."""

    async def disable(self, server: str, *tools: str, drawn: Collection[str] = ()) -> list[Choice]:
        """Let no agent use these tools; calls of a person or a program still work.

        It is written into `mcp_tools.lock.json`, whatever becomes of the tools and of their server.
        `canvas` is the server of the tools that are drawn; `drawn` are those that the history may
        not know yet. Other processes know it at once.

        Raises:
            UnknownServer, SettingsError, UnknownTool: there is none, and there was none.
            SourceFailed: only the server would know, and it cannot be used.
            LockFailed: it counts in this process, but cannot be written; the error has the
                `choices`.
        """
        return await self._switch(server, tools, drawn, is_enabled=False)

    async def enable(self, server: str, *tools: str, drawn: Collection[str] = ()) -> list[Choice]:
        """Let agents use these tools again. Raises what `disable` does."""
        return await self._switch(server, tools, drawn, is_enabled=True)

    async def _switch(
        self, server: str, tools: Sequence[str], drawn: Collection[str], *, is_enabled: bool
    ) -> list[Choice]:
        engine, names = self.engine, list(dict.fromkeys(tools))
        history = await self._tools_ever(server, drawn)
        await history.find(names)
        new = [x for x in names if any(e.is_enabled != is_enabled for e in history.entries(x))]
        subjects = [engine.recorder.subject(e.key) for x in new for e in history.entries(x)]
        trouble = None
        if new:
            trouble = await _trouble_of(engine.decisions.switch(subjects, is_enabled=is_enabled))
        decision = "enabled" if is_enabled else "disabled"
        return _written([Choice(server, x, decision, x in new) for x in names], trouble)

    async def review(self, server: str, *tools: str) -> list[Review]:
        """What the server says of these tools now, to be read; without any, all that it says.

        Those whose `standing` is not `accepted` wait for somebody to accept them. Named tools are
        reviewed as the server listed them last, in whichever process that was. Where nothing is
        new in that, the server is asked.

        Raises:
            UnknownServer, SettingsError, UnknownTool, SourceFailed: as for `disable`.
        """
        history, names = await self._tools_ever(server), list(dict.fromkeys(tools))
        await history.find(names)
        if names:
            if any(history.digest(x) in ("", history.entries(x)[0].accepted) for x in names):
                await history.ask_server(if_it_can_be=True)
            return [await history.review(name) for name in names]
        await history.ask_server()
        tools_now = self.engine.catalog.tools(history.source)
        await self.engine.catalog.digest_all(tools_now)
        reviews = [await history.review(x.name) for x in tools_now]
        return [*reviews, *self._review_of_instructions(server)]

    async def accept(self, server: str, *tools: str, digest: str = "") -> list[Choice]:
        """Accept what the server says of these tools now; without any, all that it says.

        A locked server is held to what was accepted. `digest` says what was read: that of its
        `review`, the whole of it, or of all that waits, together.

        Raises:
            ReviewNeeded: the digest is not that of what the server says now; nothing was accepted.
                And what `disable` raises.
        """
        reviews = await self.review(server, *tools)
        waiting = require_read(reviews, digest)
        history = await self._tools_ever(server)
        keys = {e.key: x.digest for x in waiting if x.tool for e in history.entries(x.tool)}
        instructions = next((x.digest for x in waiting if not x.tool), "")
        trouble = None
        if waiting:
            accepting = self.engine.decisions.accept(server, keys, instructions)
            trouble = await _trouble_of(accepting)
        shown = reviews if tools else waiting
        return _written([_choice(x, is_new=x in waiting) for x in shown], trouble)

    async def ask_to_accept(
        self, asker: str, server: str, tools: Sequence[str], shown: Callable[[Review], str]
    ) -> tuple[list[Choice], str]:
        """Have the person in front of the run accept these tools, or all that the server says.

        The choices, or why there are none; both are empty where nobody is there or nothing waits.
        No program that answers questions of servers is asked.

        Raises:
            UnknownServer, SettingsError, UnknownTool, SourceFailed: what it says cannot be known.
            LockFailed: as `accept`.
        """
        host = self.caller.host
        for _ in range(_MOST_TIMES):
            waiting = waiting_of(await self.review(server, *tools))
            if not waiting or len(waiting) > _MOST_ASKED or host is None or host.why_nobody:
                break
            lines = "\n".join(map(shown, waiting))
            text = f"May {server} be used with this from now on?\n{lines}"
            answer = await host.answer(Question(asker, text, _NOTHING_TO_FILL_IN))
            if answer.action != "accept":
                return [], answer.reason or "the person said no"
            with suppress(ReviewNeeded):  # it is something else by now, to be read again
                return await self.accept(server, *tools, digest=digest_of_reviews(waiting)), ""
        return [], ""

    async def locked_servers(self) -> list[str]:
        """The sources of the settings that are locked, or of which something was accepted."""
        decisions = self.engine.decisions
        await decisions.read()
        return [
            x for x in self.settings.usable
            if self.engine.lock_of(x, PROGRAM) or decisions.has_accepted(x)
        ]  # fmt: skip

    async def decisions_trouble(self) -> str:
        """Why it cannot be looked up what was decided; empty where it can."""
        await self.engine.decisions.read()
        return self.engine.decisions.why_unknown()

    async def unused_decisions(self) -> str:
        """That there are decisions about servers which the settings do not have; else empty."""
        await self.engine.decisions.read()
        servers = self.engine.decisions.without_server(self.settings.names)
        if not servers:
            return ""
        return (
            f"Something was decided about {listed(servers, _MOST_NAMES)}, which the settings do "
            "not have. If you renamed a server, rename it in the file of decisions too: nothing of "
            "that holds for another name."
        )

    # Approvals for good

    async def review_to_approve(self, server: str, *tools: str) -> list[Review]:
        """What the server says of these tools now, to be read before their calls are approved.

        Raises:
            UnknownServer, SettingsError, UnknownTool, SourceFailed: as for `disable`.
        """
        history, names = await self._tools_ever(server), list(dict.fromkeys(tools))
        await history.find(names)
        if history.source in self.settings.names:
            await history.ask_server(if_it_can_be=True)
        return [await history.review_to_approve(x) for x in names]

    async def approve(self, server: str, *tools: str, digest: str) -> list[Choice]:
        """Have agents' calls of these tools need no question from now on.

        `digest` says what was read: that of its `review_to_approve`, or of all of them together.

        Raises:
            ReviewNeeded: the digest is not that of what the server says now; nothing was approved.
                And what `disable` raises.
        """
        engine = self.engine
        reviews = await self.review_to_approve(server, *tools)
        waiting = require_read(reviews, digest, "approve")
        history = await self._tools_ever(server)
        trouble: LockFailed | None = None
        for review in waiting:
            for entry in history.entries(review.tool):
                answer = ApprovalAnswer("always", by=_BY)
                engine.recorder.answered(entry.key, answer, review.digest)
                approving = engine.decisions.approve(entry.key, review.digest)
                trouble = await _trouble_of(approving) or trouble
        choices = [Choice(server, x.tool, "approved", x in waiting) for x in reviews]
        return _written(choices, trouble)

    async def withdraw(self, server: str, *tools: str) -> list[Choice]:
        """Have calls of these tools be asked for again; they need not be there any more.

        Raises:
            LockFailed: it counts in this process, but cannot be written.
        """
        engine = self.engine
        await engine.decisions.read()
        approved = [x for x in engine.decisions.approvals() if x.source == server]
        choices: list[Choice] = []
        trouble: LockFailed | None = None
        for name in dict.fromkeys(tools):
            keys = [x for x in approved if x.name == name]
            for key in keys:
                now, subject = datetime.now(UTC), engine.recorder.subject(key)
                engine.recorder.decided(DecidedReport(subject, now, "withdrawn"))
                trouble = await _trouble_of(engine.decisions.approve(key, "")) or trouble
            choices.append(Choice(server, name, "withdrawn", bool(keys)))
        return _written(choices, trouble)

    async def approvals(self) -> list[Approved]:
        """All that is approved for good."""
        decisions = self.engine.decisions
        await decisions.read()
        return [
            Approved(x.source, x.name, word, decisions.approved(x) == word)
            for x, word in decisions.approvals().items()
        ]

    async def _tools_ever(self, server: str, drawn: Iterable[str] = ()) -> _ToolsEver:
        """The tools that a server has or had.

        Raises:
            UnknownServer, SettingsError: no such server.
        """
        is_canvas = server in NAMELESS.values() and server not in self.settings.names
        source = CANVAS if is_canvas else server
        await self.engine.decisions.read()
        await self.engine.catalog.read(source, _RECORD_SECONDS)
        history = _ToolsEver(self, server, source, drawn if source == CANVAS else ())
        if source != CANVAS and not history.names:
            self.settings.source(source)
        return history

    def _review_of_instructions(self, server: str) -> list[Review]:
        text, decisions = self.engine.catalog.instructions(server), self.engine.decisions
        if not text:
            return []
        digest = digest_of(text)
        if decisions.has_accepted_instructions(server):
            return [Review(server, "", digest, "accepted")]
        lines = tuple(escaped(self.engine.recorder.mask(text), "\n").split("\n"))
        return [Review(server, "", digest, decisions.standing_of_instructions(server), lines)]


class _ToolsEver:
    """The tools of a source that are there, or were; several of one name differ in their kind."""

    def __init__(self, context: Context, server: str, source: str, drawn: Iterable[str]) -> None:
        self.source = source
        self._context = context
        self._engine = context.engine
        self._decisions = context.engine.decisions
        self._server = server
        self._tools = {
            x: [self._decisions.marked(CatalogEntry(ToolKey(STATIC.name, source, x)))]
            for x in drawn
        }
        self._look()

    @property
    def names(self) -> list[str]:
        """The names of all of them."""
        return list(self._tools)

    def entries(self, name: str) -> list[CatalogEntry]:
        """Those of one name."""
        return self._tools[name]

    async def find(self, names: Iterable[str]) -> None:
        """See that these are known; the server is asked for those that are not.

        Raises:
            UnknownTool: there is one that it does not have either.
            SourceFailed: it cannot be asked.
        """
        missing = [x for x in names if x not in self._tools]
        if missing and self.source in self._context.settings.names:
            await self.ask_server()
        for name in missing:
            if name not in self._tools:
                known = self.names
                names_known = f"Known: {listed(known, _MOST_NAMES) or 'none yet'}."
                hint = did_you_mean(name, known) or names_known
                raise UnknownTool(f"{self._server} has no tool {name!r}, and had none. {hint}")

    async def ask_server(self, *, if_it_can_be: bool = False) -> None:
        """Have it say what its tools are now.

        Raises:
            SourceFailed: it cannot be asked, and has to be.
        """
        try:
            # Not `tools_of`: what a person looks at before they decide is not accepted by that.
            await self._engine.pool.start(self.source).ready(self._context.caller)
        except XaiMcpError:
            if not if_it_can_be:
                raise
        self._look()

    def digest(self, name: str) -> str:
        """That of its definition, as it was listed last; empty if that is not known."""
        if live := self._live(name):
            return self._engine.catalog.digest(live)
        record = self._tools[name][0].record
        return record.definition if record else ""

    async def review(self, name: str) -> Review:
        """What is known of a tool last, beside what was accepted of it.

        Raises:
            UnknownTool: nobody knows it.
        """
        entry = self._tools[name][0]
        digest = self._require_digest(name, self.digest(name) or entry.accepted)
        like = self._decisions.looks_like(entry.key)
        if digest == entry.accepted:
            return Review(self._server, name, digest, "accepted")
        now = await self._definition(name, digest)
        if not entry.accepted:
            return Review(self._server, name, digest, "new", _lines_of(now), like)
        lines = changes_between(await self._decisions.accepted_definition(entry.key), now)
        return Review(self._server, name, digest, "changed", lines, like)

    async def review_to_approve(self, name: str) -> Review:
        """What is known of a tool last, and whether its calls are approved.

        Raises:
            UnknownTool: nobody knows it.
        """
        digest = self._require_digest(name, self.digest(name))
        is_approved = self._decisions.approved(self._tools[name][0].key) == digest
        lines = _lines_of(await self._definition(name, digest))
        return Review(self._server, name, digest, "accepted" if is_approved else "new", lines)

    def _require_digest(self, name: str, digest: str) -> str:
        if not digest:
            raise UnknownTool(f"{self._server} has not told yet what its tool {name!r} is.")
        return digest

    async def _definition(self, name: str, digest: str) -> JsonObject | None:
        if live := self._live(name):
            return self._decisions.definition(live).definition
        return await self._decisions.definition_of(digest)

    def _live(self, name: str) -> Tool | None:
        """As it is listed here, if the server is connected here."""
        running = self._engine.pool.running().get(self.source)
        is_ready = running is not None and running.state == "ready"
        return self._tools[name][0].tool if is_ready else None

    def _look(self) -> None:
        named: dict[str, list[CatalogEntry]] = {}
        for entry in self._engine.catalog.entries(self.source):
            named.setdefault(entry.key.name, []).append(self._decisions.marked(entry))
        for key in self._decisions.known_tools(self.source):
            if all(x.key != key for x in named.get(key.name, ())):
                named.setdefault(key.name, []).append(self._decisions.marked(CatalogEntry(key)))
        self._tools |= named


async def _trouble_of(decision: Awaitable[None]) -> LockFailed | None:
    """Make a decision; why it could not be written."""
    try:
        await decision
    except LockFailed as reason:
        return reason
    return None


def _written(choices: list[Choice], trouble: LockFailed | None) -> list[Choice]:
    """The choices, once they are written; else they count in this process only."""
    if trouble is not None:
        trouble.choices = choices
        raise trouble
    return choices


def _choice(review: Review, *, is_new: bool) -> Choice:
    lines = review.lines if review.standing == "changed" else ()
    return Choice(review.server, review.tool, "accepted", is_new, lines)


def _lines_of(definition: JsonObject | None) -> tuple[str, ...]:
    """The whole definition as JSON in ASCII: what cannot be seen is seen there."""
    if definition is None:
        return (_NOT_KNOWN,)
    return tuple(json.dumps(definition, indent=2).splitlines())
