"""Settings with the gallery, and the process that keeps their servers, as a person runs it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import anyio
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.support.commands import AS_A_PROCESS, write_settings
from tests.support.mcp_servers import gallery_entry
from tests.support.processes import wait_until
from xai_mcp_agent.sources import warm

_SECONDS = 90.0
_FOLDERS = {"XDG_RUNTIME_DIR": "run", "XDG_STATE_HOME": "state", "XDG_CONFIG_HOME": "config"}


@dataclass
class WarmServers:
    """`file` has the settings."""

    file: Path

    def command(self, *words: str) -> list[str]:
        """Return the command `xai-mcp-agent serve` for these settings."""
        return [sys.executable, *AS_A_PROCESS, "serve", "--settings", str(self.file), *words]

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run `serve` to its end."""
        return subprocess.run(
            self.command(*words),
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_SECONDS,
        )  # fmt: skip

    def processes(self) -> list[dict[str, Any]]:
        """Return the processes, with their status."""
        places = list(warm.live_places(self.file))
        return [{**facts, **warm.ask(place, status=True)} for place, facts in places]

    def stop(self) -> None:
        """End all processes."""
        for place, _ in list(warm.live_places(self.file)):
            warm.ask(place, stop=True)
            wait_until(lambda: not place.lock.exists(), "it has ended")  # noqa: B023

    def folders(self) -> list[Path]:
        """Return the folders of all processes."""
        folder = Path(os.environ["XDG_RUNTIME_DIR"]) / "xai-mcp-agent"
        return list(folder.iterdir()) if folder.exists() else []


@asynccontextmanager
async def client_of(command: Any, errors: Path | None = None) -> AsyncGenerator[Client]:
    """Yield a client of the SDK with this command as its server; stderr goes to a file."""
    import jsonschema.validators  # noqa: F401 - what a client's first call would wait for

    first, *args = command
    server = StdioServerParameters(command=first, args=args, env=dict(os.environ))
    with open(errors or os.devnull, "w", encoding="utf-8") as log, anyio.fail_after(_SECONDS):
        async with Client(stdio_client(server, errlog=log)) as client:
            yield client


@contextmanager
def warm_servers() -> Generator[WarmServers]:
    """Use other folders of the user in the block, and stop every process at its end."""
    # Not the folder of the test: its path is too long for a socket.
    folder = Path(tempfile.mkdtemp(prefix="warm-"))
    entry = gallery_entry(env={"TOKEN": "${TOKEN:-none}"}, startTimeout=60)
    servers = WarmServers(write_settings(folder, {"gallery": entry}))
    folders = {name: str(folder / x) for name, x in _FOLDERS.items()}
    with mock.patch.dict(os.environ, folders):
        try:
            yield servers
        finally:
            servers.stop()
            shutil.rmtree(folder)
