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
_MAX_NAMES = 30  # of all names, in the answer to a name that resembles none of them

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

    def initial_tools(self) -> Sequence[Tool]:
        """Return the tools that are certain from the start, for names and the history."""
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

    def initial_tools(self) -> Sequence[Tool]:
        """Return all of them."""
        return self._tools


class CombinedToolset(Toolset):
    """Several toolsets as one. A tool hides tools with its key in later parts."""

    def __init__(self, *parts: Toolset) -> None:
        self._parts = parts
        self._lists: list[Sequence[Tool]] = []
        self._tools: Sequence[Tool] = ()
        self._homes: dict[ToolKey, Toolset] = {}

    async def tools(self) -> Sequence[Tool]:
        """Return the tools of all parts, in order."""
        lists = [await part.tools() for part in self._parts]
        if list(map(id, lists)) != list(map(id, self._lists)):
            self._lists, self._tools = lists, self._join(lists)
        return self._tools

    async def call(self, invocation: ToolInvocation) -> ToolResult:
        """Call the tool in the part that has it."""
        return await self._homes[invocation.tool.key].call(invocation)

    def initial_tools(self) -> Sequence[Tool]:
        """Return the initial tools of all parts."""
        return self._join([part.initial_tools() for part in self._parts])

    def instructions(self) -> Mapping[str, str]:
        """Return the instructions of all parts."""
        return {name: x for part in self._parts for name, x in part.instructions().items()}

    def source_names(self) -> Sequence[str]:
        """Return the source names of all parts."""
        return tuple(dict.fromkeys(x for part in self._parts for x in part.source_names()))

    def why_not(self, name: str) -> str:
        """Return the first part's reason, if any has one."""
        return next((x for part in self._parts if (x := part.why_not(name))), "")

    def _join(self, lists: Iterable[Sequence[Tool]]) -> tuple[Tool, ...]:
        by_key: dict[ToolKey, Tool] = {}
        for part, tools in zip(self._parts, lists, strict=True):
            for tool in tools:
                if by_key.setdefault(tool.key, tool) is tool:
                    self._homes[tool.key] = part
        return tuple(by_key.values())


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

    def changes_since(self, before: Available) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the new names, and the names that are no longer there, without our own tools."""
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
        hint = f"The tools are: {', '.join(names)}." if names else "There are no tools."
        if len(names) > _MAX_NAMES:
            hint = f"Some of the tools are: {', '.join(names[:_MAX_NAMES])}."
        return f"There is no tool {name!r}. {did_you_mean(name, names) or hint}"

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

    Names are unique and never change; hidden tools have one too. Initial tools, a person's or our
    own, get their names before any that servers offer. New tools come last, so that the start of a
    request stays the same from step to step. `names` come from a resumed run.

    `selector` decides which of the tools a request shows; `record` is awaited before new ones are
    shown, and `call` makes a call with the function it gets. `learn` gets each tool that was used
    with success, and the requests that led to it.
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
        self.learn = learn or _ignore
        self.names = names  # so far, for a run that resumes later
        self._toolset = CombinedToolset(*parts)
        self._definitions, self._filters = definitions, filters
        self._record, self._call = record, call or _call_plainly
        self._shown_names = ShownNames(names, self._toolset.source_names())
        for key in (*(key for key, _ in names), *(x.key for x in self._toolset.initial_tools())):
            self._shown_names.show(key)
        self._tools: Sequence[Tool] | None = None
        self._version: object = None
        self._reasons: Mapping[ToolKey, str] = {}  # of hidden tools
        self._available = Available()

    @property
    def current(self) -> Available:
        """The result of the last `available`."""
        return self._available

    async def available(self) -> Available:
        """Return the tools that can be called now: the same object until something changes."""
        tools, instructions = await self._toolset.tools(), self._toolset.instructions()
        is_new = tools is not self._tools
        for one in self._filters:
            await one.prepare(tools, is_new=is_new)
        version = [x.version for x in self._filters], instructions
        if is_new or version != self._version:
            allowed = await self._filter(tools)
            texts = {k: x for k, x in instructions.items() if self._keeps_instructions(k)}
            for one in self._filters:
                one.notice(tools, instructions)
            order = dict.fromkeys((*(key for key, _ in self.names), *allowed))
            self.names = tuple((key, self.shown_name(key)) for key in order)
            by_name = [(name, allowed[key]) for key, name in self.names if key in allowed]
            definitions = await self._definitions.of(by_name)
            await self._record()
            last = self._available
            if definitions != last.definitions or texts != last.instructions:
                self._available = Available(definitions, texts, self._shown_names.is_clear)
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

    async def _filter(self, tools: Sequence[Tool]) -> dict[ToolKey, Tool]:
        """Return the tools that every filter keeps, as they are shown."""
        allowed: dict[ToolKey, Tool] = {}
        reasons: dict[ToolKey, str] = {}
        for number, tool in enumerate(tools):
            if number % _TOOLS_IN_A_ROW == 0:
                await anyio.lowlevel.checkpoint()
            self._shown_names.show(tool.key)
            outcome: Tool | str = tool
            for one in self._filters:
                if isinstance(outcome, Tool):
                    outcome = one.keep(outcome)
            if isinstance(outcome, Tool):
                allowed[tool.key] = outcome
            else:
                reasons[tool.key] = outcome
        self._reasons = reasons
        return allowed

    def _keeps_instructions(self, source: str) -> bool:
        return all(x.keeps_instructions(source) for x in self._filters)


async def _call_plainly(invocation: ToolInvocation, call: Call) -> ToolResult:
    return await call(invocation)


def _ignore(_: ToolKey, __: Sequence[str]) -> None:
    """Learn nothing."""
