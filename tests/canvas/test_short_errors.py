"""How a compiled workflow ends that fails: shortly for errors of ours, else with all of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.scripts import run_script

_NODE = """\
import sys
from xai_mcp_agent import UnknownServer
import xai_mcp_agent.canvas

class MyNode:
    def execute(self, ctx):
        raise {error}

MyNode().execute({{}})
"""
_OURS = "UnknownServer('No MCP server \\'libary\\'. Did you mean \\'library\\'?', 'libary', [])"


def script(folder: Path, error: str) -> Path:
    file = folder / "my_agent.py"
    file.write_text(_NODE.format(error=error))
    return file


def test_an_error_of_ours_is_reported_in_a_few_lines_and_the_status_is_1(tmp_path: Path) -> None:
    command = f"xai-mcp-agent trust {tmp_path / ('deep/' * 12)}mcp_settings.json"
    ended = run_script(script(tmp_path, f"UnknownServer({command!r}, 'libary', [])"))
    assert ended.status == 1
    assert "The workflow stopped at MyNode (UnknownServer):" in ended.errors
    assert f"  {command}\n" in ended.errors, "it stays on its line to be copied"
    assert "Traceback" not in ended.errors


@pytest.mark.parametrize(
    ("error", "show"), [("ValueError('a bug')", ""), (_OURS, "verbose")], ids=["bug", "verbose"]
)
def test_a_bug_and_whoever_wants_all_of_it_get_the_traceback(
    tmp_path: Path, error: str, show: str
) -> None:
    ended = run_script(script(tmp_path, error), XAI_MCP_SHOW=show)
    assert ended.status == 1
    assert "Traceback" in ended.errors
