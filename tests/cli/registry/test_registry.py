"""`xai-mcp-agent registry`: signals about a server, and the entry it writes.

All signals and the manifest of a server are in the oracle of commands.

Who decided it: the issue ("Registries"), reference graph_and_planning.md section 8.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import AS_A_PROCESS, Cli
from tests.support.registry_service import OFFICIAL, RegistryService, invalid
from tests.support.warm_python import warm_python
from tests.support.watchdog import compute_within
from xai_mcp_agent.registries import Registries
from xai_mcp_agent.settings.load import load_settings
from xai_mcp_agent.settings.trust import TrustStore

from .offers import NOTES, VERSION, entries, signals, write

# Finding


def test_a_search_uses_the_local_copy_without_the_registry(
    work: Path, service: RegistryService, cli: Cli, offer: Any
):
    assert "xai-mcp-agent registry sync" in offer("search weather", status=1)
    assert cli("registry sync") == (0, "team: 10 documents on 3 pages.\n", "")
    out = cli("registry search 'weather of a place'").out
    assert out.startswith("com.example/weather 0.5.0 (team)\n  Weather data for a place")
    unknown = offer("sync taem", status=1)
    assert all(x in unknown for x in ("Known: team", "Did you mean 'team'?"))
    assert "Did you mean" in offer("show io.github.example-org/note", status=1)
    service.http.close()
    assert offer("search weather")["found"][0]["name"] == "com.example/weather"


def test_sync_reports_refused_servers_and_faults_within_its_time_limit(
    work: Path, service: RegistryService, cli: Cli, offer: Any
):
    service.pages[""]["servers"] += [{"server": x} for x in invalid()]
    service.faults["/v0.1/servers"] = "repeat"
    ran = cli("registry sync").shows("gives the same cursor again", status=1)
    for name in ("com.example/evil", "no-namespace", "com.example/bad-latest"):
        assert f"refused: {name}: " in ran.out
        assert offer("add", name, status=1).startswith(f"{name} is refused: ")
    service.faults["*"] = "slow"
    answer = compute_within(10, lambda: offer("sync --timeout 0.3", status=1))
    assert service.url in answer["registries"][0]["problem"]


# Adding


def test_add_writes_an_entry_that_is_switched_off_and_pinned(work: Path, offer: Any):
    """The oracle of commands has the whole entry and what it needs."""
    entry = offer(f"add {NOTES}")["entry"]
    assert (entry["disabled"], entry["lock"]) == (True, True)
    assert entry["args"][:2] == ["-y", "@example-org/notes-mcp@1.4.0"]
    assert [*entries(work).items()][1:] == [("notes", entry)]
    assert "// mine" in (work / "mcp_settings.json").read_text()
    read = load_settings(work / "mcp_settings.json")
    assert read.sources["notes"].disabled
    assert (read.problems, read.notes) == ({}, ())


def test_an_added_server_needs_an_agreement_once_it_is_switched_on(
    work: Path, offer: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("XAI_MCP_TRUST")
    file = work / "mcp_settings.json"
    TrustStore().agree(load_settings(file))
    offer(f"add {NOTES}")
    assert TrustStore().untrusted_parts(load_settings(file)) == ()
    file.write_text(file.read_text().replace('"disabled": true', '"disabled": false'))
    (part,) = TrustStore().untrusted_parts(load_settings(file))
    assert "npx -y @example-org/notes-mcp@1.4.0" in part.facts[0]
    assert "disabled" not in offer(f"add {NOTES} --enable --as two")["entry"]
    sources = {x.source for x in TrustStore().untrusted_parts(load_settings(file))}
    assert sources == {"notes", "two"}


def test_registries_of_a_strangers_settings_are_not_asked(
    work: Path, service: RegistryService, cli: Cli, monkeypatch: pytest.MonkeyPatch
):
    """The settings may have come with somebody else's folder."""
    monkeypatch.delenv("XAI_MCP_TRUST")
    with Registries() as registries:
        assert list(registries.settings) == ["official"]
    cli("registry sync team").fails("because you have not agreed to them: xai-mcp-agent trust")
    assert service.http.got == []
    TrustStore().agree(load_settings(work / "mcp_settings.json"))
    cli("registry sync team").shows()


def test_a_version_can_be_chosen_and_a_refused_one_has_no_substitute(
    work: Path, service: RegistryService, offer: Any
):
    service.npm["@example-org/notes-mcp/1.3.0"] = service.npm[VERSION] | {"version": "1.3.0"}
    result = offer(f"show {NOTES} --version 1.3.0")
    assert "@example-org/notes-mcp@1.3.0" in result["entry"]["args"]
    assert "warning: It is not the latest version." in signals(result, "status")
    assert entries(work).keys() == {"library"}, "`show` writes nothing"
    assert "Known: 1.4.0, 1.3.0" in offer(f"show {NOTES} --version 9", status=1)
    service.row(NOTES)["server"]["packages"][0]["version"] = "latest"
    assert "'latest' is not exact" in offer(f"add {NOTES}", status=1)
    offer(f"add {NOTES} --version 1.3.0")


@pytest.mark.parametrize(
    ("name", "words", "entry"),
    [
        ("com.example/tickets", ["--set", "tenant=acme", "--set", "X-Region=us"], {
            "type": "http", "url": "https://acme.tickets.example.com/mcp",
            "headers": {"X-API-Key": "${TICKETS_X_API_KEY}", "X-Region": "us"},
        }),
        ("com.example/weather", [], {
            "command": "uvx", "args": ["example-weather-mcp==0.5.0"],
            "env": {"WEATHER_UNITS": "metric", "WEATHER_AUTH": "Bearer ${WEATHER_API_KEY}"},
        }),
        ("io.github.example-org/clock", [], {
            "command": "dnx", "args": ["Example.Clock@0.4.0-beta", "--yes", "--", "mcp", "start"],
        }),
        ("com.example/database-pinned", [
            "--set", "src=/data", "--set", "database=shop", "--allow", "runtime-options",
        ], {
            "command": "docker",
            "args": [
                "run", "-i", "--rm", "--mount", "type=bind,src=/data,dst=/data", "-e",
                "DB_PASSWORD", f"ghcr.io/example-org/database-mcp@sha256:{'ab' * 32}", "--host",
                "localhost", "shop",
            ],
            "env": {"DB_PASSWORD": "${DB_PASSWORD}"},
        }),
    ],
    ids=["remote", "pypi", "nuget", "oci"],
)  # fmt: skip
def test_the_entry_is_composed_for_each_kind_of_package(
    work: Path, cli: Cli, name: str, words: list[str], entry: dict[str, Any]
):
    assert cli("registry add", name, *words, "--json")[::2] == (0, "")
    written = entries(work)[name.rpartition("/")[2]]
    beside = ("description", "lock", "disabled", "registry")
    assert {key: x for key, x in written.items() if key not in beside} == entry


def test_a_refused_offer_writes_nothing_and_explains_why(work: Path, cli: Cli, offer: Any):
    before = (work / "mcp_settings.json").read_bytes()
    for words, reason in (
        ("database", "--allow runtime-options"),
        ("database --allow runtime-options", "--allow image-tag"),
        ("old-weather", "deprecated: Use com.example/weather"),
        ("hybrid --prefer npm", "start it yourself"),
        ("tickets --as library", "there is a source or a group of this name already"),
    ):
        assert reason in offer(f"add com.example/{words}", status=1), words
    mcpb = offer("add io.github.example-org/editor", status=1)
    assert "of type 'mcpb', which no runner starts" in mcpb
    assert (work / "mcp_settings.json").read_bytes() == before
    # It is shown all the same.
    ran = cli("registry show com.example/database --allow runtime-options")
    ran.shows("com.example/database 3.1.0, from team", "--allow image-tag", status=1)


def test_a_wrong_value_on_the_command_line_is_wrong_usage(work: Path, cli: Cli):
    before = (work / "mcp_settings.json").read_bytes()
    for options, reason in (
        ("--set tenant", "--set takes NAME=VALUE, not 'tenant'"),
        ("--set tenat=acme", "Nothing asks for tenat"),
        ("--set X-Region=mars", "Give one of eu, us"),
        ("--set X-API-Key=abcdef", "is a secret"),
        ("--allow all", "'all' is none of these: image-tag"),
    ):
        cli(f"registry add com.example/tickets {options}").fails(reason, status=2)
    assert (work / "mcp_settings.json").read_bytes() == before


# Alarms


def test_changed_content_under_the_same_version_is_an_alarm_and_writes_nothing(
    work: Path, service: RegistryService, cli: Cli, offer: Any
):
    offer(f"add {NOTES} --as mine")
    owned = signals(offer(f"show {NOTES}"), "look-alike")
    assert owned == ["told: You already have it, as mine."]
    service.row(NOTES)["server"]["packages"][0]["packageArguments"] = []
    ran = cli(f"registry add {NOTES} --json")
    ran.shows("has changed under the same version", "--accept-change", status=3)
    assert ran.json["written"] is None
    assert "notes" not in entries(work)
    service.row(NOTES)["_meta"][OFFICIAL]["updatedAt"] = "2999-01-01T00:00:00Z"
    cli("registry sync").shows(
        f"ALARM: {NOTES} 1.4.0 has changed under the same version",
        f"ALARM: mine in your settings was added as {NOTES} 1.4.0", status=3,
    )  # fmt: skip
    result = offer(f"add {NOTES} --accept-change")
    assert result["entry"]["args"] == ["-y", "@example-org/notes-mcp@1.4.0"]


def test_the_server_name_in_a_package_is_checked(work: Path, service: RegistryService, offer: Any):
    """npx would say `could not determine executable to run` where it has no command."""
    package = service.npm[VERSION]
    package["mcpName"] = None
    (signal,) = signals(offer(f"show {NOTES}"), "package")
    assert signal.startswith("unknown: @example-org/notes-mcp does not say which MCP server it is")
    package["mcpName"] = "com.other/notes"
    refused = offer(f"add {NOTES}", status=3)
    assert signals(refused, "package") == [
        f"alarm: @example-org/notes-mcp says that it is com.other/notes, not {NOTES}."
    ]
    offer(f"add {NOTES} --accept-change", status=3)
    assert "notes" not in entries(work)
    del package["bin"]
    assert "has no command to run" in offer(f"add {NOTES}", status=1)
    service.npm.clear()
    problem = "@example-org/notes-mcp 1.4.0 does not exist on npm"
    assert problem in offer(f"add {NOTES}", status=1)


def test_a_package_of_npm_is_added_by_its_name(
    work: Path, service: RegistryService, cli: Cli, offer: Any
):
    write(work, service, npm={"type": "npm", "url": service.url})
    cli("registry sync npm").shows()
    add = "add @example-org/notes-mcp --registry npm"
    result = offer(f"{add} --offline")
    assert result["name"] == "notes-mcp"
    assert result["entry"]["args"] == ["-y", "@example-org/notes-mcp@1.4.0"]
    service.npm["@example-org/notes-mcp/latest"] = service.npm[VERSION]
    result = offer(f"{add} --as two")
    says = [f"told: @example-org/notes-mcp says that it is {NOTES}."]
    assert signals(result, "package") == says
    unknown = offer("add left-pad-mcp-lookalike --registry npm", status=1)
    assert "left-pad-mcp-lookalike 0.0.1 does not exist on npm" in unknown


# Writing


def test_add_shows_what_it_needs_and_the_next_steps_and_writes_no_secret(work: Path, cli: Cli):
    ran = cli(f"registry add {NOTES} --set NOTES_DIR=/home/me/notes")
    ran.shows(
        "+ @example-org/notes-mcp confirms",
        "NOTES_TOKEN: Access token, a secret",
        "set NOTES_TOKEN in the environment",
        'switch it on: remove "disabled" of notes',
        "xai-mcp-agent tools accept notes",
    )
    written = entries(work)["notes"]
    assert written["args"][2] == "/home/me/notes"
    assert written["env"]["NOTES_TOKEN"] == "${NOTES_TOKEN}"


def test_links_in_a_strangers_folder_are_not_written_through(
    work: Path, tmp_path: Path, cli: Cli, offer: Any
):
    """git brings links along: one may lead to what a shell reads at its start."""
    mine = tmp_path / "mine.txt"
    mine.write_text("mine")
    for trap in (".mcp_settings.json.part", "mcp_settings.json.bak"):
        (work / trap).symlink_to(mine)
    (work / "mcp_settings.json.2.bak").symlink_to(tmp_path / "not there yet")
    offer(f"add {NOTES}")
    assert cli("servers add library --replace --no-check -- some-server").status == 0
    assert (mine.read_text(), (tmp_path / "not there yet").exists()) == ("mine", False)
    assert not (work / "mcp_settings.json").is_symlink()
    assert "notes" in entries(work)


def test_concurrent_adds_keep_each_others_entries(work: Path):
    words = [warm_python(), *AS_A_PROCESS, "registry", "add", NOTES, "--json", "--as"]
    started = [
        subprocess.Popen([*words, f"notes-{n}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for n in range(3)
    ]
    ends = [x.communicate(timeout=120) for x in started]
    assert [x.returncode for x in started] == [0] * 3, ends
    assert {f"notes-{n}" for n in range(3)} <= {*entries(work)}
    assert [*work.glob("*.part"), *work.glob(".*.part")] == []
