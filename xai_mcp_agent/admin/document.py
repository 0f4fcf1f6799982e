"""OpenAPI document of the REST interface: every route, and every response."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, get_args

from pydantic import BaseModel, TypeAdapter

from ..core.approval import ApprovalScope
from ..core.events import SourceStatus
from ..core.json import JsonObject
from ..core.util import installed_version
from ..policy.review import Choice, Review
from . import requests

_TEXT: JsonObject = {"type": "string"}
_NUMBER: JsonObject = {"type": "number"}
_COUNT: JsonObject = {"type": "integer", "minimum": 0}
_FLAG: JsonObject = {"type": "boolean"}
_OBJECT: JsonObject = {"type": "object"}
_ANY: JsonObject = {}
_TIME: JsonObject = {"type": "string", "format": "date-time"}


def _list(of: JsonObject) -> JsonObject:
    return {"type": "array", "items": of}


def _or_null(of: JsonObject) -> JsonObject:
    return {"anyOf": [of, {"type": "null"}]}


def _ref(name: str) -> JsonObject:
    return {"$ref": f"#/components/schemas/{name}"}


def _record(**properties: JsonObject) -> JsonObject:
    """Return the schema of an object with exactly these properties."""
    return {
        "type": "object", "properties": properties, "required": [*properties],
        "additionalProperties": False,
    }  # fmt: skip


def _fields(kind: Any, **more: JsonObject) -> JsonObject:
    """Return the schema of an object with a dataclass's fields, as its view gives them."""
    return _record(**TypeAdapter(kind).json_schema()["properties"], **more)


def _schemas() -> JsonObject:
    """Return the schemas of all responses by name."""
    return {
        "Problem": {
            "type": "object",
            "properties": {
                "type": _TEXT, "title": _TEXT, "status": {"type": "integer"}, "detail": _TEXT,
                "next_step": _TEXT, "problems": _list(_TEXT),
            },
            "required": ["type", "title", "status", "detail", "next_step"],
        },
        **_source_schemas(),
        **_tool_schemas(),
        **_history_schemas(),
        **_call_schemas(),
        "Nothing": _record(),
    }  # fmt: skip


def _source_schemas() -> JsonObject:
    mark = _record(source=_TEXT, tool=_TEXT, place=_TEXT, reason=_TEXT, words=_TEXT)
    return {
        "Source": _fields(SourceStatus),
        "MarkedSource": _fields(SourceStatus, marks=_list(mark)),
        "Sources": _record(sources=_list(_ref("Source"))),
        "Refreshed": _record(
            server=_TEXT, tools=_list(_TEXT), before=_or_null(_TIME),
            changes=_or_null(_list(_OBJECT)), error=_TEXT, trouble=_TEXT,
        ),
        "Discovered": _record(sources=_list(_ref("Refreshed"))),
        "InventoryChange": _record(source=_TEXT, tool_count=_COUNT),
    }  # fmt: skip


def _tool_schemas() -> JsonObject:
    tool = {
        "server": _TEXT, "name": _TEXT, "title": _or_null(_TEXT), "icons": _list(_OBJECT),
        "description": _TEXT, "input_schema": _OBJECT, "output_schema": _or_null(_OBJECT),
        "annotations": _OBJECT, "tags": _list(_TEXT), "operation": _or_null(_OBJECT),
        "note": _or_null(_TEXT), "is_enabled": _FLAG, "is_changed": _FLAG, "is_held": _FLAG,
    }  # fmt: skip
    return {
        "Tool": _record(**tool),
        "Tools": _record(
            tools=_list(_ref("Tool")), total=_COUNT, next_cursor=_or_null(_TEXT),
            not_listed=_list(_TEXT),
        ),
        "ExplainedTool": _record(
            **tool, signature=_TEXT, example=_OBJECT, first_seen=_or_null(_TIME),
            last_changed=_or_null(_TIME), calls=_COUNT, review=_or_null(_ref("Review")),
        ),
        "Review": _fields(Review),
        "Choices": _record(choices=_list(_fields(Choice))),
    }  # fmt: skip


def _history_schemas() -> JsonObject:
    event = {
        "position": _COUNT, "time": _TIME, "context_id": _TEXT, "event_kind": _TEXT,
        "source": _TEXT, "change": _TEXT, "payload": _OBJECT, "extends": _list(_ANY),
        "related_to": _list(_ANY), "reinforces": _list(_ANY), "contradicts": _list(_ANY),
        "kind": _TEXT, "tool_source": _TEXT, "tool": _or_null(_TEXT), "definition": _ANY,
        "reason": _or_null(_TEXT), "run": _or_null(_TEXT),
    }  # fmt: skip
    return {
        "Event": _record(**event),
        "EventOfStream": _record(**event, count={**_COUNT, "minimum": 1}),
        "Events": _record(events=_list(_ref("Event")), next_cursor=_or_null(_TEXT)),
        "Graph": {"type": "object", "required": ["nodes", "edges"]},
    }


def _call_schemas() -> JsonObject:
    """Return the schemas of selections, plans, results and approvals."""
    alternative = _record(
        server=_TEXT, tool=_TEXT, score=_NUMBER, confidence=_NUMBER, reasons=_list(_TEXT)
    )
    selection = _record(
        server=_TEXT, tool=_TEXT, description=_TEXT, confidence=_NUMBER, reasons=_list(_TEXT),
        alternatives=_list(alternative),
    )  # fmt: skip
    return {
        "Selected": _record(selected=_or_null(selection)),
        "Plan": _record(
            request=_TEXT, is_rough=_FLAG, calls=_list(_OBJECT), problems=_list(_TEXT),
            reasons=_list(_TEXT), failed={"type": "object", "additionalProperties": _TEXT},
        ),
        "Result": _record(
            is_error=_FLAG, text=_TEXT, structured=_ANY, parts=_list(_OBJECT), notes=_list(_TEXT)
        ),
        "Approval": _record(
            id=_TEXT, title=_TEXT, server=_TEXT, tool=_TEXT, arguments=_OBJECT, description=_TEXT,
            annotations=_OBJECT, agent=_TEXT, reason=_TEXT, limit_seconds=_NUMBER,
        ),
        "Approvals": _record(approvals=_list(_ref("Approval"))),
        "Answered": _record(id=_TEXT, answer={"enum": [*get_args(ApprovalScope)]}),
    }  # fmt: skip


EVENTS = {
    "source": "Source",
    "inventory": "InventoryChange",
    "history": "EventOfStream",
    "approval": "Approval",
    "approval_over": "Answered",
    "reread": "Nothing",
}
"""Schema of each server-sent event's data."""


@dataclass(frozen=True)
class RestRoute:
    """One route: its endpoint in `app.py`, its response, and the statuses of its problems."""

    endpoint: str
    method: str
    path: str
    summary: str
    answer: str
    problems: Sequence[int] = ()
    query: type[BaseModel] | None = None
    body: type[BaseModel] | None = None


_OF_TOOL = 404, 409, 422, 500, 502, 504
OPERATIONS = (
    RestRoute("sources", "get", "/api/sources", "Every source with its state, and what to do.",
              "Sources"),
    RestRoute("source", "get", "/api/sources/{id}", "One source, with suspicious texts.",
              "MarkedSource", (404, 409)),
    RestRoute("refresh", "post", "/api/sources/{id}/refresh", "List its tools again, and compare.",
              "Refreshed", (404, 409, 422, 500), requests.RefreshQuery),
    RestRoute("discover", "post", "/discover",
              "Restart every source, list it again, read the rules again.", "Discovered", (500,)),
    RestRoute("tools", "get", "/api/tools", "The tools that are listed now, in pages.", "Tools",
              (404, 409, 422), requests.ToolsQuery),
    RestRoute("tool", "get", "/api/tools/{key}", "One tool, `server/tool`, with an example call.",
              "ExplainedTool", _OF_TOOL),
    RestRoute("enable", "post", "/api/tools/{key}/enable", "Let agents use it again.", "Choices",
              _OF_TOOL),
    RestRoute("disable", "post", "/api/tools/{key}/disable", "Let no agent use it.", "Choices",
              _OF_TOOL),
    RestRoute("accept", "post", "/api/tools/{key}/accept", "Accept the definition that was read.",
              "Choices", (400, 413, *_OF_TOOL), body=requests.AcceptBody),
    RestRoute("history", "get", "/api/history", "The newest events, in pages.", "Events",
              (404, 422, 500), requests.HistoryQuery),
    RestRoute("graph", "get", "/api/graph", "The graph of the history.", "Graph",
              (404, 422, 500), requests.GraphQuery),
    RestRoute("select", "post", "/api/select", "The tool that fits a request best.", "Selected",
              (400, 404, 409, 413, 422), body=requests.SelectBody),
    RestRoute("plan", "post", "/api/plan", "A plan for a request; no call is made.",
              "Plan", (400, 404, 409, 413, 422, 502), body=requests.PlanBody),
    RestRoute("call", "post", "/api/call", "Call a tool; it may wait for an approval.",
              "Result", (400, 403, 413, *_OF_TOOL, 503), body=requests.CallBody),
    RestRoute("approvals", "get", "/api/approvals", "The calls that wait for an approval.",
              "Approvals"),
    RestRoute("answer", "post", "/api/approvals/{id}", "Approve or refuse a call.", "Answered",
              (400, 404, 413, 422), body=requests.ApprovalBody),
    RestRoute("events", "get", "/api/events", "Events, as server-sent events.", ""),
)  # fmt: skip


@cache
def document() -> JsonObject:
    """Return the document."""
    paths: dict[str, JsonObject] = {}
    for route in OPERATIONS:
        paths.setdefault(route.path, {})[route.method] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {"title": "xai-mcp-agent", "version": installed_version()},
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": _schemas(),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(route: RestRoute) -> JsonObject:
    names = [x.strip("{}") for x in route.path.split("/") if x.startswith("{")]
    parameters = [{"name": x, "in": "path", "required": True, "schema": _TEXT} for x in names]
    if route.query is not None:
        fields = route.query.model_json_schema()["properties"].items()
        parameters += [{"name": x, "in": "query", "schema": schema} for x, schema in fields]
    events = {"x-events": {name: _ref(schema) for name, schema in EVENTS.items()}}
    answer = {"application/json": {"schema": _ref(route.answer)}}
    stream = {"text/event-stream": {"schema": _TEXT, **events}}
    responses: JsonObject = {
        "200": {"description": "OK", "content": answer if route.answer else stream}
    }
    problem = {"application/problem+json": {"schema": _ref("Problem")}}
    for status in sorted({401, 403, 421, *route.problems}):
        responses[str(status)] = {
            "description": "See `detail` and `next_step`.",
            "content": problem,
        }
    operation: JsonObject = {
        "summary": route.summary,
        "parameters": parameters,
        "responses": responses,
    }
    if route.body is not None:
        schema = route.body.model_json_schema()
        operation["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": schema}},
        }
    return operation
