"""Attaching a client to servers that are kept in another process, beside a bare start of Python.

A client starts the relay, shakes hands and lists the tools of a server that has long been started.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from unittest import mock

from xai_mcp_agent.core.json import JsonObject
from xai_mcp_agent.sources import warm

from .rows import Row, ratio, seconds, size

_SERVER = str(Path(__file__).with_name("echo_server.py"))
_ROUNDS = size(20, 1)
_TARGET, _TARGET_SECONDS = 5.0, 0.2
_CLIENT = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "0"},
}


def rows() -> Iterator[Row]:
    """Measure both in turn."""
    with tempfile.TemporaryDirectory(prefix="attach-", ignore_cleanup_errors=True) as name:
        file = Path(name) / "mcp_settings.json"
        entry = {"command": sys.executable, "args": [_SERVER]}
        file.write_text(json.dumps({"mcpServers": {"echo": entry}}), encoding="utf-8")
        own = {"XDG_RUNTIME_DIR": name, "XDG_STATE_HOME": name, "XAI_MCP_TRUST": "1"}
        with mock.patch.dict(os.environ, own):
            place = warm.place_of(file)
            warm.ensure(place)
            try:
                attach = partial(_attach, place.relay)
                attach()  # the SDK is imported for the first client
                value, spread = ratio(attach, _start, _ROUNDS)
                least = min(seconds(attach) for _ in range(_ROUNDS))
            finally:
                warm.ask(place, stop=True)
    yield Row("a client attached to kept servers / a bare start of Python", value, "x", _TARGET,
              spread)  # fmt: skip
    yield Row("a client attached to kept servers, at best", least, " s", _TARGET_SECONDS)


def _attach(relay: Sequence[str]) -> None:
    with subprocess.Popen(relay, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as client:
        assert client.stdin is not None
        assert client.stdout is not None
        requests: tuple[JsonObject, ...] = (
            {"id": 1, "method": "initialize", "params": _CLIENT},
            {"method": "notifications/initialized"},
            {"id": 2, "method": "tools/list"},
        )
        for request in requests:
            client.stdin.write(json.dumps({"jsonrpc": "2.0", **request}).encode() + b"\n")
            client.stdin.flush()
            if "id" in request:
                answer = json.loads(client.stdout.readline())
                assert "result" in answer, answer


def _start() -> None:
    subprocess.run([sys.executable, "-IS", "-c", "pass"], check=True)
