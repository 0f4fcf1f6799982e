"""The first server of a process gets going while the SDK is still being imported."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.support.fault_server import entry
from tests.support.journals import none_runs
from xai_mcp_agent.sources.process import INHERITED

ROOT = Path(__file__).parents[3]
CHILD_SECONDS = 60

# Asks for the server in a process that has imported nothing yet.
CALL = """
import json, sys
from xai_mcp_agent import Bridge
with Bridge({"mcpServers": {"it": json.loads(sys.argv[1])}}) as bridge:
    print(bridge.call_tool("it", "echo", {"text": "hello"}).text)
"""
# An import that never ends stands for one that takes long.
STUCK = """
import importlib.util, json, sys, threading
from xai_mcp_agent import Bridge
begun = threading.Event()
class Stuck:
    def find_spec(self, name, *_):
        if name == "mcp":
            return importlib.util.spec_from_loader(name, self)
    def create_module(self, spec):
        return None
    def exec_module(self, module):
        begun.set()
        threading.Event().wait()
sys.meta_path.insert(0, Stuck())
with Bridge({"mcpServers": {"it": json.loads(sys.argv[1])}}) as bridge:
    bridge.connect("it")
    assert begun.wait(30)
print("ended")
"""


def in_a_fresh_process(code: str, server: dict[str, object]) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, json.dumps(server)],
        cwd=ROOT, capture_output=True, text=True, timeout=CHILD_SECONDS, check=True,
    )  # fmt: skip
    return done.stdout.strip()


def test_a_server_that_is_started_before_the_sdk_is_there_is_the_one_that_is_called(
    tmp_path: Path,
) -> None:
    journal = tmp_path / "journal"
    assert in_a_fresh_process(CALL, entry(journal=str(journal))) == "hello"
    assert journal.read_text(encoding="utf-8").count("start ") == 1


def test_nobody_waits_for_the_import_of_the_sdk_when_all_ends(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    assert in_a_fresh_process(STUCK, entry(journal=str(journal))) == "ended"
    assert none_runs(journal)


def test_a_server_inherits_what_the_sdk_would_give_it() -> None:
    from mcp.client.stdio import DEFAULT_INHERITED_ENV_VARS

    assert sorted(INHERITED) == sorted(DEFAULT_INHERITED_ENV_VARS)
