"""`servers discover` shows servers of other programs and takes the named ones."""

from __future__ import annotations

import json
import re
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import Cli
from xai_mcp_agent.settings.load import load_settings
from xai_mcp_agent.settings.trust import TrustStore

CONFIG = {"linux": ".config", "darwin": "Library/Application Support"}.get(sys.platform, "none")
TOKEN = "sk-0123456789abcdef0123456789abcdef"
pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="the home folder is asked elsewhere"
)


@pytest.fixture
def home(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home; the working folder is a project in it."""
    home = folder / "home"
    (home / "project").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.delenv("XAI_MCP_TRUST", raising=False)
    monkeypatch.chdir(home / "project")
    return home


def write(home: Path, place: str, content: Any) -> None:
    file = home / place.replace("CONFIG", CONFIG)
    file.parent.mkdir(parents=True, exist_ok=True)
    text = content if isinstance(content, str) else json.dumps(content)
    file.write_text(text, encoding="utf-8")


SERVER = {"command": "npx", "args": ["-y", "some-server"]}
TOML = '[mcp_servers.it]\ncommand = "npx"\nargs = ["-y", "some-server"]\n'
YAML = "mcpServers:\n  - name: it\n    command: npx\n    args: [-y, some-server]\n"
OURS, IN_CODE = {"mcpServers": {"it": SERVER}}, "CONFIG/Code/User"
CLINE = f"{IN_CODE}/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"
ZED = {"command": {"path": "npx", "args": ["-y", "some-server"]}}
PLACES: dict[str, Any] = {
    "CONFIG/Claude/claude_desktop_config.json": OURS,
    ".claude.json": OURS | {"history": ["x" * 100] * 20_000},
    "project/.mcp.json": OURS,
    ".cursor/mcp.json": OURS,
    "project/.cursor/mcp.json": OURS,
    f"{IN_CODE}/mcp.json": {"servers": {"it": {"type": "stdio", **SERVER}}, "inputs": []},
    "project/.vscode/mcp.json": '{"servers": {"it": {"command": "npx",  // mine\n}},}',
    CLINE: OURS,
    ".cline/data/settings/cline_mcp_settings.json": OURS,
    ".codeium/windsurf/mcp_config.json": {"mcpServers": {"it": {"serverUrl": "https://e.example"}}},
    ".config/zed/settings.json": {"theme": "x", "context_servers": {"it": ZED}},
    ".continue/config.yaml": YAML,
    ".continue/mcpServers/one.yaml": YAML,
    ".gemini/settings.json": {"mcpServers": {"it": {"httpUrl": "https://e.example/mcp"}}},
    ".lmstudio/mcp.json": OURS,
    ".cache/lm-studio/mcp.json": OURS,
    ".codex/config.toml": TOML,
}


@pytest.mark.parametrize("place", PLACES)
def test_servers_of_another_program_are_shown_and_can_be_taken(home: Path, cli: Cli, place: str):
    write(home, place, PLACES[place])
    write(home, ".continue/mcpServers/one.yaml.bak", YAML)
    assert "one.yaml.bak" not in cli("servers discover").out
    assert re.search("  it: (npx|https://e.example)", cli("servers discover").out)
    assert not (home / "project/mcp_settings.json").exists(), "only shown"
    cli("servers discover --take it").shows()
    loaded = load_settings(home / "project/mcp_settings.json")
    assert (loaded.names, loaded.problems) == (["it"], {})
    assert TrustStore().untrusted_parts(loaded) == ()


def test_only_claude_codes_project_of_this_folder_is_shown(home: Path, cli: Cli):
    nothing = (0, "No settings of other programs were found on this machine.\n", "")
    assert cli("servers discover") == nothing
    projects = {str(home / x): {"mcpServers": {f"of_{x}": SERVER}} for x in ("project", "other")}
    write(home, ".claude.json", {"projects": projects})
    out = cli("servers discover").out
    assert ("of_project" in out, "of_other" in out) == (True, False)


def test_discover_shows_no_secret_and_warns_about_copied_ones(home: Path, cli: Cli):
    servers = {
        "env": {**SERVER, "env": {"API_KEY": TOKEN}},
        "args": {"command": "npx", "args": ["some-server", "--api-key", TOKEN]},
        "url": {"url": f"https://ada:{TOKEN}@e.example/mcp?key={TOKEN}"},
        "head": {"url": "https://e.example", "headers": {"Authorization": f"Bearer {TOKEN}"}},
    }
    write(home, ".cursor/mcp.json", {"mcpServers": servers})
    write(home, ".gemini/settings.json", "{" + TOKEN)
    take = " ".join(f"--take {x}" for x in servers)
    runs = [cli(f"servers discover {x}").shows() for x in ("", "--json", take)]
    assert not [x for x in runs if TOKEN in x.text]
    assert runs[-1].err.count("looks like a secret") == 4


BROKEN = {
    "no JSON": "{nope",
    "nothing": "",
    "deep": "[" * 100_000,
    "deep entry": f'{{"mcpServers": {{"a": {{"command": "x", "args": {"[" * 900}{"]" * 900}}}}}}}',
    "numbers": '{"mcpServers": {"a": 1, "b": [], "c": {"command": 3}}}',
}


def test_a_broken_file_does_not_hide_the_others(home: Path, cli: Cli):
    write(home, ".lmstudio/mcp.json", {"mcpServers": {"good": SERVER}})
    for kind, text in BROKEN.items():
        write(home, ".cursor/mcp.json", text)
        for place in (".codex/config.toml", ".continue/config.yaml"):
            write(home, place, text or "[")
        assert "good: npx -y some-server" in cli("servers discover").shows().out, kind
    doubled = [f"{y}: &{y} [*{x}, *{x}]" for x, y in pairwise("abcdefghi")]
    write(home, ".continue/config.yaml", "\n".join(["a: &a [x, x]", *doubled]))
    (home / ".codex/config.toml").unlink()
    (home / ".cursor/mcp.json").unlink()
    (home / ".cursor/mcp.json").symlink_to(home / "nowhere")
    (home / ".cache/lm-studio").mkdir(parents=True)
    (home / ".cache/lm-studio/mcp.json").symlink_to("/dev/zero")
    out = cli("servers discover").out
    assert ("good: npx" in out, out.count("!! ")) == (True, 3)


def test_a_fault_in_another_programs_file_is_reported_with_its_place(home: Path, cli: Cli):
    write(home, ".gemini/settings.json", '{"mcpServers": {\n  "a": {')
    asks = {**SERVER, "env": {"X_TOKEN": "${input:token}"}}
    write(home, "project/.vscode/mcp.json", {"servers": {"it": asks}})
    cli("servers discover").shows("at line 2, column ")
    cli("servers discover --take it").fails(
        "project/.vscode/mcp.json, at it.env.X_TOKEN: ${input:token} works in VS Code only"
    )


def test_a_taken_or_ambiguous_name_is_refused(home: Path, cli: Cli):
    write(home, ".cursor/mcp.json", {"mcpServers": {"it": SERVER, "units": SERVER}})
    write(home, ".gemini/settings.json", {"mcpServers": {"it": {"command": "other"}}})
    ours = home / "project/mcp_settings.json"
    ours.write_text('{"mcpServers": {"units": {"command": "x"}}} // mine')
    before = ours.read_text()
    for word, says in (
        ("it", f"Say which: '{home}/.cursor/mcp.json#it', '{home}/.gemini/settings.json#it'"),
        ("units", "--take NAME=NEW_NAME"),
        ("unit", "Did you mean 'units'"),
    ):
        cli(f"servers discover --take {word}").fails(says)
        assert ours.read_text() == before
    cli(f"servers discover --take {home}/.gemini/settings.json#it=mine --take units=u2").shows()
    assert {*load_settings(ours).names} == {"units", "mine", "u2"}
    assert ours.read_text().endswith("// mine")


def test_two_servers_of_one_program_are_distinguished_by_their_files(home: Path, cli: Cli):
    write(home, ".cursor/mcp.json", {"mcpServers": {"it": SERVER, "a=b": SERVER}})
    write(home, "project/.cursor/mcp.json", {"mcpServers": {"it": {"command": "other"}}})
    mine = f"{home}/project/.cursor/mcp.json#it"
    assert mine in "".join(cli("servers discover --take it").err.split())
    cli(f"servers discover --take {mine}=mine --take a=b").shows()
    assert load_settings(home / "project/mcp_settings.json").names == ["mine", "a=b"]


def test_a_server_whose_name_is_not_valid_here_is_taken_under_another_name(home: Path, cli: Cli):
    for name in ("a/b", "canvas", "a\x1b[2Jb", " "):
        write(home, ".cursor/mcp.json", {"mcpServers": {name: {**SERVER, "cwd": "\x1b[2J"}}})
        assert "\x1b" not in cli("servers discover").out
        ran = cli("servers discover --take", name)
        assert "\x1b" not in ran.fails("cannot be a server's name", "NAME=NEW_NAME").err
    write(home, ".cursor/mcp.json", {"mcpServers": {name: SERVER}})
    cli("servers discover --take", f"{name}=mine").shows()
    assert load_settings(home / "project/mcp_settings.json").names == ["mine"]


def test_a_server_that_is_switched_off_is_marked_and_a_date_becomes_text(home: Path, cli: Cli):
    write(home, ".codex/config.toml", TOML + "enabled = false\n")
    text = YAML.replace("it", "x")
    write(home, ".continue/config.yaml", f"{text}    env: {{SINCE: 2020-01-02}}\n")
    cli("servers discover").shows("it (switched off): npx")
    assert cli("servers discover --take x")[::2] == (0, "")
    entry = json.loads((home / "project/mcp_settings.json").read_text())["mcpServers"]["x"]
    assert entry["env"] == {"SINCE": "2020-01-02"}
