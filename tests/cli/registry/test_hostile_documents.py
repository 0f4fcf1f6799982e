"""`xai-mcp-agent registry` with documents that imitate other servers or attack the user."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import Cli
from tests.support.registry_service import RegistryService
from xai_mcp_agent.settings.load import load_settings

from .offers import NOTES, entries, forget, signals, write

LOOK_ALIKES: list[tuple[dict[str, Any], str]] = [
    ({"n0tes": {"command": "x"}}, "notes looks like n0tes"),
    ({"nоtes": {"command": "x"}}, "notes looks like nоtes"),  # noqa: RUF001
    ({"mine": {"command": "npx", "args": ["-y", "@example-org/note-mcp@1.0.0"]}},
     "@example-org/notes-mcp looks like @example-org/note-mcp, which you have as mine"),
    ({"mine": {"command": "x", "registry": {"name": "io.github.examp1e-org/notes"}}},
     f"{NOTES} looks like io.github.examp1e-org/notes"),
]  # fmt: skip


def test_a_look_alike_of_a_configured_server_is_a_warning(
    work: Path, service: RegistryService, offer: Any
):
    registries = {"official": False, "team": {"url": service.url}}
    for configured, warning in LOOK_ALIKES:
        file = work / "mcp_settings.json"
        file.write_text(json.dumps({"mcpServers": configured, "registries": registries}))
        (signal,) = signals(offer(f"show {NOTES}"), "look-alike")
        assert signal.startswith(f"warning: {warning}")


# Hostile words


def test_a_registry_document_cannot_read_our_variables(
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


def option(name: str, value: str = "", **more: Any) -> list[Any]:
    return [{"type": "named", "name": name, **({"value": value} if value else {}), **more}]


PINNED = "com.example/database-pinned"
_ROOT = {"p": {"default": "/"}}
DOCKER = [
    option("--privileged", isRequired=True),
    option("--network", "host"),
    option("--rm", "other/image"),
    option("--mount", 'type=bind,src={a},"source=/etc",dst=/x', variables={"a": {}}),
    option("--mount", "type=volume,src=data,volume-opt=o=bind,volume-opt=device=/,dst=/h"),
    option("-v", "{a}/../../:/x", variables={"a": {"isRequired": True}}),
    option("-v", "{p}:/h", variables=_ROOT),
    option("--device", default="/dev/kmem"),
    [{"type": "positional", "value": "-v=/:/host"}],
    [{"type": "positional", "valueHint": "--rm", "default": "--privileged"}],
]
NPX = [
    option("--registry", "http://127.0.0.1:9"),
    option("-y", "other-package"),
    [{"type": "positional", "value": "other-package"}],
]


@pytest.fixture
def refusal(work: Path, service: RegistryService, offer: Any) -> Callable[..., str]:
    """Returns why a server is refused whose package has these fields."""

    def refusal(name: str, **fields: Any) -> str:
        forget(work)
        service.row(name)["server"]["packages"][0].update(fields)
        return offer(f"add {name}", status=1)

    return refusal


def test_docker_options_that_open_the_machine_are_refused(refusal: Callable[..., str]):
    for options in DOCKER:
        why = refusal(PINNED, environmentVariables=[], runtimeArguments=options)
        assert "--allow runtime-options" in why, options


def test_a_warning_names_the_folder_that_a_container_can_reach(
    work: Path, service: RegistryService, cli: Cli
):
    """Allowed or not, a person sees it."""
    package = service.row(PINNED)["server"]["packages"][0]
    package["runtimeArguments"] = option("-v", "{p}:/h", variables=_ROOT)
    for words, folder in (("--set p=/home/me/notes", "/home/me/notes"), ("", "/")):
        write(work, service)
        ran = cli(f"registry add {PINNED} --allow runtime-options {words}")
        ran.shows(f"! Docker is given -v {folder}:/h.")


def test_npx_options_that_run_other_packages_are_refused(refusal: Callable[..., str]):
    for options in NPX:
        assert "--allow runtime-options" in refusal(NOTES, runtimeArguments=options), options


def test_a_variable_that_makes_a_program_run_other_code_is_refused(refusal: Callable[..., str]):
    """A secret among the arguments as well: other programs see them."""
    for name in ("NODE_OPTIONS", "LD_PRELOAD", "npm_config_registry", "PATH"):
        why = refusal(NOTES, environmentVariables=[{"name": name, "value": "x"}])
        assert f"it sets {name}, which can make it run other code" in why
    key = option("--key", isSecret=True, isRequired=True)
    why = refusal(NOTES, environmentVariables=[], packageArguments=key)
    assert "--allow secret-argument" in why


def test_an_address_that_hides_its_host_or_is_link_local_is_reported(
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
        cli("registry show com.example/hybrid --prefer remote").shows(says, status=status)


def test_each_server_has_variables_of_its_own(
    work: Path, offer: Any, monkeypatch: pytest.MonkeyPatch
):
    """Many call it API_KEY."""
    offer(f"add {NOTES}")
    result = offer(f"add {NOTES} --as two")
    assert result["entry"]["env"]["NOTES_TOKEN"] == "${TWO_NOTES_TOKEN}"
    assert entries(work)["notes"]["env"]["NOTES_TOKEN"] == "${NOTES_TOKEN}"
    monkeypatch.setenv("NOTES_NOTES_TOKEN", "of the person")
    asks = signals(offer(f"show {NOTES}"), "asks for")
    assert any("NOTES_NOTES_TOKEN is already set in your environment" in x for x in asks)
