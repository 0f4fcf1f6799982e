"""Toolsets: tools with one way to call them; and the tools of one agent, combined and filtered."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol, TypeAlias

import anyio.lowlevel

from ..catalog.definitions import Definitions, ToolDefinition
from ..core.calls import ToolInvocation
from ..core.names import ShownNames, did_you_mean
from ..core.results import ToolResult
from ..core.tools import META, Tool, ToolKey
from ..search.meta_tools import is_meta_tool
from ..search.selector import Selector, ShowEverything

_TOOLS_IN_A_ROW = 200  # to name and filter; it takes a few milliseconds
# Of all names, where a model asked for one that is like none of them.
_MOST_NAMES = 30

Names: TypeAlias = tuple[tuple[ToolKey, str], ...]
"""The shown names of a run, in the order in which their tools were first shown."""

Learn: TypeAlias = Callable[[ToolKey, Sequence[str]], None]
"""Remembers, for later searches, what was asked for when a tool was used. Returns at once."""


class Toolset(ABC):
    """Some tools of an agent. Used on the bridge's loop."""

    @abstractmethod
    async def tools(self) -> Sequence[Tool]:
        """Those that can be called now. The same object again as long as nothing has changed."""

    @abstractmethod
    async def call(self, invocation: ToolInvocation) -> ToolResult:
        """Call one of them.

        Raises:
            XaiMcpError: whatever went wrong; the message is meant for the model.
        """

    def known(self) -> Sequence[Tool]:
        """Those that may ever be there, as far as that is known from the start, for the history."""
        return ()

    def instructions(self) -> Mapping[str, str]:
        """What their sources want their users to know, by source."""
        return {}

    def source_names(self) -> Sequence[str]:
        """The sources that it may have tools of, whether they are there now or not."""
        return ()

    def why_not(self, name: str) -> str:
        """Why a tool of this name cannot be called, for the model; empty if this cannot tell."""
        return ""


class CombinedToolset(Toolset):
    """Several as one. A tool hides those of its key in later parts."""

    def __init__(self, *parts: Toolset) -> None:
        self._parts = parts
        self._listed: list[Sequence[Tool]] = []
        self._tools: Sequence[Tool] = ()
        self._homes: dict[ToolKey, Toolset] = {}

    async def tools(self) -> Sequence[Tool]:
        """The tools of all parts, in their order."""
        listed = [await part.tools() for part in self._parts]
        if list(map(id, listed)) != list(map(id, self._listed)):
            self._listed, self._tools = listed, self._joined(listed)
        return self._tools

    async def call(self, invocation: ToolInvocation) -> ToolResult:
        """Have the part called that has the tool."""
        return await self._homes[invocation.tool.key].call(invocation)

    def known(self) -> Sequence[Tool]:
        """Those of all parts."""
        return self._joined([part.known() for part in self._parts])

    def instructions(self) -> Mapping[str, str]:
        """Those of all parts."""
        return {name: x for part in self._parts for name, x in part.instructions().items()}

    def source_names(self) -> Sequence[str]:
        """Those of all parts."""
        return tuple(dict.fromkeys(x for part in self._parts for x in part.source_names()))

    def why_not(self, name: str) -> str:
        """What the first says that can tell."""
        return next((x for part in self._parts if (x := part.why_not(name))), "")

    def _joined(self, listed: Iterable[Sequence[Tool]]) -> tuple[Tool, ...]:
        joined: dict[ToolKey, Tool] = {}
        for part, tools in zip(self._parts, listed, strict=True):
            for tool in tools:
                if joined.setdefault(tool.key, tool) is tool:
                    self._homes[tool.key] = part
        return tuple(joined.values())


class Filter(Protocol):
    """Decides which tools an agent may see, and how."""

    @property
    def version(self) -> object:
        """Another one when the same tools have to be looked at anew."""
        ...

    async def prepare(self, tools: Sequence[Tool], *, is_new: bool) -> None:
        """Called at each step, before anything is asked about the tools; perhaps they are new."""
        ...

    def keep(self, tool: Tool, /) -> Tool | str:
        """The tool as it is shown; or why it is not, for the model, with a place for its name."""
        ...

    def keeps_instructions(self, source: str) -> bool:
        """Whether what the source says of its use may be read."""
        ...

    def notice(self, tools: Sequence[Tool], sources: Collection[str]) -> None:
        """Called after all that, with all tools and the sources that say something of their use."""
        ...


def _always(_: str, __: str) -> bool:
    """Where there is no other source."""
    return True


@dataclass(frozen=True)
class Available:
    """What an agent may call at one step, under the names that its model reads.

    `is_clear` tells whether a tool's own name can mean none of another source.
    """

    definitions: tuple[ToolDefinition, ...] = ()
    instructions: Mapping[str, str] = field(default_factory=dict[str, str])
    is_clear: Callable[[str, str], bool] = _always

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The shown names in their order, but those of the tools that find others."""
        return tuple(x.name for x in self.definitions if not is_meta_tool(x.tool.key))

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """The names of the sources that have any of them."""
        return tuple(dict.fromkeys(x.tool.source for x in self.definitions if x.tool.source))

    @cached_property
    def tokens(self) -> int:
        """What all of the definitions take together, estimated."""
        return sum(x.tokens for x in self.definitions)

    def changed_since(self, before: Available) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The names that came, and those that went; not of tools of our own, which need no word."""
        now, then = self._outside_names, before._outside_names
        return tuple(sorted(now - then)), tuple(sorted(then - now))

    def find(self, name: str) -> ToolDefinition | None:
        """The tool meant; a model may write its id, or the tool's own name where that is clear."""
        if (found := self._by_name.get(name) or self._by_id.get(name)) is not None:
            return found
        own = self._by_own_name.get(name)
        return own if own and self.is_clear(name, own.tool.source) else None

    def unknown(self, name: str) -> str:
        """That there is no such tool, and which is nearest."""
        known = self.names
        listed = f"The tools are: {', '.join(known)}." if known else "There are no tools."
        if len(known) > _MOST_NAMES:
            listed = f"Some of the tools are: {', '.join(known[:_MOST_NAMES])}."
        return f"There is no tool {name!r}. {did_you_mean(name, known) or listed}"

    @cached_property
    def _outside_names(self) -> set[str]:
        return {x.name for x in self.definitions if x.tool.key.kind != META.name}

    @cached_property
    def _by_own_name(self) -> Mapping[str, ToolDefinition | None]:
        """None where several have the name."""
        found: dict[str, ToolDefinition | None] = {}
        for definition in self.definitions:
            name = definition.tool.name
            found[name] = None if name in found else definition
        return found

    @cached_property
    def _by_id(self) -> Mapping[str, ToolDefinition]:
        return {str(x.tool.key): x for x in self.definitions}

    @cached_property
    def _by_name(self) -> Mapping[str, ToolDefinition]:
        return {x.name: x for x in self.definitions}


Call: TypeAlias = Callable[[ToolInvocation], Awaitable[ToolResult]]


class AgentTools:
    """What the loop is handed: all tools of one agent, with names and definitions that stay.

    No two names are the same, and each stays; tools that a filter leaves out have one too. What is
    known from the start, which is a person's or our own, is named before all that servers offer.
    New tools come last, so that the start of a request to the model stays the same from step to
    step. `names` are those of a run that goes on.

    `selector` decides what of them a request shows; `record` is awaited before new ones are shown,
    and `call` makes a call with the function that it is given. `learn` is given a tool that was
    used with success, and the words that led to it.
    """

    def __init__(
        self,
        parts: Sequence[Toolset],
        definitions: Definitions,
        names: Names = (),
        *,
        filters: Sequence[Filter] = (),
        selector: Selector | None = None,
        record: Callable[[], Awaitable[None]] = anyio.lowlevel.checkpoint,
        call: Callable[[ToolInvocation, Call], Awaitable[ToolResult]] | None = None,
        learn: Learn | None = None,
    ) -> None:
        self.selector: Selector = selector or ShowEverything()
        self.learn = learn or _unlearned
        self.names = names  # so far, for a run that goes on later
        self._toolset = CombinedToolset(*parts)
        self._definitions, self._filters = definitions, filters
        self._record, self._call = record, call or _call_plainly
        self._shown_names = ShownNames(names, self._toolset.source_names())
        for key in (*(key for key, _ in names), *(x.key for x in self._toolset.known())):
            self._shown_names.show(key)
        self._tools: Sequence[Tool] | None = None
        self._version: object = None
        self._reasons: Mapping[ToolKey, str] = {}  # of tools that are left out
        self._available = Available()

    @property
    def shown(self) -> Available:
        """What could be called when that was asked last."""
        return self._available

    async def available(self) -> Available:
        """What can be called now. The same object again as long as nothing has changed."""
        tools, words = await self._toolset.tools(), self._toolset.instructions()
        is_new = tools is not self._tools
        for one in self._filters:
            await one.prepare(tools, is_new=is_new)
        version = [x.version for x in self._filters], words
        if is_new or version != self._version:
            kept = await self._filtered(tools)
            allowed = {x: words[x] for x in words if self._keeps_instructions(x)}
            for one in self._filters:
                one.notice(tools, words)
            order = dict.fromkeys((*(key for key, _ in self.names), *kept))
            self.names = tuple((key, self.shown_name(key)) for key in order)
            named = [(name, kept[key]) for key, name in self.names if key in kept]
            definitions = await self._definitions.of(named)
            await self._record()
            before = self._available
            if definitions != before.definitions or allowed != before.instructions:
                self._available = Available(definitions, allowed, self._shown_names.is_clear)
            self._tools, self._version = tools, version
        return self._available

    def shown_name(self, key: ToolKey) -> str:
        """What models call this tool."""
        return self._shown_names.show(key)

    async def call(self, invocation: ToolInvocation) -> ToolResult:
        """Call one of them; see `Toolset.call`."""
        return await self._call(invocation, self._toolset.call)

    def why_not(self, name: str) -> str:
        """Why there is no tool of this name now, for the model."""
        for key, reason in self._reasons.items():
            if name in (key.name, self.shown_name(key)):
                return reason.format(name)
        return self._toolset.why_not(name) or self._available.unknown(name)

    async def _filtered(self, tools: Sequence[Tool]) -> dict[ToolKey, Tool]:
        """The tools that every filter keeps, as they are shown."""
        kept: dict[ToolKey, Tool] = {}
        reasons: dict[ToolKey, str] = {}
        for number, tool in enumerate(tools):
            if number % _TOOLS_IN_A_ROW == 0:
                await anyio.lowlevel.checkpoint()
            self._shown_names.show(tool.key)
            shown: Tool | str = tool
            for one in self._filters:
                if isinstance(shown, Tool):
                    shown = one.keep(shown)
            if isinstance(shown, Tool):
                kept[tool.key] = shown
            else:
                reasons[tool.key] = shown
        self._reasons = reasons
        return kept

    def _keeps_instructions(self, source: str) -> bool:
        return all(x.keeps_instructions(source) for x in self._filters)


async def _call_plainly(invocation: ToolInvocation, call: Call) -> ToolResult:
    return await call(invocation)


def _unlearned(_: ToolKey, __: Sequence[str]) -> None:
    """Where nothing is to be remembered."""
