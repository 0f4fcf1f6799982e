"""Fake clients of the benchmarks' servers, without an SDK."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Mapping

from benchmarks.peers.drivers.base import Driver, Entry, Usable

# Longer than any test; a forgotten process ends by itself.
_FOR_EVER_SECONDS = 120.0


class Quick(Driver):
    """Starts the servers and reports them as usable at once."""

    async def connect(self, servers: Mapping[str, Entry], usable: Usable) -> dict[str, str]:
        self.started: list[subprocess.Popen[bytes]] = []
        for name, entry in servers.items():
            command = [entry["command"], *entry["args"]]
            self.started.append(subprocess.Popen(command, stdin=subprocess.PIPE))
            usable(name, 1)
        return {}

    async def call(self, server: str, tool: str, arguments: dict[str, str]) -> str:
        return arguments["text"]

    async def close(self) -> None:
        for process in self.started:
            process.communicate(timeout=_FOR_EVER_SECONDS)


class Stuck(Quick):
    """Hangs at a server named `trap`, with its whole process."""

    async def connect(self, servers: Mapping[str, Entry], usable: Usable) -> dict[str, str]:
        before = {name: x for name, x in servers.items() if name != "trap"}
        failed = await super().connect(before, usable)
        if "trap" in servers:
            time.sleep(_FOR_EVER_SECONDS)
        return failed
