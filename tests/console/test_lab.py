"""The lab's output panel: colours, and folds that hold the rest of a long text, never rendered."""

from __future__ import annotations

from pathlib import Path

from tests.support.kernels import kernel

_RUN = """
from xai_mcp_agent.agent.events import ModelAsked, RunStarted, ToolFinished, ToolStarted
from xai_mcp_agent.agent.models.base import ModelRequest
from xai_mcp_agent.console.console import Console
from xai_mcp_agent.core.results import ToolResult

hostile = "<img src=x onerror=alert(1)>\\n[here](http://evil)\\x1b[31m\\n" * 10
with Console("<b>helper") as console:
    console.show(RunStarted("<b>helper", "m", "native", ()))
    console.show(ToolFinished("1", "add", {}, ToolResult.of_text(hostile), 0.5, ""))
"""
_CAPTURED = f"""
import contextlib, io

with contextlib.redirect_stdout(io.StringIO()) as out:
    exec({_RUN!r})
print(out.getvalue())
"""


def test_a_long_result_is_folded_as_text_and_the_lines_have_colours(tmp_path: Path) -> None:
    with kernel(tmp_path) as running:
        ran = running.run(_RUN)
        captured = running.run(_CAPTURED)
    assert "\x1b[1m== <b>helper: m" in ran.output
    assert "\x1b[31m<" not in ran.output
    (fold,) = ran.displayed
    assert "<details" in fold["text/html"]
    assert "&lt;img src=x onerror=alert(1)&gt;" in fold["text/html"]
    assert fold["text/html"].count("<img") == 0
    assert fold["text/html"].count("<a") == 0
    assert "more lines" in fold["text/plain"]
    assert "\x1b" not in captured.output, "what a person captures is plain"
    assert captured.displayed == ()
