"""`xai-mcp-agent tools list DOCUMENT`: show the tools of an OpenAPI document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ..console.text import count, one_line
from ..core.json import JsonObject
from ..core.schemas import signature
from .frame import Report

if TYPE_CHECKING:
    from ..sources.openapi import Operation, Service

_INDENT = "    "
_NAMES = {"openapi", "swagger", "api-docs"}  # of documents that services generate


def is_document(word: str) -> bool:
    """Return whether a word is the path of an OpenAPI document, by its suffix."""
    path = urlsplit(word).path.lower()
    return path.endswith((".json", ".yaml", ".yml")) or bool(_NAMES & set(path.split("/")))


def show_document(where: str, tool: str | None, base_url: str | None) -> Report:
    """Report the tools of a document, or where each argument of one tool goes. Calls nothing."""
    from ..sources.openapi import load_service

    service = load_service(where, base_url)
    operations = (service.tool(tool),) if tool else service.tools
    lines = _plan_text(operations[0]) if tool else _service_text(service)
    return Report(_service_json(service, operations), "\n".join(lines))


def _service_json(service: Service, operations: tuple[Operation, ...]) -> JsonObject:
    return {
        "title": service.title,
        "version": service.version,
        "inventory_hash": service.inventory_hash,
        "tools": [_tool_json(x) for x in operations],
        "problems": [
            {"method": x.method, "path": x.path, "reason": x.reason} for x in service.problems
        ],
    }


def _tool_json(operation: Operation) -> JsonObject:
    return {
        "name": operation.name,
        "description": operation.description,
        "input_schema": operation.input_schema,
        "output_schema": operation.tool.output_schema,
        "tags": list(operation.tags),
        "method": operation.method,
        "path": operation.path,
        "is_deprecated": operation.is_deprecated,
        "note": operation.tool.note,
        "plan": operation.plan.as_json(),
        "templates": _templates_json(operation),
    }


def _templates_json(operation: Operation) -> JsonObject:
    from ..sources.openapi.templates import templates_of

    templates = templates_of(operation.plan)
    return {"url": templates.url, "headers": dict(templates.headers), "body": templates.body}


def _service_text(service: Service) -> Iterator[str]:
    title = f"{service.title} {service.version}".strip() or "The service"
    yield f"{title}: {count(len(service.tools), 'tool')}."
    for operation in service.tools:
        yield from _tool_text(operation)
    if service.problems:
        yield f"Left out, {count(len(service.problems), 'part')} of it:"
    for problem in service.problems:
        yield one_line(str(problem), "  ")


def _tool_text(operation: Operation) -> Iterator[str]:
    old = " (deprecated)" if operation.is_deprecated else ""
    call = f"{operation.name}({signature(operation.input_schema)})"
    yield one_line(f"{call}{old}")
    request = f"{operation.method} {operation.path}"
    yield f"{_INDENT}{request}"
    summary = operation.description.strip().partition("\n")[0]
    if summary and summary != request:
        yield one_line(summary, _INDENT)


def _plan_text(operation: Operation) -> Iterator[str]:
    yield from _tool_text(operation)
    plan = operation.plan
    yield f"{_INDENT}at {plan.base_url or 'no server: set `baseUrl`'}"
    for place in plan.placements:
        alias = "" if place.name == place.argument else f", as {place.name}"
        how = place.media_type or f"{place.style}{', exploded' if place.explode else ''}"
        how = "" if place.location == "body" else f" ({how})"
        yield f"{_INDENT}{place.argument}: in the {place.location}{alias}{how}"
    if plan.body is not None:
        whole = f": {plan.body.argument}" if plan.body.argument else ""
        yield f"{_INDENT}body as {plan.body.media_type}{whole}"
    templates = _templates_json(operation)
    yield "Templates to copy into `operations` of the settings and to change there:"
    yield f"{_INDENT}url: {templates['url']}"
    for name, text in templates["headers"].items():
        yield f"{_INDENT}header {name}: {text}"
    if templates["body"]:
        yield f"{_INDENT}body: {templates['body']}"
