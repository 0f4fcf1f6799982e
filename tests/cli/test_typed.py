"""A server that is typed as a URL or a command, in place of a name that the settings have."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_servers import SERVERS, command
from tests.support.fault_http import FaultHttp
from tests.support.warm_python import warm_python
from xai_mcp_agent.cli.typed import entry_of, is_typed, own_name_for

UNITS = str(SERVERS / "units.py")
NAME = own_name_for(entry_of([UNITS]))
MILES = ("value=5", "from_unit=mi", "to_unit=km")
QUESTION = "Convert 5 miles to kilometres"


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of which no settings file is found."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "configuration"))
    return tmp_path


def settings_with(folder: Path, entry: dict[str, Any]) -> None:
    """A settings file in this folder that has one server, `it`."""
    text = json.dumps({"mcpServers": {"it": entry}})
    (folder / "mcp_settings.json").write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("call", UNITS, "convert_units", *MILES), "5 mi = 8.04672 km"),
        (("tools", "list", UNITS, "--as-list"), '"convert_units", "list_units"'),
        (("tools", "list", UNITS, "--all"), "never called"),
        (("tools", "refresh", UNITS), "units"),
        (("tools", "explain", UNITS, "convert_units"), "from_unit"),
        (("search", "convert miles", "--server", UNITS), f"{NAME}: convert_units("),
        (("servers", "check", UNITS, "--descriptions"), f"{NAME}: ready, 2 tools"),
        (("rules", "check", UNITS), "There are no rules"),
        (("rules", "why", UNITS, "list_units"), f"{NAME}/list_units"),
        (("plan", "make", QUESTION, "--server", UNITS), "convert_units"),
        (("ask", QUESTION, "--server", UNITS), "5 mi = 8.04672 km"),
    ],
    ids=lambda x: " ".join(y for y in x if y != UNITS)[:20] if isinstance(x, tuple) else "",
)
def test_a_file_of_python_stands_wherever_a_name_does_and_needs_no_settings(
    nowhere: Path, capsys: Any, words: tuple[str, ...], told: str
) -> None:
    status, out, err = command(capsys, *words)
    assert (status, err) == (0, "")
    assert told in out


def test_a_url_and_a_command_do_too(nowhere: Path, capsys: Any) -> None:
    started = f"'{warm_python()}' '{UNITS}'"
    assert '"convert_units"' in command(capsys, "tools", "list", started, "--as-list")[1]
    server = FaultHttp()
    server.start()
    try:
        status, out, _ = command(capsys, "tools", "list", server.url, "--json")
    finally:
        server.close()
    assert status == 0
    assert len(json.loads(out)["tools"]) == 1


def test_what_cannot_be_reached_is_reported_with_its_address(nowhere: Path, capsys: Any) -> None:
    status, _, err = command(capsys, "tools", "list", "http://127.0.0.1:9/mcp")
    assert status == 1
    assert "http://127.0.0.1:9/mcp cannot be reached" in err


def test_another_kind_of_address_is_refused_as_what_was_typed(nowhere: Path, capsys: Any) -> None:
    status, _, err = command(capsys, "call", "ftp://example.org/x", "tool")
    assert status == 1
    assert "what you typed, at url: it does not start with http:// or https://" in err


@pytest.mark.parametrize("word", ["true", "python3", "my tools", "library", "no_such.py", "", " "])
def test_a_name_starts_nothing(nowhere: Path, capsys: Any, word: str) -> None:
    """Not even where a program is called so."""
    assert not is_typed(word)
    assert command(capsys, "tools", "list", word)[0] == (1 if word.strip() else 2)


@pytest.mark.parametrize(
    "words", [["tools", "list"], ["ask", "x", "--server"], ["servers", "check"]]
)
def test_the_name_that_the_history_has_of_it_is_reported_as_one(
    nowhere: Path, capsys: Any, words: list[str]
) -> None:
    """A digest leads back to no address, so the person is told what to type."""
    command(capsys, "call", UNITS, "convert_units", *MILES)
    status, out, err = command(capsys, *words, NAME)
    assert (status, out) == (1, "")
    assert f"{NAME!r} is the name under which the history has a server that was typed" in err
    assert "the URL, file or command of 'units'" in err


def test_what_is_known_of_it_is_reported_and_decided_by_that_name(
    nowhere: Path, capsys: Any
) -> None:
    command(capsys, "call", UNITS, "convert_units", *MILES)
    assert "convert_units: 1 call" in command(capsys, "tools", "list", NAME, "--all")[1]
    assert command(capsys, "tools", "disable", NAME, "list_units")[0] == 0


@pytest.mark.parametrize("path", ["no_such.py", "no/such/program"])
def test_a_path_that_leads_nowhere_is_reported_as_one(
    nowhere: Path, capsys: Any, path: str
) -> None:
    status, _, err = command(capsys, "tools", "list", path)
    assert status == 1
    assert f"there is no file {path!r}" in err


def test_a_name_that_the_settings_have_is_that_server_whatever_it_looks_like(
    nowhere: Path, capsys: Any
) -> None:
    name = f"{shutil.which('true')} x"
    text = json.dumps({"mcpServers": {name: {"command": warm_python(), "args": [UNITS]}}})
    (nowhere / "mcp_settings.json").write_text(text, encoding="utf-8")
    assert is_typed(name)
    assert list(json.loads(command(capsys, "tools", "list", name, "--json")[1])["tools"]) == [name]


def test_what_the_settings_have_under_a_name_is_used_as_they_say(
    nowhere: Path, capsys: Any
) -> None:
    """With the headers, limits and decisions that they have for it."""
    settings_with(nowhere, {"url": "http://127.0.0.1:9/mcp", "headers": {"X-Key": "abc"}})
    told = json.loads(command(capsys, "tools", "list", "http://127.0.0.1:9/mcp", "--json")[1])
    assert list(told["failed"]) == ["it"]


def test_settings_that_nobody_agreed_to_do_not_stand_in_the_way_and_start_nothing(
    nowhere: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XAI_MCP_TRUST", "none")
    mark = nowhere / "started"
    settings_with(nowhere, {"command": "touch", "args": [str(mark)]})
    status, out, _ = command(capsys, "call", UNITS, "convert_units", *MILES)
    assert status == 0
    assert "8.04672" in out
    assert command(capsys, "tools", "list", "it")[0] == 1
    assert not mark.exists()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://a.test:1/mcp", "https://a.test:1/mcp"),
        ("http://mcp.a.test/", "http://a.test/"),
        ("http://a.test/x?set=1", "http://a.test/x?set=2"),
        ("http://a.test/s/0123456789abcdefghijklmn", "http://a.test/s/9876543210abcdefghijklmn"),
        ("npx -y @one/server", "npx -y @other/server"),
        ("https://a.test/mcp?token=abc123secret0", "https://a.test.evil.test/mcp?token=.evil.test"),
    ],
)
def test_others_of_the_same_name_are_distinguished(one: str, other: str) -> None:
    assert own_name_for(entry_of([one])) != own_name_for(entry_of([other]))


def test_the_same_server_is_known_again(nowhere: Path) -> None:
    (nowhere / "mine.py").touch()
    names = {own_name_for(entry_of([x])) for x in ("mine.py", str(nowhere / "mine.py"))}
    keys = {own_name_for({"url": f"http://a.test/?api_key=sk-secret{x}1234567"}) for x in "ab"}
    assert len(names) == len(keys) == 1


def test_a_folder_called_as_a_package_does_not_make_it_another_server(nowhere: Path) -> None:
    before = own_name_for(entry_of(["npx some-server"]))
    (nowhere / "some-server").mkdir()
    assert own_name_for(entry_of(["npx some-server"])) == before


def test_a_decision_on_one_is_none_on_another_of_the_same_name(nowhere: Path, capsys: Any) -> None:
    other = nowhere / "units.py"
    shutil.copy(UNITS, other)
    assert "switched off" in command(capsys, "tools", "disable", UNITS, "list_units")[1]
    assert "list_units" not in command(capsys, "tools", "list", UNITS, "--usable")[1]
    assert "list_units" in command(capsys, "tools", "list", str(other), "--usable")[1]


@pytest.mark.parametrize(
    "words",
    [
        ("tools", "list", UNITS, "--at", "0s"),
        ("history", "show", "--server", UNITS),
        ("history", "diff", UNITS),
        ("history", "graph", UNITS),
    ],
    ids=lambda x: x[0],
)
def test_what_the_history_has_of_it_is_found_as_it_was_typed(
    nowhere: Path, capsys: Any, words: tuple[str, ...]
) -> None:
    command(capsys, "tools", "list", UNITS)
    status, out, err = command(capsys, *words)
    assert (status, err) == (0, "")
    assert "convert_units" in out


def test_a_secret_in_a_url_is_not_shown(nowhere: Path, capsys: Any) -> None:
    url = "http://me:hush-hush-hush-1234@127.0.0.1:9/mcp?api_key=sk-verysecret12345678"
    out = "".join(map(str, command(capsys, "tools", "list", url)))
    assert "cannot be reached" in out
    assert "hush-hush" not in out
    assert "verysecret" not in out


def test_without_settings_both_ways_on_are_reported(nowhere: Path, capsys: Any) -> None:
    _, _, err = command(capsys, "tools", "list", "units")
    assert "xai-mcp-agent init" in err
    assert "the URL of a server" in err
