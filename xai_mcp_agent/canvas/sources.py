"""Sources of tools that nodes add to a toolbelt, with or without an entry in the settings."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from ..catalog.groups import EVERYTHING, ToolFilter
from ..core.errors import BadSetting, SettingsError, UnknownServer
from ..core.json import JsonObject
from ..core.names import did_you_mean
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
from .ports import DEFAULT_TOOLBELT, file_on, inputs, secret_on
from .toolbelts import FILTERS, REQUIRED, SERVERS, SOURCES, filter_in

_ANY = "AgentUseTools"
_GENERIC_WORDS = ("api", "docs", "openapi", "spec", "swagger", "v1", "v2", "v3", "www")
# The node for each kind of source, and its port with the source's name.
_NODES: dict[SourceKind, tuple[str, str]] = {
    MCP: ("AgentUseMCPTools", "server_name"),
    FUNCTIONS: ("AgentUseFunctions", "functions_name"),
    OPENAPI: ("AgentUseOpenAPI", "service_name"),
    AGENT: ("AgentUseAgents", "remote_agent"),
    BUILTIN: ("AgentUseBuiltinTools", "builtin_name"),
    WORKFLOW: ("AgentUseWorkflow", "workflow"),
}
_KINDS = {node: kind for kind, (node, _) in _NODES.items()}


@dataclass(frozen=True)
class SourceChoice:
    """A node's use of a source: for which toolbelt, which tools, and whether it is required."""

    toolbelt: str = DEFAULT_TOOLBELT
    tools: ToolFilter = EVERYTHING
    is_required: bool = False

    @classmethod
    def of(cls, ports: Mapping[str, Any]) -> SourceChoice:
        """Read the ports. An empty list on `tools` means no tools."""
        only = ports.get("tools")
        tools = ToolFilter(
            None if only is None else tuple(only), tuple(ports.get("except_tools") or ())
        )
        belt = ports.get("toolbelt_name") or DEFAULT_TOOLBELT
        return cls(belt, tools, bool(ports.get("required")))


def use(ctx: Any, node: Any) -> None:
    """Add the source that a node names to a toolbelt, and start to connect it in the background.

    A problem with the source itself is reported when an agent needs it; the agent goes on without
    the source unless it is required.

    Raises:
        UnknownServer: the settings have no source of that name; lists those it has.
        SettingsError: the settings file cannot be read at all.
        BadSetting: a value of the wrong type.
    """
    ports, kind = inputs(node), _KINDS.get(type(node).__name__)
    port = _NODES[kind][1] if kind else "group_name"
    use_source(ctx, kind, ports[port], SourceChoice.of(ports))


def use_source(ctx: Any, kind: SourceKind | None, name: str, choice: SourceChoice) -> None:
    """Add a source of one kind; without a kind, a source of any kind or a group. See `use`."""
    settings = bridge_of(ctx).settings
    if kind:
        with suppress(SettingsError):  # it disables that source; AgentRun says so
            _require(settings, name, kind)
    elif settings.group(name) is None:
        kind = settings.kind_of(name)
        if kind is None:
            raise _no_source(settings, name)
    _declare(ctx, kind, name, choice)


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
    _declare(ctx, kind, name, choice)
    return name


def _declare(ctx: Any, kind: SourceKind | None, name: str, choice: SourceChoice) -> None:
    """Put a source, or without a kind a group, into the toolbelt and start to connect it."""
    belt, bridge = choice.toolbelt, bridge_of(ctx)
    is_first = _append_new(ctx, f"{SERVERS if kind == MCP else SOURCES}_{belt}", name)
    if choice.is_required:
        _append_new(ctx, f"{REQUIRED}_{belt}", name)
    _join_filter(ctx, belt, name, choice.tools, is_first=is_first)
    bridge.start(*([name] if kind else bridge.aio.operations.choice([name]).all_sources))


def _append_new(ctx: Any, key: str, name: str) -> bool:
    """Put a name into a list of `ctx`, and return whether it is new."""
    names = ctx.setdefault(key, [])
    if name in names:
        return False
    names.append(name)
    return True


def _join_filter(ctx: Any, belt: str, name: str, tools: ToolFilter, *, is_first: bool) -> None:
    """Join the filter with the filters of other nodes: what one takes, if none excludes it."""
    filters: dict[str, JsonObject] = ctx.setdefault(f"{FILTERS}_{belt}", {})
    if not is_first:
        tools = filter_in(filters.get(name, {}), FILTERS).joined(tools)
    only = None if tools.only is None else list(tools.only)
    filters[name] = {"only": only, "except": list(tools.without)}


def _require(settings: Settings, source: str, kind: SourceKind) -> None:
    try:
        settings.source(source, kind)
    except UnknownServer as reason:
        other = settings.kind_of(source)
        node = _NODES[other][0] if other in _NODES else ""
        node = node or (_ANY if source in settings.group_names else "")
        if not node:
            raise
        text = f"{reason} The node for what stands there is {node}."
        raise UnknownServer(text, reason.server, reason.known) from None


def _no_source(settings: Settings, name: str) -> UnknownServer:
    every_name = [*settings.group_names, *settings.names]
    hint = did_you_mean(name, every_name) or f"Known: {', '.join(every_name) or 'none'}."
    return UnknownServer(
        f"No group and no source {name!r} in {settings.file or 'any settings file'}. {hint} "
        "Correct `group_name`, or add it under `groups`.",
        name,
        every_name,
    )


def use_builtin_tools(ctx: Any, node: Any) -> None:
    """Add built-in tools to a toolbelt: some by name, or those in an entry of the settings.

    Raises:
        BadSetting: no tools, an unknown one, or one without the workspace it needs.
        UnknownServer: the settings have no entry of that name.
    """
    ports = inputs(node)
    tools, entry = ports.pop("tools"), ports["builtin_name"]
    if bool(tools) == bool(entry):
        raise BadSetting(
            "AgentUseBuiltinTools needs `tools` or `builtin_name`, but not both: set `tools` to "
            f"some of {', '.join(ALL_BUILTIN_TOOLS)}."
        )
    if entry:
        use_source(ctx, BUILTIN, entry, SourceChoice.of(ports))
        return
    values = {"tools": tools, "workspace": ports["workspace"]}
    add_source(ctx, BUILTIN, BuiltinSettings, BUILTIN.name, values, SourceChoice.of(ports))


def use_openapi(ctx: Any, node: Any) -> None:
    """Add an OpenAPI service to a toolbelt, and start to read its document in the background.

    With a `spec`, the file or URL of a document, no entry is needed: `service_name` is then only
    its name.

    Raises:
        UnknownServer: without a `spec`, the settings have no service of that name.
        BadSetting: both are missing, the file does not exist, or a port has an invalid value.
    """
    ports = inputs(node)
    name, document, base = ports["service_name"], ports["spec"], ports["base_url"]
    settings = bridge_of(ctx).settings
    key = secret_on(ports["api_key"], "api_key", "AgentUseOpenAPI", lambda: settings.env)
    if document:
        if "://" not in document:
            document = file_on(document, "spec", "AgentUseOpenAPI", settings.file)
        auth = {"apiKey": key, "bearer": key} if key else None
        entry = {"spec": document, "baseUrl": base, "auth": auth}
        name = name or _name_of(document)
        add_source(ctx, OPENAPI, OpenApiSettings, name, entry, SourceChoice.of(ports))
        return
    if not name:
        raise BadSetting(
            "AgentUseOpenAPI needs `service_name`, an entry of the settings, or `spec`."
        )
    if base or key:
        raise BadSetting(
            f"base_url and api_key of {name!r} are in the settings. Set them there, or name the "
            "document itself as `spec` of AgentUseOpenAPI."
        )
    use_source(ctx, OPENAPI, name, SourceChoice.of(ports))


def _name_of(document: str) -> str:
    """Return a readable name of the service, from the file or the host."""
    parts = urlsplit(document)
    if parts.hostname:
        words = [x for x in parts.hostname.split(".")[:-1] if x not in _GENERIC_WORDS]
        return re.sub(r"[^A-Za-z0-9_-]", "_", (words or [parts.hostname])[-1])
    return "_".join(re.findall(r"[A-Za-z0-9_-]+", PurePosixPath(document).stem)) or "service"


def use_workflow(ctx: Any, node: Any) -> None:
    """Add a workflow to a toolbelt, and start to compile it in the background.

    Raises:
        UnknownServer: it is neither an entry nor a file; lists the entries.
        BadSetting: there is no such file, an entry differs from the settings, or `arguments` has an
            invalid value, such as a variable that is not set.
    """
    ports = inputs(node)
    name, choice, settings = (
        ports["workflow"].strip(),
        SourceChoice.of(ports),
        bridge_of(ctx).settings,
    )
    more = {
        "description": ports["description"],
        "arguments": ports["arguments"],
        "timeout": ports["timeout_seconds"],
    }
    if name.lower().endswith(WORKFLOW_SUFFIXES) and name not in settings.of_file:
        entry = {"file": file_on(name, "workflow", "AgentUseWorkflow", settings.file), **more}
        add_source(ctx, WORKFLOW, WorkflowSettings, tool_name(name), entry, choice)
        return
    if extra := [x for x in more if more[x]]:
        raise BadSetting(
            f"AgentUseWorkflow has {' and '.join(extra)} for {name!r}, which is the name of an "
            "entry in the settings. Set that there, or name the file itself."
        )
    try:
        use_source(ctx, WORKFLOW, name, choice)
    except UnknownServer as reason:
        text = f"{reason} Or set `workflow` to a file that ends in .xircuits."
        raise UnknownServer(text, reason.server, reason.known) from None
