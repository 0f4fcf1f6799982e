"""The section `planning`: whether plans learn from runs. What is not understood counts as off."""

from __future__ import annotations

from typing import Any

import pytest

from xai_mcp_agent import Settings, settings_from
from xai_mcp_agent.settings.load import load_settings


def read(section: Any, **environ: str) -> Settings:
    document = {"mcpServers": {}, "planning": section}
    return settings_from(document, environ=environ)


def test_runs_are_learned_from_unless_somebody_says_otherwise() -> None:
    assert settings_from({"mcpServers": {}}, environ={}).planning.learns
    assert read({"learn": True}).planning.learns
    assert not read({"learn": False}).planning.learns
    assert not read({"learn": False}).notes


@pytest.mark.parametrize(
    "section", [{"learn": "no"}, {"learn": 1}, "off", [], False], ids=["text", "1", "a", "b", "c"]
)
def test_what_is_no_setting_is_noted_and_switches_it_off(section: Any) -> None:
    found = read(section)
    assert not found.planning.learns
    (note,) = found.notes
    assert "planning" in note


def test_a_misspelled_key_is_noted_with_the_right_one() -> None:
    (note,) = read({"learns": False}).notes
    assert "learn" in note
    assert "planning.learns" in note


def test_one_variable_switches_all_learning_off_and_on(tmp_path: Any) -> None:
    off = read({"learn": True}, XAI_MCP_LEARN="off")
    assert (off.planning.learns, off.search.learns) == (False, False)
    on = read({"learn": False}, XAI_MCP_LEARN="on")
    assert (on.planning.learns, on.search.learns) == (True, True)
    odd = read({}, XAI_MCP_LEARN="perhaps")
    assert not odd.planning.learns
    assert len(odd.notes) == 1
    without = load_settings(start=tmp_path, environ={"XAI_MCP_LEARN": "off"})
    assert not without.planning.learns


def test_a_server_may_have_this_name_in_a_bare_map() -> None:
    found = settings_from({"planning": {"command": "x"}}, environ={})
    assert (list(found.servers), found.planning.learns) == (["planning"], True)
