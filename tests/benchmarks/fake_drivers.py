"""A fake client of the benchmarks' servers, without an SDK."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Mapping

from benchmarks.peers.drivers.base import Driver, Entry, Usable

# Longer than any test; a forgotten process ends by itself.
_FOR_EVER_SECONDS = 120.0


class Stuck(Driver):
    """Reports servers as usable at once; it hangs at one named `trap`, with its whole process."""

    async def connect(self, servers: Mapping[str, Entry], usable: Usable) -> dict[str, str]:
        self.started: list[subprocess.Popen[bytes]] = []
        for name, entry in servers.items():
            if name == "trap":
                time.sleep(_FOR_EVER_SECONDS)
            command = [entry["command"], *entry["args"]]
            self.started.append(subprocess.Popen(command, stdin=subprocess.PIPE))
            usable(name, 1)
        return {}

    async def close(self) -> None:
        for process in self.started:
            process.communicate(timeout=_FOR_EVER_SECONDS)
