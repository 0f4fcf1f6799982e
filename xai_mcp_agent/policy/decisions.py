"""What people decided about tools, and what pinned tools are held to: rules over the catalog.

While the history cannot be used, which it says itself, what was known last goes on to count.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from math import inf
from typing import Literal, TypeAlias

import anyio

from ..catalog.catalog import Catalog
from ..catalog.entry import Accepted
from ..core.errors import AcceptanceUnknown, DefinitionChanged
from ..core.fingerprint import definition_text, tool_of
from ..core.tools import Tool, ToolKey
from ..history.diff.changes import difference_in_full
from ..history.event import Subject, Teller
from ..history.recording.recorder import HistoryRecorder
from ..history.recording.reports import Decided
from ..secrets.redactor import redact_json

SWITCHED_OFF = "The tool {!r} cannot be used: a person has switched it off. Do without it."
_NOT_KNOWN = (
    "The tool {!r} cannot be used now: it cannot be looked up whether a person has switched it "
    "off. Do without it."
)
# Enough to open a store on a busy machine. Then what was known before goes on to count.
_READ_SECONDS = 4.0
# Without it no tool is offered, and no pinned one called: longer than a store may be held up.
_FIRST_READ_SECONDS = 30.0

WhyUnknown: TypeAlias = Callable[[str], str | None]
"""Why something is not known of a source, if it is not."""

_NOT_KEPT = "what it was before is not in the history any more"
_HIDDEN = "something in it that is hidden here, because it looks like a secret"


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


class Decisions:
    """The rules for calls, over what the catalog knows. Used on the bridge's loop.

    `mask` hides what is secret in the words of strangers.
    """

    def __init__(
        self, recorder: HistoryRecorder, catalog: Catalog, mask: Callable[[str], str]
    ) -> None:
        self._recorder = recorder
        self._catalog = catalog
        self._mask = mask
        self._as_listed: dict[ToolKey, Tool] = {}  # with the definition that was accepted
        self._reading, self._was_read = anyio.Lock(), set[str]()

    @property
    def version(self) -> object:
        """Another one when what is decided, or known of that, may be different."""
        return self._catalog.decided_version

    async def read(self, sources: Iterable[str]) -> None:
        """Know what was decided about the tools of these, by other processes too."""
        await self._read(sources, self.why_unknown)

    async def read_once(self, source: str, seconds: float | None) -> None:
        """The same for who calls a tool of a source that nobody asked for yet; so long at most."""
        if not self.why_unknown(source) or source in self._was_read:
            return
        with anyio.move_on_after(seconds):
            async with self._reading:
                if source not in self._was_read:
                    await self.read([source])
                    self._was_read.add(source)

    def why_unknown(self, source: str) -> str:
        """Why nobody can say what was switched off of a source; empty where it is known."""
        return self._catalog.why_unknown(source)

    def why_off(self, key: ToolKey) -> str:
        """Why no agent may use the tool, for a model, with a place for its name; empty if it may.

        What may have been switched off counts as switched off.
        """
        if self.why_unknown(key.source):
            return _NOT_KNOWN
        return "" if self._catalog.is_enabled(key) else SWITCHED_OFF

    def is_changed(self, tool: Tool) -> bool:
        """Whether another definition of the tool was accepted than it has here."""
        return self._catalog.is_changed(tool)

    def accepted(self, key: ToolKey) -> Accepted | None:
        """The definition of the tool that was accepted, if any was."""
        return self._catalog.accepted(key)

    def as_accepted(self, tool: Tool) -> Tool | None:
        """The tool with the definition that was accepted, whatever its source says of it now.

        Itself before its first use; None where the accepted one is not known any more.
        """
        accepted = self.accepted(tool.key)
        if accepted is None:
            return tool
        for known in (tool, self._as_listed.get(tool.key)):
            if known is not None and not self.is_changed(known):
                self._as_listed[tool.key] = known
                return known
        return None if accepted.definition is None else tool_of(tool.key, accepted.definition)

    async def hold(
        self, tool: Tool, used: Tool | None = None, seconds: float | None = None
    ) -> None:
        """See that a pinned tool is what was accepted; its first use accepts it.

        `used` is the tool as whoever calls it has read of it, if that may be older. What the
        history says is waited for `seconds` at most.

        Raises:
            DefinitionChanged: it is not.
            AcceptanceUnknown: the history cannot tell what was.
        """
        key, sources, why_unknown = tool.key, [tool.source], self._catalog.why_not_read
        deadline = inf if seconds is None else anyio.current_time() + seconds
        if why_unknown(tool.source) is not None:
            await self._read(sources, why_unknown, deadline)
        trouble = why_unknown(tool.source)
        if trouble is not None and self.accepted(key) is None:
            raise AcceptanceUnknown(tool.source, tool.name, trouble)
        if self.accepted(key) is None:
            self.accept(self._recorder.subject(key), self.definition(used or tool), "executor")
            # Another process may have been the first.
            await self._read(sources, why_unknown, deadline)
        if self._changed_now(tool):
            # Somebody may have accepted it meanwhile.
            await self._read(sources, why_unknown, deadline)
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
        accepted = self.accepted(tool.key)
        return () if accepted is None else changes_between(accepted, self.definition(tool))

    def definition(self, tool: Tool) -> Accepted:
        """The definition that a tool has, as it is accepted."""
        masked = redact_json(definition_text(tool), self._mask)
        return Accepted(self._catalog.digest(tool), json.loads(masked))

    def switch(self, tool: Subject, *, is_enabled: bool) -> None:
        """A person lets agents use a tool, or not."""
        self._decide(Decided(tool, _now(), "enabled" if is_enabled else "disabled"))

    def accept(self, tool: Subject, definition: Accepted, teller: Teller = "user") -> None:
        """From now on pinned calls of a tool are held to this definition of it."""
        self._decide(
            Decided(tool, _now(), "accepted", definition.digest, teller=teller), definition
        )

    async def _read(
        self, sources: Iterable[str], why_unknown: WhyUnknown, deadline: float = inf
    ) -> None:
        """Wait for what the history says; longer where nothing is known of it yet."""
        names = tuple(sources)
        with anyio.CancelScope(deadline=deadline):
            is_in_time = await self._catalog.read(names, _READ_SECONDS)
            if not is_in_time and any(map(why_unknown, names)):
                await self._catalog.read(names, _FIRST_READ_SECONDS)

    def _decide(self, decision: Decided, definition: Accepted | None = None) -> None:
        self._catalog.decide(decision, definition)
        self._recorder.decided(decision)

    def _changed_now(self, tool: Tool) -> Tool | None:
        """The tool as it is listed at this moment, if that is not what was accepted."""
        now = self._catalog.get(tool.key) or tool
        return now if self.is_changed(now) else None


def changes_between(before: Accepted, after: Accepted) -> tuple[str, ...]:
    """What is different, in lines; nothing where it is the same definition."""
    if before.digest == after.digest:
        return ()
    if before.definition is None or after.definition is None:
        return (_NOT_KEPT,)
    return difference_in_full(before.definition, after.definition) or (_HIDDEN,)


def _now() -> datetime:
    return datetime.now(UTC)
