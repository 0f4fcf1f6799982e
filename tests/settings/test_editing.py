"""A server is added to the text of a settings file; comments and order stay. Decided by us."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import json5
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.any_json import JSON
from xai_mcp_agent import SettingsError
from xai_mcp_agent.settings.editing import text_with_server, text_without

ENTRY = {"command": "npx", "args": ["-y", "new@1.0.0"], "disabled": True}
NEW = """\
    "new": {
      "command": "npx",
      "args": [
        "-y",
        "new@1.0.0"
      ],
      "disabled": true
    }
"""


def extend(folder: Path, text: str, name: str = "new") -> str:
    file = folder / "mcp_settings.json"
    file.write_bytes(text.encode())
    return text_with_server(file, name, ENTRY)


def test_comments_commas_and_order_stay(tmp_path: Path):
    before = """\
{
  // mine
  "store": "off",
  "mcpServers": {
    "a": {"command": "x"}, // the first
    /* and no more { */
  },
  "later": 1,
}
"""
    after = extend(tmp_path, before)
    assert after == before.replace("{ */\n", "{ */\n" + NEW)


def test_a_file_of_any_layout_gets_one_more_server(tmp_path: Path):
    """Also one without a section, which has servers alone."""
    cases: list[tuple[str, str]] = [
        ("mcpServers", "{}"),
        ("mcpServers", '{"mcpServers": {}}'),
        ("mcpServers", '{"mcpServers": {"a": {"command": "x"}}}'),
        ("", '{"a": {"command": "x"}}'),
        ("servers", '{"servers": {"a": {"url": "http://x/{,"}}, "inputs": []}'),
        ("mcpServers", "{mcpServers: {'a': {command: 'x,}'}}}"),
        ("mcpServers", '{"store": "off"}'),
        ("mcpServers",
         '{"builtin": {"mcpServers": {"z": {}}}, "mcpServers": {"a": {"command": "}"}}}'),
        ("mcpServers",
         '{"mcpServers": {"a": {"command": "x", "args": ["[", "//"]} /* last */ } /* end */ }'),
        ("mcpServers", '{\r\n\t"mcpServers": {\r\n\t\t"a": {"command": "x"}\r\n\t}\r\n}\r\n'),
        ("mcpServers", '\ufeff{"mcpServers": {"a": {"command": "x"}}}'),
    ]  # fmt: skip
    for section, text in cases:
        before: Any = json5.loads(text.removeprefix("\ufeff"))
        servers = {**(before.get(section, {}) if section else before), "new": ENTRY}
        after = {**before, section: servers} if section else servers
        assert json5.loads(extend(tmp_path, text).removeprefix("\ufeff")) == after


def test_a_file_that_cannot_be_extended_is_reported(
    tmp_path: Path,
):
    for text, says in (
        ('{"mcpServers": {"new": {}}}', "already a server of this name"),
        ('{"mcpServers": []}', "must be an object of MCP servers"),
        ('{"mcpServers": {', "this is not JSON"),
        ("", "the file is empty"),
    ):
        with pytest.raises(SettingsError, match=says):
            extend(tmp_path, text)
    twice = '{"mcpServers": {}, "mcpServers": {"a": {"command": "x"}}}'  # the last one counts
    assert json.loads(extend(tmp_path, twice))["mcpServers"] == {
        "a": {"command": "x"},
        "new": ENTRY,
    }


_TEXTS = st.text(max_size=4)
_OBJECTS = st.dictionaries(_TEXTS, JSON, max_size=4)


@settings(max_examples=50)
@given(
    document=_OBJECTS,
    servers=_OBJECTS,
    indent=st.sampled_from([None, 0, 2, "\t"]),
    name=st.text(min_size=5, max_size=8),
)
def test_an_addition_changes_nothing_else_in_the_file(
    tmp_path_factory: pytest.TempPathFactory,
    document: dict[str, Any],
    servers: dict[str, Any],
    indent: Any,
    name: str,
):
    folder = tmp_path_factory.getbasetemp() / "any"
    folder.mkdir(exist_ok=True)
    before = {**document, "mcpServers": servers}
    text = json.dumps(before, indent=indent)
    after = {**before, "mcpServers": {**servers, name: ENTRY}}
    assert json.loads(extend(folder, text, name)) == after


def test_a_removal_changes_nothing_else_in_the_file(tmp_path: Path):
    cases: list[tuple[str, str]] = [
        ('{"mcpServers": {"a": {"x": 1}, "new": {}}}', '{"mcpServers": {"a": {"x": 1}}}'),
        ('{"mcpServers": {"new": {}, "a": 1}}', '{"mcpServers": {"a": 1}}'),
        ("{mcpServers: {\n  'new': {}, // why\n  a: 1\n}}", "{mcpServers: {\n  // why\n  a: 1\n}}"),
        ('{"mcpServers": {\n  "a": 1,\n  "new": {}\n}}', '{"mcpServers": {\n  "a": 1\n}}'),
    ]
    for before, after in cases:
        file = tmp_path / "mcp_settings.json"
        file.write_text(before)
        assert text_without(file, "mcpServers", "new") == after


def test_a_replaced_entry_stays_in_its_place(tmp_path: Path):
    file = tmp_path / "mcp_settings.json"
    file.write_text('{"mcpServers": {\n  "new": {"a": [1]}, // why\n  "b": 1\n}}')
    text = text_with_server(file, "new", {"command": "x"}, replaces=True)
    assert "}, // why" in text
    assert json5.loads(text) == {"mcpServers": {"new": {"command": "x"}, "b": 1}}
