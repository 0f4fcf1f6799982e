"""Toolsets: tools with one way to call them, combined, and wrapped one around the other."""

from __future__ import annotations

import operator
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
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
from .learning import Learn, LearnRun, UsedTool

_NAMED_IN_A_ROW = 1_000  # tools; it takes milliseconds
_SECONDS_IN_A_ROW = 0.01  # that a filter may take before others on the event loop get their turn
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
    """Several as one, each tool with the name that models read. A tool hides those of its key in
    later parts.

    No two names are the same, and each stays. Tools that a wrapper around this leaves out have one
    too: should they be shown one day, no name changes. What is known from the start, which is a
    person's or our own, comes before all that servers offer; `names` are those of a run that goes
    on.
    """

    def __init__(self, *parts: Toolset, names: Names = ()) -> None:
        self._parts = parts
        self._listed: tuple[Sequence[Tool], ...] = ()
        self._tools: Sequence[Tool] = ()
        self._homes: dict[ToolKey, Toolset] = {}
        self._names = ShownNames(names, self.source_names())
        for key in (*(key for key, _ in names), *(x.key for x in self.known())):
            self._names.show(key)

    async def tools(self) -> Sequence[Tool]:
        """The tools of all parts, in their order; each has a name then."""
        listed = tuple([await part.tools() for part in self._parts])
        if list(map(id, listed)) != list(map(id, self._listed)):
            await _let_others()
            self._listed, self._tools = listed, self._joined(listed)
            for number, tool in enumerate(self._tools):
                if number % _NAMED_IN_A_ROW == 0:
                    await _let_others()
                self._names.show(tool.key)
        return self._tools

    async def call(self, invocation: ToolInvocation) -> ToolResult:
        """Have the part called that has the tool."""
        return await self._homes[invocation.tool.key].call(invocation)

    def shown_name(self, key: ToolKey) -> str:
        """What models call this tool."""
        return self._names.show(key)

    def is_clear(self, name: str, source: str) -> bool:
        """Whether a tool's own name means one of this source, whatever comes and goes."""
        return self._names.is_clear(name, source)

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


class Filter(Protocol):
    """What an agent may see of its tools."""

    @property
    def version(self) -> object:
        """Another one when the same tools have to be looked at anew."""
        ...

    async def prepare(self, tools: Sequence[Tool], *, is_new: bool) -> None:
        """Called at each step, before anything is asked about the tools; perhaps `is_new`."""
        ...

    def keep(self, tool: Tool) -> Tool | str:
        """The tool as it is shown; or why it is not, for the model, with a place for its name."""
        ...

    def keeps_instructions(self, source: str) -> bool:
        """Whether what the source says of its use may be read."""
        ...

    def notice(self, tools: Sequence[Tool], sources: Collection[str]) -> None:
        """Called at each step with all tools, and the sources that say something of their use."""
        ...


class FilteredToolset(Wrapper):
    """Shows of its tools what a filter keeps; each is looked at once for each version of it."""

    def __init__(self, inner: CombinedToolset, filter_: Filter) -> None:
        super().__init__(inner)
        self._shown_name = inner.shown_name
        self._filter = filter_
        self._listed: Sequence[Tool] | None = None
        self._version: object = None
        self._kept: dict[ToolKey, tuple[Tool, Tool | str]] = {}
        self._tools: Sequence[Tool] = ()

    async def tools(self) -> Sequence[Tool]:
        """Those that are kept. The same object again as long as they are the same."""
        tools = await self._inner.tools()
        await self._filter.prepare(tools, is_new=tools is not self._listed)
        if tools is not self._listed or self._version != self._filter.version:
            shown = await self._shown(tools)
            # Who looks at them compares the object first.
            self._tools = self._tools if shown == self._tools else shown
        return self._tools

    def instructions(self) -> Mapping[str, str]:
        """Those that may be read."""
        words = self._inner.instructions()
        self._filter.notice(self._listed or (), words)
        return {name: x for name, x in words.items() if self._filter.keeps_instructions(name)}

    def why_not(self, name: str) -> str:
        """Why it is left out, if it is."""
        for key, (_, kept) in self._kept.items():
            if isinstance(kept, str) and name in (key.name, self._shown_name(key)):
                return kept.format(name)
        return super().why_not(name)

    async def _shown(self, tools: Sequence[Tool]) -> Sequence[Tool]:
        before = self._kept if self._version == self._filter.version else {}
        version, kept = self._filter.version, dict[ToolKey, tuple[Tool, Tool | str]]()
        began = 0.0
        for tool in tools:
            known = before.get(tool.key)
            if known is None or known[0] is not tool:
                if time.thread_time() - began > _SECONDS_IN_A_ROW:
                    await _let_others()
                    began = time.thread_time()
                known = tool, self._filter.keep(tool)
            kept[tool.key] = known
        self._listed, self._version, self._kept = tools, version, kept
        shown = tuple(x for _, x in kept.values() if not isinstance(x, str))
        is_whole = len(shown) == len(tools) and all(map(operator.is_, shown, tools))
        return tools if is_whole else shown


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


class AgentTools:
    """What the loop is handed: all tools of one agent, with names and definitions that stay.

    New tools come last, so that the start of a request to the model stays the same from step to
    step. `names` are those of a run that goes on, as the `combined` toolset has them. `selector`
    decides what of them a request shows; `learn` is given a tool that was used with success, and
    the words that led to it; `learn_run` a run that went well.
    """

    def __init__(
        self,
        combined: CombinedToolset,
        definitions: Definitions,
        wrap: Callable[[CombinedToolset], Toolset],
        names: Names = (),
        *,
        selector: Selector | None = None,
        learn: Learn | None = None,
        learn_run: LearnRun | None = None,
    ) -> None:
        self.selector: Selector = selector or ShowEverything()
        self.learn = learn or _unlearned
        self.learn_run = learn_run or _unlearned_run
        self._combined = combined
        self._toolset = wrap(combined)
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
            self.names = tuple((key, self._combined.shown_name(key)) for key in order)
            named = [(name, now[key]) for key, name in self.names if key in now]
            definitions = await self._definitions.of(named)
            self._available = Available(definitions, instructions, self._combined.is_clear)
            self._tools = tools
        return self._available

    def shown_name(self, key: ToolKey) -> str:
        """What models call this tool."""
        return self._combined.shown_name(key)

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
