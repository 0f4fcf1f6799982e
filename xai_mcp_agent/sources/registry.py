"""The kinds of sources: how to make a source for each class of settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..core.calls import Host
from ..settings.entry import SourceSettings
from ..settings.openapi import OpenApiSettings
from ..settings.server import ServerSettings
from ..settings.sources import AgentSettings, BuiltinSettings, FunctionSettings, WorkflowSettings
from .base import Source
from .mcp.auth.token_store import Access
from .mcp.subscriptions import UpdateListeners
from .pool import StartQueue


def make_source(
    settings: SourceSettings,
    mask: Callable[[str], str],
    host: Host,
    updates: UpdateListeners,
    access: Access | None,
    starts: StartQueue,
    entries: Mapping[str, SourceSettings],
) -> Source:
    """Return a new source, on the event loop that will run it. Nothing is started yet.

    `mask` hides secrets; `host` answers a source's questions if the caller does not; `updates` are
    the listeners for changes; `access` obtains access; `starts` is the queue that limits starts;
    `entries` are the sources in the settings.
    """
    # Imported on demand: a bridge without servers does not need their libraries.
    match settings:
        case ServerSettings():
            from .mcp.source import McpSource

            return McpSource(settings, mask, host, updates, starts, access)
        case FunctionSettings():
            from .functions.source import FunctionSource

            return FunctionSource(settings, mask)
        case AgentSettings():
            from .agents.source import AgentSource

            return AgentSource(settings, mask)
        case OpenApiSettings():
            from .openapi.source import OpenApiSource

            return OpenApiSource(settings, mask)
        case BuiltinSettings():
            from .builtin.source import BuiltinSource

            return BuiltinSource(settings, mask, entries)
        case WorkflowSettings():
            from .workflows.source import WorkflowSource

            return WorkflowSource(settings, mask)
        case _:
            raise TypeError(f"no kind of source has {type(settings).__name__}")
