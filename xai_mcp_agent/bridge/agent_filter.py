"""Filter of an agent's tools: switched off, blocked, denied, or not accepted."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from typing import TypeAlias

from ..core.errors import RulesUnknown
from ..core.names import join_names
from ..core.shell import shell_command
from ..core.tools import Tool, ToolKey, digest_of
from ..history.wording import plain
from ..search.preferences import Preferences
from .context import OperationContext

AskToAccept: TypeAlias = Callable[[str], Awaitable[str]]
"""Asks the person in front of a run to accept new definitions of a source; returns the problem."""

_MOST_NAMES = 5
_NAME_CHARS = 60
_BLOCKED = "The tool {!r} is blocked by the preferences of a person. Use another one."
_DENIED = "The tool {{!r}} is not for this agent: {}. Use another one."
_NOT_ACCEPTED = (
    "The tool {!r} is held back: a person has to accept its definition first. Go on "
    "without it, or say that you need it."
)


class AgentFilter:
    """Leaves out tools that are switched off, blocked, denied by a rule, or not accepted.

    `tell` gets a line for the person, once for each source that waits to be accepted. With
    `ask_to_accept` the person is asked first, unless the first listing is accepted by itself.
    """

    def __init__(
        self,
        context: OperationContext,
        preferences: Preferences,
        tell: Callable[[str], None],
        ask_to_accept: AskToAccept | None,
    ) -> None:
        self._context = context
        self._engine = context.engine
        self._decisions = context.engine.decisions
        self._preferences = preferences
        self._tell = tell
        self._ask_to_accept = ask_to_accept
        self._queried_digests: set[str] = set()
        self._reported_sources: set[str] = set()
        self._waiting: dict[ToolKey, Tool] = {}  # shown as accepted, or not at all

    @property
    def version(self) -> object:
        """Return a value that changes with each decision and with the rules."""
        return self._decisions.version, self._engine.rules.book

    async def prepare(self, tools: Sequence[Tool], *, is_new: bool) -> None:
        """Compute rulings and digests, and ask the person about held tools."""
        with suppress(RulesUnknown):  # each call reports it
            await self._engine.rules.prepare(tools if is_new else (), self._context.caller)
        if not is_new:
            return
        locks = {x: self._context.lock_of(x) for x in {x.source for x in tools}}
        await self._engine.catalog.digest_all([x for x in tools if locks[x.source]])
        for source in sorted(x for x, lock in locks.items() if lock is True):
            await self._ask(source, [x for x in tools if x.source == source])

    def why_off(self, key: ToolKey) -> str:
        """Return why a person has forbidden the tool, with a placeholder for its name, or ""."""
        blocked = _BLOCKED if self._preferences.is_blocked(key) else ""
        return self._decisions.why_off(key) or blocked

    def keep(self, tool: Tool) -> Tool | str:
        """Return the accepted definition of a tool of a locked source, or why it is not shown."""
        self._waiting.pop(tool.key, None)
        if why := self.why_off(tool.key):
            return why
        if why := self._engine.rules.why_never(tool, self._context.caller):
            return _DENIED.format(why.replace("{", "{{").replace("}", "}}"))
        if not self._context.lock_of(tool.source):
            return tool
        accepted = self._decisions.as_accepted(tool)
        if accepted is not tool:
            self._waiting[tool.key] = tool
        return accepted or _NOT_ACCEPTED

    def keeps_instructions(self, source: str) -> bool:
        """Return whether the instructions of a locked source are accepted."""
        is_locked = self._context.lock_of(source)
        return not is_locked or self._decisions.has_accepted_instructions(source)

    def notice(self, tools: Sequence[Tool], sources: Collection[str]) -> None:
        """Tell the person once, in one line, which tools are held back."""
        waiting = [x.key for x in tools if self._waiting.get(x.key) is x] if self._waiting else []
        silent = [x for x in sources if not self.keeps_instructions(x)]
        waiting_sources = dict.fromkeys((*(x.source for x in waiting), *silent))
        new = [x for x in waiting_sources if x not in self._reported_sources]
        if new:
            self._reported_sources.update(new)
            parts = "; ".join(self._describe_waiting(x, waiting, x in silent) for x in new)
            self._tell(f"Held back until you accept it: {parts}.")

    def _describe_waiting(
        self, source: str, waiting: Collection[ToolKey], has_instructions: bool
    ) -> str:
        names = [self._plain(x) for x in waiting if x.source == source]
        tools = "1 tool" if len(names) == 1 else f"{len(names):,} tools"
        parts = [f"{tools} ({join_names(names, _MOST_NAMES)})"] if names else []
        parts += ["its instructions"] if has_instructions else []
        command = shell_command("xai-mcp-agent", "tools", "accept", source)
        return f"{source}: {' and '.join(parts)} (read it with `{command}`)"

    def _plain(self, key: ToolKey) -> str:
        name, like = plain(key.name, _NAME_CHARS), self._decisions.looks_like(key)
        return f"{name}, which looks like {plain(like, _NAME_CHARS)}" if like else name

    async def _ask(self, source: str, tools: Sequence[Tool]) -> None:
        """Ask the person to accept new definitions of a source, once in a run for each text."""
        decisions, catalog = self._decisions, self._engine.catalog
        waiting = [catalog.digest(x) for x in tools if decisions.standing(x) != "accepted"]
        if not decisions.has_accepted_instructions(source):
            waiting.append(digest_of(catalog.instructions(source)))
        new, host = set(waiting) - self._queried_digests, self._context.caller.host
        can_ask = host is not None and not host.why_nobody and not decisions.why_unknown()
        if new and can_ask and self._ask_to_accept is not None:
            self._queried_digests |= new
            if problem := await self._ask_to_accept(source):
                self._tell(problem)
