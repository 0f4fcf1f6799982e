"""docs/settings.md has every key, type, default and variable of the settings."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest

import xai_mcp_agent
from tests.support.pages import PAGES, ROOT, Block, blocks_of, text_of
from xai_mcp_agent import settings_from
from xai_mcp_agent.settings.auth import AuthSettings
from xai_mcp_agent.settings.entry import BreakerSettings
from xai_mcp_agent.settings.openapi import OpenApiSettings
from xai_mcp_agent.settings.server import ServerEntry
from xai_mcp_agent.settings.sources import (
    AgentSettings,
    BuiltinSettings,
    FunctionSettings,
    WorkflowSettings,
)
from xai_mcp_agent.settings.validation import keys_by_field

PAGE = ROOT / "docs" / "settings.md"
PACKAGE = Path(xai_mcp_agent.__file__).parent
KINDS = {
    str: "text", tuple: "list of texts", dict: "object of texts", float: "seconds",
    bool: "true or false", int: "whole number",
    AuthSettings: "object, true or false",
    BreakerSettings: "object, true or false",
}  # fmt: skip
# The type of these fields differs from the type in the file.
EXCEPTIONS = {
    "command": ("text", "none"),
    "transport": ("text", "none"),
    "type": ("text", "none"),
    **dict.fromkeys(("clientSecret", "client_secret", "CLIENT_SECRET"), ("text", '`""`')),
    **dict.fromkeys(("privateKey", "private_key"), ("text", '`""`')),
    "enabled": ("true or false", "`true`"),
    "lock": ('true, false or `"first"`', "`false`"),
    "approval": ("text or object", "`{}`"),
    "tools": ("list of texts", "none"),
    "arguments": ("object", "`{}`"),
    "operations": ("object", "`{}`"),
}
CREDENTIALS = ("object", "`{}`")  # a dict of objects, not of texts
# The code joins these names from parts.
JOINED = {"GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION", "npm_config_registry"}
BY_ITSELF = "by itself"
SOURCES: dict[str, type] = {
    "Servers": ServerEntry, "Python functions": FunctionSettings, "Workflows": WorkflowSettings,
    "Built-in tools": BuiltinSettings, "OpenAPI services": OpenApiSettings,
    "Agents of others": AgentSettings,
}  # fmt: skip
# - `key`, `other` (type, default): meaning
_KEYS = re.compile(r"^- (`[^(]+`) \((.+?), (none|by itself|`[^`]*`)\): ", re.MULTILINE)


def documented(heading: str) -> dict[str, tuple[str, str]]:
    """Return the type and the default on the page for each key in the list below a heading."""
    section = re.search(rf"^#+ {heading}\n(.*?)(?=^#)", text_of(PAGE), re.MULTILINE | re.DOTALL)
    assert section is not None, f"no heading {heading}"
    return {
        key: (kind, default)
        for keys, kind, default in _KEYS.findall(section[1])
        for key in re.findall(r"`([^`]+)`", keys)
    }


def accepted(cls: type) -> dict[str, tuple[str, str]]:
    """Return the type and the default of every key that is read."""
    hints, by_name = get_type_hints(cls), {x.name: x for x in fields(cls)}
    exceptions = {**EXCEPTIONS, "auth": CREDENTIALS} if cls is OpenApiSettings else EXCEPTIONS
    return {
        key: exceptions.get(key) or (_kind(hints[name]), _default(by_name[name]))
        for name, keys in keys_by_field(cls).items()
        for key in keys
    }


def _kind(hint: Any) -> str:
    kind = get_args(hint)[0] if get_origin(hint) in (Union, UnionType) else hint
    return KINDS[str if get_origin(kind) is Literal else get_origin(kind) or kind]


def _default(field: Field[Any]) -> str:
    value = field.default if field.default_factory is MISSING else field.default_factory()
    if isinstance(value, BreakerSettings):
        return "`true`"
    if value in (None, MISSING) or isinstance(value, AuthSettings):
        return "none"
    return f"`{json.dumps(int(value) if isinstance(value, float) else value)}`"


@pytest.mark.parametrize("heading", SOURCES)
def test_every_key_of_a_source_is_on_the_page_with_its_type_and_default(heading: str):
    """The list of a kind overrides the list of every source."""
    keys = accepted(SOURCES[heading])
    common = {key: x for key, x in documented("Every source").items() if key in keys}
    by_itself = {key: ("text", BY_ITSELF) for key in ("type", "transport") if key in keys}
    assert {**common, **documented(heading)} == {**keys, **by_itself}


def test_every_key_under_auth_is_on_the_page_with_its_type_and_default():
    assert documented("Under `auth`") == accepted(AuthSettings)


def test_the_ignored_keys_on_the_page_cause_no_note():
    sentence = re.search(r"ignored silently: (.+?)\.\n", text_of(PAGE), re.DOTALL)
    assert sentence is not None
    keys = re.findall(r"`([^`]+)`", sentence[1])
    entry = {"command": "x", **dict.fromkeys(keys, "y")}
    assert settings_from({"mcpServers": {"it": entry}}).notes == ()
    assert settings_from({"mcpServers": {"it": {**entry, "unheard_of": 1}}}).notes != ()


def _environment_names() -> Iterator[str]:
    """Yield texts that look like names of variables, in files that read the environment."""
    for file in PACKAGE.rglob("*.py"):
        source = file.read_text(encoding="utf-8")
        if "environ" in source:
            for node in ast.walk(ast.parse(source)):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield from re.findall(r"\A[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\Z", node.value)


def test_every_environment_variable_that_is_read_is_on_the_page():
    (section,) = re.findall(r"^## Environment variables\n(.*?)(?=^#)", text_of(PAGE), re.M | re.S)
    listings = re.findall(r"^- (.+?): ", section, re.MULTILINE)
    documented_names = {x for names in listings for x in re.findall(r"`([^`]+)`", names)}
    assert documented_names == {*_environment_names(), *JOINED}


def _settings_blocks() -> list[Block]:
    blocks = [x for page in PAGES for x in blocks_of(page) if x.language == "json"]
    assert blocks, "no page shows settings"
    return blocks


@pytest.mark.parametrize("block", _settings_blocks(), ids=str)
def test_a_json_block_on_a_page_is_valid_settings(block: Block, monkeypatch: pytest.MonkeyPatch):
    for name in re.findall(r"\$\{([A-Z_]+)\}", block.text):
        monkeypatch.setenv(name, "a-value")
    read = settings_from(json.loads(block.text), folder=ROOT)
    assert read.problems == {}
    assert read.notes == ()
    assert read.servers
