"""The values: what they show, and what asking for a server answers."""

from __future__ import annotations

import pytest

from xai_mcp_agent import ServerSettings, Settings, UnknownServer, settings_from

SERVER = ServerSettings(
    name="x",
    transport="stdio",
    command="npx",
    args=("-y", "server", "--token", "arg-secret", "--key=short", "https://u:pw@h/?q=query-secret"),
    env={"ANYTHING": "env-secret"},
    url="https://user-secret:pw@h/mcp?a=query-secret",
    headers={"Accept": "header-secret"},
)


def test_a_server_never_shows_its_secrets() -> None:
    """design.md 1.7; also for one made by hand, without the file's secrets."""
    for shown in (repr(SERVER), str(SERVER), SERVER.target, f"{SERVER}", repr([SERVER])):
        assert "secret" not in shown
        assert "short" not in shown
        assert "pw" not in shown


def test_an_unknown_name_is_answered_with_the_known_ones_nearest_first() -> None:
    settings = settings_from({"zeta": {"command": "a"}, "time": {"command": "a"}, "bad": {}})
    with pytest.raises(UnknownServer) as caught:
        settings.server("tmie")
    assert caught.value.known == ("time", "bad", "zeta")
    assert str(caught.value) == (
        "No MCP server 'tmie' in settings given in Python. Did you mean 'time'? "
        "Known: time, bad, zeta. Correct the name, or add it under `mcpServers`."
    )


def test_without_any_file_the_person_learns_where_it_was_looked_for() -> None:
    with pytest.raises(UnknownServer) as caught:
        Settings(file="", searched=("/a/mcp_settings.json",)).server("x")
    assert "/a/mcp_settings.json" in str(caught.value)
    assert "xai-mcp-agent init" in str(caught.value)


def test_a_name_that_would_garble_a_terminal_is_shown_escaped() -> None:
    with pytest.raises(UnknownServer) as caught:
        settings_from({"\x1b[31mred": {"command": "a"}, "": {}}).server("x")
    assert "\x1b" not in str(caught.value)


def test_settings_that_were_read_again_replace_all_sources_but_the_added_ones() -> None:
    settings = settings_from({"mcpServers": {"a": {"command": "a"}, "b": {"command": "b"}}})
    settings.add(ServerSettings(name="mine", command="mine"))
    settings.add(ServerSettings(name="late", command="late"))
    again = {"b": {"command": "c", "env": {"TOKEN": "sesame-12"}}, "bad": {}, "late": {"url": "x"}}
    settings.exchange_sources(settings_from({"mcpServers": again}))
    assert {name: x.command for name, x in settings.servers.items()} == {"b": "c", "mine": "mine"}
    assert settings.added == {"mine"}
    assert sorted(settings.problems) == ["bad", "late"]
    assert "sesame-12" not in settings.servers["b"].secrets.redact("sesame-12")
    assert "sesame-12" not in settings.secrets.redact("sesame-12")
