"""The lab's output panel: a run is a card; tools called by hand are lines."""

from __future__ import annotations

import pytest

from tests.support.kernels import Kernel
from xai_mcp_agent.console.surface import CARD

_RUN = """
from xai_mcp_agent.agent.events import RunFinished, RunStarted, ToolFinished
from xai_mcp_agent.agent.models.base import TokenUsage
from xai_mcp_agent.console.console import Console
from xai_mcp_agent.core.results import ToolResult

hostile = "<img src=x onerror=alert(1)>\\n[here](http://evil)\\x1b[31m\\n" * 10
with Console("<b>helper") as console:
    console.note("--", "by hand")
    console.show(ToolFinished("1", "add", {}, ToolResult.of_text(hostile), 0.5, ""))
"""
_AGENT = """
with Console("helper", show) as console:
    console.show(RunStarted("helper", "m", "native", ()))
    console.show(ToolFinished("1", "add", {}, ToolResult.of_text(hostile), 0.5, ""))
    console.show(RunFinished("**3**", "answered", 1, 1, 1.0, TokenUsage()))
"""
_CAPTURE = f"""
import contextlib, io

with contextlib.redirect_stdout(io.StringIO()) as out:
    exec({_RUN!r})
    show = "normal"
    exec({_AGENT!r})
print(out.getvalue())
"""


@pytest.fixture(scope="module")
def shell(one_kernel: Kernel, tmp_path_factory: pytest.TempPathFactory) -> Kernel:
    return one_kernel.move(tmp_path_factory.mktemp("console"))


def test_lines_have_colours_and_a_result_only_text(shell: Kernel) -> None:
    run = shell.run(_RUN)
    capture = shell.run(_CAPTURE)
    assert "\x1b[34m--\x1b[0m by hand" in run.output
    assert "\x1b[31m<" not in run.output
    assert "<img src=x onerror=alert(1)>" in run.output
    assert "more lines" in run.output
    assert run.displayed == ()
    assert "\x1b" not in capture.output, "what a person captures is plain"
    assert capture.displayed == ()


def test_a_run_ends_with_one_card_and_is_reported_nowhere_else(shell: Kernel) -> None:
    """The last one is output of its own: not every program that shows output draws anew."""
    shell.run(_RUN)
    run = shell.run(f"show = 'normal'{_AGENT}")
    quiet = shell.run(f"show = 'quiet'{_AGENT}")
    first, last = run.displayed
    assert first[CARD]["state"] == "running"
    assert last[CARD] == {"id": first[CARD]["id"], "state": "done"}
    assert "<strong>3</strong>" in last["text/html"]
    assert last["text/plain"].startswith("== helper: m, 0 tools")
    assert "== helper: 1 turn" in last["text/plain"]
    assert run.output == ""
    assert quiet.displayed == ()
