"""`servers add` and `remove`: an entry is written as typed, and the server tried once."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import SERVERS, Cli
from tests.support.warm_python import python_entry, warm_python
from xai_mcp_agent.settings.load import load_settings
from xai_mcp_agent.settings.trust import TrustStore

UNITS = str(SERVERS / "units.py")
KEY = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
UNKNOWN = "--no-check -- some-server"
MINE = """\
{
  // mine
  "mcpServers": {
    "old": {"command": "x"}, // the first
    /* no more */
  },
}
"""


@pytest.fixture
def file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Settings of a user whose environment trusts nothing."""
    monkeypatch.delenv("XAI_MCP_TRUST", raising=False)
    file = folder / "mcp_settings.json"
    file.write_text(MINE)
    return file


def entry(file: Path, name: str) -> Any:
    import json5

    return json5.loads(file.read_text())["mcpServers"][name]


def test_add_writes_a_command_tries_it_and_shows_its_tools(file: Path, cli: Cli):
    status, out, err = cli("servers add units --", warm_python(), UNITS)
    assert (status, err) == (0, "")
    assert all(x in out for x in ("has 2 tools:", "convert_units("))
    assert entry(file, "units") == python_entry(UNITS)
    waiting = TrustStore().untrusted_parts(load_settings(file))
    assert [x.source for x in waiting] == ["old"], "only the typed entry is trusted"


def test_a_server_that_cannot_start_is_written_and_its_last_output_shown(file: Path, cli: Cli):
    crash = "import sys; print('no licence', file=sys.stderr); sys.exit(3)"
    ran = cli("servers add bad --", sys.executable, "-c", crash)
    ran.shows("no licence", "xai-mcp-agent servers remove bad", status=1)
    assert entry(file, "bad")["args"] == ["-c", crash]
    ran = cli("servers add it -e NOT_SET_ANYWHERE -- no-such-program")
    ran.shows("set NOT_SET_ANYWHERE in the environment", status=1)


def test_an_entry_is_replaced_only_with_replace(file: Path, cli: Cli):
    cli("servers add old --no-check -- y").fails("--replace")
    assert file.read_text() == MINE
    cli("servers add old --no-check --replace -- y").shows()
    assert entry(file, "old") == {"command": "y"}
    assert file.with_name("mcp_settings.json.bak").read_text() == MINE


def test_an_entry_that_cannot_work_is_refused_and_not_written(file: Path, cli: Cli):
    for words, text in (
        ("https://example.org/mcp more", "A URL needs no arguments"),
        ("-e TOKEN=x https://example.org/mcp", "A server of type http has no env. Use --header"),
        ("-H 'A: hush' -- some-server", "A server of type stdio has no headers. Use --env"),
        ("--cwd x https://example.org/mcp", "Nothing is started for a URL: leave out --cwd"),
        ("-e A=caf\udce9 -- some-server", "is not text in UTF-8"),
        ("npx -y server", "Put -- before a command"),
        ("docker run -e A=b image", "Put -- before a command"),
        ("-- ''", ""),
    ):
        assert "hush" not in cli(f"servers add new --no-check {words}").fails(text, status=2).err
    for name in ("a/b", "a\nb", "a\x1b[31mb", "canvas"):
        ran = cli("servers add", name, "--no-check", "--", "some-server")
        ran.fails("cannot be a server's name", status=2)
    assert file.read_text() == MINE


def test_our_flags_may_follow_a_command_without_options(file: Path, cli: Cli):
    assert cli("servers add new some-server --no-check --json").json["name"] == "new"
    assert entry(file, "new") == {"command": "some-server"}


def test_a_url_takes_headers_and_a_transport_as_other_clients_do(file: Path, cli: Cli):
    cli("servers add notion https://example.org/mcp -t http -H 'X-Team: red' --no-check").shows()
    assert entry(file, "notion") == {
        "type": "http", "url": "https://example.org/mcp", "headers": {"X-Team": "red"},
    }  # fmt: skip


def test_a_variable_without_a_value_becomes_a_reference_and_a_plain_secret_a_warning(
    file: Path, cli: Cli
):
    words = "-e API_TOKEN -e OTHER_SECRET=hush-hush-1234 -e LEVEL=3"
    ran = cli(f"servers add it {words} {UNKNOWN}")
    assert entry(file, "it")["env"] == {
        "API_TOKEN": "${API_TOKEN}", "OTHER_SECRET": "hush-hush-1234", "LEVEL": "3",
    }  # fmt: skip
    ran.shows("the variable OTHER_SECRET looks like a secret")
    assert not [x for x in ("API_TOKEN looks", "hush-hush") if x in ran.text]


def test_a_new_file_with_a_key_is_private_and_a_readable_one_causes_a_note(folder: Path, cli: Cli):
    file = folder / "new" / "mcp_settings.json"
    add = f"servers add it --settings {file} -e GITHUB_TOKEN={KEY}"
    assert "chmod" not in cli(f"{add} {UNKNOWN}").shows().text
    assert file.stat().st_mode & 0o077 == 0
    file.chmod(0o644)
    cli(f"{add} --replace {UNKNOWN}").shows(f"chmod 600 {file}")
    file.write_text('// c\n{"x": NaN, "mcpServers": {}}')
    assert KEY not in cli(f"{add} {UNKNOWN}").fails().err, "the refused entry is not quoted"


def test_remove_deletes_one_server_and_keeps_everything_else(file: Path, cli: Cli):
    cli("servers remove odl").fails("Did you mean 'old'?")
    cli("servers add new --no-check -- y")
    cli("servers remove new").shows()
    assert file.read_text() == MINE.replace("}, // the first", "} // the first")
    assert not TrustStore().files()


def test_a_source_of_another_kind_and_a_group_are_not_replaced(file: Path, cli: Cli):
    for beside, text in (
        ({"functions": {"it": {"file": "evil.py"}}}, "remove it first"),
        ({"groups": {"it": {"tools": ["a/b"]}}}, "a group of this name"),
    ):
        file.write_text(json.dumps({"mcpServers": {}, **beside}), encoding="utf-8")
        before = file.read_bytes()
        cli(f"servers add it --replace {UNKNOWN}").fails(text)
        assert file.read_bytes() == before


def test_the_path_of_a_file_in_a_subfolder_is_written_absolute(
    folder: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
):
    (folder / "sub").mkdir()
    (folder / "sub/clock.py").write_text("")
    monkeypatch.chdir(folder / "sub")
    file = folder / "mcp_settings.json"
    cli(f"servers add clock --settings {file} --no-check clock.py").shows()
    assert entry(file, "clock")["args"] == [str(folder / "sub/clock.py")]
