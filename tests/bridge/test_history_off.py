"""`off` is a store, too: everything works, and nothing of it is remembered."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.fault_server import entry
from xai_mcp_agent import Bridge, StoreFailed

_SECONDS = 60
_CALL = """
import sys
from xai_mcp_agent import Bridge
from tests.support.fault_server import entry
with Bridge({"mcpServers": {"it": entry()}}, store="off") as bridge:
    print(bridge.call_tool("it", "echo", {"text": "hello"}).text, "sqlalchemy" in sys.modules)
"""


@pytest.fixture
def bridge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bridge]:
    monkeypatch.chdir(tmp_path)
    with Bridge({"mcpServers": {"it": entry()}}, store="off") as made:
        yield made


def test_what_is_decided_counts_in_the_process(bridge: Bridge, tmp_path: Path):
    bridge.list_tools("it")
    assert bridge.store().place == "off"
    assert not bridge.store().error
    with pytest.raises(StoreFailed, match="switched off"):
        bridge.history()
    assert not list(tmp_path.iterdir())


def test_no_database_is_loaded(tmp_path: Path):
    done = subprocess.run(
        [sys.executable, "-c", _CALL], capture_output=True, text=True, timeout=_SECONDS, check=True
    )
    assert done.stdout.split() == ["hello", "False"]
