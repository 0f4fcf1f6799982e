"""Writes the JSON Schema of `mcp_settings.json`, with which editors complete and check it.

Types, defaults and choices come from the classes of the settings, the meanings of keys from the
lists of `docs/settings.md`. `python -m tools.build_schema` writes it into the package, and
`xai-mcp-agent init` copies it beside a user's settings, so that it works offline.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from xai_mcp_agent.settings.conditions import FIELDS
from xai_mcp_agent.settings.load import SCHEMA_FILE
from xai_mcp_agent.settings.models import SECTIONS
from xai_mcp_agent.settings.registries import RegistrySettings
from xai_mcp_agent.settings.rules import RuleEntry, StoredRulesEntry
from xai_mcp_agent.settings.sections import GroupSettings, OtherSections
from xai_mcp_agent.settings.server import ServerEntry, ServerSettings
from xai_mcp_agent.settings.validation import INTERNAL_KEY, adapter

PAGE = Path(__file__).parents[1] / "docs" / "settings.md"
COMMAND = "python -m tools.build_schema"

# The heading over the list of a class's keys.
_HEADINGS = {
    "ServerEntry": "Servers", "AuthSettings": "Under `auth`",
    "FunctionSettings": "Python functions", "BuiltinSettings": "Built-in tools",
    "OpenApiSettings": "OpenAPI services", "AgentSettings": "Agents of others",
    "WorkflowSettings": "Workflows", "GroupSettings": "Groups of tools",
    "ToolSearchSettings": "Which tools a model is shown",
}  # fmt: skip
_SHARED = "Every source"
# - `key`, `other` (type, default): meaning
_KEYS = re.compile(r"- (`[^(]+`) \(.+?\): (.+)")
_SOURCES = {cls.__name__ for cls in SECTIONS.values()} - {"ServerSettings"} | {"ServerEntry"}
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


def settings_schema() -> dict[str, Any]:
    """Return the schema of the whole file."""
    definitions: dict[str, Any] = {}

    def of(kind: Any) -> dict[str, Any]:
        schema = adapter(kind).json_schema(ref_template="#/$defs/{model}")
        definitions.update(schema.pop("$defs", {}))
        if "title" not in schema:
            return schema
        definitions[schema["title"]] = schema
        return {"$ref": f"#/$defs/{schema['title']}"}

    text = {"type": "string"}
    sources: dict[str, Any] = {}
    for key, cls in SECTIONS.items():
        entry = of(ServerEntry if cls is ServerSettings else cls)
        sources[key] = {"type": "object", "additionalProperties": entry}
    rule = {"anyOf": [text, of(RuleEntry), of(StoredRulesEntry)]}
    of(OtherSections)
    others = definitions.pop("OtherSections")["properties"]
    properties = {
        "$schema": text,
        **sources,
        "servers": sources["mcpServers"],
        "rules": {"anyOf": [text, {"type": "array", "items": rule}]},
        **others,
    }
    _complete("", {"properties": properties})
    for name, schema in definitions.items():
        _complete(name, schema)
    for conditions in ("when", "unless"):
        definitions["RuleEntry"]["properties"][conditions]["properties"] = {x: {} for x in FIELDS}
    for cls in (RuleEntry, StoredRulesEntry, GroupSettings, RegistrySettings):
        definitions[cls.__name__]["additionalProperties"] = False
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$comment": f"Written by `{COMMAND}`.",
        "title": "Settings of xai_mcp_agent",
        "type": "object",
        "properties": properties,
        "$defs": dict(sorted(definitions.items())),
    }


def _complete(name: str, schema: dict[str, Any]) -> None:
    """Complete a definition: add the meanings of keys, and drop the names of classes."""
    shared = _meanings(_SHARED) if name in _SOURCES else {}
    own = _meanings(_HEADINGS.get(name, "no heading"))
    meanings = shared | {key: x for key, x in own.items() if x != "as of every source"}
    schema.pop("description", None)
    properties = cast(dict[str, dict[str, Any]], schema.get("properties", {}))
    properties.pop(INTERNAL_KEY, None)
    for key, value in properties.items():
        value.pop("title", None)
        value.pop("description", None)
        if value.get("default") is None or isinstance(value["default"], Mapping):
            value.pop("default", None)
        if meaning := meanings.get(key):
            value["description"] = meaning


def _meanings(heading: str) -> dict[str, str]:
    """Return the page's text about each key in the lists below this heading."""
    meanings: dict[str, str] = {}
    above = ""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            above = line.lstrip("# ")
        elif above == heading and (item := _KEYS.fullmatch(line)):
            meaning = _LINK.sub(r"\1", item[2])
            meanings |= dict.fromkeys(re.findall(r"`([^`]+)`", item[1]), meaning)
    return meanings


def schema_text() -> str:
    """Return the text of the file."""
    return json.dumps(settings_schema(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    SCHEMA_FILE.write_text(schema_text(), encoding="utf-8")
