"""Switches tools off and on, for a person; and which tools a source has or had.

It counts in this process at once, and in others at their next look at the file of decisions.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from typing import NamedTuple, TypeAlias

from ..catalog.entry import CatalogEntry
from ..core.errors import LockFailed, UnknownTool, XaiMcpError
from ..core.kinds import STATIC
from ..core.names import did_you_mean, listed
from ..core.tools import Tool, ToolKey
from ..history.event import NAMELESS
from ..policy.decisions import Choice
from ..sources.canvas import CANVAS
from .engine import Engine

_MOST_NAMES = 5
# For tools that are not here now. A history that is slower than this may still say it is none.
_RECORD_SECONDS = 10.0


class Decided(NamedTuple):
    """What was decided; with `trouble` it counts in this process only."""

    choices: list[Choice]
    trouble: LockFailed | None = None


Decide: TypeAlias = Callable[[Engine, str, Sequence[str]], Awaitable[Decided]]


async def enable(
    engine: Engine, server: str, tools: Sequence[str], drawn: Collection[str] = ()
) -> Decided:
    """Let agents use these tools again. See `disable`."""
    return await _switch(engine, server, tools, drawn, is_enabled=True)


async def disable(
    engine: Engine, server: str, tools: Sequence[str], drawn: Collection[str] = ()
) -> Decided:
    """Let no agent use these tools, whatever becomes of them and of their server.

    `drawn` are tools of the canvas that the history may not know yet.

    Raises:
        UnknownServer, SettingsError: no such server.
        UnknownTool: it has no such tool, and never had; nothing was decided.
        SourceFailed: only the server would know, and it cannot be used.
    """
    return await _switch(engine, server, tools, drawn, is_enabled=False)


async def for_good(
    engine: Engine, decide: Decide, server: str, tools: Sequence[str]
) -> list[Choice]:
    """What was decided so, when it is written.

    Raises:
        LockFailed: it cannot be, and counts in this process only. And what `decide` raises.
    """
    choices, trouble = await decide(engine, server, tools)
    if trouble is not None:
        raise trouble
    return choices


async def kept(decision: Awaitable[None]) -> LockFailed | None:
    """Make a decision; why it could not be written."""
    try:
        await decision
    except LockFailed as reason:
        return reason
    return None


async def why_unknown(engine: Engine) -> str:
    """Why it cannot be looked up what was decided; empty where it can."""
    await engine.decisions.read()
    return engine.decisions.why_unknown()


async def without_server(engine: Engine) -> str:
    """That there are decisions about servers which the settings do not have; empty if not so."""
    await engine.decisions.read()
    found = engine.decisions.without_server(engine.settings.names)
    if not found:
        return ""
    return (
        f"Something was decided about {listed(found, _MOST_NAMES)}, which the settings do not "
        "have. If you renamed a server, rename it in the file of decisions too: nothing of that "
        "holds for another name."
    )


async def _switch(
    engine: Engine, server: str, tools: Sequence[str], drawn: Collection[str], *, is_enabled: bool
) -> Decided:
    known = await known_tools(engine, server, drawn)
    names = list(dict.fromkeys(tools))
    await known.find(names)
    new = [x for x in names if any(e.is_enabled != is_enabled for e in known.entries(x))]
    subjects = [engine.recorder.subject(e.key) for x in new for e in known.entries(x)]
    trouble = await kept(engine.decisions.switch(subjects, is_enabled=is_enabled)) if new else None
    decision = "enabled" if is_enabled else "disabled"
    return Decided([Choice(server, x, decision, x in new) for x in names], trouble)


async def known_tools(engine: Engine, server: str, drawn: Iterable[str] = ()) -> KnownTools:
    """The tools that a server has or had.

    Raises:
        UnknownServer, SettingsError: no such server.
    """
    is_here = server in NAMELESS.values() and server not in engine.settings.names
    source = CANVAS if is_here else server
    await engine.decisions.read()
    await engine.catalog.read(source, _RECORD_SECONDS)
    found = KnownTools(engine, server, source, drawn if source == CANVAS else ())
    if source != CANVAS and not found.names:
        engine.settings.source(source)
    return found


class KnownTools:
    """The tools of a source that are there, or were; several of one name differ in their kind."""

    def __init__(self, engine: Engine, server: str, source: str, drawn: Iterable[str]) -> None:
        self.engine = engine
        self.server = server
        self.source = source
        self._tools = {
            x: [self._marked(CatalogEntry(ToolKey(STATIC.name, source, x)))] for x in drawn
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
        if missing and self.source in self.engine.settings.names:
            await self.ask_server()
        for name in missing:
            if name not in self._tools:
                known = list(self._tools)
                hint = (
                    did_you_mean(name, known)
                    or f"Known: {listed(known, _MOST_NAMES) or 'none yet'}."
                )
                raise UnknownTool(f"{self.server} has no tool {name!r}, and had none. {hint}")

    async def ask_server(self, *, if_it_can_be: bool = False) -> None:
        """Have it say what its tools are now.

        Raises:
            SourceFailed: it cannot be asked, and has to be.
        """
        try:
            # Not `list_tools`: what a person looks at before they decide is not accepted by that.
            await self.engine.pool.start(self.source).ready(self.engine.caller)
        except XaiMcpError:
            if not if_it_can_be:
                raise
        self._look()

    def live(self, name: str) -> Tool | None:
        """As it is listed here, if the server is connected here."""
        running = self.engine.pool.running().get(self.source)
        is_ready = running is not None and running.state == "ready"
        return self._tools[name][0].tool if is_ready else None

    def digest(self, name: str) -> str:
        """That of its definition, as it was listed last; empty if that is not known."""
        if live := self.live(name):
            return self.engine.catalog.digest(live)
        record = self._tools[name][0].record
        return record.definition if record else ""

    def _look(self) -> None:
        named: dict[str, list[CatalogEntry]] = {}
        for entry in self.engine.catalog.entries(self.source):
            named.setdefault(entry.key.name, []).append(self._marked(entry))
        for key in self.engine.decisions.known_tools(self.source):
            if all(x.key != key for x in named.get(key.name, ())):
                named.setdefault(key.name, []).append(self._marked(CatalogEntry(key)))
        self._tools |= named

    def _marked(self, entry: CatalogEntry) -> CatalogEntry:
        return self.engine.decisions.marked(entry)
