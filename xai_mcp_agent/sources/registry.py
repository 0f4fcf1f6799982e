"""The kinds of sources: for each class of settings, how its source is made."""

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
    """What a bridge lends to a source that it makes.

    `mask` hides what is secret; `host` answers what the source asks where whoever makes the call
    does not; `updates` are those who listen for changes; `access` is how we get access; in `starts`
    it waits for its turn; `entries` are those of the settings.
    """

    mask: Callable[[str], str]
    host: Host
    updates: UpdateListeners
    access: Access | None
    starts: StartQueue
    entries: Mapping[str, SourceSettings]


def make_source(settings: SourceSettings, context: SourceContext) -> Source:
    """A new source, on the event loop that will run it. Nothing is started yet."""
    return _FACTORIES[type(settings)](settings, context)


# Imported when one is made: a bridge without servers needs none of theirs.


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
