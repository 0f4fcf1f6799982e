"""What an agent's run may read of pinned sources, and what the person is told of the rest."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from ..core.errors import XaiMcpError
from ..core.fingerprint import digest_of
from ..core.names import listed
from ..core.shell import shown_command
from ..core.tools import Tool, ToolKey
from ..history.diff.wording import plain
from ..policy.review import Review
from .asking import asked_to_accept
from .engine import Engine

_ASKER = "a pinned server"
_MOST_NAMES = 5
_NAME_CHARS = 60
_HELD = (
    "The tool {!r} is held back: a person has to accept first what its server says of it. Go on "
    "without it, or say that you need it."
)


class RunPins:
    """The pins of one run, as `PinnedToolset` wants them. `tell` is given a line for the person.

    The line is told once for each source: that something of it waits to be accepted. The person in
    front of the run is asked before, as `shown` puts it, where nothing is accepted by itself;
    without it nobody is.
    """

    def __init__(
        self,
        engine: Engine,
        tell: Callable[[str], None],
        shown: Callable[[Review], str] | None = None,
    ) -> None:
        self._engine = engine
        self._decisions = engine.decisions
        self._tell = tell
        self._shown_review = shown
        self._told: set[str] = set()
        self._asked: set[str] = set()  # digests

    @property
    def version(self) -> object:
        """Another one when something else may be read."""
        return self._decisions.version

    def is_pinned(self, source: str) -> bool:
        """Whether what a source says is held to what was accepted of it."""
        return bool(self._engine.pin_of(source, self._engine.caller))

    async def prepare(self, tools: Sequence[Tool]) -> None:
        """Have at hand what the others compare, and ask the person about what is held back."""
        pinned = {x: self._engine.pin_of(x, self._engine.caller) for x in {x.source for x in tools}}
        await self._engine.catalog.digest_all([x for x in tools if pinned[x.source]])
        for source in sorted(x for x, pin in pinned.items() if pin is True):
            await self._ask(source, [x for x in tools if x.source == source])

    async def _ask(self, source: str, tools: Sequence[Tool]) -> None:
        """Have the person accept what waits of a source: once in a run for what it says now."""
        decisions, catalog = self._decisions, self._engine.catalog
        waiting = [catalog.digest(x) for x in tools if decisions.standing(x) != "accepted"]
        if not decisions.has_accepted_instructions(source):
            waiting.append(digest_of(catalog.instructions(source)))
        new = set(waiting) - self._asked
        host = self._engine.caller.host
        is_nobody = host is None or host.why_nobody or decisions.why_unknown()
        if not new or is_nobody or self._shown_review is None:
            return
        self._asked |= new
        try:
            decided, why = await asked_to_accept(
                self._engine, _ASKER, source, (), self._shown_review
            )
        except XaiMcpError as reason:  # what it says cannot be known, so it is held back
            decided, why = None, str(reason)
        if decided is not None and decided.trouble is not None:
            self._tell(str(decided.trouble))
        elif why:
            self._tell(f"{source}: nothing was accepted: {why}.")

    def as_accepted(self, tool: Tool) -> Tool | None:
        """See `Decisions.as_accepted`."""
        return self._decisions.as_accepted(tool)

    def may_read_instructions(self, source: str) -> bool:
        """Whether what the source says of its use is as it was accepted."""
        return self._decisions.has_accepted_instructions(source)

    def why_held(self, name: str) -> str:
        """That a tool of this name is held back, for the model."""
        return _HELD.format(name)

    def tell_held(self, tools: Collection[ToolKey], instructions: Collection[str]) -> None:
        """Have the person know, if they do not yet, what is held back: all of it in one line."""
        sources = dict.fromkeys((*(x.source for x in tools), *instructions))
        new = [x for x in sources if x not in self._told]
        if not new:
            return
        self._told.update(new)
        held = "; ".join(self._held_of(x, tools, x in instructions) for x in new)
        self._tell(f"Held back until you accept it: {held}.")

    def _held_of(self, source: str, tools: Collection[ToolKey], has_instructions: bool) -> str:
        names = [self._shown(x) for x in tools if x.source == source]
        what = "1 tool" if len(names) == 1 else f"{len(names):,} tools"
        parts = [f"{what} ({listed(names, _MOST_NAMES)})"] if names else []
        parts += ["its instructions"] if has_instructions else []
        command = shown_command("xai-mcp-agent", "accept", source)
        return f"{source}: {' and '.join(parts)} (read it with `{command}`)"

    def _shown(self, key: ToolKey) -> str:
        name, like = plain(key.name, _NAME_CHARS), self._decisions.looks_like(key)
        return f"{name}, which looks like {plain(like, _NAME_CHARS)}" if like else name
