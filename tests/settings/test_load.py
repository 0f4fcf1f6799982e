"""Finding and reading a settings file as a whole (design.md section 5).

`test_answers` has the notes and errors of single entries and sections.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.any_json import SCALARS, nested
from tests.support.watchdog import ends_within
from xai_mcp_agent import (
    ServerSettings,
    Settings,
    SettingsError,
    UnknownServer,
    load_settings,
    settings_from,
)
from xai_mcp_agent.core.tools import AGENT, FUNCTIONS, MCP
from xai_mcp_agent.settings.document import read_document
from xai_mcp_agent.settings.load import find_settings, user_settings_path
from xai_mcp_agent.settings.models import SECTIONS
from xai_mcp_agent.settings.sections import OtherSections
from xai_mcp_agent.settings.validation import valid_keys

ENTRY = {"command": "a"}
FILE = {"file": "tools.py"}


def write(folder: Path, document: Any = None, name: str = "mcp_settings.json") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    content = {"mcpServers": {"x": ENTRY}} if document is None else document
    content = content if isinstance(content, bytes | str) else json.dumps(content)
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


def test_a_file_is_found_in_the_folder_then_in_its_parents_up_to_the_home_folder(
    home: Path, monkeypatch: pytest.MonkeyPatch
):
    below = home / "project" / "a" / "b"
    below.mkdir(parents=True)
    write(home.parent)  # what is above belongs to somebody else
    assert find_settings(below, {}) is None
    nothing = load_settings(start=home / "project", environ={})
    assert (nothing.file, nothing.servers, nothing.problems) == ("", {}, {})
    places = [home / "project" / "mcp_settings.json", home / "mcp_settings.json"]
    places += [user_settings_path(), home / "project" / "mcp.json", home / "mcp.json"]
    assert nothing.searched == tuple(map(str, places))
    users = write(user_settings_path().parent)
    assert find_settings(below, {}) == users == user_settings_path()
    for folder in (home, home / "project", below):
        file = write(folder)
        assert find_settings(below, {}) == file
    monkeypatch.chdir(home)
    assert load_settings("~/mcp_settings.json").file == str(home / "mcp_settings.json")
    assert load_settings("mcp_settings.json").file == str(home / "mcp_settings.json")


@pytest.mark.skipif(os.name != "posix", reason="only POSIX has such folders")
def test_a_parent_that_everybody_can_write_to_is_skipped(tmp_path: Path):
    """Settings start programs, and a file in /tmp may be a stranger's."""
    shared = tmp_path / "shared"
    file = write(shared)
    (shared / "mine").mkdir()
    for mode in (0o1777, 0o777):
        shared.chmod(mode)
        assert find_settings(shared / "mine", {}) != file
    assert find_settings(shared, {}) == file


def test_the_file_of_other_clients_is_read_if_there_is_no_own_file(home: Path):
    below = home / "project" / "below"
    below.mkdir(parents=True)
    for section in ("mcpServers", "servers"):
        theirs = write(home / "project", {section: {"x": ENTRY}}, "mcp.json")
        settings = load_settings(start=below, environ={})
        assert (settings.file, [*settings.servers]) == (str(theirs), ["x"])
    ours = write(home)
    assert find_settings(below, {}) == ours


def test_the_environment_variable_names_the_file_and_a_path_overrides_it(home: Path):
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


def test_a_server_of_a_bare_map_may_have_the_name_of_a_section(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for name in (*SECTIONS, *valid_keys(OtherSections), "rules"):
        if name != "mcpServers":
            settings = settings_from({name: ENTRY, "other": ENTRY})
            assert ([*settings.servers], settings.notes) == ([name, "other"], ())
    monkeypatch.chdir(tmp_path)
    assert settings_from({"x": ENTRY}).server("x").cwd == str(tmp_path)


# The text of the file


def error_of(file: Path) -> SettingsError:
    with pytest.raises(SettingsError) as caught:
        read_document(file)
    assert caught.value.file == str(file)
    return caught.value


def test_a_file_may_have_comments_and_its_errors_have_a_line_and_quote_no_text(
    tmp_path: Path,
):
    """VS Code writes comments and trailing commas. Plain JSON would stop at the first comment."""
    text = "{\n  // mine\n  'a': {b: 1,}, /* more */\n}\n"
    assert read_document(write(tmp_path, text)) == {"a": {"b": 1}}
    error = error_of(write(tmp_path, '{\n  "TOKEN": "hidden-value"\n  "b": 1\n}'))
    assert error.key_path == "line 3, column 3"
    assert "Expecting ',' delimiter" in error.problem
    assert "hidden" not in str(error)
    error = error_of(write(tmp_path, '{\n  // fine\n  "a": 1,\n  "b": ]\n}'))
    assert error.key_path == "line 4, column 8"
    document = read_document(write(tmp_path, '{"a": 1, "b": 2, "a": 3}'))
    assert (document, document.repeated) == ({"a": 3, "b": 2}, ("a",))


def test_a_file_that_cannot_be_settings_is_reported_clearly(tmp_path: Path):
    rows: list[tuple[bytes, str]] = [
        (b"", "empty"), (b"  \n", "empty"), (b"\xff\xfe{\x00}", "not UTF-8"),
        (b"[1]", "a list"), (b"null", "null"), (b'"text"', "a text"),
        (b"[" * 100_000, "nested too deeply"), (b"/**/" + b"[" * 3_000, "nested too deeply"),
        (b'{"a": ' + b"1" * 5_000 + b"}", "too many digits"),
        (b" " * 1_000_001, "larger than 1,000,000 bytes"),
    ]  # fmt: skip
    for content, problem in rows:
        assert problem in error_of(write(tmp_path, content)).problem
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        assert "not a regular file" in error_of(tmp_path / "pipe").problem


_JSON = nested(SCALARS, st.sampled_from(["mcpServers", "servers", "x"]) | st.text(max_size=8))


@given(value=_JSON, text=st.text(alphabet=st.characters(codec="utf-8"), max_size=200))
def test_any_text_and_any_json_value_is_settings_or_a_settings_error(
    tmp_path_factory: pytest.TempPathFactory, value: Any, text: str
):
    with suppress(SettingsError):
        assert str(settings_from(value, environ={}))
    with suppress(SettingsError):
        assert isinstance(read_document(write(tmp_path_factory.getbasetemp() / "any", text)), dict)


@pytest.mark.parametrize("depth", [40, 5_000])
def test_deeply_nested_lists_are_read_quickly(tmp_path: Path, depth: int):
    """A stranger's file is read before anybody trusts it. Quoting nested quotes took forever."""
    note = "[" * depth + "]" * depth
    file = write(tmp_path, f'{{"mcpServers": {{"a": {{"command": "x", "note": {note}}}}}}}')
    with ends_within(30), suppress(SettingsError):
        assert [*load_settings(file, environ={}).sources] == ["a"]


# Names


def test_a_wrong_name_is_reported_with_the_section_to_look_in():
    agents = {"a": {"url": "https://example.org/agent"}}
    settings = settings_from(
        {"mcpServers": {"s": ENTRY}, "functions": {"f": FILE, "bad": {}}, "agents": agents}
    )
    assert [*settings.servers] == ["s"]
    kinds = [settings.kind_of(x) for x in "sfax"]
    assert kinds == [MCP, FUNCTIONS, AGENT, None]
    for name in ("f", "bad"):
        with pytest.raises(UnknownServer, match="is under `functions`"):
            settings.server(name)
    with pytest.raises(UnknownServer, match="The one of that name is under `agents`"):
        settings.source("a", MCP)
    with pytest.raises(UnknownServer, match="No agent 'b'"):
        settings.source("b", AGENT)
    with pytest.raises(UnknownServer) as caught:
        settings.source("x")
    assert str(caught.value).startswith("No source 'x' in settings given in Python. Known: a, bad,")


def test_an_unknown_server_is_reported_with_the_nearest_name_or_the_searched_places():
    settings = settings_from({"zeta": ENTRY, "time": ENTRY, "bad": {}, "\x1b[31mred": ENTRY})
    with pytest.raises(UnknownServer) as caught:
        settings.server("tmie")
    assert caught.value.known[0] == "time"
    assert "No MCP server 'tmie' in settings given in Python. Did you mean 'time'?" in str(
        caught.value
    )
    assert "\x1b" not in str(caught.value)
    with pytest.raises(UnknownServer) as caught:
        Settings(file="", searched=("/a/mcp_settings.json",)).server("x")
    assert "/a/mcp_settings.json" in str(caught.value)
    assert "xai-mcp-agent init" in str(caught.value)


def test_settings_that_are_read_again_replace_all_sources_except_added_ones():
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
