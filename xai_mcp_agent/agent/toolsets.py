"""Toolsets: tools with one way to call them, combined, and wrapped one around the other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol, TypeAlias

import anyio.lowlevel

from ..catalog.definitions import Definitions, ToolDefinition
from ..core.invocation import ToolInvocation
from ..core.kinds import META
from ..core.names import ShownNames, did_you_mean
from ..core.results import ToolResult
from ..core.tools import Tool, ToolKey
from ..search.meta_tools import is_meta_tool
from ..search.selector import Selector, ShowEverything
from .learning import Learn, LearnRun, UsedTool

_NAMED_IN_A_ROW = 1_000  # tools; it takes milliseconds
# Of all names, where a model asked for one that is like none of them.
_MOST_NAMES = 30

Names: TypeAlias = tuple[tuple[ToolKey, str], ...]
"""The shown names of a run, in the order in which their tools were first shown."""


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
    """Several as one. A tool hides those of its key in later ones."""

    def __init__(self, *parts: Toolset) -> None:
        self._parts = parts
        self._found: tuple[Sequence[Tool], ...] = ()
        self._tools: Sequence[Tool] = ()
        self._homes: dict[ToolKey, Toolset] = {}

    async def tools(self) -> Sequence[Tool]:
        """The tools of all parts, in their order."""
        found = tuple([await part.tools() for part in self._parts])
        if list(map(id, found)) != list(map(id, self._found)):
            await _let_others()
            self._found, self._tools = found, self._joined(found)
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

    def _joined(self, found: Iterable[Sequence[Tool]]) -> tuple[Tool, ...]:
        joined: dict[ToolKey, Tool] = {}
        for part, tools in zip(self._parts, found, strict=True):
            for tool in tools:
                if joined.setdefault(tool.key, tool) is tool:
                    self._homes[tool.key] = part
        return tuple(joined.values())


class Wrapper(Toolset):
    """Changes something of another toolset; as it is it changes nothing."""

    def __init__(self, inner: Toolset) -> None:
        self._inner = inner

    async def tools(self) -> Sequence[Tool]:
        """Those of the inner one."""
        return await self._inner.tools()

    async def call(self, invocation: ToolInvocation) -> ToolResult:
        """Have the inner one called."""
        return await self._inner.call(invocation)

    def instructions(self) -> Mapping[str, str]:
        """Those of the inner one."""
        return self._inner.instructions()

    def source_names(self) -> Sequence[str]:
        """Those of the inner one."""
        return self._inner.source_names()

    def why_not(self, name: str) -> str:
        """What the inner one says."""
        return self._inner.why_not(name)


class RenamedToolset(Wrapper):
    """Gives each tool the name that models read: no two the same, and always the same.

    Also those that a wrapper around this leaves out: should they be shown one day, no name changes.
    What is known from the start, which is a person's or our own, comes before all that servers
    offer.
    """

    def __init__(self, inner: Toolset, given: Names = ()) -> None:
        super().__init__(inner)
        self._names = ShownNames(given, inner.source_names())
        self._first = [*(key for key, _ in given), *(x.key for x in inner.known())]
        self._named: Sequence[Tool] = ()

    async def tools(self) -> Sequence[Tool]:
        """Those of the inner one, each of which has a name then."""
        tools = await self._inner.tools()
        if tools is not self._named:
            for number, key in enumerate((*self._first, *(x.key for x in tools))):
                if number % _NAMED_IN_A_ROW == 0:
                    await _let_others()
                self._names.show(key)
            self._first, self._named = [], tools
        return tools

    def is_clear(self, name: str, source: str) -> bool:
        """Whether a tool's own name means one of this source, whatever comes and goes."""
        return self._names.is_clear(name, source)

    def shown_name(self, key: ToolKey) -> str:
        """What models call this tool."""
        return self._names.show(key)


class EnabledToolset(Wrapper):
    """Leaves out what a person switched off, and tells a model so that asks for it.

    `why_off` says why a tool is left out, with a place for its name.
    """

    def __init__(
        self,
        inner: RenamedToolset,
        why_off: Callable[[ToolKey], str],
        version: Callable[[], object],
    ) -> None:
        super().__init__(inner)
        self._shown_name = inner.shown_name
        self._why_off = why_off
        self._off: dict[ToolKey, str] = {}
        self._filtered = _Filtered(self._filter, version)

    async def tools(self) -> Sequence[Tool]:
        """Those that are not switched off."""
        return await self._filtered.of(await self._inner.tools())

    def why_not(self, name: str) -> str:
        """That it is switched off, if it is."""
        off = self._off.items()
        found = (why for x, why in off if name in (x.name, self._shown_name(x)))
        return next(found, "").format(name) or super().why_not(name)

    def _filter(self, tools: Sequence[Tool]) -> Sequence[Tool]:
        self._off = {x.key: why for x in tools if (why := self._why_off(x.key))}
        return tuple(x for x in tools if x.key not in self._off) if self._off else tools


class Pins(Protocol):
    """What may be read of pinned sources."""

    @property
    def version(self) -> object:
        """Another one when something else may be read."""
        ...

    def is_pinned(self, source: str) -> bool:
        """Whether what a source says is held to what was accepted of it."""
        ...

    async def prepare(self, tools: Sequence[Tool]) -> None:
        """Called with tools that are new, before anything is asked about them."""
        ...

    def as_accepted(self, tool: Tool) -> Tool | None:
        """The tool as it was accepted; None where it was not, or is not known here as it was."""
        ...

    def may_read_instructions(self, source: str) -> bool:
        """Whether what the source says of its use was accepted."""
        ...

    def why_held(self, name: str) -> str:
        """That a tool of this name is held back, for the model."""
        ...

    def tell_held(self, tools: Collection[ToolKey], instructions: Collection[str]) -> None:
        """Called at each step with what is not as it was accepted."""
        ...


class PinnedToolset(Wrapper):
    """Shows of pinned sources what was accepted, whatever they say now, and nothing else.

    `shown_name` is what models call a tool.
    """

    def __init__(self, inner: Toolset, pins: Pins, shown_name: Callable[[ToolKey], str]) -> None:
        super().__init__(inner)
        self._pins = pins
        self._shown_name = shown_name
        self._prepared: Sequence[Tool] | None = None
        self._new: list[ToolKey] = []  # not as they were accepted
        self._held: set[ToolKey] = set()  # those of them that are not shown at all
        self._filtered = _Filtered(self._filter, lambda: pins.version)

    async def tools(self) -> Sequence[Tool]:
        """With the definitions that were accepted; without those of which they are not known."""
        tools = await self._inner.tools()
        if tools is not self._prepared:
            await self._pins.prepare(tools)
            self._prepared = tools
        return await self._filtered.of(tools)

    def instructions(self) -> Mapping[str, str]:
        """Those that were accepted, of pinned sources."""
        told = self._inner.instructions()
        held = [
            x for x in told if self._pins.is_pinned(x) and not self._pins.may_read_instructions(x)
        ]
        self._pins.tell_held(self._new, held)
        return {name: x for name, x in told.items() if name not in held} if held else told

    def why_not(self, name: str) -> str:
        """That it is held back, if it is."""
        is_held = any(name in (x.name, self._shown_name(x)) for x in self._held)
        return self._pins.why_held(name) if is_held else super().why_not(name)

    def _filter(self, tools: Sequence[Tool]) -> Sequence[Tool]:
        sources = {x.source for x in tools}
        pinned = {x for x in sources if self._pins.is_pinned(x)}
        accepted = {x.key: self._pins.as_accepted(x) for x in tools if x.source in pinned}
        self._new = [x.key for x in tools if x.key in accepted and accepted[x.key] is not x]
        self._held = {key for key, x in accepted.items() if x is None}
        if not self._new:
            return tools
        shown = (accepted.get(x.key, x) for x in tools)
        return tuple(x for x in shown if x is not None)


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
        """The tool meant; a model may write the tool's own name where that is clear."""
        if (found := self._by_name.get(name)) is not None:
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
    def _by_name(self) -> Mapping[str, ToolDefinition]:
        return {x.name: x for x in self.definitions}


class AgentTools:
    """What the loop is handed: all tools of one agent, with names and definitions that stay.

    New tools come last, so that the start of a request to the model stays the same from step to
    step. `names` are those of a run that goes on. `selector` decides what of them a request shows;
    `learn` is given a tool that was used with success, and the words that led to it; `learn_run`
    a run that went well.
    """

    def __init__(
        self,
        combined: Toolset,
        definitions: Definitions,
        wrap: Callable[[RenamedToolset], Toolset],
        names: Names = (),
        *,
        selector: Selector | None = None,
        learn: Learn | None = None,
        learn_run: LearnRun | None = None,
    ) -> None:
        self.selector: Selector = selector or ShowEverything()
        self.learn = learn or _unlearned
        self.learn_run = learn_run or _unlearned_run
        self._renamed = RenamedToolset(combined, names)
        self._toolset = wrap(self._renamed)
        self._definitions = definitions
        self.names = names  # so far, for a run that goes on later
        self._tools: Sequence[Tool] | None = None
        self._available = Available()

    @property
    def shown(self) -> Available:
        """What could be called when that was asked last."""
        return self._available

    async def available(self) -> Available:
        """What can be called now. The same object again as long as nothing has changed."""
        tools, instructions = await self._toolset.tools(), self._toolset.instructions()
        if tools is not self._tools or instructions != self._available.instructions:
            await _let_others()
            now = {tool.key: tool for tool in tools}
            order = dict.fromkeys((*(key for key, _ in self.names), *now))
            self.names = tuple((key, self._renamed.shown_name(key)) for key in order)
            named = [(name, now[key]) for key, name in self.names if key in now]
            definitions = await self._definitions.of(named)
            self._available = Available(definitions, instructions, self._renamed.is_clear)
            self._tools = tools
        return self._available

    def shown_name(self, key: ToolKey) -> str:
        """What models call this tool."""
        return self._renamed.shown_name(key)

    async def call(self, invocation: ToolInvocation) -> ToolResult:
        """Call one of them; see `Toolset.call`."""
        return await self._toolset.call(invocation)

    def why_not(self, name: str) -> str:
        """Why there is no tool of this name now, for the model."""
        return self._toolset.why_not(name) or self._available.unknown(name)


async def _let_others() -> None:
    """Let others on the loop go on first: what comes now takes a while for thousands of tools."""
    await anyio.lowlevel.checkpoint()


def _unlearned(_: ToolKey, __: Sequence[str]) -> None:
    """Where nothing is to be remembered."""


async def _unlearned_run(_: str, __: Sequence[Sequence[UsedTool]]) -> None:
    """The same of a whole run."""


class _Filtered:
    """Tools made of others, anew only when those are, or the `version` of what decides about them.

    Then too the same object as before, if it is equal: tools are compared by identity first.
    """

    def __init__(
        self, make: Callable[[Sequence[Tool]], Sequence[Tool]], version: Callable[[], object]
    ) -> None:
        self._make = make
        self._version = version
        self._given: tuple[Sequence[Tool], object] | None = None
        self._tools: Sequence[Tool] = ()

    async def of(self, tools: Sequence[Tool]) -> Sequence[Tool]:
        if self._is_old(tools):
            await _let_others()
            version, made = self._version(), self._make(tools)
            if made is tools or made != self._tools:
                self._tools = made
            self._given = tools, version
        return self._tools

    def _is_old(self, tools: Sequence[Tool]) -> bool:
        return (
            self._given is None or self._given[0] is not tools or self._given[1] != self._version()
        )
