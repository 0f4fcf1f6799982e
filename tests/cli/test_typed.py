"""A URL or a command on the command line, in place of a server's name."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from tests.support.commands import SERVERS, Cli, write_settings
from tests.support.fault_http import FaultHttp
from tests.support.warm_python import python_entry, warm_python
from xai_mcp_agent.cli.typed import entry_of, is_typed, own_name_for

UNITS = str(SERVERS / "units.py")
NAME = own_name_for(entry_of([UNITS]))
CALL = f"call {UNITS} convert_units value=5 from_unit=mi to_unit=km"
QUESTION = "'Convert 5 miles to kilometres'"


@pytest.fixture(autouse=True)
def _warm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", warm_python())


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (CALL, "5 mi = 8.04672 km"),
        (f"tools list {UNITS} --as-list", '"convert_units", "list_units"'),
        (f"search 'convert miles' --server {UNITS}", f"{NAME}: convert_units("),
        (f"servers check {UNITS} --descriptions", f"{NAME}: ready, 2 tools"),
        (f"ask {QUESTION} --server {UNITS}", "5 mi = 8.04672 km"),
    ],
    ids=lambda x: x.split()[0],
)
def test_a_python_file_works_in_place_of_a_name_without_settings(
    folder: Path, cli: Cli, line: str, text: str
):
    assert cli(line).shows(text).err == ""


def test_a_url_and_a_command_work_in_place_of_a_name(folder: Path, cli: Cli):
    cli("tools list", f"'{warm_python()}' '{UNITS}'", "--as-list").shows('"convert_units"')
    server = FaultHttp()
    server.start()
    try:
        assert len(cli(f"tools list {server.url} --json").json["tools"]) == 1
    finally:
        server.close()


def test_an_address_that_cannot_be_reached_is_shown_without_its_secrets(folder: Path, cli: Cli):
    url = "http://me:hush-hush-hush-1234@127.0.0.1:9/mcp?api_key=sk-verysecret12345678"
    ran = cli("tools list", url).fails("cannot be reached")
    assert not [x for x in ("hush-hush", "verysecret") if x in ran.err]
    cli("call ftp://example.org/x tool").fails("what you typed, at url: it does not start with ")
    for file in ("no_such.py", "no/such/program"):
        cli(f"call {file} tool").fails(f"there is no file {file!r}")


def test_a_single_word_never_starts_a_program(folder: Path, cli: Cli):
    """Even if a program has that name."""
    for word in ("true", "python3", "my tools", "library", ""):
        assert not is_typed(word)
        assert cli("tools list", word).status == (1 if word else 2)


def test_the_history_finds_a_typed_server_by_its_command_and_by_its_own_name(
    folder: Path, cli: Cli
):
    """A digest does not lead back to an address, so the error says what to type."""
    cli(CALL)
    for line in (
        f"tools list {UNITS} --at 0s", f"history show --server {UNITS}", f"history diff {UNITS}",
        f"history graph {UNITS}",
    ):  # fmt: skip
        assert cli(line).shows("convert_units").err == "", line
    for line in (f"tools list {NAME}", f"ask x --server {NAME}", f"servers check {NAME}"):
        cli(line).fails(
            f"{NAME!r} is the history's name for a server that was typed",
            "its URL, file or command again: that of 'units'",
        )
    cli(f"tools list {NAME} --all").shows("convert_units: 1 call")
    cli(f"tools disable {NAME} list_units").shows()
    assert "list_units" not in cli(f"tools list {UNITS} --usable").out
    other = shutil.copy(UNITS, folder / "units.py")
    assert "list_units" in cli(f"tools list {other} --usable").out, "of the same name"


def test_a_typed_server_that_the_settings_have_uses_their_entry(folder: Path, cli: Cli):
    """With the headers, limits and decisions of that entry."""
    name = f"{shutil.which('true')} x"
    url = {"url": "http://127.0.0.1:9/mcp", "headers": {"X-Key": "abc"}}
    write_settings(folder, {name: python_entry(UNITS), "it": url})
    assert is_typed(name)
    assert list(cli("tools list", name, "--json").json["tools"]) == [name]
    assert list(cli("tools list http://127.0.0.1:9/mcp --json").json["failed"]) == ["it"]


def test_untrusted_settings_do_not_prevent_calls_of_a_typed_server(stranger: Path, cli: Cli):
    cli(CALL).shows("8.04672")
    cli("tools list theirs").fails()
    assert not (stranger / "started").exists()


def test_different_servers_with_similar_names_are_distinguished():
    for one, other in (
        ("http://a.test:1/mcp", "https://a.test:1/mcp"),
        ("http://a.test/x?set=1", "http://a.test/x?set=2"),
        ("http://a.test/s/0123456789abcdefghijklmn", "http://a.test/s/9876543210abcdefghijklmn"),
        ("npx -y @one/server", "npx -y @other/server"),
        ("https://a.test/mcp?token=abc123secret0", "https://a.test.evil.test/mcp?token=.evil.test"),
    ):
        assert own_name_for(entry_of([one])) != own_name_for(entry_of([other]))


def test_the_same_server_always_has_the_same_name(folder: Path):
    (folder / "mine.py").touch()
    names = {own_name_for(entry_of([x])) for x in ("mine.py", str(folder / "mine.py"))}
    keys = {own_name_for({"url": f"http://a.test/?api_key=sk-secret{x}1234567"}) for x in "ab"}
    assert len(names) == len(keys) == 1
    before = own_name_for(entry_of(["npx some-server"]))
    (folder / "some-server").mkdir()
    assert own_name_for(entry_of(["npx some-server"])) == before
