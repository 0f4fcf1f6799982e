"""The kinds of sources: how to make a source for each class of settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..core.calls import Host
from ..settings.entry import SourceSettings
from ..settings.openapi import OpenApiSettings
from ..settings.server import ServerSettings
from ..settings.sources import AgentSettings, BuiltinSettings, FunctionSettings, WorkflowSettings
from .base import Source
from .mcp.auth.token_store import Access
from .mcp.subscriptions import UpdateListeners
from .pool import StartQueue


@dataclass(frozen=True)
class SourceContext:
    """What a bridge passes to a source that it makes.

    `mask` hides secrets; `host` answers a source's questions if the caller does not; `updates` are
    the listeners for changes; `access` obtains access; `starts` is the queue that limits starts;
    `entries` are the sources in the settings.
    """

    mask: Callable[[str], str]
    host: Host
    updates: UpdateListeners
    access: Access | None
    starts: StartQueue
    entries: Mapping[str, SourceSettings]


def make_source(settings: SourceSettings, context: SourceContext) -> Source:
    """Return a new source, on the event loop that will run it. Nothing is started yet."""
    return _FACTORIES[type(settings)](settings, context)


# Imported on demand: a bridge without servers does not need their libraries.


def _mcp(settings: ServerSettings, context: SourceContext) -> Source:
    from .mcp.source import McpSource

    return McpSource(
        settings, context.mask, context.host, context.updates, context.starts, context.access
    )


def _functions(settings: FunctionSettings, context: SourceContext) -> Source:
    from .functions.source import FunctionSource

    return FunctionSource(settings, context.mask)


def _agent(settings: AgentSettings, context: SourceContext) -> Source:
    from .agents.source import AgentSource

    return AgentSource(settings, context.mask)


def _openapi(settings: OpenApiSettings, context: SourceContext) -> Source:
    from .openapi.source import OpenApiSource

    return OpenApiSource(settings, context.mask)


def _builtin(settings: BuiltinSettings, context: SourceContext) -> Source:
    from .builtin.source import BuiltinSource

    return BuiltinSource(settings, context.mask, context.entries)


def _workflow(settings: WorkflowSettings, context: SourceContext) -> Source:
    from .workflows.source import WorkflowSource

    return WorkflowSource(settings, context.mask)


_FACTORIES: dict[type[SourceSettings], Callable[[Any, SourceContext], Source]] = {
    ServerSettings: _mcp,
    FunctionSettings: _functions,
    BuiltinSettings: _builtin,
    AgentSettings: _agent,
    OpenApiSettings: _openapi,
    WorkflowSettings: _workflow,
}
