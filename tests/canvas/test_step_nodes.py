"""The nodes of drawn workflows: a step that takes its arguments from results, and a value to give.

Who decided it: issue 16, a plan is a canvas.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.canvas import call, make, play
from xai_mcp_agent import BadSetting, InvalidArguments, UnknownTool
from xai_mcp_agent.canvas.steps import StepFailed
from xai_mcp_agent.canvas.toolbelts import define_tool
from xai_mcp_agent.mcp_components import MCPToolStep
from xai_mcp_agent.steps.references import TO_BE_GIVEN

from .conftest import UseServers

SEARCH = 'library/search_books\nquery = "sea"'


@pytest.fixture(autouse=True)
def _known(use_servers: UseServers, library: dict[str, Any]) -> None:
    use_servers(library=library)


def get_book(value: str, *results: Any) -> MCPToolStep:
    given = {"results": list(results)} if results else {}
    return make(MCPToolStep, call=f"library/get_book\nbook_id = {value}", **given)


def test_a_step_uses_what_an_earlier_node_gave() -> None:
    search, other = make(MCPToolStep, call=SEARCH), call(lambda _: {"book": 14})
    book = get_book("results[0].books[0].book_id", search.result)
    again = make(
        MCPToolStep, results=[other.result], call="library/get_book\nbook_id = results.book"
    )
    play({}, search, book, other, again)
    assert book.result.value["title"] == search.result.value["books"][0]["title"]
    assert book.result.value["title"] in book.text.value
    assert again.result.value["title"] == "Moby-Dick"


def test_a_step_that_cannot_be_made_stops_the_workflow_and_says_why() -> None:
    search = make(MCPToolStep, call=SEARCH)
    lacks = (
        "^library/get_book cannot be called: The result of library/search_books has no `id`; it "
        "has `total`, `books`."
    )
    for flow, error, said in (
        ([search, get_book("results[0].id", search.result)], BadSetting, lacks),
        ([get_book("999")], StepFailed, "library/get_book failed"),
        ([get_book('"x"')], InvalidArguments, "book_id"),
        ([get_book("x")], BadSetting, r"`call` of MCPToolStep cannot be read. Line 2: `x`"),
        ([get_book("results[0]", TO_BE_GIVEN)], BadSetting, "has no value: .*literal"),
    ):
        with pytest.raises(error, match=said):
            play({}, *flow)
    later = make(MCPToolStep, call=SEARCH)
    with pytest.raises(BadSetting, match=r"`results\[0\]` of MCPToolStep .* has not run yet"):
        play({}, get_book("results.x", later.result), later)


def test_a_drawn_tool_is_a_step_too() -> None:
    ctx: dict[str, Any] = {}
    define_tool(ctx, None, "shout", "Says it loudly.", lambda _ctx, text, _: {"said": text.upper()})
    step = make(MCPToolStep, call='canvas/shout\ninput = "ahoy"')
    play(ctx, step)
    assert step.result.value == {"said": "AHOY"}
    with pytest.raises(UnknownTool, match=r"No tool 'shuot' is drawn .* 'shout'"):
        play(ctx, make(MCPToolStep, call="canvas/shuot"))
