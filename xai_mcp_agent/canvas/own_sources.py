"""Sources that nodes bring along, without an entry in the settings."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from ..core.errors import BadSetting, UnknownServer
from ..core.tools import BUILTIN, OPENAPI, WORKFLOW
from ..settings.openapi import OpenApiSettings
from ..settings.sources import (
    ALL_BUILTIN_TOOLS,
    WORKFLOW_SUFFIXES,
    BuiltinSettings,
    WorkflowSettings,
)
from ..sources.workflows.source import tool_name
from .lease import bridge_of
from .ports import file_on, inputs, secret_on
from .toolbelts import Chosen, add_source, use_source

_NO_NAMES = ("api", "docs", "openapi", "spec", "swagger", "v1", "v2", "v3", "www")


def use_builtin_tools(ctx: Any, node: Any) -> None:
    """Add built-in tools to a toolbelt: some by name, or those of an entry of the settings.

    Raises:
        BadSetting: no tools, one that there is not, or one that needs a workspace without it.
        UnknownServer: the settings have no entry of that name.
    """
    ports = inputs(node)
    tools, entry = ports.pop("tools"), ports["builtin_name"]
    if bool(tools) == bool(entry):
        raise BadSetting(
            "AgentUseBuiltinTools needs `tools` or `builtin_name`, and not both: set `tools` to "
            f"some of {', '.join(ALL_BUILTIN_TOOLS)}."
        )
    if entry:
        use_source(ctx, BUILTIN, entry, Chosen.of(ports))
        return
    values = {"tools": tools, "workspace": ports["workspace"]}
    add_source(ctx, BUILTIN, BuiltinSettings, BUILTIN.name, values, Chosen.of(ports))


def use_openapi(ctx: Any, node: Any) -> None:
    """Add an OpenAPI service to a toolbelt, and begin to read its document in the background.

    With a `spec`, the file or URL of a document, no entry is needed: `service_name` is only how it
    is called then.

    Raises:
        UnknownServer: without a `spec`, the settings have no service of that name.
        BadSetting: neither is there, the file is not, or something in the ports is wrong.
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
        add_source(ctx, OPENAPI, OpenApiSettings, name, entry, Chosen.of(ports))
        return
    if not name:
        raise BadSetting(
            "AgentUseOpenAPI needs `service_name`, an entry of the settings, or `spec`."
        )
    if base or key:
        raise BadSetting(
            f"base_url and api_key of {name!r} stand in the settings. Set that there, or name the "
            "document itself as `spec` of AgentUseOpenAPI."
        )
    use_source(ctx, OPENAPI, name, Chosen.of(ports))


def _name_of(document: str) -> str:
    """A name by which people know the service: of the file, or of the host."""
    parts = urlsplit(document)
    if parts.hostname:
        words = [x for x in parts.hostname.split(".")[:-1] if x not in _NO_NAMES]
        return re.sub(r"[^A-Za-z0-9_-]", "_", (words or [parts.hostname])[-1])
    return "_".join(re.findall(r"[A-Za-z0-9_-]+", PurePosixPath(document).stem)) or "service"


def use_workflow(ctx: Any, node: Any) -> None:
    """Add a workflow to a toolbelt, and begin to compile it in the background.

    Raises:
        UnknownServer: it is neither an entry nor a file; says which entries there are.
        BadSetting: there is no such file, an entry is to be another than the settings have, or
            something in `arguments` cannot be given, such as a variable that is not set.
    """
    ports = inputs(node)
    name, chosen, settings = ports["workflow"].strip(), Chosen.of(ports), bridge_of(ctx).settings
    more = {
        "description": ports["description"],
        "arguments": ports["arguments"],
        "timeout": ports["timeout_seconds"],
    }
    if name.lower().endswith(WORKFLOW_SUFFIXES) and name not in settings.of_file:
        entry = {"file": file_on(name, "workflow", "AgentUseWorkflow", settings.file), **more}
        add_source(ctx, WORKFLOW, WorkflowSettings, tool_name(name), entry, chosen)
        return
    if said := [x for x in more if more[x]]:
        raise BadSetting(
            f"AgentUseWorkflow has {' and '.join(said)} for {name!r}, which is the name of an "
            "entry in the settings. Set that there, or name the file itself."
        )
    try:
        use_source(ctx, WORKFLOW, name, chosen)
    except UnknownServer as reason:
        text = f"{reason} Or set `workflow` to a file that ends in .xircuits."
        raise UnknownServer(text, reason.server, reason.known) from None
