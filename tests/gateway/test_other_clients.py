"""The gateway with clients of other projects, each in an environment with pinned versions."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from benchmarks.peers.environments import environment, variables
from benchmarks.peers.peers import PEERS
from tests.support import other_clients
from tests.support.commands import AS_A_PROCESS, write_settings
from tests.support.mcp_servers import gallery_entry
from tests.support.warm_python import warm_python

_SECONDS = 100.0


def python_of(client: str) -> str:
    """Return the Python of the client's environment; skip if it cannot be installed."""
    try:
        return environment(next(x for x in PEERS if x.name == client)).python
    except (OSError, subprocess.SubprocessError) as cause:
        pytest.skip(f"{client} cannot be installed: {cause}")


@pytest.mark.parametrize("client", ["fastmcp", "openai-agents"])
def test_another_client_lists_calls_and_reads_and_gets_errors(tmp_path: Path, client: str):
    write_settings(tmp_path, {"gallery": gallery_entry()}, store="memory")
    gateway = [warm_python(), *AS_A_PROCESS, "serve", "--stdio"]
    process = subprocess.run(
        [python_of(client), other_clients.__file__, client.replace("-", "_"), *gateway],
        cwd=tmp_path, env=variables(), capture_output=True, text=True, timeout=_SECONDS,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    report: dict[str, Any] = json.loads(process.stdout.splitlines()[-1])
    assert {"gallery_add", "gallery_parts"} <= set(report["tools"])
    assert report["sum"] == "42"
    assert report["error"].startswith("Wrong arguments for gallery_add: a: ")
    assert report["resource"] == "# Gallery"
