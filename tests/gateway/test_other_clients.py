"""The gateway before clients that are not ours, each in an environment with pinned versions."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from benchmarks.peers.environments import environment, variables
from benchmarks.peers.peers import PEERS
from tests.support import other_clients
from tests.support.mcp_servers import gallery_entry
from tests.support.warm_python import warm_python

_COMMAND = "from xai_mcp_agent.cli.main import run; run()"
_SECONDS = 100.0


def python_of(client: str) -> str:
    """The Python with the client in it; skips where it cannot be installed."""
    try:
        return environment(next(x for x in PEERS if x.name == client)).python
    except (OSError, subprocess.SubprocessError) as why:
        pytest.skip(f"{client} cannot be installed: {why}")


@pytest.mark.parametrize("client", ["fastmcp", "openai-agents"])
def test_it_lists_calls_reads_and_is_told_what_is_wrong(tmp_path: Path, client: str) -> None:
    settings = {"mcpServers": {"gallery": gallery_entry()}, "store": "memory"}
    (tmp_path / "mcp_settings.json").write_text(json.dumps(settings), encoding="utf-8")
    gateway = [warm_python(), "-c", _COMMAND, "serve", "--stdio"]
    done = subprocess.run(
        [python_of(client), other_clients.__file__, client.replace("-", "_"), *gateway],
        cwd=tmp_path, env=variables(), capture_output=True, text=True, timeout=_SECONDS,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    seen: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert {"gallery_add", "gallery_parts"} <= set(seen["tools"])
    assert seen["sum"] == "42"
    assert seen["error"].startswith("Wrong arguments for gallery_add: a: ")
    assert seen["resource"] == "# Gallery"
