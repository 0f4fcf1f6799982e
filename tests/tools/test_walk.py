"""Walks: the files and functions of one operation, traced in order."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.support.warm_python import warm_python
from tools.walk import Walk, table

ROOT = Path(__file__).parents[2]
SECONDS = 100  # six starts of a server, on a busy machine


@cache
def walk_output() -> str:
    """Return the output of the command for a user who trusts no file."""
    environment = {name: x for name, x in os.environ.items() if name != "XAI_MCP_TRUST"}
    return subprocess.run(
        [warm_python(), "-m", "tools.walk", "--verbose"],
        cwd=ROOT, env=environment, capture_output=True, text=True, timeout=SECONDS, check=True,
    ).stdout  # fmt: skip


def entries_of(name: str) -> Iterator[str]:
    """Yield the files and functions of one walk, as the command prints them."""
    _, _, rest = walk_output().partition(f"\n{name}: ")
    yield from (line for line in rest.partition("\n\n")[0].splitlines() if line.startswith("  "))


def test_a_walk_begins_at_the_file_of_its_caller():
    for name, first in (
        ("an agent's tool call", "agent/"),
        ("`Bridge.call_tool`", "bridge/"),
        ("a change notice", "sources/"),
        ("`xai-mcp-agent history diff`", "cli/"),
        ("the node MCPCallTool", "mcp_components.py"),
    ):
        assert next(entries_of(name)).strip().startswith(first)
        assert f"| {name} |" in walk_output()


def test_a_call_goes_through_the_engine_to_the_process_of_its_server():
    places = ("bridge/engine.py", "sources/mcp/session.py", "sources/process.py")
    for name in ("an agent's tool call", "`Bridge.call_tool`", "the node MCPCallTool"):
        lines = list(entries_of(name))
        at = [next(n for n, line in enumerate(lines) if part in line) for part in places]
        assert at == sorted(at)


def test_nothing_but_the_package_is_counted():
    assert "tests/" not in walk_output()
    assert "walk" not in "".join(entries_of("`Bridge.call_tool`"))


def test_the_table_has_a_row_for_each_walk():
    walk = Walk("a call", (("a.py", "f"), ("a.py", "g"), ("b.py", "f")))
    assert table([walk]).endswith("| a call | 2 | 3 |\n")
