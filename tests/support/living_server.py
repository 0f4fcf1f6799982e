"""A server whose tools a test changes, and which it kills: over stdio and over HTTP."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support import fault_server
from tests.support.fault_http import FaultHttp, fault_http
from tests.support.histories import events_of
from tests.support.journals import pids_in
from tests.support.processes import wait_until
from xai_mcp_agent import Bridge, JsonObject

SET_TOOLS: JsonObject = {"name": "set_tools", "inputSchema": {"type": "object"}}


def tool(name: str, **more: Any) -> JsonObject:
    """Return a tool as a server lists it."""
    return {"name": name, "description": name, "inputSchema": {"type": "object"}, **more}


class OverStdio:
    """A server of 2026-07-28 that is a child of ours."""

    def __init__(self, folder: Path) -> None:
        self._options, self._journal = folder / "options.json", folder / "journal"

    def entry(self) -> JsonObject:
        """Return its entry in a settings file."""
        arguments = ["-S", "-E", fault_server.__file__, f"@{self._options}"]
        return {"command": sys.executable, "args": arguments}

    def offer(self, *tools: JsonObject) -> None:
        """Set its tools from the next start on."""
        options = {"era": "modern", "tools": [*tools, SET_TOOLS], "journal": str(self._journal)}
        self._options.write_text(json.dumps(options), encoding="utf-8")

    def lose(self, _bridge: Bridge, *tools: JsonObject) -> None:
        """End it like a crash; the bridge starts it again at once, with these tools."""
        self.offer(*tools)
        os.kill(pids_in(self._journal)[-1], signal.SIGKILL)


class OverHttp:
    """A server of 2025-11-25 that somebody else runs."""

    def __init__(self, peer: FaultHttp) -> None:
        self._peer = peer

    def entry(self) -> JsonObject:
        """Return its entry in a settings file."""
        return self._peer.entry()

    def offer(self, *tools: JsonObject) -> None:
        """Set its tools from the next request on."""
        self._peer.peer.tools = [*tools, SET_TOOLS]

    def lose(self, bridge: Bridge, *tools: JsonObject) -> None:
        """End it like a crash; once the bridge notices, start it again with these tools."""
        wait_until(lambda: bool(self._peer.streams), "the standing stream is open")

        def failures() -> int:
            return [x.change for x in events_of(bridge)].count("failed")

        earlier = failures()
        self._peer.stop()
        wait_until(lambda: failures() > earlier, "the bridge has noticed it")
        self.offer(*tools)  # not before: it may be asked once more until it is gone
        self._peer.start()


@contextmanager
def living_server(transport: str, folder: Path) -> Generator[OverStdio | OverHttp]:
    """Yield a server over one of the transports."""
    if transport == "stdio":
        yield OverStdio(folder)
    else:
        with fault_http(era="legacy", sessions=True, standing=True) as peer:
            yield OverHttp(peer)
