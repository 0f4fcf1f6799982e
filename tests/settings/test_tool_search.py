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


def test_the_variable_counts_without_a_settings_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    found = load_settings(start=tmp_path, environ={"XAI_TOOL_BUDGET": "900"})
    assert (found.file, found.search.budget_tokens) == ("", 900)


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


def test_what_is_blocked_may_stand_in_a_variable():
    assert read({"blocked": ["${S}/x"]}, S="files").search.blocked == ("files/x",)


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


def test_a_server_may_have_that_name():
    inside = settings_from(
        {"mcpServers": {"toolSearch": SERVER}, "toolSearch": {"blocked": ["a"]}}, environ={}
    )
    bare = settings_from({"toolSearch": SERVER, "tool_search": SERVER}, environ={})
    assert (list(inside.servers), inside.search.blocked) == (["toolSearch"], ("a",))
    assert (sorted(bare.servers), bare.search) == (
        ["toolSearch", "tool_search"], ToolSearchSettings(),
    )  # fmt: skip


def test_the_endpoint_of_embeddings_keeps_its_key_to_itself():
    written = {"model": "m", "baseUrl": "http://u:a-password@x/v1", "apiKey": "${KEY}"}
    found = read({"embeddings": written}, KEY="very-secret-key")
    embeddings = found.search.embeddings
    assert embeddings is not None
    assert embeddings.api_key is not None
    assert embeddings.api_key.reveal() == "very-secret-key"
    assert "very-secret-key" not in repr(embeddings)
    assert found.secrets.redact("very-secret-key a-password") == "*** ***"
