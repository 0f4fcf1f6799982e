"""`xai-mcp-agent registry`: what is shown of a server, what is written, that nothing is started.

Who decided it: the issue ("Registries"), reference graph_and_planning.md section 8.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import AS_A_PROCESS, Cli
from tests.support.registry_service import (
    OFFICIAL,
    RegistryService,
    document,
    invalid,
    registry_service,
)
from tests.support.terminals import terminal
from tests.support.warm_python import warm_python
from tests.support.watchdog import done_within
from xai_mcp_agent.registries import Registries
from xai_mcp_agent.settings.load import load_settings
from xai_mcp_agent.settings.trust import TrustStore

NOTES = "io.github.example-org/notes"
VERSION = "@example-org/notes-mcp/1.4.0"
SERVER = Path(__file__).parents[1] / "support" / "notes_server.py"


@pytest.fixture
def service() -> Iterator[RegistryService]:
    with registry_service() as service:
        yield service


@pytest.fixture
def work(service: RegistryService, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with settings, of somebody with a local copy of their own."""
    monkeypatch.setenv("npm_config_registry", service.url)
    for name in ("NOTES_TOKEN", "NOTES_DIR"):
        monkeypatch.delenv(name, raising=False)
    write(folder, service)
    return folder


def write(folder: Path, service: RegistryService, **registries: Any) -> Path:
    file = folder / "mcp_settings.json"
    registries = {"official": False, "team": {"url": service.url}} | registries
    servers = {"library": {"command": "npx", "args": ["-y", "@example-org/library@1.0.0"]}}
    text = json.dumps({"mcpServers": servers, "registries": registries}, indent=4)
    file.write_text(text.replace('"mcpServers"', '// mine\n    "mcpServers"'))
    return file


def entries(folder: Path) -> dict[str, Any]:
    text = (folder / "mcp_settings.json").read_text().replace("// mine", "")
    return json.loads(text)["mcpServers"]


def forget(folder: Path) -> None:
    """Delete the local copy, which keeps what a version held first."""
    shutil.rmtree(folder.parent / "home", ignore_errors=True)


def signals(offer: Any, about: str) -> list[str]:
    return [f"{x['weight']}: {x['text']}" for x in offer["signals"] if x["about"] == about]


@pytest.fixture
def offer(cli: Cli) -> Any:
    """Run `registry` with --json; its answer, once the status was checked."""

    def offer(line: str, *words: str, status: int = 0) -> Any:
        ran = cli(f"registry {line}", *words, "--json")
        assert ran.status == status, ran
        return ran.json["error"] if status == 1 and "error" in ran.json else ran.json

    return offer


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


def test_a_sync_says_what_is_refused_and_what_went_wrong_in_the_time_it_is_given(
    work: Path, service: RegistryService, cli: Cli, offer: Any
):
    service.pages[""]["servers"] += [{"server": x} for x in invalid()]
    service.faults["/v0.1/servers"] = "repeat"
    status, out, err = cli("registry sync")
    assert (status, "gives the same cursor again" in err) == (1, True)
    for name in ("com.example/evil", "no-namespace", "com.example/bad-latest"):
        assert f"refused: {name}: " in out
        assert offer("add", name, status=1).startswith(f"{name} is refused: ")
    service.faults["*"] = "slow"
    answer = done_within(10, lambda: offer("sync --timeout 0.3", status=1))
    assert service.url in answer["registries"][0]["problem"]


# Adding


def test_add_writes_an_entry_that_is_switched_off_and_pinned(
    work: Path, service: RegistryService, offer: Any
):
    made = offer(f"add {NOTES}")
    assert list(entries(work)) == ["library", "notes"]
    assert entries(work)["notes"] == made["entry"] == {
        "command": "npx",
        "args": ["-y", "@example-org/notes-mcp@1.4.0", "${NOTES_DIR}", "--log-level", "info"],
        "env": {"NOTES_TOKEN": "${NOTES_TOKEN}", "NOTES_LOCALE": "en"},
        "description": "Keeps short notes in a folder of the user.",
        "lock": True,
        "disabled": True,
        "registry": {
            "from": service.url,
            "name": NOTES,
            "version": "1.4.0",
            "digest": made["digest"],
            "checksum": document("npm/packument-version.json")["dist"]["integrity"],
        },
    }  # fmt: skip
    assert [(x["variable"], x["secret"]) for x in made["needs"]] == [
        ("NOTES_TOKEN", True), ("NOTES_DIR", False),
    ]  # fmt: skip
    assert "// mine" in (work / "mcp_settings.json").read_text()
    read = load_settings(work / "mcp_settings.json")
    assert read.sources["notes"].disabled
    assert read.problems == {}
    assert read.notes == ()


def test_an_added_server_needs_trust_when_it_is_switched_on(
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


def test_registries_of_a_stranger_are_not_asked(
    work: Path, service: RegistryService, cli: Cli, monkeypatch: pytest.MonkeyPatch
):
    """The settings may have come with somebody else's folder."""
    monkeypatch.delenv("XAI_MCP_TRUST")
    with Registries() as registries:
        assert list(registries.settings) == ["official"]
    ran = cli("registry sync team")
    assert ran.status == 1
    assert "because you have not agreed to them: xai-mcp-agent trust" in ran.text
    assert service.http.got == []
    TrustStore().agree(load_settings(work / "mcp_settings.json"))
    assert cli("registry sync team").status == 0


def test_every_signal_and_the_manifest_are_shown(work: Path, offer: Any):
    """Spec 5, registry integration."""
    shown = offer(f"show {NOTES}")
    texts = [f"{x['about']}: {x['weight']}: {x['text']}" for x in shown["signals"]]
    for begin in (
        "namespace: unknown: team does not check that it is by the GitHub account example-org.",
        f"package: good: @example-org/notes-mcp confirms that it is {NOTES}.",
        "status: told: It is the latest version.",
        "integrity: good: Its version is exact, and its hash is noted: sha512-",
        "integrity: warning: Its dependencies are not pinned",
        "asks for: told: It asks for a secret, NOTES_TOKEN, for the variable NOTES_TOKEN",
        "asks for: told: It asks for a file or folder, notes_dir, for the argument notes_dir",
        "asks for: warning: It runs as a program on this machine",
    ):
        assert any(x.startswith(begin) for x in texts), (begin, texts)
    assert entries(work).keys() == {"library"}  # show writes nothing
    manifest = shown["manifest"]
    assert (manifest["name"], manifest["version"]) == (NOTES, "1.4.0")
    assert manifest["download_url"].endswith("notes-mcp-1.4.0.tgz")
    assert set(manifest) == {
        "name", "version", "mcp_version", "schema_version", "manifest_url", "download_url",
        "checksum", "tags", "author", "license", "dependencies",
    }  # fmt: skip


def test_a_version_is_chosen_and_none_makes_up_for_a_refused_one(
    work: Path, service: RegistryService, offer: Any
):
    service.npm["@example-org/notes-mcp/1.3.0"] = service.npm[VERSION] | {"version": "1.3.0"}
    shown = offer(f"show {NOTES} --version 1.3.0")
    assert "@example-org/notes-mcp@1.3.0" in shown["entry"]["args"]
    assert "warning: It is not the latest version." in signals(shown, "status")
    assert "Known: 1.4.0, 1.3.0" in offer(f"show {NOTES} --version 9", status=1)
    service.row(NOTES)["server"]["packages"][0]["version"] = "latest"
    assert "'latest' moves" in offer(f"add {NOTES}", status=1)
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
def test_the_way_and_its_command_are_composed_as_data(
    work: Path, cli: Cli, name: str, words: list[str], entry: dict[str, Any]
):
    assert cli("registry add", name, *words, "--json")[::2] == (0, "")
    written = entries(work)[name.rpartition("/")[2]]
    beside = ("description", "lock", "disabled", "registry")
    assert {key: x for key, x in written.items() if key not in beside} == entry


def test_an_offer_that_is_refused_writes_nothing_and_says_why(work: Path, cli: Cli, offer: Any):
    before = (work / "mcp_settings.json").read_bytes()
    for words, reason in (
        ("database", "--allow runtime-options"),
        ("database --allow runtime-options", "--allow image-tag"),
        ("old-weather", "deprecated: Use com.example/weather"),
        ("hybrid --prefer npm", "start it yourself"),
        ("tickets --as library", "there is a source of this name already"),
    ):
        assert reason in offer(f"add com.example/{words}", status=1), words
    mcpb = offer("add io.github.example-org/editor", status=1)
    assert "of type 'mcpb', which no runner starts" in mcpb
    assert (work / "mcp_settings.json").read_bytes() == before
    ran = cli("registry show com.example/database --allow runtime-options")
    assert (ran.status, "--allow image-tag" in ran.err) == (1, True)
    assert ran.out.startswith("com.example/database 3.1.0, from team"), "with what is known of it"


def test_a_wrong_value_on_the_command_line_is_wrong_usage(work: Path, cli: Cli):
    before = (work / "mcp_settings.json").read_bytes()
    for options, reason in (
        ("--set tenant", "--set takes NAME=VALUE, not 'tenant'"),
        ("--set tenat=acme", "Nothing asks for tenat"),
        ("--set X-Region=mars", "Give one of eu, us"),
        ("--set X-API-Key=abcdef", "is a secret"),
        ("--allow all", "not 'all': image-tag"),
    ):
        ran = cli(f"registry add com.example/tickets {options}")
        assert (ran.status, reason in ran.err) == (2, True), ran
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
    assert (ran.status, ran.json["written"]) == (3, None)
    assert "has changed under the same version" in ran.err
    assert "--accept-change" in ran.err
    assert "notes" not in entries(work)
    service.row(NOTES)["_meta"][OFFICIAL]["updatedAt"] = "2999-01-01T00:00:00Z"
    ran = cli("registry sync")
    assert ran.status == 3
    assert f"ALARM: {NOTES} 1.4.0 has changed under the same version" in ran.text
    assert f"ALARM: mine in your settings was added as {NOTES} 1.4.0" in ran.text
    made = offer(f"add {NOTES} --accept-change")
    assert made["entry"]["args"] == ["-y", "@example-org/notes-mcp@1.4.0"]


def test_the_server_name_in_a_package_is_checked(
    work: Path, service: RegistryService, npx: Path, offer: Any
):
    """npx would say `could not determine executable to run` where it has no command."""
    package = service.npm[VERSION]
    package["mcpName"] = None
    (signal,) = signals(offer(f"show {NOTES}"), "package")
    assert signal.startswith("unknown: @example-org/notes-mcp does not say which MCP server it is")
    package["mcpName"] = "com.other/notes"
    refused = offer(f"add {NOTES} --try", status=3)
    assert signals(refused, "package") == [
        f"alarm: @example-org/notes-mcp says that it is com.other/notes, not {NOTES}."
    ]
    offer(f"add {NOTES} --accept-change", status=3)
    assert ("notes" in entries(work), npx.exists()) == (False, False)
    del package["bin"]
    assert "has no command to run" in offer(f"add {NOTES}", status=1)
    service.npm.clear()
    gone = "@example-org/notes-mcp 1.4.0 does not exist on npm"
    assert gone in offer(f"add {NOTES}", status=1)


def test_a_package_of_npm_is_added_by_its_name(
    work: Path, service: RegistryService, cli: Cli, offer: Any
):
    write(work, service, npm={"type": "npm", "url": service.url})
    assert cli("registry sync npm").status == 0
    add = "add @example-org/notes-mcp --registry npm"
    made = offer(f"{add} --offline")
    assert made["name"] == "notes-mcp"
    assert made["entry"]["args"] == ["-y", "@example-org/notes-mcp@1.4.0"]
    service.npm["@example-org/notes-mcp/latest"] = service.npm[VERSION]
    made = offer(f"{add} --as two")
    says = [f"told: @example-org/notes-mcp says that it is {NOTES}."]
    assert signals(made, "package") == says
    unknown = offer("add left-pad-mcp-lookalike --registry npm", status=1)
    assert "left-pad-mcp-lookalike 0.0.1 does not exist on npm" in unknown


LOOK_ALIKES: list[tuple[dict[str, Any], str]] = [
    ({"n0tes": {"command": "x"}}, "notes looks like n0tes"),
    ({"nоtes": {"command": "x"}}, "notes looks like nоtes"),  # noqa: RUF001
    ({"mine": {"command": "npx", "args": ["-y", "@example-org/note-mcp@1.0.0"]}},
     "@example-org/notes-mcp looks like @example-org/note-mcp, which you have as mine"),
    ({"mine": {"command": "x", "registry": {"name": "io.github.examp1e-org/notes"}}},
     f"{NOTES} looks like io.github.examp1e-org/notes"),
]  # fmt: skip


def test_a_look_alike_of_what_is_configured_is_a_warning(
    work: Path, service: RegistryService, offer: Any
):
    registries = {"official": False, "team": {"url": service.url}}
    for configured, said in LOOK_ALIKES:
        file = work / "mcp_settings.json"
        file.write_text(json.dumps({"mcpServers": configured, "registries": registries}))
        (signal,) = signals(offer(f"show {NOTES}"), "look-alike")
        assert signal.startswith(f"warning: {said}")


# Hostile words


def test_what_a_registry_wrote_names_no_variable_of_ours(
    work: Path, service: RegistryService, offer: Any, monkeypatch: pytest.MonkeyPatch
):
    """Else the value of any variable could be had sent anywhere."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-person")
    row = service.row("com.example/tickets")["server"]["remotes"][0]
    row["headers"] = [
        {"name": "A", "value": "${OPENAI_API_KEY}"},
        {"name": "B", "value": "${env:OPENAI_API_KEY}"},
        {"name": "C", "value": "x{OPENAI_API_KEY}"},
        {"name": "D", "default": "$${OPENAI_API_KEY}"},
    ]
    offer("add com.example/tickets --set tenant=acme")
    file = work / "mcp_settings.json"
    file.write_text(file.read_text().replace('"disabled": true', '"disabled": false'))
    server = load_settings(file).server("tickets")
    assert "sk-of-the-person" not in json.dumps(dict(server.headers))
    assert server.headers["A"] == "${OPENAI_API_KEY}"
    assert server.headers["D"] == "$${OPENAI_API_KEY}"


def named(name: str, value: str = "", **more: Any) -> list[Any]:
    return [{"type": "named", "name": name, **({"value": value} if value else {}), **more}]


_ROOT = {"p": {"default": "/"}}
DOCKER = [
    named("--privileged", isRequired=True),
    named("--network", "host"),
    named("--rm", "other/image"),
    named("--mount", 'type=bind,src={a},"source=/etc",dst=/x', variables={"a": {}}),
    named("--mount", "type=volume,src=data,volume-opt=o=bind,volume-opt=device=/,dst=/h"),
    named("-v", "{a}/../../:/x", variables={"a": {"isRequired": True}}),
    named("-v", "{p}:/h", variables=_ROOT),
    named("--device", default="/dev/kmem"),
    [{"type": "positional", "value": "-v=/:/host"}],
    [{"type": "positional", "valueHint": "--rm", "default": "--privileged"}],
]
NPX = [
    named("--registry", "http://127.0.0.1:9"),
    named("-y", "other-package"),
    [{"type": "positional", "value": "other-package"}],
]


def test_options_of_docker_that_open_the_machine_are_refused(
    work: Path, service: RegistryService, offer: Any
):
    name = "com.example/database-pinned"
    package = service.row(name)["server"]["packages"][0]
    package["environmentVariables"] = []
    for arguments in DOCKER:
        forget(work)
        package["runtimeArguments"] = arguments
        assert "--allow runtime-options" in offer(f"add {name}", status=1), arguments


def test_a_warning_names_the_folder_that_a_container_gets(
    work: Path, service: RegistryService, cli: Cli
):
    """Allowed or not, a person sees it."""
    name = "com.example/database-pinned"
    package = service.row(name)["server"]["packages"][0]
    package["runtimeArguments"] = named("-v", "{p}:/h", variables=_ROOT)
    for words, folder in (("--set p=/home/me/notes", "/home/me/notes"), ("", "/")):
        write(work, service)
        ran = cli(f"registry add {name} --allow runtime-options {words}")
        assert (ran.status, ran.err) == (0, ""), ran.err
        assert f"! Docker is given -v {folder}:/h." in ran.text


def test_options_of_npx_that_run_something_else_are_refused(
    work: Path, service: RegistryService, offer: Any
):
    package = service.row(NOTES)["server"]["packages"][0]
    for arguments in NPX:
        forget(work)
        package["runtimeArguments"] = arguments
        assert "--allow runtime-options" in offer(f"add {NOTES}", status=1), arguments


def test_a_variable_that_has_other_code_run_is_refused(
    work: Path, service: RegistryService, offer: Any
):
    """A secret among the arguments as well: other programs see them."""
    package = service.row(NOTES)["server"]["packages"][0]
    for name in ("NODE_OPTIONS", "LD_PRELOAD", "npm_config_registry", "PATH"):
        forget(work)
        package["environmentVariables"] = [{"name": name, "value": "x"}]
        why = f"it sets {name}, which can make it run other code"
        assert why in offer(f"add {NOTES}", status=1)
    forget(work)
    package["environmentVariables"] = []
    package["packageArguments"] = [
        {"type": "named", "name": "--key", "isSecret": True, "isRequired": True}
    ]
    assert "--allow secret-argument" in offer(f"add {NOTES}", status=1)


def test_an_address_that_hides_its_host_or_is_close_is_named(
    work: Path, service: RegistryService, cli: Cli
):
    """Half of its readers take `https://good.example@evil.example/` for good.example."""
    remote = service.row("com.example/hybrid")["server"]["remotes"][0]
    for url, status, says in (
        ("https://good.example@evil.example/", 1, "its URL has a user before the host"),
        ("https://{u}evil.example/", 1, "its URL has a user before the host"),
        ("http://169.254.169.254/latest", 0, "which is at a link-local address: why?"),
    ):
        forget(work)
        remote |= {"url": url, "variables": {"u": {"default": "good.example@"}}}
        ran = cli("registry show com.example/hybrid --prefer remote")
        assert (ran.status, says in ran.text) == (status, True), url


def test_a_server_is_not_given_what_another_one_or_the_environment_has(
    work: Path, offer: Any, monkeypatch: pytest.MonkeyPatch
):
    """Many call it API_KEY."""
    offer(f"add {NOTES}")
    made = offer(f"add {NOTES} --as two")
    assert made["entry"]["env"]["NOTES_TOKEN"] == "${TWO_NOTES_TOKEN}"
    assert entries(work)["notes"]["env"]["NOTES_TOKEN"] == "${NOTES_TOKEN}"
    monkeypatch.setenv("NOTES_NOTES_TOKEN", "of the person")
    asks = signals(offer(f"show {NOTES}"), "asks for")
    assert any("NOTES_NOTES_TOKEN is already set in your environment" in x for x in asks)


# Starting, asking, writing


@pytest.fixture
def npx(work: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program `npx` that notes how it was started, and is a server of notes."""
    programs = work / "bin"
    programs.mkdir()
    started = work / "started"
    program = programs / "npx"
    program.write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$@" "token=$NOTES_TOKEN" >> {started}\n'
        f"cd {SERVER.parents[2]} && exec {sys.executable} -m tests.support.notes_server\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    return started


def test_try_starts_the_server_once_with_its_variables_only(
    work: Path,
    service: RegistryService,
    npx: Path,
    cli: Cli,
    offer: Any,
    monkeypatch: pytest.MonkeyPatch,
):
    offer(f"add {NOTES}")
    write(work, service)
    assert "set NOTES_TOKEN, NOTES_DIR first" in offer(f"add {NOTES} --try", status=1)
    assert ("notes" in entries(work), npx.exists()) == (True, False)
    monkeypatch.setenv("NOTES_TOKEN", "abc-secret-word")
    write(work, service)
    status, out, err = cli(f"registry add {NOTES} --set 'NOTES_DIR=/tmp/my notes' --try")
    assert (status, err) == (0, "")
    assert "Started once, and ended. Its tools: " in out
    assert "abc-secret-word" not in out + (work / "mcp_settings.json").read_text()
    assert npx.read_text().splitlines() == [
        "-y", "@example-org/notes-mcp@1.4.0", "/tmp/my notes", "--log-level", "info",
        "token=abc-secret-word",
    ]  # fmt: skip
    assert entries(work)["notes"]["disabled"] is True


def test_add_asks_for_values_but_no_secrets_and_shows_the_next_steps(work: Path):
    home = {x: os.environ[x] for x in ("HOME", "XDG_CACHE_HOME", "npm_config_registry")}
    words = (warm_python(), *AS_A_PROCESS, "registry", "add", NOTES)
    with terminal(*words, folder=work, **home) as person:
        person.expect("NOTES_DIR")
        person.type("/home/me/notes")
        person.expect("Written into")
        assert person.end() == 0
    assert "Access token (" not in person.text
    text = " ".join(person.text.split())
    assert "+ @example-org/notes-mcp confirms" in text
    assert "You must give: NOTES_TOKEN: Access token, a secret" in text
    assert 'switch it on: remove "disabled" of notes' in text
    assert "xai-mcp-agent tools accept notes" in text
    written = entries(work)["notes"]
    assert written["args"][2] == "/home/me/notes"
    assert written["env"]["NOTES_TOKEN"] == "${NOTES_TOKEN}"


def test_no_link_in_a_folder_of_a_stranger_is_written_through(
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
