"""Switches tools off and on, and accepts changed definitions, for a person.

It counts in this process at once, and in others from their next run of an agent on.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from ..catalog.entry import Accepted, CatalogEntry
from ..core.errors import UnknownTool, XaiMcpError
from ..core.kinds import STATIC
from ..core.names import did_you_mean
from ..core.tools import JsonObject, Tool, ToolKey
from ..history.event import NAMELESS
from ..policy.decisions import Choice, changes_between
from ..sources.canvas import CANVAS
from .engine import Engine
from .history import ANSWER_SECONDS, answer, written

if TYPE_CHECKING:
    from ..history.store import Store

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
    known = await _known(engine, server)
    names = list(dict.fromkeys(tools)) or known.changed()
    await known.find(names)
    if not names or not all(map(known.is_news, names)):
        await known.ask_server()
        names = names or known.changed()
    listed = await known.listed(names)
    return [known.accept(name, listed) for name in names]


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
    known = await _known(engine, server, drawn)
    names = list(dict.fromkeys(tools))
    await known.find(names)
    return [known.switch(name, is_enabled=is_enabled) for name in names]


async def _known(engine: Engine, server: str, drawn: Iterable[str] = ()) -> _Known:
    is_here = server in NAMELESS.values() and server not in engine.settings.names
    source = CANVAS if is_here else server
    # Without the history, what is decided counts in this process all the same; `written` tells it.
    await engine.catalog.read([source], ANSWER_SECONDS, whole=True)
    if source != CANVAS and not engine.catalog.entries(source):
        engine.settings.source(source)
    return _Known(engine, server, source, drawn if source == CANVAS else ())


class _Known:
    """The tools of a source that are there, or were; several of one name differ in their kind."""

    def __init__(self, engine: Engine, server: str, source: str, drawn: Iterable[str]) -> None:
        self._engine = engine
        self._server = server
        self._source = source
        self._tools = {x: [CatalogEntry(ToolKey(STATIC.name, source, x))] for x in drawn}
        self._look()

    async def find(self, names: Iterable[str]) -> None:
        """See that these are known; the server is asked for those that are not.

        Raises:
            UnknownTool: there is one that it does not have either.
            SourceFailed: it cannot be asked.
        """
        missing = [x for x in names if x not in self._tools]
        if missing and self._source in self._engine.settings.names:
            await self._engine.list_tools(self._source)
            self._look()
        for name in missing:
            if name not in self._tools:
                known = list(self._tools)
                hint = did_you_mean(name, known) or f"Known: {', '.join(known) or 'none yet'}."
                raise UnknownTool(f"{self._server} has no tool {name!r}, and had none. {hint}")

    async def ask_server(self) -> None:
        """Have it say what its tools are now, if it can be asked."""
        if self._source in self._engine.settings.sources:
            with suppress(XaiMcpError):
                await self._engine.list_tools(self._source)
            self._look()

    def changed(self) -> list[str]:
        """Those that are not what was accepted."""
        return [x for x, (one, *_) in self._tools.items() if one.accepted and self.is_news(x)]

    def is_news(self, name: str) -> bool:
        """Whether its definition is not the one that was accepted."""
        before, now = self._tools[name][0].accepted, self._digest(name)
        return bool(now) and (before is None or before.digest != now)

    async def listed(self, names: Iterable[str]) -> dict[str, JsonObject]:
        """The definitions by their digests, of those that are not listed here."""
        digests = [self._digest(x) for x in names if self._live(x) is None]
        if not any(digests):
            return {}
        return await answer(self._engine, partial(_definitions, digests), from_any_file=True)

    def accept(self, name: str, listed: Mapping[str, JsonObject]) -> Choice:
        """Accept its definition."""
        entry, *_ = found = self._tools[name]
        before, now = entry.accepted, self._definition(name, listed)
        if now is None:
            raise UnknownTool(f"{self._server} has not told yet what its tool {name!r} is.")
        if not self.is_news(name):
            return Choice(self._server, name, "accepted", is_new=False)
        for one in found:
            self._engine.decisions.accept(self._engine.recorder.subject(one.key), now)
        lines = changes_between(before, now) if before else ()
        return Choice(self._server, name, "accepted", is_new=True, lines=lines)

    def switch(self, name: str, *, is_enabled: bool) -> Choice:
        """Let agents use it, or not."""
        found = self._tools[name]
        is_new = any(x.is_enabled != is_enabled for x in found)
        for one in found if is_new else ():
            subject = self._engine.recorder.subject(one.key)
            self._engine.decisions.switch(subject, is_enabled=is_enabled)
        return Choice(self._server, name, "enabled" if is_enabled else "disabled", is_new)

    def _look(self) -> None:
        named: dict[str, list[CatalogEntry]] = {}
        for entry in self._engine.catalog.entries(self._source):
            named.setdefault(entry.key.name, []).append(entry)
        self._tools |= named

    def _live(self, name: str) -> Tool | None:
        """As it is listed here, if the server is connected here."""
        running = self._engine.pool.running().get(self._source)
        is_ready = running is not None and running.state == "ready"
        return self._tools[name][0].tool if is_ready else None

    def _digest(self, name: str) -> str:
        """That of its definition, as it was listed last."""
        if live := self._live(name):
            return self._engine.catalog.digest(live)
        record = self._tools[name][0].record
        return record.definition if record else ""

    def _definition(self, name: str, listed: Mapping[str, JsonObject]) -> Accepted | None:
        if live := self._live(name):
            return self._engine.decisions.definition(live)
        digest = self._digest(name)
        return Accepted(digest, listed.get(digest)) if digest else None


def _definitions(digests: Iterable[str], store: Store) -> dict[str, JsonObject]:
    """In the thread that owns the store: SQLAlchemy takes a while."""
    from ..history.log import definitions_of

    with store.reading() as connection:
        return definitions_of(connection, digests)
