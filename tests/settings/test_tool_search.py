"""What the settings say of which tools a model is shown: a slip never opens what was shut."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from xai_mcp_agent import Settings, SettingsError, load_settings, settings_from
from xai_mcp_agent.settings.sections import (
    DEFAULT_BUDGET_TOKENS,
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


@pytest.mark.parametrize(
    "section", [None, {}, {"blocked": None, "groups": None, "alwaysShown": []}]
)
def test_nothing_in_it_means_the_defaults(section: Any):
    found = read(section)
    assert (found.search, found.notes) == (ToolSearchSettings(), ())


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


@pytest.mark.parametrize("written", [0, -1, True, "3800", 3.5, [], {}])
def test_a_budget_that_is_invalid_is_noted_and_the_default_counts(written: Any):
    found = read({"tokenBudget": written})
    assert found.search.budget_tokens == DEFAULT_BUDGET_TOKENS
    (note,) = found.notes
    assert "toolSearch.tokenBudget: must be " in note


@pytest.mark.parametrize("written", ["0", "-1", "3.8k", "1e4", "\u0663", "0x10"])
def test_a_variable_that_is_no_budget_is_noted(written: str):
    found = read({"tokenBudget": 5000}, XAI_TOOL_BUDGET=written)
    assert found.search.budget_tokens == 5000
    (note,) = found.notes
    assert f"XAI_TOOL_BUDGET={written} is not a whole number above 0, so 5000 is used" in note


@pytest.mark.parametrize("written", [10**30, 10**9])
def test_a_huge_budget_is_one(written: int):
    assert read({"tokenBudget": written}).search.budget_tokens == written
    assert read(None, XAI_TOOL_BUDGET="9" * 10_000).search.budget_tokens >= 10**8


@pytest.mark.parametrize(
    ("key", "written"),
    [("alwaysShown", 3), ("alwaysShown", ["a", 3]), ("trusted", {"a": True}), ("trusted", [" "]),
     ("groups", []), ("groups", {"g": 3}), ("groups", {"g": [None]}), ("embeddings", "m"),
     ("alwaysShown", ["${NONE}"]),
     ("embeddings", {"model": 3}), ("embeddings", {"model": "m", "apiKey": "${NONE}"}),
     ("embeddings", {"baseUrl": "http://x/v1"}), ("embeddings", {"model": "m", "folder": "f"})],
)  # fmt: skip
def test_what_is_wrong_elsewhere_is_noted_and_left_out(key: str, written: Any):
    found = read({key: written, "tokenBudget": 5000})
    assert found.search.budget_tokens == 5000
    (note,) = found.notes
    assert f"toolSearch.{key}" in note


def test_one_who_may_have_said_that_nothing_is_learnt_is_believed():
    found = read({"learn": "no"})
    assert not found.search.learns
    assert "Until then it counts as false" in found.notes[0]


def test_a_key_that_is_not_known_is_noted_with_the_one_it_may_be_meant_for():
    found = read({"tokenBuget": 3})
    assert found.notes[0].endswith("unknown key, ignored. Did you mean 'tokenBudget'?")


@pytest.mark.parametrize(
    "section",
    [
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
    ],
)
def test_where_nobody_can_tell_what_is_blocked_nothing_is_used(section: Any):
    with pytest.raises(SettingsError, match="toolSearch"):
        read(section)


def test_what_is_blocked_may_stand_in_a_variable():
    assert read({"blocked": ["${S}/x"]}, S="files").search.blocked == ("files/x",)


@pytest.mark.parametrize(
    "text",
    [
        '{"mcpServers": {}, "toolSearch": {"blocked": ["a"], "blocked": []}}',
        '{"mcpServers": {}, "toolSearch": {"blocked": ["g"], "groups": {"g": ["a"], "g": []}}}',
        '{"mcpServers": {}, "toolSearch": {"blocked": ["a"]}, "toolSearch": {}}',
        '{"functions": {}, "toolSearch": {"blocked": ["a"]}, "toolSearch": {}}',
        '{"mcpServers": {}, "tool_search": {"blocked": ["a"]}}',
        '{"mcpServers": {}, "ToolSearch": {"blocked": ["a"]}}',
        '{"a": {"command": "x"}, "tool-search": {"blocked": ["a"]}}',
    ],
)
def test_what_is_written_twice_or_in_another_way_is_refused(text: str, tmp_path: Path):
    """The one that counts would be the one that blocks less."""
    file = tmp_path / "mcp_settings.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError, match=r"(?i)tool[_-]?search"):
        load_settings(file, environ={})


@pytest.mark.parametrize("beside", [{"servers": {}}, {"functions": {}}, {"a": SERVER}])
def test_it_counts_beside_every_layout_of_servers(beside: dict[str, Any]):
    found = settings_from({**beside, "toolSearch": {"blocked": ["a"]}}, environ={})
    assert found.search.blocked == ("a",)
    assert "toolSearch" not in {*found.servers, *found.problems}


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


def test_the_folder_of_a_model_is_looked_for_beside_the_settings(tmp_path: Path):
    document = {"mcpServers": {}, "toolSearch": {"embeddings": {"folder": "models/mini"}}}
    found = settings_from(document, folder=tmp_path, environ={})
    assert found.search.embeddings == EmbeddingSettings(folder=tmp_path / "models" / "mini")


def test_a_key_of_embeddings_that_is_not_known_is_noted():
    found = read({"embeddings": {"model": "m", "base_url": "http://x"}})
    assert "Did you mean 'baseUrl'?" in found.notes[0]
