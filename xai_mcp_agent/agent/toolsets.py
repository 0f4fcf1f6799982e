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
from ..search.selector import BudgetSelector

_TOOLS_IN_A_ROW = 200  # to name and filter; it takes a few milliseconds
# Of all names, if a model asked for one that resembles none of them.
_MOST_NAMES = 30

Names: TypeAlias = tuple[tuple[ToolKey, str], ...]
"""The shown names of a run, in the order in which their tools were first shown."""

Learn: TypeAlias = Callable[[ToolKey, Sequence[str]], None]
"""Records which requests led to the use of a tool, for later searches. Returns at once."""


class Toolset(ABC):
    """Some tools of an agent. Used on the bridge's loop."""

    @abstractmethod
    async def tools(self) -> Sequence[Tool]:
        """Return the tools that can be called now: the same object until something changes."""

    @abstractmethod
    async def call(self, invocation: ToolInvocation) -> ToolResult:
        """Call one of the tools.

        Raises:
            XaiMcpError: whatever went wrong; the message is meant for the model.
        """

    def known_tools(self) -> Sequence[Tool]:
        """Return the tools it may ever have, as far as known from the start, for the history."""
        return ()

    def instructions(self) -> Mapping[str, str]:
        """Return the sources' instructions for their users, by source."""
        return {}

    def source_names(self) -> Sequence[str]:
        """Return the sources that it may have tools of, available now or not."""
        return ()

    def why_not(self, name: str) -> str:
        """Return why a tool of this name cannot be called, for the model; empty if unknown."""
        return ""


class FixedToolset(Toolset):
    """A toolset whose tools never change; a subclass sets them and calls them."""

    _tools: Sequence[Tool] = ()

    async def tools(self) -> Sequence[Tool]:
        """Return all of them."""
        return self._tools

    def known_tools(self) -> Sequence[Tool]:
        """Return all of them."""
        return self._tools


class CombinedToolset(Toolset):
    """Several toolsets as one. A tool hides tools with its key in later parts."""

    def __init__(self, *parts: Toolset) -> None:
        self._parts = parts
        self._listed: list[Sequence[Tool]] = []
        self._tools: Sequence[Tool] = ()
        self._homes: dict[ToolKey, Toolset] = {}

    async def tools(self) -> Sequence[Tool]:
        """Return the tools of all parts, in order."""
        listed = [await part.tools() for part in self._parts]
        if list(map(id, listed)) != list(map(id, self._listed)):
            self._listed, self._tools = listed, self._joined(listed)
        return self._tools

    async def call(self, invocation: ToolInvocation) -> ToolResult:
        """Call the tool in the part that has it."""
        return await self._homes[invocation.tool.key].call(invocation)

    def known_tools(self) -> Sequence[Tool]:
        """Return the known tools of all parts."""
        return self._joined([part.known_tools() for part in self._parts])

    def instructions(self) -> Mapping[str, str]:
        """Return the instructions of all parts."""
        return {name: x for part in self._parts for name, x in part.instructions().items()}

    def source_names(self) -> Sequence[str]:
        """Return the source names of all parts."""
        return tuple(dict.fromkeys(x for part in self._parts for x in part.source_names()))

    def why_not(self, name: str) -> str:
        """Return the first part's reason, if any has one."""
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
        """A value that changes when the same tools have to be filtered anew."""
        ...

    async def prepare(self, tools: Sequence[Tool], *, is_new: bool) -> None:
        """Prepare for a step, before any other call about its tools; they may be new."""
        ...

    def keep(self, tool: Tool, /) -> Tool | str:
        """Return the tool as it is shown, or why it is hidden: a text with a place for its name."""
        ...

    def keeps_instructions(self, source: str) -> bool:
        """Return whether the model may read the source's instructions."""
        ...

    def notice(self, tools: Sequence[Tool], sources: Collection[str]) -> None:
        """Take all tools and all sources with instructions, at the end of a step."""
        ...


def _always(_: str, __: str) -> bool:
    """Return True, as there is no other source."""
    return True


@dataclass(frozen=True)
class Available:
    """The tools that an agent may call at one step, under the names that its model reads.

    `is_clear` says whether a tool's own name cannot mean a tool of another source.
    """

    definitions: tuple[ToolDefinition, ...] = ()
    instructions: Mapping[str, str] = field(default_factory=dict[str, str])
    is_clear: Callable[[str, str], bool] = _always

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The shown names in order, without the tools that find others."""
        return tuple(x.name for x in self.definitions if not is_meta_tool(x.tool.key))

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """The names of the sources of these tools."""
        return tuple(dict.fromkeys(x.tool.source for x in self.definitions if x.tool.source))

    @cached_property
    def tokens(self) -> int:
        """Estimated tokens of all definitions."""
        return sum(x.tokens for x in self.definitions)

    def changed_since(self, before: Available) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the names that are new, and the names that are gone, without our own tools."""
        now, then = self._outside_names, before._outside_names
        return tuple(sorted(now - then)), tuple(sorted(then - now))

    def find(self, name: str) -> ToolDefinition | None:
        """Find a tool by its shown name, its id, or its own name if that is unambiguous."""
        if (definition := self._by_name.get(name)) is not None:
            return definition
        own = self._by_own_name.get(name)
        return own if own and self.is_clear(name, own.tool.source) else None

    def unknown(self, name: str) -> str:
        """Return a text saying that there is no such tool, with the nearest name."""
        names = self.names
        listed = f"The tools are: {', '.join(names)}." if names else "There are no tools."
        if len(names) > _MOST_NAMES:
            listed = f"Some of the tools are: {', '.join(names[:_MOST_NAMES])}."
        return f"There is no tool {name!r}. {did_you_mean(name, names) or listed}"

    @cached_property
    def _outside_names(self) -> set[str]:
        return {x.name for x in self.definitions if x.tool.key.kind != META.name}

    @cached_property
    def _by_own_name(self) -> Mapping[str, ToolDefinition | None]:
        """Definitions by their tools' own names; None for a name that several tools have."""
        by_name: dict[str, ToolDefinition | None] = {}
        for definition in self.definitions:
            name = definition.tool.name
            by_name[name] = None if name in by_name else definition
        return by_name

    @cached_property
    def _by_name(self) -> Mapping[str, ToolDefinition]:
        """Definitions by their shown names, and by the ids of their tools."""
        by_id = {str(x.tool.key): x for x in self.definitions}
        return {**by_id, **{x.name: x for x in self.definitions}}


Call: TypeAlias = Callable[[ToolInvocation], Awaitable[ToolResult]]


class AgentTools:
    """The tools of one agent as the loop uses them, with stable names and definitions.

    Names are unique and never change; hidden tools have one too. Tools known from the start, a
    person's or our own, are named before any that servers offer. New tools come last, so that the
    start of a request stays the same from step to step. `names` come from a resumed run.

    `selector` decides which of the tools a request shows; `record` is awaited before new ones are
    shown, and `call` makes a call with the function it gets. `learn` gets each tool that was used
    with success, and the words that led to it.
    """

    def __init__(
        self,
        parts: Sequence[Toolset],
        definitions: Definitions,
        names: Names = (),
        *,
        filters: Sequence[Filter] = (),
        selector: BudgetSelector | None = None,
        record: Callable[[], Awaitable[None]] = anyio.lowlevel.checkpoint,
        call: Callable[[ToolInvocation, Call], Awaitable[ToolResult]] | None = None,
        learn: Learn | None = None,
    ) -> None:
        self.selector = selector or BudgetSelector()
        self.learn = learn or _unlearned
        self.names = names  # so far, for a run that resumes later
        self._toolset = CombinedToolset(*parts)
        self._definitions, self._filters = definitions, filters
        self._record, self._call = record, call or _call_plainly
        self._shown_names = ShownNames(names, self._toolset.source_names())
        for key in (*(key for key, _ in names), *(x.key for x in self._toolset.known_tools())):
            self._shown_names.show(key)
        self._tools: Sequence[Tool] | None = None
        self._version: object = None
        self._reasons: Mapping[ToolKey, str] = {}  # of hidden tools
        self._available = Available()

    @property
    def shown(self) -> Available:
        """The result of the last `available`."""
        return self._available

    async def available(self) -> Available:
        """Return the tools that can be called now: the same object until something changes."""
        tools, words = await self._toolset.tools(), self._toolset.instructions()
        is_new = tools is not self._tools
        for one in self._filters:
            await one.prepare(tools, is_new=is_new)
        version = [x.version for x in self._filters], words
        if is_new or version != self._version:
            allowed_tools = await self._filtered(tools)
            allowed = {x: words[x] for x in words if self._keeps_instructions(x)}
            for one in self._filters:
                one.notice(tools, words)
            order = dict.fromkeys((*(key for key, _ in self.names), *allowed_tools))
            self.names = tuple((key, self.shown_name(key)) for key in order)
            named = [(name, allowed_tools[key]) for key, name in self.names if key in allowed_tools]
            definitions = await self._definitions.of(named)
            await self._record()
            before = self._available
            if definitions != before.definitions or allowed != before.instructions:
                self._available = Available(definitions, allowed, self._shown_names.is_clear)
            self._tools, self._version = tools, version
        return self._available

    def shown_name(self, key: ToolKey) -> str:
        """Return the models' name for this tool."""
        return self._shown_names.show(key)

    async def call(self, invocation: ToolInvocation) -> ToolResult:
        """Call one of the tools; see `Toolset.call`."""
        return await self._call(invocation, self._toolset.call)

    def why_not(self, name: str) -> str:
        """Return why there is no tool of this name now, for the model."""
        for key, reason in self._reasons.items():
            if name in (key.name, self.shown_name(key)):
                return reason.format(name)
        return self._toolset.why_not(name) or self._available.unknown(name)

    async def _filtered(self, tools: Sequence[Tool]) -> dict[ToolKey, Tool]:
        """Return the tools that every filter keeps, as they are shown."""
        allowed: dict[ToolKey, Tool] = {}
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
                allowed[tool.key] = shown
            else:
                reasons[tool.key] = shown
        self._reasons = reasons
        return allowed

    def _keeps_instructions(self, source: str) -> bool:
        return all(x.keeps_instructions(source) for x in self._filters)


async def _call_plainly(invocation: ToolInvocation, call: Call) -> ToolResult:
    return await call(invocation)


def _unlearned(_: ToolKey, __: Sequence[str]) -> None:
    """Learn nothing."""
