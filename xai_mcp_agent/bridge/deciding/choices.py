"""What people decided about tools, as this process knows it, and what pinned tools are held to.

Decisions of others are read from the history; nothing here waits long for it. While it cannot be
used, which the history itself says, what was known last goes on to count.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial

import anyio

from ...catalog.asking.standing import Accepted, Standing, standing_of
from ...catalog.catalog import Catalog
from ...catalog.comparing.in_full import difference_in_full
from ...catalog.keeping.masked import masked_text
from ...catalog.keeping.memory import Memory
from ...catalog.keeping.reports import Decided
from ...core.definitions import definition_text, digest_of, tool_of
from ...core.errors import AcceptanceUnknown, DefinitionChanged, StoreFailed
from ...core.events import InventoryChanged, SourceEvent
from ...core.tools import Tool, ToolKey
from ...history.event import Teller
from ...history.subject import Subject

logger = logging.getLogger(__name__)

# Enough to open a store on a busy machine. Then a run goes on; what is answered later counts.
_READ_SECONDS = 4.0
# A pinned call needs to know what was accepted: longer than a writer may hold a store up.
_PINNED_READ_SECONDS = 30.0
_NOT_KEPT = "what it was before is not in the history any more"
_HIDDEN = "something in it that is hidden here, because it looks like a secret"


class Choices:
    """An `Observer`, told after the memory. Used on the bridge's loop.

    `mask` hides what is secret in the words of strangers.
    """

    def __init__(self, memory: Memory, catalog: Catalog, mask: Callable[[str], str]) -> None:
        self._memory = memory
        self._catalog = catalog
        self._mask = mask
        self._standing = Standing()
        self._known: set[str] = set()  # sources that were read at least once
        self._trouble = "it does not answer"  # why one could not be read
        self._own = 0  # decisions of this process: an answer to what was asked before is too old
        self._digests: dict[ToolKey, tuple[Tool, str]] = {}
        self._as_listed: dict[ToolKey, Tool] = {}  # with the definition that was accepted

    def notice(self, event: SourceEvent) -> None:
        """Read what was decided about the tools that a source has listed."""
        if isinstance(event, InventoryChanged):
            self._ask(frozenset([event.source]))

    async def read(self, sources: Iterable[str], seconds: float = _READ_SECONDS) -> None:
        """Know what was decided about the tools of these, by other processes too."""
        answered = self._ask(frozenset(sources))
        with anyio.move_on_after(seconds):
            await answered.wait()

    def is_enabled(self, key: ToolKey) -> bool:
        """Whether agents may use the tool."""
        return key not in self._standing.disabled

    def is_changed(self, tool: Tool) -> bool:
        """Whether another definition of the tool was accepted than it has now."""
        accepted = self._standing.accepted.get(tool.key)
        return accepted is not None and accepted.digest != self.digest(tool)

    def accepted(self, key: ToolKey) -> Accepted | None:
        """The definition of the tool that was accepted, if any was."""
        return self._standing.accepted.get(key)

    def as_accepted(self, tool: Tool) -> Tool | None:
        """The tool with the definition that was accepted, whatever its source says of it now.

        Itself before its first use; None where the accepted one is not known any more.
        """
        accepted = self._standing.accepted.get(tool.key)
        if accepted is None:
            return tool
        for known in (tool, self._as_listed.get(tool.key)):
            if known is not None and self.digest(known) == accepted.digest:
                self._as_listed[tool.key] = known
                return known
        return None if accepted.definition is None else tool_of(tool.key, accepted.definition)

    async def hold(self, tool: Tool, used: Tool | None = None) -> None:
        """See that a pinned tool is what was accepted; its first use accepts it.

        `used` is the tool as whoever calls it has read of it, if that may be older.

        Raises:
            DefinitionChanged: it is not.
            AcceptanceUnknown: the history cannot tell what was.
        """
        key, sources = tool.key, [tool.source]
        if tool.source not in self._known:
            await self.read(sources, _PINNED_READ_SECONDS)
        if tool.source not in self._known and key not in self._standing.accepted:
            raise AcceptanceUnknown(tool.source, tool.name, self._trouble)
        if key not in self._standing.accepted:
            self.accept(self._memory.subject(key), self.definition(used or tool), "executor")
            await self.read(sources)  # another process may have been the first
        if self._changed_now(tool):
            await self.read(sources)  # somebody may have accepted it meanwhile
        self.check(tool)

    def check(self, tool: Tool) -> None:
        """See that it is what was accepted, at this moment.

        Raises:
            DefinitionChanged: it is not.
        """
        if now := self._changed_now(tool):
            raise DefinitionChanged(tool.source, tool.name, self.changes(now))

    def changes(self, tool: Tool) -> tuple[str, ...]:
        """What is different from the definition that was accepted, in lines."""
        accepted = self._standing.accepted.get(tool.key)
        return () if accepted is None else changes_between(accepted, self.definition(tool))

    def definition(self, tool: Tool) -> Accepted:
        """The definition that a tool has, as it is accepted."""
        digest, text = self.digest(tool), definition_text(tool)
        return Accepted(digest, json.loads(masked_text(text, self._mask)))

    def digest(self, tool: Tool) -> str:
        """The digest of its definition."""
        known = self._digests.get(tool.key)
        if known is None or known[0] is not tool:
            known = self._digests[tool.key] = tool, digest_of(definition_text(tool))
        return known[1]

    def switch(self, tool: Subject, *, is_enabled: bool) -> None:
        """A person lets agents use a tool, or not."""
        key = ToolKey(tool.source, tool.tool or "")
        self._standing = self._standing.switched(key, is_enabled=is_enabled)
        self._decide(Decided(tool, _now(), "enabled" if is_enabled else "disabled"))

    def accept(self, tool: Subject, definition: Accepted, teller: Teller = "user") -> None:
        """From now on pinned calls of a tool are held to this definition of it."""
        key = ToolKey(tool.source, tool.tool or "")
        self._standing = self._standing.accepting(key, definition)
        self._decide(Decided(tool, _now(), "accepted", definition.digest, teller=teller))

    def _decide(self, decision: Decided) -> None:
        self._own += 1
        self._memory.decided(decision)

    def _changed_now(self, tool: Tool) -> Tool | None:
        """The tool as it is listed at this moment, if that is not what was accepted."""
        now = self._catalog.get(tool.key) or tool
        return now if self.is_changed(now) else None

    def _ask(self, sources: frozenset[str], answered: anyio.Event | None = None) -> anyio.Event:
        """Have the history read; the event says when that is over, however it went."""
        answered = answered or anyio.Event()
        take = partial(self._take, sources, self._own, answered)
        loop = asyncio.get_running_loop()

        def hand_over(answer: Future[Standing]) -> None:
            with suppress(RuntimeError):  # the loop has ended meanwhile
                loop.call_soon_threadsafe(take, answer)

        self._memory.read(partial(standing_of, sources=sources)).add_done_callback(hand_over)
        return answered

    def _take(
        self, sources: frozenset[str], own: int, answered: anyio.Event, answer: Future[Standing]
    ) -> None:
        if own != self._own:  # this process has decided something since it asked
            self._ask(sources, answered)
            return
        try:
            self._standing = self._standing.renewed(sources, answer.result())
            self._known |= sources
        except StoreFailed as reason:
            logger.debug("What was decided is not known anew: %s", reason)  # it was said already
            self._trouble = str(reason)
        except Exception as reason:
            self._trouble = f"{type(reason).__name__}: {reason}"
            logger.exception("What was decided about tools could not be read")
        answered.set()


def changes_between(before: Accepted, after: Accepted) -> tuple[str, ...]:
    """What is different, in lines; nothing where it is the same definition."""
    if before.digest == after.digest:
        return ()
    if before.definition is None or after.definition is None:
        return (_NOT_KEPT,)
    return difference_in_full(before.definition, after.definition) or (_HIDDEN,)


def _now() -> datetime:
    return datetime.now(UTC)
