"""`xai-mcp-agent servers add` and `remove`: a server is written as it was typed, and tried once."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_servers import SERVERS, command
from tests.support.warm_python import warm_python
from xai_mcp_agent.settings.load import load_settings
from xai_mcp_agent.settings.trust import TrustStore

UNITS = str(SERVERS / "units.py")
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
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Settings of a person whom nothing makes trust more than they agreed to."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("XAI_MCP_TRUST", raising=False)
    file = tmp_path / "mcp_settings.json"
    file.write_text(MINE)
    return file


def add(capsys: Any, file: Path, *words: str) -> tuple[int, str, str]:
    return command(capsys, "servers", "add", "--settings", str(file), *words)


def entry(file: Path, name: str) -> Any:
    import json5

    return json5.loads(file.read_text())["mcpServers"][name]


def test_a_command_is_written_tried_and_its_tools_are_shown(file: Path, capsys: Any) -> None:
    status, out, err = add(capsys, file, "units", "--", warm_python(), UNITS)
    assert (status, err) == (0, "")
    assert "has 2 tools:" in out
    assert "convert_units(" in out
    assert entry(file, "units") == {"command": warm_python(), "args": [UNITS]}
    assert all(x in file.read_text() for x in ("// mine", "// the first", "/* no more */"))


def test_what_was_typed_is_trusted_and_nothing_else(file: Path, capsys: Any) -> None:
    add(capsys, file, "new", "--no-check", "--", "some-server", "--flag")
    waiting = TrustStore().untrusted_parts(load_settings(file))
    assert [x.source for x in waiting] == ["old"]


def test_a_server_that_cannot_start_is_written_with_its_last_words(file: Path, capsys: Any) -> None:
    crash = "import sys; print('no licence', file=sys.stderr); sys.exit(3)"
    status, _, err = add(capsys, file, "bad", "--", sys.executable, "-c", crash)
    assert status == 1
    assert "no licence" in err
    assert "xai-mcp-agent servers remove bad" in err
    assert entry(file, "bad")["args"] == ["-c", crash]


def test_an_entry_is_replaced_only_when_that_is_reported(file: Path, capsys: Any) -> None:
    status, _, err = add(capsys, file, "old", "--no-check", "--", "y")
    assert (status, file.read_text()) == (1, MINE)
    assert "--replace" in err
    assert add(capsys, file, "old", "--no-check", "--replace", "--", "y")[0] == 0
    assert entry(file, "old") == {"command": "y"}
    assert file.with_name("mcp_settings.json.bak").read_text() == MINE


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["htp://example.org/mcp"], "Write it with http:// or https://"),
        (["htp:/example.org/mcp"], "Write it with http:// or https://"),
        (["https:example.org"], "Write it with http:// or https://"),
        (["https://example.org/mcp", "more"], "A URL stands alone"),
        (["-e", "TOKEN=x", "https://example.org/mcp"], "--env is of no use for a URL"),
        (["--cwd", "/", "https://example.org/mcp"], "--cwd is of no use for a URL"),
        (["-H", "A: hush", "--", "some-server"], "--header is of no use for a command"),
    ],
)
def test_what_cannot_work_is_refused_and_not_written(
    file: Path, capsys: Any, words: list[str], told: str
) -> None:
    status, out, err = add(capsys, file, "new", "--no-check", *words)
    assert (status, out, file.read_text()) == (2, "", MINE)
    assert told in err
    assert "hush" not in err


def test_a_url_takes_headers_and_a_transport_as_other_clients_do(file: Path, capsys: Any) -> None:
    words = ("notion", "https://example.org/mcp", "-t", "http", "-H", "X-Team: red", "--no-check")
    assert add(capsys, file, *words)[0] == 0
    assert entry(file, "notion") == {
        "type": "http", "url": "https://example.org/mcp", "headers": {"X-Team": "red"},
    }  # fmt: skip


def test_a_variable_that_is_passed_on_is_a_reference_and_a_plain_secret_is_warned_about(
    file: Path, capsys: Any
) -> None:
    words = ("-e", "API_TOKEN", "-e", "OTHER_SECRET=hush-hush-1234", "-e", "LEVEL=3")
    _, out, err = add(capsys, file, "it", *words, "--no-check", "--", "some-server")
    assert entry(file, "it")["env"] == {
        "API_TOKEN": "${API_TOKEN}", "OTHER_SECRET": "hush-hush-1234", "LEVEL": "3",
    }  # fmt: skip
    assert "the variable OTHER_SECRET looks like a secret" in " ".join(err.split())
    assert "API_TOKEN looks" not in err
    assert "hush-hush" not in out + err


def test_what_is_not_set_yet_is_named_and_nothing_is_started(file: Path, capsys: Any) -> None:
    status, _, err = add(capsys, file, "it", "-e", "NOT_SET_ANYWHERE", "--", "no-such-program")
    assert status == 1
    assert "set NOT_SET_ANYWHERE in the environment" in err


@pytest.mark.parametrize(
    "words",
    [("gh", "npx", "-y", "server"), ("gh", "docker", "run", "-e", "A=b", "image")],
    ids=["unknown", "ours"],
)
def test_options_of_a_command_are_never_taken_for_ours(
    file: Path, capsys: Any, words: tuple[str, ...]
) -> None:
    status, _, err = add(capsys, file, *words)
    assert (status, file.read_text()) == (2, MINE)
    assert "Put -- before a command" in " ".join(err.replace("│", " ").split())


def test_a_file_is_made_where_there_is_none(tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "new" / "mcp_settings.json"
    assert add(capsys, file, "it", "--no-check", "--", "x")[0] == 0
    assert json.loads(file.read_text()) == {"mcpServers": {"it": {"command": "x"}}}


def test_a_removed_server_is_gone_and_everything_else_stays(file: Path, capsys: Any) -> None:
    add(capsys, file, "new", "--no-check", "--", "y")
    assert command(capsys, "servers", "remove", "new", "--settings", str(file))[0] == 0
    assert file.read_text() == MINE.replace("}, // the first", "} // the first")
    assert not TrustStore().files()


def test_a_slip_in_the_name_removes_nothing(file: Path, capsys: Any) -> None:
    status, _, err = command(capsys, "servers", "remove", "odl", "--settings", str(file))
    assert (status, file.read_text()) == (1, MINE)
    assert "Did you mean 'old'?" in err
