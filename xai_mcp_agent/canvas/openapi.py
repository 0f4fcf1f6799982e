"""OpenAPI services as tools of an agent: entries of the settings, and documents a node names."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from ..core.errors import BadSetting
from ..settings.openapi import OpenApiSettings
from .lease import bridge_of
from .ports import file_on, optional, secret_on
from .toolbelts import SERVICES, add_source, use_source

_NODE, _PORT = SERVICES.node, SERVICES.port
_NO_NAMES = ("api", "docs", "openapi", "spec", "swagger", "v1", "v2", "v3", "www")


def use_openapi(
    ctx: Any,
    service: str | None,
    toolbelt: str | None,
    spec: str | None = None,
    base_url: str | None = None,
    api_key: Any = None,
    tools: Any = None,
    except_tools: Any = None,
    is_required: Any = False,
) -> None:
    """Add an OpenAPI service to a toolbelt, and begin to read its document in the background.

    With a `spec`, the file or URL of a document, no entry is needed: `service` is only how it is
    called then. The `api_key` is that key or token that the service wants. See `use_server` for
    the rest.

    Raises:
        UnknownServer: without a `spec`, the settings have no service of that name.
        BadSetting: neither is there, the file is not, or something in the ports is wrong.
    """
    name, document = optional(service, _PORT, _NODE), optional(spec, "spec", _NODE)
    base, key = optional(base_url, "base_url", _NODE), secret_on(api_key, "api_key", _NODE)
    if not document:
        if not name:
            raise BadSetting(f"{_NODE} needs `{_PORT}`, an entry of the settings, or `spec`.")
        if base or key:
            fix = f"Set that there, or name the document itself as `spec` of {_NODE}."
            raise BadSetting(f"base_url and api_key of {name!r} stand in the settings. {fix}")
        use_source(ctx, SERVICES, name, toolbelt, tools, except_tools, is_required)
        return
    if "://" not in document:
        document = file_on(document, "spec", _NODE, bridge_of(ctx).settings.file)
    auth = {"apiKey": key, "bearer": key} if key else None
    entry = {"spec": document, "baseUrl": base, "auth": auth}
    name = name or _name_of(document)
    add_source(
        ctx, SERVICES, OpenApiSettings, name, entry, toolbelt, tools, except_tools, is_required
    )


def _name_of(document: str) -> str:
    """A name by which people know the service: of the file, or of the host."""
    parts = urlsplit(document)
    words = re.findall(r"[A-Za-z0-9_-]+", PurePosixPath(document).stem)
    if parts.hostname:
        words = [x for x in parts.hostname.split(".")[:-1] if x not in _NO_NAMES] or [
            parts.hostname
        ]
        return re.sub(r"[^A-Za-z0-9_-]", "_", words[-1])
    return "_".join(words) or "service"
