"""Small OpenAPI documents for tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from xai_mcp_agent.sources.openapi import Operation, Service

OK = {"200": {"description": "Fine"}}


def document(paths: dict[str, Any], version: str = "3.1.0", **more: Any) -> dict[str, Any]:
    """Return a document with these paths."""
    info = {"title": "Things", "version": "1"}
    servers = [{"url": "https://api.example.com/v1"}]
    return {"openapi": version, "info": info, "servers": servers, "paths": paths, **more}


def schemas(**definitions: Any) -> dict[str, Any]:
    """Components with these schemas."""
    return {"schemas": definitions}


def service(paths: dict[str, Any], version: str = "3.1.0", **more: Any) -> Service:
    """Load the service of a document with these paths."""
    from xai_mcp_agent.sources.openapi import load_service

    return load_service(document(paths, version, **more))


def only(
    operation: dict[str, Any], path: str = "/things", method: str = "post", **more: Any
) -> Operation:
    """Return the only tool of a document with one operation."""
    loaded = service({path: {method: {"responses": OK, **operation}}}, **more)
    assert loaded.problems == ()
    (tool,) = loaded.tools
    return tool


def body(
    schema: Any, kind: str = "application/json", required: bool = True, **more: Any
) -> dict[str, Any]:
    """An operation with this body."""
    return {"requestBody": {"required": required, "content": {kind: {"schema": schema, **more}}}}


def query(name: str, schema: Any) -> dict[str, Any]:
    """A parameter in the query."""
    return {"name": name, "in": "query", "schema": schema}


def write(folder: Path, **files: Any) -> Path:
    """Write files of these texts or values, with `/` for `_` in names; return the folder."""
    for name, text in files.items():
        file = folder / f"{name.replace('__', '/')}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text if isinstance(text, str) else json.dumps(text), encoding="utf-8")
    return folder
