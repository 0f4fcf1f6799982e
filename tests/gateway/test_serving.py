"""`xai-mcp-agent serve` as a real process, over stdin and stdout and over HTTP."""

from __future__ import annotations

import errno
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.support.commands import AS_A_PROCESS, Cli, write_settings
from tests.support.fault_server import entry
from tests.support.gateways import text_of
from tests.support.mcp_servers import gallery_entry
from tests.support.processes import none_runs, wait_until
from tests.support.warm_python import warm_python
from tests.support.warm_servers import client_of

TOKEN = "a token of a test"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder whose settings have a server with a journal."""
    servers = {"gallery": gallery_entry(), "other": entry(journal=str(tmp_path / "journal"))}
    write_settings(tmp_path, servers, groups={"sums": {"include": ["gallery/add"]}})
    monkeypatch.chdir(tmp_path)
    return tmp_path


@contextmanager
def serving(*words: str) -> Generator[tuple[subprocess.Popen[str], str]]:
    """Run `serve --http`; yield its process and the address that it prints."""
    process = subprocess.Popen(
        [sys.executable, *AS_A_PROCESS, "serve", "--http", "--port", "0", *words],
        stdout=subprocess.PIPE, text=True, env={**os.environ, "XAI_MCP_TOKEN": TOKEN},
    )  # fmt: skip
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        address = re.search(r"http://\S+/mcp", line)
        assert address, line
        yield process, address[0]
    finally:
        process.kill()
        process.communicate(timeout=10)


AS_ON_WINDOWS = (
    "-c", "from xai_mcp_agent.gateway import lines; lines._LOOP_READS_PIPES = False; "
    "from xai_mcp_agent.cli.main import run; run()",
)  # fmt: skip


@pytest.mark.anyio
@pytest.mark.parametrize("command", [AS_A_PROCESS, AS_ON_WINDOWS], ids=["here", "as on Windows"])
async def test_a_client_over_stdio_has_all_tools_and_its_end_ends_the_process(
    folder: Path, command: tuple[str, ...]
):
    """Only messages of the protocol are on stdout; no process outlives the client."""
    async with client_of([warm_python(), *command, "serve", "--stdio"]) as client:
        total = await client.call_tool("gallery_add", {"a": 1, "b": 2})
        assert text_of(total) == "3"
        assert text_of(await client.call_tool("other_echo", {"text": "well"})) == "well"
        assert "other_echo" in {x.name for x in (await client.list_tools()).tools}
    wait_until(lambda: none_runs(folder / "journal"), "its servers have ended")


@pytest.mark.anyio
async def test_over_http_each_group_has_an_address_and_each_client_needs_the_token(folder: Path):
    """The page itself needs no token. Other refusals are in test_guard.py."""
    with serving("--admin") as (process, address):
        base = address.removesuffix("/mcp")
        with_token = {"Authorization": f"Bearer {TOKEN}"}
        async with httpx2.AsyncClient(timeout=60) as http:
            for path, headers, status in [
                ("/mcp", {}, 401),
                ("/mcp", {**with_token, "Host": "example.org"}, 421),
                ("/api/sources", {}, 401),
                ("/api/sources", with_token, 200),
                ("/", {}, 200),
            ]:
                answer = await http.get(base + path, headers=headers)
                assert (path, answer.status_code) == (path, status)
        async with httpx2.AsyncClient(headers=with_token, timeout=60) as http:
            for mode in ("auto", "legacy"):
                transport = streamable_http_client(f"{address}/sums", http_client=http)
                async with Client(transport, mode=mode) as client:
                    total = await client.call_tool("gallery_add", {"a": 2, "b": 2})
                    assert text_of(total) == "4"  # it waits for the server, a listing does not
                    assert [x.name for x in (await client.list_tools()).tools] == ["gallery_add"]
        process.send_signal(signal.SIGTERM)
        process.wait(30)
    wait_until(lambda: none_runs(folder / "journal"), "its servers have ended")


def test_the_address_of_an_ipv6_host_is_a_url(folder: Path):
    with socket.socket(socket.AF_INET6) as probe:
        if probe.connect_ex(("::1", 9)) == errno.EADDRNOTAVAIL:
            pytest.skip("this machine has no IPv6")
    with serving("--host", "::1", "--admin") as (_, address):
        assert address.startswith("http://[::1]:")
        page = httpx2.get(address.removesuffix("mcp"), timeout=60)
        assert page.status_code == 200


def test_options_that_exclude_each_other_are_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
):
    """They are refused before anything starts."""
    for words, message in {
        (): "Give one of --stdio, --http, --socket",
        ("--stdio", "--http"): "Give one of --stdio, --http, --socket",
        ("--http", "--host", "0.0.0.0"): "give the token that clients must send",
        ("--http", "--no-token", "--token", "x", "--host", "0.0.0.0"): "can be reached from other",
        ("--socket", "--group", "gallery"): "are for --stdio and --http",
        ("--http", "--group", "gallry", "--port", "0"): "gallery",
    }.items():
        Cli(capsys)("serve", *words).fails(message, status=1 if "gallry" in words else 2)
