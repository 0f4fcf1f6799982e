"""Finding and reading a settings file as a whole (design.md section 5)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.watchdog import ends_within
from xai_mcp_agent import SettingsError, load_settings, settings_from
from xai_mcp_agent.settings.load import find_settings, user_settings_path
from xai_mcp_agent.settings.models import SECTIONS
from xai_mcp_agent.settings.sections import OtherSections
from xai_mcp_agent.settings.validation import known_keys

ENTRY = {"command": "a"}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder of our own, so that the one of whoever runs the tests is not looked into."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("USERPROFILE", str(folder))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / ".config"))
    return folder


def write(folder: Path, document: Any = None, name: str = "mcp_settings.json") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    content = {"mcpServers": {"x": ENTRY}} if document is None else document
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return file


def test_a_file_is_found_in_the_folder_then_in_its_parents_up_to_the_home_folder(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    below = home / "project" / "a" / "b"
    below.mkdir(parents=True)
    write(home.parent)  # what is above belongs to somebody else
    assert find_settings(below, {}) is None
    users = write(user_settings_path().parent)
    assert find_settings(below, {}) == users == user_settings_path()
    for folder in (home, home / "project", below):
        file = write(folder)
        assert find_settings(below, {}) == file
    monkeypatch.chdir(home)
    assert load_settings("~/mcp_settings.json").file == str(home / "mcp_settings.json")
    assert load_settings("mcp_settings.json").file == str(home / "mcp_settings.json")


@pytest.mark.skipif(os.name != "posix", reason="only POSIX has such folders")
def test_a_parent_everybody_can_write_to_is_passed_over(tmp_path: Path) -> None:
    """Settings name programs to start; in /tmp they may be a stranger's."""
    shared = tmp_path / "shared"
    file = write(shared)
    (shared / "mine").mkdir()
    for mode in (0o1777, 0o777):
        shared.chmod(mode)
        assert find_settings(shared / "mine", {}) != file
    assert find_settings(shared, {}) == file


@pytest.mark.parametrize("section", ["mcpServers", "servers"])
def test_the_file_of_other_clients_counts_where_there_is_none_of_our_own(
    home: Path, section: str
) -> None:
    project = home / "project"
    theirs = write(project, {section: {"x": ENTRY}}, "mcp.json")
    (project / "below").mkdir()
    found = load_settings(start=project / "below", environ={})
    assert (found.file, [*found.servers]) == (str(theirs), ["x"])
    ours = write(home)
    assert find_settings(project / "below", {}) == ours


def test_the_environment_variable_decides_and_a_path_wins_over_it(home: Path) -> None:
    write(home)
    file = write(home / "other", name="mine.json")
    environ = {"XAI_MCP_SETTINGS": str(file)}
    assert load_settings(start=home, environ=environ).file == str(file)
    settings = load_settings(file, start=home, environ={"XAI_MCP_SETTINGS": "/nowhere"})
    assert (settings.file, settings.searched) == (str(file), (str(file),))
    with pytest.raises(SettingsError, match="XAI_MCP_SETTINGS names this file"):
        load_settings(environ={"XAI_MCP_SETTINGS": str(home / "no.json")})
    with pytest.raises(SettingsError, match="no such file"):
        load_settings(home / "no.json")


def test_without_any_file_the_settings_are_empty_and_tell_where_they_looked(home: Path) -> None:
    settings = load_settings(start=home / "project", environ={})
    assert (settings.file, settings.servers, settings.problems) == ("", {}, {})
    assert settings.searched == (
        str(home / "project" / "mcp_settings.json"),
        str(home / "mcp_settings.json"),
        str(user_settings_path()),
        str(home / "project" / "mcp.json"),
        str(home / "mcp.json"),
    )


def test_a_server_of_a_bare_map_may_have_the_name_of_a_section() -> None:
    cases: list[str] = [*SECTIONS, *known_keys(OtherSections), "rules"]
    for name in cases:
        if name != "mcpServers":
            assert [*settings_from({name: ENTRY, "other": ENTRY}).servers] == [name, "other"]
            assert settings_from({name: ENTRY, "other": ENTRY}).notes == ()


def test_a_misspelled_top_key_is_not_taken_for_a_server() -> None:
    cases: list[str] = ["mcp_servers", "MCPServers", "mcp-servers", "mcpServer"]
    for key in cases:
        with pytest.raises(SettingsError, match="Rename it to 'mcpServers'"):
            settings_from({key: {"x": ENTRY}})


def test_a_missing_variable_disables_only_that_server(tmp_path: Path) -> None:
    """design.md 1.6: nothing sinks."""
    entry = {"command": "a", "env": {"TOKEN": "${GITHUB_TOKEN}"}}
    file = write(tmp_path, {"mcpServers": {"github": entry, "time": ENTRY}})
    settings = load_settings(file, environ={})
    assert [*settings.servers] == ["time"]
    assert str(settings.problems["github"]) == (
        f"{file}, at mcpServers.github.env.TOKEN: environment variable GITHUB_TOKEN is not set. "
        "Write GITHUB_TOKEN=... into the file .env beside this one. "
        "Or set it before starting, or give a default: ${GITHUB_TOKEN:-...}."
    )


def test_settings_given_in_python_start_from_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert settings_from({"x": ENTRY}).server("x").cwd == str(tmp_path)


def test_a_server_written_twice_is_disabled_and_named(tmp_path: Path) -> None:
    """JSON keeps the last one without a word."""
    text = '{"mcpServers": {"x": {"command": "a"}, "y": {"command": "b"}, "x": {"command": "c"}}}'
    settings = load_settings(write(tmp_path, text))
    assert [*settings.servers] == ["y"]
    assert settings.problems["x"].key_path == "mcpServers.x"
    assert "more than once" in settings.problems["x"].problem


def test_a_key_written_twice_in_an_entry_is_a_problem(tmp_path: Path) -> None:
    """With a comment too: then another parser reads the file."""
    cases: list[tuple[str, str]] = [
        ('{"command": "a", "command": "b"}', "x.command"),
        ('{"command": "a", "env": {"A": "1", "A": "2"}}', "x.env.A"),
        ('{"command": "a", "approval": {"b": "deny", "b": "allow"}}', "x.approval.b"),
        ('{"url": "http://h", "auth": {"clientId": "1", "clientId": "2"}}', "x.auth.clientId"),
        ('{"command": "a", "breaker": {"failures": 1, "failures": 2}}', "x.breaker.failures"),
    ]
    for entry, key_path in cases:
        for text in (f'{{"x": {entry}}}', f'{{/**/"x": {entry}}}'):
            assert load_settings(write(tmp_path, text)).problems["x"].key_path == key_path


def test_a_word_of_approval_written_twice_is_an_error(tmp_path: Path) -> None:
    """The milder one might count."""
    words = '{"mcpServers": {}, "approval": {"b": "deny", "b": "allow"}}'
    with pytest.raises(SettingsError, match=r"approval\.b: this key is written more than once"):
        load_settings(write(tmp_path, words))


def test_all_secrets_of_a_file_are_known_afterwards() -> None:
    """What a server prints later is masked with them."""
    settings = settings_from(
        {
            "a": {"command": "x", "args": ["--token", "secret-1"], "env": {"API_KEY": "secret-2"}},
            "b": {"url": "https://u:secret-3@h/", "headers": {"Authorization": "Bearer secret-4"}},
            "c": {"command": "x", "args": ["${MY_PASSWORD}"], "disabled": True},
            "d": {"command": "x", "env": {"TOKEN": "secret-6"}, "disabled": True},
        },
        environ={"MY_PASSWORD": "secret-5"},
    )
    text = " ".join(f"secret-{i}" for i in range(1, 7))
    assert settings.secrets.redact(text) == "*** *** *** *** *** ***"
    assert "secret-" not in repr(settings)


_JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=10)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(
            st.one_of(st.sampled_from(["mcpServers", "servers", "x"]), st.text(max_size=8)),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=15,
)


@given(value=_JSON)
def test_any_json_value_is_settings_or_a_settings_error(value: Any) -> None:
    with suppress(SettingsError):
        assert str(settings_from(value, environ={}))


def test_reading_settings_does_not_wait_for_heavy_libraries() -> None:
    """`import xai_mcp_agent` and the command line stay quick."""
    code = (
        "import sys, xai_mcp_agent.settings.load; "
        "print([x for x in ('mcp', 'openai', 'json5', 'platformdirs', 'anyio', 'jsonschema_rs') "
        "if x in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("depth", [40, 5_000])
def test_lists_in_lists_keep_nobody_busy(tmp_path: Path, depth: int) -> None:
    """A file of a stranger is read before anybody trusts it; quoting its quotes took forever."""
    note = "[" * depth + "]" * depth
    text = f'{{"mcpServers": {{"a": {{"command": "x", "note": {note}}}}}}}'
    file = tmp_path / "mcp_settings.json"
    file.write_text(text, encoding="utf-8")
    with ends_within(30), suppress(SettingsError):
        assert [*load_settings(file, environ={}).sources] == ["a"]
