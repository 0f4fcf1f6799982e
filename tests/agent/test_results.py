"""Tool results as the model reads them, and the pages of long ones."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.support.agents_in_ctx import init_agent
from xai_mcp_agent import ImagePart, TextPart, ToolResult
from xai_mcp_agent.agent.results import READ_RESULT, ResultPages, id_of
from xai_mcp_agent.canvas.agent_run import run_tool
from xai_mcp_agent.canvas.toolbelts import define_tool, make_toolbelt
from xai_mcp_agent.core.calls import ToolInvocation

LONG = "x" * 100_000 + "THE END"


def pages() -> ResultPages:
    """The pages of a run whose model calls every tool by its own name."""
    return ResultPages(lambda key: key.name)


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (ToolResult.of_text("5"), "5"),
        (ToolResult(), "The tool ran and returned nothing."),
        (ToolResult(is_error=True), "ERROR: The tool failed without saying why."),
        (ToolResult((TextPart(""),), structured={"t": 1}), '{"t": 1}'),
        (ToolResult((TextPart("21 degrees"),), structured={"t": 21}), "21 degrees"),
        (ToolResult((ImagePart("AAAA", "image/png"),), structured={"kind": "cat"}),
         '[image image/png, 3 bytes, not shown as text]\n{"kind": "cat"}'),
        (ToolResult.of_text("no", is_error=True), "ERROR: no"),
        (ToolResult((TextPart("x"),), notes=("odd",)), "x\n[note: odd]"),
    ],
)  # fmt: skip
def test_a_model_reads_all_of_a_result(result: ToolResult, text: str):
    assert pages().show([result]) == [text]


@pytest.mark.anyio
async def test_a_long_result_shows_its_head_and_tail_and_can_be_read_on():
    own = pages()
    (excerpt,) = own.show([ToolResult.of_text(LONG)])
    assert len(excerpt) < 33_000
    assert excerpt.endswith("THE END")

    async def read(**arguments: Any) -> str:
        return (await own.call(ToolInvocation(READ_RESULT, arguments))).text

    assert await read(result_id=id_of(LONG), start=99_990) == "x" * 10 + "THE END"
    assert "No such result" in await read(result_id="nope", start=0)
    assert "has only 100007 characters" in await read(result_id=id_of(LONG), start=10**9)


def test_the_next_node_can_read_more_of_a_long_result():
    """The port has the whole result; a conversation without it has no tool to read it."""
    ctx: dict[str, Any] = {}
    long = "".join(f"line {n}\n" for n in range(8_000))
    define_tool(ctx, None, "much", "Gives much.", lambda *_: long)
    init_agent(ctx, "a", toolbelt_spec=make_toolbelt(ctx, None))
    first = run_tool(ctx, "a", "much", "", [{"role": "user", "content": "Hi."}])
    assert first.answer == long
    excerpt = first.conversation[-1]["content"]
    reference = re.search(r'\{"result_id": "[^"]+", "start": (\d+)\}', excerpt)
    assert reference is not None
    second = run_tool(ctx, "a", "read_result", reference[0], first.conversation)
    assert second.answer.startswith(long[int(reference[1]) :][:1000])
    answer = run_tool(ctx, "a", "read_result", reference[0], None).answer
    assert answer.startswith("ERROR: There is no tool 'read_result'")
