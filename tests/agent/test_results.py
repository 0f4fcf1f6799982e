"""Tool results as the model reads them."""

from __future__ import annotations

import pytest

from xai_mcp_agent import ImagePart, TextPart, ToolResult
from xai_mcp_agent.agent.results import ResultPages


def pages() -> ResultPages:
    """The pages of a run whose model calls every tool by its own name."""
    return ResultPages(lambda key: key.name)


@pytest.mark.parametrize(
    ("result", "shown"),
    [
        (ToolResult.of_text("5"), "5"),
        (ToolResult(), "The tool ran and gave back nothing."),
        (ToolResult(is_error=True), "ERROR: The tool failed without saying why."),
        (ToolResult(structured={"t": 1}), '{"t": 1}'),
        (ToolResult((TextPart(""),), structured={"t": 1}), '{"t": 1}'),
        (ToolResult.of_text("as text"), "as text"),
        (ToolResult((TextPart("21 degrees"),), structured={"t": 21}), "21 degrees"),
        (ToolResult.of_text("no", is_error=True), "ERROR: no"),
        (ToolResult((TextPart("x"),), notes=("odd",)), "x\n[note: odd]"),
    ],
)  # fmt: skip
def test_nothing_a_tool_said_is_lost(result: ToolResult, shown: str):
    assert pages().shown([result]) == [shown]


def test_a_picture_is_named_and_its_data_stands_beside_it():
    result = ToolResult((ImagePart("AAAA", "image/png"),), structured={"kind": "cat"})
    (shown,) = pages().shown([result])
    assert shown == '[image image/png, 3 bytes, not shown as text]\n{"kind": "cat"}'
