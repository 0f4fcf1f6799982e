"""Reaching a server: every transport, both eras, and the error when it cannot be reached."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.support.bridge_scripts import run_to_end
from tests.support.bridges import bridge_with, status_of, wait_for_state
from tests.support.fast_loop import FastLoop
from tests.support.fault_http import fault_http
from tests.support.fault_server import entry
from tests.support.processes import wait_until
from tests.support.warm_python import warm_python
from tests.support.watchdog import ends_within
from xai_mcp_agent import Bridge, SourceFailed, UnknownServer
from xai_mcp_agent.sources.process import INHERITED

MODERN, LEGACY = "2026-07-28", "2025-11-25"


@pytest.mark.parametrize(
    ("server", "transport", "era"),
    [
        ("stdio", "stdio", MODERN),
        ("stdio_old", "stdio", LEGACY),
        ("http", "http", MODERN),
        ("http_old", "http", LEGACY),
        ("sse", "sse", MODERN),
    ],
)
def test_a_server_is_reached_by_each_transport(
    galleries: Bridge, server: str, transport: str, era: str
):
    """MCP 2026-07-28 and the handshake before it; the SDK speaks the new era over SSE too."""
    status = status_of(galleries, server)
    assert (status.state, status.transport, status.era) == ("ready", transport, era)
    assert status.server == "gallery 1.2.3"
    assert status.tool_count == len(galleries.list_tools(server))
    assert status.connect_seconds is not None
    assert galleries.call_tool(server, "add", {"a": 2, "b": 3}).structured == {"result": 5}


ERAS: tuple[tuple[dict[str, str], str], ...] = (
    ({"era": "legacy"}, LEGACY),
    ({"era": "modern"}, MODERN),
    ({"era": "both"}, MODERN),
    ({"era": "both", "mode": "legacy"}, LEGACY),
    ({"era": "both", "mode": MODERN}, MODERN),
    ({"version": "2024-11-05"}, "2024-11-05"),
)


def test_the_era_is_negotiated_unless_the_settings_name_it():
    with bridge_with(
        **{f"it{n}": entry(**options) for n, (options, _) in enumerate(ERAS)}
    ) as bridge:
        bridge.connect(wait=True)
        assert [x.era for x in bridge.servers()] == [era for _, era in ERAS]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"hang": True}, "after 30 s"),
        ({"exit": 1, "mode": "legacy", "startTimeout": 3000}, "exited with|closed its"),
    ],
    ids=["hangs", "exits"],
)
def test_a_server_that_cannot_start_is_tried_six_times_and_then_only_on_request(
    options: dict[str, Any], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """docs/reliability.md. A start that times out does not count as a stable session."""
    monkeypatch.setattr(asyncio, "new_event_loop", FastLoop)
    (journal := tmp_path / "journal").touch()
    with bridge_with(it=entry(**options, journal=str(journal))) as bridge:
        bridge.connect("it")
        wait_for_state(bridge, "it", "failed", seconds=60.0)
        # One that hangs may be ended before it writes into the journal.
        assert (tries := starts_in(journal)) <= 6
        with pytest.raises(SourceFailed, match=words):
            bridge.list_tools("it")
        assert "hang" in options or starts_in(journal) == tries + 1 == 7


def starts_in(journal: Path) -> int:
    return journal.read_text(encoding="utf-8").count("start ")


def test_a_server_that_ignores_the_probe_costs_its_limit_once():
    """The next bridge remembers it; the SDK alone waits ten seconds each time."""
    mute = entry(on={"server/discover": []}, probeTimeout=0.2)
    for methods in (["server/discover", "initialize"], ["initialize"]):
        with bridge_with(it=mute) as bridge:
            with ends_within(9):
                received = json.loads(bridge.call_tool("it", "seen").text)
                assert received[: len(methods)] == methods
            assert status_of(bridge, "it").era == LEGACY


def test_a_server_that_became_newer_is_probed_again(tmp_path: Path):
    """The remembered era is only the first one to try."""
    newer = {"era": "modern"}
    server = entry(journal=str(tmp_path / "journal"), then=newer)
    with bridge_with(it=server) as bridge:
        bridge.list_tools("it")
        assert status_of(bridge, "it").era == LEGACY
    with bridge_with(it=server) as bridge:
        with suppress(SourceFailed):
            bridge.list_tools("it")
        assert bridge.call_tool("it", "echo", {"text": "x"}).text == "x"
        assert status_of(bridge, "it").era == MODERN


def test_a_server_that_cannot_start_is_reported_with_the_reason_and_the_fix(tmp_path: Path):
    (script := tmp_path / "script").touch()
    rows: tuple[tuple[dict[str, Any], str, str], ...] = (
        ({"command": "npx", "env": {"PATH": "/nowhere"}}, "the command 'npx' was not found.",
         "Install Node.js (it brings npx)."),
        ({"command": str(script)}, f"the command {str(script)!r} cannot be run: Permission denied.",
         "Install it, or write its full path as `command`."),
        ({"command": sys.executable, "cwd": "/no/such/folder"},
         "its folder '/no/such/folder' does not exist.", "Correct `cwd` in the settings."),
        (entry(era="legacy", mode=MODERN),
         "it speaks protocol 2025-11-25, and the settings demand 2026-07-28", 'Remove "mode"'),
    )  # fmt: skip
    with bridge_with(**{f"it{n}": server for n, (server, *_) in enumerate(rows)}) as bridge:
        bridge.connect(wait=True)
        for status, (_, problem, step) in zip(bridge.servers(), rows, strict=True):
            assert status.state == "failed"
            assert problem in status.error
            assert step in status.next_step


def test_only_variables_of_the_settings_are_passed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "parent-only")
    server = {**entry(), "env": {"TOKEN": "from settings"}, "cwd": str(tmp_path)}
    with bridge_with(it=server) as bridge:
        text = bridge.call_tool("it", "environment").text
    assert '"TOKEN": "***"' in text  # the server has the secret, and the result does not
    assert "from settings" not in text
    assert str(tmp_path.parent) in text
    assert "parent-only" not in text


def test_a_caller_during_a_failing_attempt_gets_the_outcome_of_the_next_one(tmp_path: Path):
    """The attempt may have begun before the server was repaired."""
    mended, starts = tmp_path / "mended", tmp_path / "starts"
    server = entry(delay=0.2, exit=3, until=str(mended), journal=str(starts), mode="legacy")
    with bridge_with(it=server) as bridge:
        with pytest.raises(SourceFailed, match="exited with code 3"):
            bridge.list_tools("it")
        wait_until(lambda: starts.read_text().count("start") == 2, "it has started again")
        mended.touch()
        assert bridge.call_tool("it", "echo", {"text": "hello"}).text == "hello"


def test_a_disabled_server_is_reported_by_name():
    with bridge_with(off={**entry(), "disabled": True}) as bridge:
        with pytest.raises(UnknownServer, match=r"Server 'off' is disabled"):
            bridge.connect("off")
        assert status_of(bridge, "off").state == "disabled"


def test_too_many_open_files_are_reported_and_servers_start_once_there_are_fewer(tmp_path: Path):
    body = """
        import resource
        from contextlib import suppress

        def outcome(name):
            try:
                return bridge.list_tools(name) and "fine"
            except Exception as error:
                return f"{error.problem} {error.next_step}"

        def exhausted(name):
            # Several times, because earlier files are closed a little later.
            for _ in range(20):
                with suppress(OSError):
                    while True:
                        files.append(os.open(os.devnull, os.O_RDONLY))
                if (refusal := outcome(name)) != "fine":
                    return refusal
                bridge.disconnect(name)
            return "no error"

        peers = {x: entry(journal=journal) for x in ("it", "near")} | {"far": {"url": "URL"}}
        with Bridge({"mcpServers": peers}) as bridge:
            bridge.list_tools("near")
            bridge.list_tools("far")
            bridge.disconnect("far")
            resource.setrlimit(resource.RLIMIT_NOFILE, (400, 400))
            files = []
            lines = [exhausted("it"), exhausted("far")]
            lines.append(bridge.call_tool("near", "echo", {"text": "here"}).text)
            for file in files:
                os.close(file)
            say(chr(10).join([*lines, outcome("it"), outcome("far")]))
    """
    with fault_http() as peer:
        code, output, errors = run_to_end(tmp_path, body.replace("URL", peer.url), warm_python())
    assert code == 0, errors
    start_error, url_error, *rest = output.splitlines()
    assert start_error.startswith("it could not be started: too many files are open here.")
    assert "cannot be reached: too many open files here." in url_error
    assert "`ulimit -n" in start_error
    assert "`ulimit -n" in url_error
    assert rest == ["here", "fine", "fine"]


def test_a_server_inherits_the_same_variables_as_with_the_sdk():
    from mcp.client.stdio import DEFAULT_INHERITED_ENV_VARS

    assert sorted(INHERITED) == sorted(DEFAULT_INHERITED_ENV_VARS)
