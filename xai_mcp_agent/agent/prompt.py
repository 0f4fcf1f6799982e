"""Builds the system prompt: the agent's own text, its tools, and its servers' instructions.

A prompt may have the placeholders of `PLACEHOLDERS`, as prompts written for XpressAI's xai-agent
do. The loop builds the rest of a request.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..core.json import JsonObject
from ..core.names import join_names
from ..core.provider_schema import FunctionSpec
from ..core.visible import CUT, visible_text

PLACEHOLDERS = (
    "tools",
    "tool_instruction",
    "memory",
    "lookup_memory",
    "create_memory",
    "metadata",
    "provided_system",
)

# Foreign text in every request: enough for a page of advice, too little to bury the prompt.
_MAX_INSTRUCTIONS_CHARS = 2000  # of one server
_MAX_ALL_INSTRUCTIONS_CHARS = 8000
_NAMES = "|".join(PLACEHOLDERS)
_PLACEHOLDER = re.compile(rf"(?<!\{{)\{{(\{{(?:{_NAMES})\}})\}}(?!\}})|\{{({_NAMES})\}}")
# Values of `{tools}` and `{tool_instruction}`.
FUNCTIONS_OFFERED = "Your tools are offered to you as functions."
CALL_FUNCTIONS = "To use a tool, call its function."
_NO_TOOLS = "You have no tools."
_MOST_SERVERS = 40
_MEMORY_NAMES = ("lookup_memory", "create_memory")


@dataclass(frozen=True, slots=True)
class HiddenTools:
    """Tools outside a request: the tool that finds them, and their servers."""

    search_tool: str
    servers: tuple[str, ...]


def fill_prompt(template: str, values: Mapping[str, str]) -> str:
    """Replace placeholders with `values`; all other text stays unchanged.

    Other braces are left alone, doubled ones too: a JSON example needs no escaping. `{{tools}}`
    gives the literal text `{tools}`. Values are not filled again.
    """

    def value_of(match: re.Match[str]) -> str:
        return match[1] or values.get(match[2], match[0])

    return _PLACEHOLDER.sub(value_of, template)


def uses(template: str, placeholder: str) -> bool:
    """Return whether a prompt has this placeholder."""
    return any(match[2] == placeholder for match in _PLACEHOLDER.finditer(template))


def build_system_prompt(
    template: str,
    functions: Sequence[FunctionSpec],
    *,
    server_instructions: Mapping[str, str] | None = None,
    metadata: JsonObject | None = None,
    provided_system: str = "",
    hidden: HiddenTools | None = None,
) -> str:
    """Return the whole system prompt for one request.

    `{memory}` (or `{lookup_memory}` and `{create_memory}`) describes the memory tools.
    `server_instructions` are foreign text: each server's are quoted under its name, and cut if they
    are long. `provided_system` is the text of the conversation's own system messages. `hidden` are
    the tools outside `functions`, if there are any.
    """
    values = {
        "tools": FUNCTIONS_OFFERED if functions else _NO_TOOLS,
        "tool_instruction": CALL_FUNCTIONS if functions else "",
        **_memory_values(functions),
        "metadata": _compact_json(metadata),
        "provided_system": provided_system,
    }
    blocks = [fill_prompt(template, values).strip("\n"), *_server_blocks(server_instructions or {})]
    if hidden:
        blocks.append(_hidden_tools_block(hidden))
    return "\n\n".join(x for x in blocks if x.strip())


def _memory_values(functions: Sequence[FunctionSpec]) -> dict[str, str]:
    lines = {
        x.name: f"{x.name}: {' '.join(x.description.split())}"
        for x in functions
        if x.name in _MEMORY_NAMES
    }
    return {**dict.fromkeys(_MEMORY_NAMES, ""), **lines, "memory": "\n".join(lines.values())}


def _server_blocks(instructions: Mapping[str, str]) -> list[str]:
    """Return each server's instructions, cleaned and quoted: no line is a heading or a tool."""
    blocks: list[str] = []
    room_chars = _MAX_ALL_INSTRUCTIONS_CHARS
    for server, text in instructions.items():
        limit = min(room_chars, _MAX_INSTRUCTIONS_CHARS)
        text = visible_text(text.strip(), limit) if limit > len(CUT) else ""
        room_chars -= len(text)
        if text:
            quotation = "\n".join(f"> {line}".rstrip() for line in text.splitlines())
            blocks.append(f"Notes from the server {' '.join(server.split())}:\n{quotation}")
    return blocks


def _hidden_tools_block(hidden: HiddenTools) -> str:
    """Return the paragraph about hidden tools; server names are safe, a person set them."""
    servers = join_names(hidden.servers, _MOST_SERVERS)
    owners = f" They belong to: {servers}." if servers else ""
    return f"You have more tools than are listed. Find them with {hidden.search_tool}.{owners}"


def _compact_json(value: JsonObject | None) -> str:
    if not value:
        return ""
    # `default`: metadata is a person's own dict and may hold dates or paths.
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
