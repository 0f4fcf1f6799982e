"""Reaching a server: every transport, both eras, and what is said when it cannot be reached."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.bridge_scripts import ended
from tests.support.bridges import bridge_with, status_of, wait_for_state
from tests.support.fast_loop import FastLoop
from tests.support.fault_http import fault_http
from tests.support.fault_server import entry
from tests.support.journals import none_runs
from tests.support.processes import wait_until
from tests.support.watchdog import ends_within
from xai_mcp_agent import Bridge, SourceClosed, SourceFailed, UnknownServer
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
def test_a_server_is_reached_in_every_way_and_says_its_era(
    galleries: Bridge, server: str, transport: str, era: str
):
    """MCP 2026-07-28 and the handshake before it; the SDK speaks the new era over SSE too."""
    status = status_of(galleries, server)
    assert (status.state, status.transport, status.era) == ("ready", transport, era)
    assert status.server == "gallery 1.2.3"
    assert status.tool_count == len(galleries.list_tools(server))
    assert status.connect_seconds is not None
    assert galleries.call_tool(server, "add", {"a": 2, "b": 3}).structured == {"result": 5}


@pytest.mark.parametrize(
    ("options", "era"),
    [
        ({"era": "legacy"}, LEGACY),
        ({"era": "modern"}, MODERN),
        ({"era": "both"}, MODERN),
        ({"era": "both", "mode": "legacy"}, LEGACY),
        ({"era": "both", "mode": MODERN}, MODERN),
        ({"version": "2024-11-05"}, "2024-11-05"),
    ],
)
def test_the_era_is_found_out_unless_the_settings_say_it(options: dict[str, str], era: str):
    with bridge_with(it=entry(**options)) as bridge:
        assert bridge.call_tool("it", "echo", {"text": "hello"}).text == "hello"
        assert status_of(bridge, "it").era == era


def test_a_server_that_hangs_at_its_start_is_left_alone_after_six_tries_with_default_limits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """docs/reliability.md. A start that took its whole time is no session that held."""
    monkeypatch.setattr(asyncio, "new_event_loop", FastLoop)
    (journal := tmp_path / "journal").touch()
    with bridge_with(it=entry(hang=True, journal=str(journal))) as bridge:
        bridge.connect("it")
        wait_for_state(bridge, "it", "failed", seconds=60.0)
        assert journal.read_text(encoding="utf-8").count("start ") <= 6
        with pytest.raises(SourceFailed, match="after 30 s"):
            bridge.list_tools("it")


def test_a_server_of_the_wrong_era_is_refused_with_what_to_change():
    server = entry(era="legacy", mode=MODERN)
    with bridge_with(it=server) as bridge, pytest.raises(SourceFailed) as caught:
        bridge.list_tools("it")
    assert "it speaks protocol 2025-11-25, and the settings demand 2026-07-28" in str(caught.value)
    assert 'Remove "mode"' in caught.value.next_step


def test_a_server_that_ignores_the_probe_is_waited_for_once_and_no_longer_than_the_settings_say():
    """Also by the next bridge; the SDK alone waits ten seconds each time."""
    mute = entry(discover="mute", probeTimeout=0.2)
    for looked_at in (["server/discover", "initialize"], ["initialize"]):
        with bridge_with(it=mute) as bridge:
            with ends_within(9):
                seen = json.loads(bridge.call_tool("it", "seen").text)
                assert seen[: len(looked_at)] == looked_at
            assert status_of(bridge, "it").era == LEGACY


def test_a_server_that_became_newer_is_asked_again(tmp_path: Path):
    """What is remembered about it is only where to begin."""
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


def test_a_server_that_prints_other_things_on_stdout_is_understood():
    with bridge_with(it=entry(banner=True, bom=True)) as bridge:
        assert bridge.call_tool("it", "echo", {"text": "b"}).text == "b"
        lines = status_of(bridge, "it").stderr_tail
        assert "(on stdout, not a message) Starting up ..." in lines


def test_a_command_that_cannot_be_started_is_named(tmp_path: Path):
    (script := tmp_path / "script").touch()
    install = "Install it, or write its full path as `command`."
    rows = (
        ({"command": "npx", "env": {"PATH": "/nowhere"}}, "the command 'npx' was not found.",
         "Install Node.js (it brings npx)."),
        ({"command": str(script)}, f"the command {str(script)!r} cannot be run: Permission denied.",
         install),
        ({"command": sys.executable, "cwd": "/no/such/folder"},
         "its folder '/no/such/folder' does not exist.", "Correct `cwd` in the settings."),
    )  # fmt: skip
    with bridge_with(**{f"it{n}": server for n, (server, *_) in enumerate(rows)}) as bridge:
        bridge.connect(wait=True)
        told = [(x.state, x.error, x.next_step) for x in bridge.servers()]
    assert told == [("failed", problem, step) for _, problem, step in rows]


def test_one_hanging_and_one_missing_server_keep_nobody_waiting():
    """Servers start in the background and side by side, each with a limit of its own."""
    with bridge_with(
        good=entry(),
        modern=entry(era="modern"),
        hung=entry(hang=True, startTimeout=1),
        missing={"command": "no-such-command"},
    ) as bridge:
        bridge.connect()
        for server in ("good", "modern"):
            assert bridge.call_tool(server, "echo", {"text": server}).text == server
        assert status_of(bridge, "hung").state == "connecting"
        with ends_within(1 + 12):  # the hung one's limit, and ending it
            bridge.connect(wait=True)
        assert status_of(bridge, "hung").error.endswith("while shaking hands.")
        assert "not found" in status_of(bridge, "missing").error


def test_the_limit_of_a_call_covers_starting_its_server_again(tmp_path: Path):
    """One budget for the whole call, from the first attempt on."""
    server = entry(journal=str(tmp_path / "journal"), then={"hang": True})
    with bridge_with(it=server) as bridge:
        with pytest.raises(SourceClosed):
            bridge.call_tool("it", "die")
        late = pytest.raises(SourceFailed, match=r"it was not ready within 0\.5 s")
        with ends_within(25), late:
            bridge.call_tool("it", "echo", {"text": "x"}, timeout_seconds=0.5)


def test_only_what_the_settings_list_reaches_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OPENAI_API_KEY", "parent-only")
    server = {**entry(), "env": {"TOKEN": "from settings"}, "cwd": str(tmp_path)}
    with bridge_with(it=server) as bridge:
        text = bridge.call_tool("it", "environment").text
    assert '"TOKEN": "***"' in text  # it has the secret, and the result does not
    assert "from settings" not in text
    assert str(tmp_path.parent) in text
    assert "parent-only" not in text


def test_a_server_that_keeps_dying_is_started_ever_more_slowly_and_then_left_alone(tmp_path: Path):
    journal = tmp_path / "journal"
    with bridge_with(it=entry(exit=1, journal=str(journal), mode="legacy")) as bridge:
        bridge.connect()
        wait_until(lambda: len(starts_in(journal)) == 3, "it was started three times")
        first, second, third = starts_in(journal)
        assert third - second > second - first > 0.5
        while len(starts_in(journal)) < 6:  # who asks does not wait for the pause
            with pytest.raises(SourceFailed, match="exited with code 1"):
                bridge.list_tools("it")
        wait_for_state(bridge, "it", "failed")
        assert len(starts_in(journal)) == 6
        with pytest.raises(SourceFailed):
            bridge.list_tools("it")
        assert len(starts_in(journal)) == 7, "asking again tries again"


def starts_in(journal: Path) -> list[float]:
    """When the server was started, each time, in seconds."""
    lines = journal.read_text(encoding="utf-8").splitlines() if journal.exists() else []
    return [float(line.split()[1]) for line in lines if line.startswith("start ")]


def test_an_attempt_that_began_before_a_server_was_mended_is_not_the_last(tmp_path: Path):
    """Whoever asks in the middle of it is told what comes of the one after it."""
    mended, starts = tmp_path / "mended", tmp_path / "starts"
    server = entry(delay=0.5, exit=3, until=str(mended), journal=str(starts), mode="legacy")
    with bridge_with(it=server) as bridge:
        with pytest.raises(SourceFailed, match="exited with code 3"):
            bridge.list_tools("it")
        wait_until(lambda: starts.read_text().count("start") == 2, "it is started again")
        mended.touch()
        assert bridge.call_tool("it", "echo", {"text": "hello"}).text == "hello"


def test_a_disabled_and_an_unknown_server_are_reported_by_name():
    with bridge_with(off={**entry(), "disabled": True}, it=entry()) as bridge:
        with pytest.raises(UnknownServer, match=r"Server 'off' is disabled"):
            bridge.connect("off")
        with pytest.raises(UnknownServer, match=r"No MCP server 'itt'.*Known: it"):
            bridge.list_tools("itt")
        assert status_of(bridge, "off").state == "disabled"


def test_too_many_open_files_are_named_and_heal(tmp_path: Path):
    body = """
        import resource
        from contextlib import suppress

        def told(name):
            try:
                return bridge.list_tools(name) and "fine"
            except Exception as error:
                return f"{error.problem} {error.next_step}"

        with Bridge({"mcpServers": {
            "it": entry(journal=journal), "near": entry(journal=journal), "far": {"url": "URL"},
        }}) as bridge:
            bridge.list_tools("near")
            bridge.list_tools("far")
            bridge.disconnect("far")
            resource.setrlimit(resource.RLIMIT_NOFILE, (400, 400))
            files = []

            def refused(name):
                # Again and again: what was in use before is let go of a little later.
                for _ in range(20):
                    with suppress(OSError):
                        while True:
                            files.append(os.open(os.devnull, os.O_RDONLY))
                    if (said := told(name)) != "fine":
                        return said
                    bridge.disconnect(name)
                return "never refused"

            words = [refused("it"), refused("far")]
            words.append(bridge.call_tool("near", "echo", {"text": "here"}).text)
            for file in files:
                os.close(file)
            say(chr(10).join([*words, told("it"), told("far")]))
    """
    with fault_http() as peer:
        code, output, errors = ended(tmp_path, body.replace("URL", peer.url))
    assert code == 0, errors
    here, away, near, again, far = output.splitlines()
    assert here.startswith("it could not be started: too many files are open here.")
    assert "cannot be reached: too many open files here." in away
    assert "`ulimit -n" in here
    assert "`ulimit -n" in away
    assert (near, again, far) == ("here", "fine", "fine")


ROOT = Path(__file__).parents[3]
CHILD_SECONDS = 60

# Asks for the server in a process that has imported nothing yet.
CALL = """
import json, sys
from xai_mcp_agent import Bridge
with Bridge({"mcpServers": {"it": json.loads(sys.argv[1])}}) as bridge:
    print(bridge.call_tool("it", "echo", {"text": "hello"}).text)
"""
# An import that never ends stands for one that takes long.
STUCK = """
import importlib.util, json, sys, threading
from xai_mcp_agent import Bridge
begun = threading.Event()
class Stuck:
    def find_spec(self, name, *_):
        if name == "mcp":
            return importlib.util.spec_from_loader(name, self)
    def create_module(self, spec):
        return None
    def exec_module(self, module):
        begun.set()
        threading.Event().wait()
sys.meta_path.insert(0, Stuck())
with Bridge({"mcpServers": {"it": json.loads(sys.argv[1])}}) as bridge:
    bridge.connect("it")
    assert begun.wait(30)
print("ended")
"""


def in_a_fresh_process(code: str, server: dict[str, object]) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, json.dumps(server)],
        cwd=ROOT, capture_output=True, text=True, timeout=CHILD_SECONDS, check=True,
    )  # fmt: skip
    return done.stdout.strip()


def test_a_server_that_is_started_before_the_sdk_is_there_is_the_one_that_is_called(
    tmp_path: Path,
) -> None:
    journal = tmp_path / "journal"
    assert in_a_fresh_process(CALL, entry(journal=str(journal))) == "hello"
    assert journal.read_text(encoding="utf-8").count("start ") == 1


def test_nobody_waits_for_the_import_of_the_sdk_when_all_ends(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    assert in_a_fresh_process(STUCK, entry(journal=str(journal))) == "ended"
    assert none_runs(journal)


def test_a_server_inherits_what_the_sdk_would_give_it() -> None:
    from mcp.client.stdio import DEFAULT_INHERITED_ENV_VARS

    assert sorted(INHERITED) == sorted(DEFAULT_INHERITED_ENV_VARS)
