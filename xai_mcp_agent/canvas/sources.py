"""Sources of tools that nodes add to a toolbelt, with or without an entry in the settings."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from ..core.errors import BadSetting, SettingsError, UnknownServer
from ..core.tools import AGENT, BUILTIN, FUNCTIONS, MCP, OPENAPI, WORKFLOW, SourceKind
from ..settings.document import KeyPlace
from ..settings.entry import SourceSettings
from ..settings.interpolation import Variables
from ..settings.models import Settings
from ..settings.openapi import OpenApiSettings
from ..settings.sources import (
    ALL_BUILTIN_TOOLS,
    WORKFLOW_SUFFIXES,
    BuiltinSettings,
    WorkflowSettings,
)
from ..sources.workflows.source import tool_name
from .lease import add_to_run, bridge_of
from .ports import file_on, inputs, secret_on
from .toolbelts import SERVERS, SOURCES, SourceChoice, add_to_toolbelt

_GENERIC_WORDS = ("api", "docs", "openapi", "spec", "swagger", "v1", "v2", "v3", "www")
# The node for each kind of source, or for any and for groups, and its port with the source's name.
_NODES: dict[SourceKind | None, tuple[str, str]] = {
    None: ("AgentUseTools", "group_name"),
    MCP: ("AgentUseMCPTools", "server_name"),
    FUNCTIONS: ("AgentUseFunctions", "functions_name"),
    OPENAPI: ("AgentUseOpenAPI", "service_name"),
    AGENT: ("AgentUseAgents", "remote_agent"),
    BUILTIN: ("AgentUseBuiltinTools", "builtin_name"),
    WORKFLOW: ("AgentUseWorkflow", "workflow"),
}
_KINDS = {node: kind for kind, (node, _) in _NODES.items()}


def use(ctx: Any, node: Any) -> None:
    """Add the source that a node names to a toolbelt, and start to connect it in the background.

    It is an entry of the settings, a group of them, or without an entry what the ports describe. A
    problem with the source itself is reported when an agent needs it; the agent goes on without the
    source unless it is required.

    Raises:
        UnknownServer: the settings have no source of that name; lists those it has.
        SettingsError: the settings file cannot be read at all.
        BadSetting: a port has an invalid value, or two ports contradict each other.
    """
    ports, kind = inputs(node), _KINDS[type(node).__name__]
    choice = SourceChoice.of(ports)
    read = _ENTRIES.get(kind)
    if kind and read and (source := read(ports, bridge_of(ctx).settings)):
        add_source(ctx, kind, *source, choice)
    else:
        use_source(ctx, kind, ports[_NODES[kind][1]].strip(), choice)


def use_source(ctx: Any, kind: SourceKind | None, name: str, choice: SourceChoice) -> None:
    """Add a source of one kind; without a kind, a source of any kind or a group. See `use`."""
    settings = bridge_of(ctx).settings
    if kind or settings.group(name) is None:
        with suppress(SettingsError):  # it disables that source; AgentRun says so
            _require(settings, name, kind)
    _declare(ctx, name, choice)


def add_source(
    ctx: Any,
    kind: SourceKind,
    cls: type[SourceSettings],
    name: str,
    entry: Mapping[str, Any],
    choice: SourceChoice,
) -> str:
    """Add a source that is not in the settings to a toolbelt, and start to connect it.

    `entry` is what its entry in the settings file would be, for that class. The name may be taken
    there: the return value is the source's name in this run.

    Raises:
        BadSetting: the entry is invalid; names the node and the key.
        SettingsError: the settings file cannot be read.
    """
    settings = bridge_of(ctx).settings
    folder = os.path.dirname(settings.file) or os.getcwd()
    variables = Variables({**settings.env, **os.environ}, folder, settings.secrets)
    values = {key: value for key, value in entry.items() if value not in (None, "")}
    try:
        source = cls.read(name, values, KeyPlace(_NODES[kind][0]), variables)
    except SettingsError as wrong:  # the value is on a port of the node
        raise BadSetting(str(wrong)) from None
    # Another node, or another run at the same time, may use this name with other arguments.
    name = add_to_run(ctx, source)
    _declare(ctx, name, choice)
    return name


def _declare(ctx: Any, name: str, choice: SourceChoice) -> None:
    """Put a source or a group into the toolbelt and start to connect it."""
    bridge = bridge_of(ctx)
    key = SERVERS if bridge.settings.kind_of(name) == MCP else SOURCES
    add_to_toolbelt(ctx, key, name, choice)
    bridge.start(*bridge.aio.operations.choice([name]).all_sources)


def _require(settings: Settings, source: str, kind: SourceKind | None) -> None:
    try:
        settings.source(source, kind)
    except UnknownServer as reason:
        other = settings.kind_of(source)
        if other or source in settings.group_names:
            hint = f"The node for what stands there is {_NODES[other][0]}."
        elif kind == WORKFLOW:
            hint = "Or set `workflow` to a file that ends in .xircuits."
        else:
            raise
        raise UnknownServer(f"{reason} {hint}", reason.server, reason.known) from None


# Sources without an entry in the settings

_Source: TypeAlias = tuple[type[SourceSettings], str, Mapping[str, Any]]
"""The class of a source, its name, and what its entry in the settings would be."""


def _read_builtin(ports: Mapping[str, Any], _: Settings) -> _Source | None:
    """Return the built-in tools that the ports name, or None if they name an entry."""
    tools, entry = ports["tools"], ports["builtin_name"]
    if bool(tools) == bool(entry):
        raise BadSetting(
            "AgentUseBuiltinTools needs `tools` or `builtin_name`, but not both: set `tools` to "
            f"some of {', '.join(ALL_BUILTIN_TOOLS)}."
        )
    if entry:
        return None
    return BuiltinSettings, BUILTIN.name, {"tools": tools, "workspace": ports["workspace"]}


def _read_openapi(ports: Mapping[str, Any], settings: Settings) -> _Source | None:
    """Return the service whose document is on the node, or None if the ports name an entry."""
    name, document, base = ports["service_name"], ports["spec"], ports["base_url"]
    key = secret_on(ports["api_key"], "api_key", "AgentUseOpenAPI", lambda: settings.env)
    if document:
        if "://" not in document:
            document = file_on(document, "spec", "AgentUseOpenAPI", settings.file)
        auth = {"apiKey": key, "bearer": key} if key else None
        entry = {"spec": document, "baseUrl": base, "auth": auth}
        return OpenApiSettings, name or _name_of(document), entry
    if not name:
        raise BadSetting(
            "AgentUseOpenAPI needs `service_name`, an entry of the settings, or `spec`."
        )
    if base or key:
        raise BadSetting(
            f"base_url and api_key of {name!r} are in the settings. Set them there, or name the "
            "document itself as `spec` of AgentUseOpenAPI."
        )
    return None


def _name_of(document: str) -> str:
    """Return a readable name of the service, from the file or the host."""
    parts = urlsplit(document)
    if parts.hostname:
        words = [x for x in parts.hostname.split(".")[:-1] if x not in _GENERIC_WORDS]
        return re.sub(r"[^A-Za-z0-9_-]", "_", (words or [parts.hostname])[-1])
    return "_".join(re.findall(r"[A-Za-z0-9_-]+", PurePosixPath(document).stem)) or "service"


def _read_workflow(ports: Mapping[str, Any], settings: Settings) -> _Source | None:
    """Return the workflow in the file that is on the node, or None if it names an entry."""
    name = ports["workflow"].strip()
    more = {
        "description": ports["description"],
        "arguments": ports["arguments"],
        "timeout": ports["timeout_seconds"],
    }
    if name.lower().endswith(WORKFLOW_SUFFIXES) and name not in settings.of_file:
        file = file_on(name, "workflow", "AgentUseWorkflow", settings.file)
        return WorkflowSettings, tool_name(name), {"file": file, **more}
    if extra := [x for x in more if more[x]]:
        raise BadSetting(
            f"AgentUseWorkflow has {' and '.join(extra)} for {name!r}, which is the name of an "
            "entry in the settings. Set that there, or name the file itself."
        )
    return None


_ENTRIES: dict[SourceKind | None, Callable[[Mapping[str, Any], Settings], _Source | None]] = {
    BUILTIN: _read_builtin,
    OPENAPI: _read_openapi,
    WORKFLOW: _read_workflow,
}
