"""Repairs results for the client's version of the protocol: one odd part costs only itself.

Servers may speak another version than their clients, and some send invalid parts. The SDK's server
would refuse the whole result.
"""

from __future__ import annotations

import json
import logging
from typing import Any

from mcp_types import methods
from pydantic import ValidationError

from ..core.json import JsonObject, as_list, as_object

logger = logging.getLogger(__name__)

_HINTS = {"ttlMs": 0, "cacheScope": "private"}  # added by the SDK afterwards
_LISTS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}


def allowed_result(method: str, version: str, result: JsonObject) -> JsonObject:
    """Return the result without parts that this version does not allow."""

    def fits(**fields: Any) -> bool:
        whole = {**_HINTS, **result, **fields}
        try:
            serialized = methods.serialize_server_result(method, version, whole)
        except ValidationError:
            return False
        # A result with an invalid block validates as another type of result, without content.
        return "content" in serialized or "content" not in whole

    if _is_plain(result) or fits():
        return result
    if field := _LISTS.get(method):
        items: list[JsonObject] = []
        for item in map(as_object, as_list(result.get(field))):
            # Any schema is allowed since 2026-07-28; before, only that of an object.
            short = {name: x for name, x in item.items() if name != "outputSchema"}
            fitting = next((x for x in (item, short) if fits(**{field: [x]})), None)
            if fitting is not None:
                items.append(fitting)
            else:
                logger.warning("%r is not listed: MCP does not allow it.", item.get("name"))
        return {**result, field: items}
    if method == "tools/call":
        blocks = as_list(result.get("content"))
        content = [x if fits(content=[x], structuredContent=None) else _as_text(x) for x in blocks]
        structured = result.get("structuredContent")
        if fits(content=[]):
            return {**result, "content": content}
        rest = {name: x for name, x in result.items() if name != "structuredContent"}
        return {**rest, "content": content or [_as_text(structured)]}
    return result


def _is_plain(result: JsonObject) -> bool:
    """Return whether the result has only text, which every version allows."""
    if "content" not in result or not isinstance(result.get("structuredContent", {}), dict):
        return False
    return all(x.keys() == {"type", "text"} and type(x["text"]) is str for x in result["content"])


def _as_text(value: Any) -> JsonObject:
    return {"type": "text", "text": json.dumps(value, ensure_ascii=False, default=str)}
