"""Decisions of people about tools: switched off, accepted, approved for good.

They count in this process at once, and in others when they next read the lock file.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import NamedTuple

from ...catalog.entry import CatalogEntry
from ...core.approval import ApprovalAnswer
from ...core.calls import PROGRAM
from ...core.errors import LockFailed, ReviewNeeded, UnknownTool, XaiMcpError
from ...core.json import JsonObject
from ...core.names import did_you_mean, join_names
from ...core.questions import Question
from ...core.tools import Tool, digest_of
from ...core.visible import escape_hidden
from ...history.diff import differences
from ...history.event import NAMELESS, tool_subject
from ...history.recording.reports import decision_event
from ...policy.review import (
    Choice,
    Review,
    digest_of_reviews,
    require_read,
    waiting_of,
)
from ...sources.canvas import CANVAS
from ..context import OperationContext
from .tools import ToolOperations

_MOST_NAMES = 5
_RECORD_SECONDS = 10.0  # for tools in the history that are not listed now
_BY = "whoever ran `xai-mcp-agent tools approve`"
_NO_DEFINITION = "its definition is not known here: connect the server, then accept it"
_MOST_QUESTIONS = 5  # questions about definitions that change while the person reads
_MOST_REVIEWS = 50  # longer than anybody reads in a question
_NOTHING_TO_FILL_IN: JsonObject = {"type": "object", "properties": {}}


class Approved(NamedTuple):
    """Approval for good: calls of `tool` with a definition of this `digest` need no question.

    The digest `always` stands for any definition. Unless it `counts`, this user has not agreed to
    it yet.
    """

    source: str
    tool: str
    digest: str
    counts: bool


class DecisionOperations(ToolOperations):
    """Decisions of a person about tools."""

    async def disable(self, server: str, *tools: str) -> list[Choice]:
        """Let no agent use these tools; calls of a person or a program still work.

        The decision stays in `mcp_tools.lock.json`, even without the tools or the server, and other
        processes notice it at once. The server `canvas` has the drawn tools.

        Raises:
            UnknownServer, SettingsError, UnknownTool: there never was one of that name.
            SourceFailed: the tool is unknown, and the server cannot be asked.
            LockFailed: it holds in this process, but cannot be written; the error has the
                `choices`.
        """
        return await self._switch(server, tools, is_enabled=False)

    async def enable(self, server: str, *tools: str) -> list[Choice]:
        """Let agents use these tools again; raises as `disable`."""
        return await self._switch(server, tools, is_enabled=True)

    async def _switch(self, server: str, tools: Sequence[str], *, is_enabled: bool) -> list[Choice]:
        engine, names = self.engine, list(dict.fromkeys(tools))
        all_tools = await self._all_tools(server)
        await all_tools.find(names)
        new = [x for x in names if any(e.is_enabled != is_enabled for e in all_tools.entries(x))]
        subjects = [tool_subject(e.key) for x in new for e in all_tools.entries(x)]
        trouble = None
        if new:
            trouble = await _trouble_of(engine.decisions.switch(subjects, is_enabled=is_enabled))
        decision = "enabled" if is_enabled else "disabled"
        return _require_saved([Choice(server, x, decision, x in new) for x in names], trouble)

    async def review(self, server: str, *tools: str) -> list[Review]:
        """Return definitions of these tools to read; without names, of all, with instructions.

        If their `standing` is not `accepted`, they wait to be accepted. Named tools are reviewed as
        last listed, in any process; if nothing in that is new, the server lists them again.

        Raises:
            UnknownServer, SettingsError, UnknownTool, SourceFailed: as for `disable`.
        """
        all_tools, names = await self._all_tools(server), list(dict.fromkeys(tools))
        await all_tools.find(names)
        if names:
            if any(all_tools.digest(x) in ("", all_tools.entries(x)[0].accepted) for x in names):
                await all_tools.ask_server(may_fail=True)
            return [await all_tools.review(name) for name in names]
        await all_tools.ask_server()
        tools_now = self.catalog.tools(all_tools.source)
        await self.catalog.digest_all(tools_now)
        reviews = [await all_tools.review(x.name) for x in tools_now]
        return [*reviews, *self._review_of_instructions(server)]

    async def accept(self, server: str, *tools: str, digest: str = "") -> list[Choice]:
        """Accept the definitions of these tools; without names, of all, with the instructions.

        Agents get only accepted definitions of a locked server. `digest` is that of the `review`
        that a person read, or the joint digest of all waiting reviews.

        Raises:
            ReviewNeeded: the server's definitions have changed; nothing was accepted. Also raises
                as `disable`.
        """
        reviews = await self.review(server, *tools)
        waiting = require_read(reviews, digest)
        all_tools = await self._all_tools(server)
        keys = {e.key: x.digest for x in waiting if x.tool for e in all_tools.entries(x.tool)}
        instructions = next((x.digest for x in waiting if not x.tool), "")
        trouble = None
        if waiting:
            accepting = self.engine.decisions.accept(server, keys, instructions)
            trouble = await _trouble_of(accepting)
        reported = reviews if tools else waiting
        return _require_saved([_choice(x, is_new=x in waiting) for x in reported], trouble)

    async def ask_to_accept(
        self, asker: str, server: str, tools: Sequence[str], describe: Callable[[Review], str]
    ) -> tuple[list[Choice], str]:
        """Ask the person in front of the run to accept these tools, or all of the server.

        Return the choices, or why there are none; both are empty if nobody is there or nothing
        waits. A program that answers questions of servers is not asked.

        Raises:
            UnknownServer, SettingsError, UnknownTool, SourceFailed: there is nothing to read.
            LockFailed: as `accept`.
        """
        host = self.caller.host
        for _ in range(_MOST_QUESTIONS):
            waiting = waiting_of(await self.review(server, *tools))
            if not waiting or len(waiting) > _MOST_REVIEWS or host is None or host.why_nobody:
                break
            lines = "\n".join(map(describe, waiting))
            text = f"May {server} be used with this from now on?\n{lines}"
            answer = await host.answer(
                Question(asker, text, _NOTHING_TO_FILL_IN, yes="Use it", no="Not now")
            )
            if answer.action != "accept":
                return [], answer.reason or "the person said no"
            with suppress(ReviewNeeded):  # it has changed meanwhile, and is asked about again
                return await self.accept(server, *tools, digest=digest_of_reviews(waiting)), ""
        return [], ""

    async def locked_servers(self) -> list[str]:
        """Return the sources of the settings that are locked, or have an accepted definition."""
        decisions = self.engine.decisions
        await decisions.read()
        return [
            x for x in self.settings.usable
            if self.engine.lock_of(x, PROGRAM) or decisions.has_accepted(x)
        ]  # fmt: skip

    async def decisions_trouble(self) -> str:
        """Return why decisions cannot be read, or ""."""
        await self.engine.decisions.read()
        return self.engine.decisions.why_unknown()

    async def unused_decisions(self) -> str:
        """Return a line about decisions for servers that the settings do not have, or ""."""
        await self.engine.decisions.read()
        servers = self.engine.decisions.decided_servers_except(self.settings.names)
        if not servers:
            return ""
        return (
            f"There are decisions about {join_names(servers, _MOST_NAMES)}, which the settings do "
            "not have. If you renamed a server, rename it in the lock file too: decisions do not "
            "follow a new name."
        )

    # Approvals for good

    async def review_to_approve(self, server: str, *tools: str) -> list[Review]:
        """Return the definitions of these tools, to be read before their calls are approved.

        Raises:
            UnknownServer, SettingsError, UnknownTool, SourceFailed: as for `disable`.
        """
        all_tools, names = await self._all_tools(server), list(dict.fromkeys(tools))
        await all_tools.find(names)
        if all_tools.source in self.settings.names:
            await all_tools.ask_server(may_fail=True)
        return [await all_tools.review_to_approve(x) for x in names]

    async def approve(self, server: str, *tools: str, digest: str) -> list[Choice]:
        """Approve agents' calls of these tools for good.

        `digest` is that of the `review_to_approve` that a person read, or of all of them together.

        Raises:
            ReviewNeeded: the server's definitions have changed; nothing was approved. Also raises
                as `disable`.
        """
        engine = self.engine
        reviews = await self.review_to_approve(server, *tools)
        waiting = require_read(reviews, digest, "approve")
        all_tools = await self._all_tools(server)
        trouble: LockFailed | None = None
        for review in waiting:
            for entry in all_tools.entries(review.tool):
                answer = ApprovalAnswer("always", by=_BY)
                engine.recorder.record_answer(entry.key, answer, review.digest)
                approving = engine.decisions.approve(entry.key, review.digest)
                trouble = await _trouble_of(approving) or trouble
        choices = [Choice(server, x.tool, "approved", x in waiting) for x in reviews]
        return _require_saved(choices, trouble)

    async def withdraw(self, server: str, *tools: str) -> list[Choice]:
        """Withdraw the approval of these tools, which may no longer exist.

        Raises:
            LockFailed: it holds in this process, but cannot be written.
        """
        engine = self.engine
        await engine.decisions.read()
        approvals = [x for x in engine.decisions.approvals() if x.source == server]
        choices: list[Choice] = []
        trouble: LockFailed | None = None
        for name in dict.fromkeys(tools):
            keys = [x for x in approvals if x.name == name]
            for key in keys:
                now, subject = datetime.now(UTC), tool_subject(key)
                engine.recorder.record_decision(decision_event(subject, now, "withdrawn"))
                trouble = await _trouble_of(engine.decisions.approve(key, "")) or trouble
            choices.append(Choice(server, name, "withdrawn", bool(keys)))
        return _require_saved(choices, trouble)

    async def approvals(self) -> list[Approved]:
        """Return all approvals for good."""
        decisions = self.engine.decisions
        await decisions.read()
        return [
            Approved(x.source, x.name, word, decisions.approved(x) == word)
            for x, word in decisions.approvals().items()
        ]

    async def _all_tools(self, server: str) -> _AllTools:
        """Return all tools that a server has or had.

        Raises:
            UnknownServer, SettingsError: there is no such server.
        """
        is_canvas = server in NAMELESS.values() and server not in self.settings.names
        source = CANVAS if is_canvas else server
        await self.engine.decisions.read()
        await self.catalog.read(source, _RECORD_SECONDS)
        all_tools = _AllTools(self, server, source)
        if source != CANVAS and not all_tools.names:
            self.settings.source(source)
        return all_tools

    def _review_of_instructions(self, server: str) -> list[Review]:
        text, decisions = self.catalog.instructions(server), self.engine.decisions
        if not text:
            return []
        digest = digest_of(text)
        if decisions.has_accepted_instructions(server):
            return [Review(server, "", digest, "accepted")]
        lines = tuple(escape_hidden(self.mask(text), "\n").split("\n"))
        return [Review(server, "", digest, decisions.standing_of_instructions(server), lines)]


class _AllTools:
    """Tools that a source has or had; several of one name differ in their kind."""

    def __init__(self, context: OperationContext, server: str, source: str) -> None:
        self.source = source
        self._context = context
        self._engine = context.engine
        self._decisions = context.engine.decisions
        self._server = server
        self._tools: dict[str, list[CatalogEntry]] = {}
        self._look()

    @property
    def names(self) -> list[str]:
        """Return the names of all tools."""
        return list(self._tools)

    def entries(self, name: str) -> list[CatalogEntry]:
        """Return the tools of one name."""
        return self._tools[name]

    async def find(self, names: Iterable[str]) -> None:
        """Check that all of these exist or did; if not, ask the server.

        Raises:
            UnknownTool: one of them never existed.
            SourceFailed: the server cannot be asked.
        """
        missing = [x for x in names if x not in self._tools]
        if missing and self.source in self._context.settings.names:
            await self.ask_server()
        for name in missing:
            if name not in self._tools:
                names = join_names(self.names, _MOST_NAMES) or "none yet"
                hint = did_you_mean(name, self.names) or f"Known: {names}."
                raise UnknownTool(f"{self._server} has no tool {name!r}, and had none. {hint}")

    async def ask_server(self, *, may_fail: bool = False) -> None:
        """Make the server list its tools.

        Raises:
            SourceFailed: it cannot be asked, unless this `may_fail`.
        """
        try:
            # Not `tools_of`, which accepts a first listing: here a person reads before deciding.
            await self._engine.pool.start(self.source).ready(self._context.caller)
        except XaiMcpError:
            if not may_fail:
                raise
        self._look()

    def digest(self, name: str) -> str:
        """Return the digest of the latest definition, or ""."""
        if live := self._live(name):
            return self._context.catalog.digest(live)
        record = self._tools[name][0].record
        return record.definition if record else ""

    async def review(self, name: str) -> Review:
        """Return the latest definition of a tool, compared with the accepted one.

        Raises:
            UnknownTool: there is no definition.
        """
        entry = self._tools[name][0]
        digest = self._require_digest(name, self.digest(name) or entry.accepted)
        like = self._decisions.looks_like(entry.key)
        if digest == entry.accepted:
            return Review(self._server, name, digest, "accepted")
        now = await self._definition(name, digest)
        if not entry.accepted:
            return Review(self._server, name, digest, "new", _lines_of(now), like)
        before = await self._decisions.accepted_definition(entry.key)
        lines = differences(before, now, in_full=True)
        return Review(self._server, name, digest, "changed", lines, like)

    async def review_to_approve(self, name: str) -> Review:
        """Return the latest definition of a tool, and whether its calls are approved.

        Raises:
            UnknownTool: there is no definition.
        """
        digest = self._require_digest(name, self.digest(name))
        is_approved = self._decisions.approved(self._tools[name][0].key) == digest
        lines = _lines_of(await self._definition(name, digest))
        return Review(self._server, name, digest, "accepted" if is_approved else "new", lines)

    def _require_digest(self, name: str, digest: str) -> str:
        if not digest:
            raise UnknownTool(f"{self._server} has no definition of its tool {name!r} yet.")
        return digest

    async def _definition(self, name: str, digest: str) -> JsonObject | None:
        if live := self._live(name):
            return self._decisions.definition(live).definition
        return await self._decisions.definition_of(digest)

    def _live(self, name: str) -> Tool | None:
        """Return the tool as listed in this process, if the server is connected."""
        running = self._engine.pool.running().get(self.source)
        is_ready = running is not None and running.state == "ready"
        return self._tools[name][0].tool if is_ready else None

    def _look(self) -> None:
        entries = {x.key: x for x in self._context.catalog.entries(self.source)}
        for key in self._decisions.decided_tools(self.source):
            entries.setdefault(key, CatalogEntry(key))
        by_name: dict[str, list[CatalogEntry]] = {}
        for key, entry in entries.items():
            by_name.setdefault(key.name, []).append(self._decisions.with_decisions(entry))
        self._tools |= by_name


async def _trouble_of(decision: Awaitable[None]) -> LockFailed | None:
    """Make a decision; return the error if it could not be written."""
    try:
        await decision
    except LockFailed as reason:
        return reason
    return None


def _require_saved(choices: list[Choice], trouble: LockFailed | None) -> list[Choice]:
    """Return the choices if they are saved; otherwise raise an error that has them."""
    if trouble is not None:
        trouble.choices = choices
        raise trouble
    return choices


def _choice(review: Review, *, is_new: bool) -> Choice:
    lines = review.lines if review.standing == "changed" else ()
    return Choice(review.server, review.tool, "accepted", is_new, lines)


def _lines_of(definition: JsonObject | None) -> tuple[str, ...]:
    """Return the whole definition as JSON in ASCII, which shows hidden characters."""
    if definition is None:
        return (_NO_DEFINITION,)
    return tuple(json.dumps(definition, indent=2).splitlines())
