"""Walks: what one thing enters of the package is traced, in its order."""

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
def walked() -> str:
    """What the command prints, for somebody who agreed to nothing before."""
    environment = {name: x for name, x in os.environ.items() if name != "XAI_MCP_TRUST"}
    return subprocess.run(
        [warm_python(), "-m", "tools.walk", "--verbose"],
        cwd=ROOT, env=environment, capture_output=True, text=True, timeout=SECONDS, check=True,
    ).stdout  # fmt: skip


def entered(name: str) -> Iterator[str]:
    """The files and functions of one walk, as the command prints them."""
    _, _, rest = walked().partition(f"\n{name}: ")
    yield from (line for line in rest.partition("\n\n")[0].splitlines() if line.startswith("  "))


def test_a_walk_begins_where_its_caller_enters():
    for name, first in (
        ("an agent's tool call", "agent/"),
        ("`Bridge.call_tool`", "bridge/"),
        ("a change notice", "sources/"),
        ("`xai-mcp-agent history diff`", "cli/"),
        ("the node MCPCallTool", "mcp_components.py"),
    ):
        assert next(entered(name)).strip().startswith(first)
        assert f"| {name} |" in walked()


def test_a_call_goes_through_the_engine_to_the_process_of_its_server():
    places = ("bridge/engine.py", "sources/mcp/session.py", "sources/process.py")
    for name in ("an agent's tool call", "`Bridge.call_tool`", "the node MCPCallTool"):
        lines = list(entered(name))
        at = [next(n for n, line in enumerate(lines) if part in line) for part in places]
        assert at == sorted(at)


def test_nothing_but_the_package_is_counted():
    assert "tests/" not in walked()
    assert "walk" not in "".join(entered("`Bridge.call_tool`"))


def test_a_walk_is_a_row_with_its_files_and_functions():
    walk = Walk("a call", (("a.py", "f"), ("a.py", "g"), ("b.py", "f")))
    assert table([walk]).endswith("| a call | 2 | 3 |\n")
