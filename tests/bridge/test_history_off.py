"""`off` is a store, too: everything works, nothing is remembered, and no database is loaded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support.scripts import child_environment

_SECONDS = 60
_CALL = """
import sys
from xai_mcp_agent import Bridge, StoreFailed
from tests.support.fault_server import entry
with Bridge({"mcpServers": {"it": entry()}}, store="off") as bridge:
    print(bridge.call_tool("it", "echo", {"text": "hello"}).text, bridge.store().place)
    try:
        bridge.history()
    except StoreFailed as error:
        print(error)
print("sqlalchemy" in sys.modules)
"""


def test_without_a_store_calls_work_and_no_database_is_loaded(tmp_path: Path):
    work = tmp_path / "work"
    work.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", _CALL], cwd=work, env=child_environment(tmp_path),
        capture_output=True, text=True, timeout=_SECONDS, check=True,
    )  # fmt: skip
    called, history, is_loaded = done.stdout.splitlines()
    assert (called, is_loaded) == ("hello off", "False")
    assert "switched off" in history
    assert not list(work.iterdir())
