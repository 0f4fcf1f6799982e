"""The process that keeps the servers of a settings file: its start, its clients and its end."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.server.mcpserver import MCPServer

from tests.support.processes import is_running, wait_until
from tests.support.warm_servers import WarmServers, client_of
from xai_mcp_agent import Bridge
from xai_mcp_agent.bridge.operations import Operations
from xai_mcp_agent.cli.main import run
from xai_mcp_agent.gateway import process
from xai_mcp_agent.sources import relay, warm

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(os.name == "nt", reason="there are no such sockets"),
]
SECONDS = 60.0


async def server_of(client: Client) -> int:
    """Return the id of the gallery's process."""
    result = await client.call_tool("gallery_process", {})
    assert result.structured_content is not None, result
    return result.structured_content["result"]


def wait_until_ended(servers: WarmServers, *pids: int) -> None:
    """Wait until these processes have ended and have left nothing behind."""
    wait_until(lambda: not any(map(is_running, pids)), "they have ended")
    wait_until(lambda: not servers.folders(), "no process and no file is left")


async def test_clients_that_come_at_once_share_one_process(servers: WarmServers):
    pids: list[int] = []

    async def use() -> None:
        async with client_of(servers.command("--attach")) as client:
            pids.append(await server_of(client))
            if len(pids) == 2:
                both.set()
            await over.wait()

    both, over = anyio.Event(), anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(use)
        tasks.start_soon(use)
        with anyio.fail_after(SECONDS):
            await both.wait()
        (one,) = await anyio.to_thread.run_sync(servers.processes)
        assert (one["connections"], pids[0]) == (2, pids[1])
        assert [(x["name"], x["state"]) for x in one["servers"]] == [("gallery", "ready")]
        over.set()
    result = await anyio.to_thread.run_sync(servers.run, "--stop")
    assert (result.stdout, result.stderr) == (f"Process {one['pid']} has ended.\n", "")
    await anyio.to_thread.run_sync(wait_until_ended, servers, one["pid"], *pids)


def test_another_value_of_a_variable_means_another_process(
    servers: WarmServers, monkeypatch: pytest.MonkeyPatch
):
    before = warm.place_of(servers.file)
    assert warm.place_of(servers.file) == before
    monkeypatch.setenv("TOKEN", "another")
    assert warm.place_of(servers.file).socket != before.socket


def test_an_idle_process_ends(servers: WarmServers, capsys: pytest.CaptureFixture[str]):
    result = servers.run("--socket", "--idle", "1")
    assert result.returncode == 0, result.stderr
    assert "serve --attach" in result.stdout
    assert servers.folders() == []
    with pytest.raises(SystemExit):
        run(["serve", "--status", "--settings", str(servers.file)])
    assert "No process keeps" in capsys.readouterr().out


def test_a_process_that_cannot_start_is_reported_with_the_end_of_its_log(servers: WarmServers):
    with pytest.raises(warm.WarmProcessFailed, match=r"No such option.*--nonsense"):
        warm.ensure(warm.place_of(servers.file), ["--nonsense"])


@asynccontextmanager
async def tiny(operations: Operations) -> AsyncGenerator[process.Services]:
    """Serve a server without tools."""
    server = MCPServer("tiny", log_level="CRITICAL")._lowlevel_server

    async def mcp(read: Any, write: Any, _: str) -> None:
        await server.run(read, write, server.create_initialization_options())

    yield process.Services(mcp)


@pytest.fixture
def running(servers: WarmServers) -> Generator[tuple[warm.WarmPlace, Bridge]]:
    """The place of a process that runs in one of our threads, and the bridge with its loop."""
    place = warm.place_of(servers.file)
    place.folder.mkdir(mode=0o700, parents=True)
    with Bridge({}) as bridge:
        serve = process._Process(place, SECONDS, (is_ready := threading.Event()).set).run
        serving = bridge.submit(serve, tiny)
        assert is_ready.wait(SECONDS)
        yield place, bridge
        warm.ask(place, stop=True)
        serving.result(SECONDS)
        assert not warm.is_live(place)


def test_another_user_is_refused_on_both_sides(
    running: tuple[warm.WarmPlace, Bridge], monkeypatch: pytest.MonkeyPatch
):
    place, _ = running
    with relay.connect(str(place.socket)) as connection:
        assert relay.peer_uid(connection) == os.getuid()
    with monkeypatch.context() as other:
        other.setattr(process, "peer_uid", lambda _: os.getuid() + 1)
        with pytest.raises(ConnectionError):
            warm.ask(place, status=True)
    with monkeypatch.context() as other:
        other.setattr(relay, "peer_uid", lambda _: os.getuid() + 1)
        with pytest.raises(PermissionError, match="another user"):
            relay.connect(str(place.socket))


@contextmanager
def run_relay(*words: str) -> Generator[tuple[subprocess.Popen[bytes], socket.socket]]:
    """Run a relay; yield it and the other end of its socket."""
    folder = tempfile.mkdtemp(prefix="relay-")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path := f"{folder}/s")
        listening.listen()
        listening.settimeout(SECONDS)
        child = subprocess.Popen(
            [sys.executable, "-IS", relay.__file__, path, *words],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        connection, _ = listening.accept()
        with child, connection:
            yield child, connection
    shutil.rmtree(folder)


def test_a_relay_passes_on_the_end_of_its_input_and_the_answer_after_it():
    with run_relay() as (child, connection):
        assert child.stdin is not None
        child.stdin.write(b"question")
        child.stdin.close()
        assert connection.recv(100) == b"question"
        assert connection.recv(100) == b""
        connection.sendall(b"answer")
        connection.close()
        assert child.stdout is not None
        assert (child.stdout.read(), child.wait(SECONDS)) == (b"answer", 0)


def test_a_relay_that_is_refused_runs_the_server_itself():
    with run_relay("1", '{"server": "x"}', "cat") as (child, connection):
        assert connection.recv(100) == b'{"server": "x"}\n'
        connection.sendall(b'{"error": "it is off"}\n')
        connection.close()
        out, words = child.communicate(b"hello", SECONDS)
        assert (out, child.returncode) == (b"hello", 0)
        assert b"cannot be used" in words
