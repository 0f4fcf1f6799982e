"""One address of the gateway: the tools, prompts and resources of some sources.

Its tools are an agent's tools: switched-off, blocked, denied and unaccepted tools are left out,
calls go through the same pipeline, and tools for search and planning are included.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

import anyio

from ..agent.meta_tools import EXECUTE_TOOL, resolve_execution
from ..agent.toolsets import Available, Toolset
from ..bridge.agent_tools import planning_of
from ..bridge.operations import Operations
from ..bridge.source_toolset import SourceToolset
from ..bridge.toolbox import agent_tools
from ..catalog.definitions import ToolDefinition
from ..core.calls import Caller, ToolInvocation
from ..core.errors import UnknownTool
from ..core.json import JsonObject
from ..core.names import ShownNames, did_you_mean
from ..core.results import OnProgress, Prompt, Resource, ToolResult
from ..core.tools import META, STATIC, Tool, ToolKey
from ..core.util import installed_version
from ..search.meta_tools import TOOL_SEARCH
from ..search.preferences import Preferences
from ..views.plans import plan_text

logger = logging.getLogger(__name__)

Listing: TypeAlias = Literal["all", "search", "auto"]
"""all: list every tool. search: list only tools to find others. auto: all, if they fit."""

# An early client gets what is ready; a notice announces the rest.
_WAIT_SECONDS = 0.4
_FIRST_WAIT_SECONDS = 8.0  # while nothing is ready
_DESCRIPTIONS = {
    TOOL_SEARCH.key: "Finds tools that are not listed here. Say in a few words what one step "
    "needs, such as `create a calendar event`; search again for the next step rather than for the "
    f"whole task. Call what it finds with `{EXECUTE_TOOL.name}`.",
    EXECUTE_TOOL.key: "Calls a tool that is not listed here, and returns its result. Takes a name "
    "from a search, or an id, `server/tool`.",
}
_LEGAL = re.compile(r"[a-zA-Z0-9_-]{1,64}")
# fastmcp sends none for a tool without a docstring, and some clients drop such tools.
_NO_DESCRIPTION = "A tool of {}, which does not describe it."
_NOT_IN_SCHEME = re.compile(r"[^a-zA-Z0-9.-]+")


@dataclass(frozen=True)
class Options:
    """Options of an endpoint.

    `names` are sources and groups; all by default. Unless `prefixed`, tools and prompts have their
    servers' names where those are unique. `tools` says which tools are listed. A client may draw
    workflows in the folder `author`, if set. With `passthrough` there is one source, unchanged; see
    `passthrough.py`.
    """

    names: tuple[str, ...] = ()
    passthrough: bool = False
    prefixed: bool = True
    tools: Listing = "all"
    author: Path | None = None


class Endpoint:
    """Tools, prompts and resources of some sources, used on the bridge's loop.

    A failing source does not affect the others.

    Raises:
        UnknownServer, SettingsError: there is no source or group of that name.
    """

    def __init__(self, operations: Operations, options: Options) -> None:
        caller = Caller("gateway", toolbelt=",".join(options.names))
        self._operations = own = operations.for_caller(caller)
        choice = own.choice_of(options.names) or own.choice(own.settings.usable)
        self._choice = choice
        self._options = options
        self._sources = SourceToolset(own, choice, {})
        parts: list[Toolset] = [self._sources]
        if options.author is not None:
            from .authoring import AuthoringToolset  # imports half of the canvas, which few need

            parts.append(AuthoringToolset(own, options.author, lambda: self._tools.available()))
        self._tools, _ = agent_tools(
            own, parts, tell=logger.warning,
            planning=planning_of(own, plan_text, Preferences()),
            executor=EXECUTE_TOOL.name,
        )  # fmt: skip
        self._is_always_shown = own.preferences().is_always_shown
        self._reading = anyio.Lock()
        self.connected = anyio.Event()
        self._ready_by = anyio.current_time() + _FIRST_WAIT_SECONDS

    @property
    def sources(self) -> Sequence[str]:
        """Return the names of its sources."""
        return self._choice.all_sources

    async def connect(self) -> None:
        """Connect all sources at once, and log each that cannot be used."""
        try:
            for line in await self._sources.connect(_show_waiting, _WAIT_SECONDS):
                logger.warning("%s", line)
        finally:
            self.connected.set()

    async def ready(self) -> None:
        """Wait until something is ready, a few seconds after the start at most."""
        with anyio.move_on_after(self._ready_by - anyio.current_time()):
            await self.connected.wait()

    @property
    def title(self) -> tuple[str, str]:
        """Return title and version of the server that a client sees."""
        return "Tools of xai-mcp-agent", installed_version()

    async def list_tools(self) -> list[tuple[str, Tool]]:
        """Return the tools that a client may list, under their names, in a stable order."""
        await self.ready()
        available = await self._available()
        real = [x for x in available.definitions if x.tool.key.kind != META.name]
        listed = real
        if not self._fits(real):
            own = [x for x in available.definitions if x.tool.key.kind == META.name]
            listed = [*own, *(x for x in real if self._is_listed_always(x.tool.key))]
        return [(self._name(x, available), _describe(x.tool)) for x in listed]

    def _is_listed_always(self, key: ToolKey) -> bool:
        return key.kind == STATIC.name or self._is_always_shown(key)

    def _fits(self, tools: Sequence[ToolDefinition]) -> bool:
        if self._options.tools != "auto":
            return self._options.tools == "all"
        budget = self._operations.settings.search.budget_tokens
        return sum(x.tokens for x in tools) <= budget

    async def lists(self) -> dict[str, object]:
        """Return all lists by kind. The tools are the same object until one changes."""
        prompts, resources = await self.prompts(), await self._operations.resources()
        own = {x: resources.get(x) for x in self.sources}
        return {"tools": await self._available(), "prompts": prompts, "resources": own}

    async def instructions(self) -> str:
        """Return the instructions of the sources, as far as agents may read them."""
        available = await self._available()
        return "\n\n".join(f"{name}: {text}" for name, text in available.instructions.items())

    def schema(self, name: str) -> Mapping[str, Any] | None:
        """Return the input schema of a listed tool."""
        definition = self._tools.current.find(name)
        return definition and definition.tool.input_schema

    async def call(
        self,
        name: str,
        arguments: JsonObject,
        caller: Caller,
        on_progress: OnProgress | None,
        meta: JsonObject | None,
    ) -> ToolResult:
        """Call a tool by the name that the client knows.

        Raises:
            UnknownTool: there is none.
            XaiMcpError: the call failed.
        """
        definition = await self._find(name)
        if definition.tool.key == EXECUTE_TOOL.key:
            available = await self._available()
            try:
                definition, arguments = resolve_execution(arguments, available, self._tools.why_not)
            except UnknownTool as error:  # the model's mistake, not the client's
                return ToolResult.of_text(str(error), is_error=True)
        invocation = ToolInvocation(
            definition.tool, arguments, caller, definition.name, None, on_progress, meta
        )
        return await self._tools.call(invocation)

    async def _find(self, name: str) -> ToolDefinition:
        definition = self._tools.current.find(name) or (await self._available()).find(name)
        if definition is None:  # of a source that is not ready yet, or has changed
            await self._operations.wait_for(*self._unlisted_sources(name))
            definition = (await self._available()).find(name)
        if definition is None:
            raise UnknownTool(self._tools.why_not(name))
        return definition

    def _unlisted_sources(self, name: str) -> list[str]:
        """Return sources that have not listed tools yet and may have this one."""
        tools_of = self._operations.catalog.tools
        return [x for x in self.sources if name.startswith(f"{x}_") and not tools_of(x)]

    async def _available(self) -> Available:
        async with self._reading:
            return await self._tools.available()

    def _name(self, definition: ToolDefinition, available: Available) -> str:
        """Return the tool's own name if requested, valid and unique."""
        own = definition.tool.name
        is_plain = not self._options.prefixed and _LEGAL.fullmatch(own)
        return own if is_plain and available.find(own) is definition else definition.name

    async def prompts(self) -> dict[str, tuple[str, Prompt]]:
        """Return all prompts by the names that the client knows, each with its source."""
        prompts = await self._operations.prompts()
        pairs = [(source, x) for source in self.sources for x in prompts.get(source, ())]
        names = ShownNames(sources=self.sources)
        counts = Counter(x.name for _, x in pairs)
        is_plain = not self._options.prefixed
        return {
            prompt.name
            if is_plain and counts[prompt.name] == 1 and _LEGAL.fullmatch(prompt.name)
            else names.show(ToolKey("prompt", source, prompt.name)): (source, prompt)
            for source, prompt in pairs
        }

    async def prompt(self, name: str) -> tuple[str, Prompt]:
        """Return one prompt and its source.

        Raises:
            UnknownTool: there is none.
        """
        prompts = await self.prompts()
        if name not in prompts:
            raise UnknownTool(f"There is no prompt {name!r}. {did_you_mean(name, prompts)}")
        return prompts[name]

    async def resources(self, *, templates: bool) -> dict[str, tuple[str, Resource]]:
        """Return all resources or templates by the client's URIs, each with its source.

        The first source with a URI keeps it; for others it becomes `source+URI`.
        """
        resources = await self._operations.resources()
        uris: dict[str, tuple[str, Resource]] = {}
        for source, resource in ((x, r) for x in self.sources for r in resources.get(x, ())):
            uri = resource.uri
            if uri in uris and uris[uri][0] != source:
                uri = f"{_scheme(source)}+{uri}"
            if resource.is_template == templates:
                uris.setdefault(uri, (source, resource))
        return uris

    async def resource(self, uri: str) -> tuple[str, str]:
        """Return the source of a URI, and the URI at that source.

        Raises:
            UnknownTool: no source has it.
        """
        resources = await self.resources(templates=False)
        if uri in resources:
            source, resource = resources[uri]
            return source, resource.uri
        templates = await self.resources(templates=True)
        for template, (source, resource) in templates.items():
            if _matches(template, uri):
                return source, uri.removeprefix(template.removesuffix(resource.uri))
        listing = {source for source, _ in (*resources.values(), *templates.values())}
        sources = listing or {*self.sources}
        if len(sources) == 1:  # links in results need not be listed (MCP, server/tools)
            return sources.pop(), uri
        raise UnknownTool(f"No server has a resource {uri!r}. {did_you_mean(uri, resources)}")

    async def template(self, uri: str) -> tuple[str, str]:
        """Return the source of a template, and the template at that source.

        Raises:
            UnknownTool: no source has it.
        """
        templates = await self.resources(templates=True)
        if uri not in templates:
            raise UnknownTool(f"No server has a template {uri!r}. {did_you_mean(uri, templates)}")
        source, resource = templates[uri]
        return source, resource.uri


def _describe(tool: Tool) -> Tool:
    """Return a tool as a client should read it, which may call only listed tools."""
    text = _DESCRIPTIONS.get(tool.key, tool.description) or _NO_DESCRIPTION.format(tool.source)
    return tool if text == tool.description else replace(tool, description=text)


def _show_waiting(missing: tuple[str, ...]) -> None:
    if missing:
        logger.info("waiting for %s", ", ".join(missing))


def _scheme(source: str) -> str:
    """Return the name of a source as the start of a URI."""
    return _NOT_IN_SCHEME.sub("-", source).lstrip(".-0123456789") or "source"


def _matches(template: str, uri: str) -> bool:
    from mcp.shared.uri_template import UriTemplate  # loaded with the SDK's server

    try:
        return UriTemplate.parse(template).match(uri) is not None
    except ValueError:
        return False
