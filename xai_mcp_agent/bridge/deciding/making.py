"""Deciding about tools for a person: switched off and on again, changed definitions accepted.

It counts in this process at once, and in others from their next run of an agent on.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeAlias

from ...catalog.asking.standing import Accepted, Kept, kept_tools
from ...core.errors import StoreFailed, UnknownTool, XaiMcpError
from ...core.kinds import STATIC
from ...core.names import did_you_mean
from ...core.tools import ToolKey
from ...history.subject import NAMELESS, Subject
from ...sources.canvas import CANVAS
from ..engine import Engine
from ..past.asking import answer, written
from .choices import changes_between

CANVAS_NAME = NAMELESS[STATIC]
"""What people call the canvas as a source, unless a server is called so."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What was decided about a tool. `is_new` is False where it was so already.

    `lines` tell what is different in a definition that was accepted in place of another.
    """

    server: str
    tool: str
    decision: Literal["enabled", "disabled", "accepted"]
    is_new: bool
    lines: tuple[str, ...] = ()


Decide: TypeAlias = Callable[[Engine, str, Sequence[str]], Awaitable[list[Choice]]]


async def enable(
    engine: Engine, server: str, tools: Sequence[str], drawn: Collection[str] = ()
) -> list[Choice]:
    """Let agents use these tools again. See `disable`."""
    return await _switch(engine, server, tools, drawn, is_enabled=True)


async def disable(
    engine: Engine, server: str, tools: Sequence[str], drawn: Collection[str] = ()
) -> list[Choice]:
    """Let no agent use these tools, whatever becomes of them and of their server.

    `drawn` are tools of the canvas that the history may not know yet.

    Raises:
        UnknownServer, SettingsError: no such server.
        UnknownTool: it has no such tool, and never had; nothing was decided.
        SourceFailed: only the server would know, and it cannot be used.
    """
    return await _switch(engine, server, tools, drawn, is_enabled=False)


async def accept(engine: Engine, server: str, tools: Sequence[str] = ()) -> list[Choice]:
    """Accept the definitions that these tools have now; without any, all that have changed.

    That is as the server listed them last, whichever process it was that had them listed. Where
    nothing is new in that, the server is asked.

    Raises:
        UnknownServer, SettingsError, UnknownTool, SourceFailed: as for `disable`.
    """
    known = await _known(engine, server, tools)
    names = list(dict.fromkeys(tools)) or known.changed()
    await known.find(names)
    if not all(map(known.is_news, names)):
        await known.ask_server()
    return [known.accept(name) for name in names]


async def for_good(
    engine: Engine, decide: Decide, server: str, tools: Sequence[str]
) -> list[Choice]:
    """What was decided so, when it is written down.

    Raises:
        StoreFailed: it cannot be, and counts in this process only. And what `decide` raises.
    """
    choices = await decide(engine, server, tools)
    await written(engine)
    return choices


async def _switch(
    engine: Engine, server: str, tools: Sequence[str], drawn: Collection[str], *, is_enabled: bool
) -> list[Choice]:
    known = await _known(engine, server, tools, drawn)
    names = list(dict.fromkeys(tools))
    await known.find(names)
    return [known.switch(name, is_enabled=is_enabled) for name in names]


async def _known(
    engine: Engine, server: str, tools: Sequence[str], drawn: Collection[str] = ()
) -> _Known:
    is_here = server in NAMELESS.values() and server not in engine.settings.names
    source = CANVAS if is_here else server
    await engine.choices.read([source])
    try:
        ask = partial(kept_tools, source=source, wanted=tools)
        kept = await answer(engine, ask, from_any_file=True)
    except StoreFailed:  # `written` tells it: what is decided counts in this process all the same
        kept = []
    if source != CANVAS and not kept:
        engine.settings.server(source)
    return _Known(engine, server, source, kept, drawn if source == CANVAS else ())


class _Known:
    """The tools of a source that are there, or were: from its listing here, and the history."""

    def __init__(
        self,
        engine: Engine,
        server: str,
        source: str,
        kept: Collection[Kept],
        drawn: Collection[str],
    ) -> None:
        self._engine = engine
        self._server = server
        self._source = source
        self._kept = {x.name: x for x in kept}
        self._drawn = drawn

    async def find(self, names: Iterable[str]) -> None:
        """See that these are known; the server is asked for those that are not.

        Raises:
            UnknownTool: there is one that it does not have either.
            SourceFailed: it cannot be asked.
        """
        missing = [x for x in names if x not in self._names()]
        if missing and self._source in self._engine.settings.names:
            await self._engine.list_tools(self._source)
        for name in missing:
            if name not in (known := self._names()):
                hint = did_you_mean(name, known) or f"Known: {', '.join(known) or 'none yet'}."
                raise UnknownTool(f"{self._server} has no tool {name!r}, and had none. {hint}")

    async def ask_server(self) -> None:
        """Have it say what its tools are now, if it can be asked."""
        if self._source in self._engine.settings.servers:
            with suppress(XaiMcpError):
                await self._engine.list_tools(self._source)

    def changed(self) -> list[str]:
        """Those that are not what was accepted."""
        accepted = self._engine.choices.accepted
        return [x for x in self._names() if accepted(self._key(x)) and self.is_news(x)]

    def is_news(self, name: str) -> bool:
        """Whether its definition is not the one that was accepted."""
        before, now = self._engine.choices.accepted(self._key(name)), self._definition(name)
        return now is not None and (before is None or before.digest != now.digest)

    def accept(self, name: str) -> Choice:
        """Accept its definition."""
        before, now = self._engine.choices.accepted(self._key(name)), self._definition(name)
        if now is None:
            raise UnknownTool(f"{self._server} has not told yet what its tool {name!r} is.")
        if not self.is_news(name):
            return Choice(self._server, name, "accepted", is_new=False)
        for subject in self._subjects(name):
            self._engine.choices.accept(subject, now)
        lines = changes_between(before, now) if before else ()
        return Choice(self._server, name, "accepted", is_new=True, lines=lines)

    def switch(self, name: str, *, is_enabled: bool) -> Choice:
        """Let agents use it, or not."""
        is_new = self._engine.choices.is_enabled(self._key(name)) != is_enabled
        for subject in self._subjects(name) if is_new else ():
            self._engine.choices.switch(subject, is_enabled=is_enabled)
        return Choice(self._server, name, "enabled" if is_enabled else "disabled", is_new)

    def _key(self, name: str) -> ToolKey:
        return ToolKey(self._source, name)

    def _names(self) -> list[str]:
        live = (x.name for x in self._engine.catalog.tools(self._source))
        return list(dict.fromkeys((*self._kept, *live, *self._drawn)))

    def _subjects(self, name: str) -> Collection[Subject]:
        kept = self._kept.get(name)
        return kept.subjects if kept else [self._engine.memory.subject(self._key(name))]

    def _definition(self, name: str) -> Accepted | None:
        """As it was listed last: here, if the server is connected here."""
        running, kept = self._engine.pool.running().get(self._source), self._kept.get(name)
        if running is not None and running.state == "ready":
            tool = self._engine.catalog.get(self._key(name))
            if tool is not None:
                return self._engine.choices.definition(tool)
        return kept and kept.listed
