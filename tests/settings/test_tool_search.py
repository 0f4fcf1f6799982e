"""What the settings say of which tools a model is shown: a slip never opens what was shut."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from xai_mcp_agent import Settings, SettingsError, load_settings, settings_from
from xai_mcp_agent.settings.sections import (
    EmbeddingSettings,
    ToolSearchSettings,
)

SERVER = {"command": "a"}


def read(section: Any, **environ: str) -> Settings:
    document = {"mcpServers": {"a": SERVER}, "toolSearch": section}
    return settings_from(document, environ=environ)


def test_everything_in_it_is_read():
    found = read(
        {
            "tokenBudget": 5000, "alwaysShown": ["calendar", " files/read_file "],
            "blocked": "dangerous",
            "trusted": ["library"], "groups": {"dangerous": ["files/delete_*", "shell"]},
            "learn": False, "embeddings": {"model": "m"},
        }
    )  # fmt: skip
    assert found.notes == ()
    assert found.search == ToolSearchSettings(
        5000, ("calendar", "files/read_file"), ("dangerous",), ("library",),
        {"dangerous": ("files/delete_*", "shell")}, learns=False, embeddings=EmbeddingSettings("m"),
    )  # fmt: skip


def test_the_variable_for_the_budget_wins():
    assert read({"tokenBudget": 5000}, XAI_TOOL_BUDGET=" 900 ").search.budget_tokens == 900
    assert read({"tokenBudget": 5000}, XAI_TOOL_BUDGET=" ").search.budget_tokens == 5000
    assert read({"tokenBudget": "x"}, XAI_TOOL_BUDGET="900").search.budget_tokens == 900


def test_where_nobody_can_tell_what_is_blocked_nothing_is_used():
    cases: list[Any] = [
        {"blocked": {"a": 1}},
        {"blocked": 3},
        {"blocked": True},
        {"blocked": ["a", 3]},
        {"blocked": [["a"]]},
        {"blocked": [""]},
        {"blocked": ["${NONE}"]},
        {"block": ["a"]},
        {"Blocked": ["a"]},
        {"blockedTools": ["a"]},
        {"blocked": ["bad"], "groups": {"bad": "${NONE}"}},
        {"blocked": ["bad"], "groups": {"bad": 3}},
        {"blocked": ["bad"], "groups": ["bad"]},
        ["a"],
        "a",
        [{"blocked": ["a"]}],
    ]
    for section in cases:
        with pytest.raises(SettingsError, match="toolSearch"):
            read(section)


def test_what_is_written_twice_or_in_another_way_is_refused(tmp_path: Path):
    """The one that counts would be the one that blocks less."""
    cases: list[str] = [
        '{"mcpServers": {}, "toolSearch": {"blocked": ["a"], "blocked": []}}',
        '{"mcpServers": {}, "toolSearch": {"blocked": ["g"], "groups": {"g": ["a"], "g": []}}}',
        '{"mcpServers": {}, "toolSearch": {"blocked": ["a"]}, "toolSearch": {}}',
        '{"functions": {}, "toolSearch": {"blocked": ["a"]}, "toolSearch": {}}',
        '{"mcpServers": {}, "tool_search": {"blocked": ["a"]}}',
        '{"mcpServers": {}, "ToolSearch": {"blocked": ["a"]}}',
        '{"a": {"command": "x"}, "tool-search": {"blocked": ["a"]}}',
    ]
    for text in cases:
        file = tmp_path / "mcp_settings.json"
        file.write_text(text, encoding="utf-8")
        with pytest.raises(SettingsError, match=r"(?i)tool[_-]?search"):
            load_settings(file, environ={})


def test_the_endpoint_of_embeddings_keeps_its_key_to_itself():
    written = {"model": "m", "baseUrl": "http://u:a-password@x/v1", "apiKey": "${KEY}"}
    found = read({"embeddings": written}, KEY="very-secret-key")
    embeddings = found.search.embeddings
    assert embeddings is not None
    assert embeddings.api_key is not None
    assert embeddings.api_key.reveal() == "very-secret-key"
    assert "very-secret-key" not in repr(embeddings)
    assert found.secrets.redact("very-secret-key a-password") == "*** ***"
