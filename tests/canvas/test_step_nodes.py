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


def test_a_step_uses_what_an_earlier_one_found() -> None:
    search = make(MCPToolStep, call=SEARCH)
    book = make(
        MCPToolStep,
        results=[search.result],
        call="library/get_book\nbook_id = results[0].books[0].book_id",
    )
    play({}, search, book)
    assert book.result.value["title"] == search.result.value["books"][0]["title"]
    assert book.result.value["title"] in book.text.value


def test_a_result_without_that_part_is_reported_by_the_tool_that_gave_it() -> None:
    search = make(MCPToolStep, call=SEARCH)
    book = make(
        MCPToolStep, results=[search.result], call="library/get_book\nbook_id = results[0].id"
    )
    with pytest.raises(BadSetting) as told:
        play({}, search, book)
    assert str(told.value).startswith(
        "library/get_book cannot be called: The result of library/search_books has no `id`; it "
        "has `total`, `books`."
    )


def test_a_result_of_any_node_can_be_taken_apart() -> None:
    chosen = call(lambda _: {"book": 14})
    book = make(
        MCPToolStep, results=[chosen.result], call="library/get_book\nbook_id = results.book"
    )
    play({}, chosen, book)
    assert book.result.value["title"] == "Moby-Dick"


def test_a_step_stops_the_workflow_when_its_tool_fails() -> None:
    with pytest.raises(StepFailed, match="library/get_book failed"):
        play({}, make(MCPToolStep, call="library/get_book\nbook_id = 999"))


def test_wrong_arguments_are_refused_before_anything_is_sent() -> None:
    with pytest.raises(InvalidArguments, match="book_id"):
        play({}, make(MCPToolStep, call='library/get_book\nbook_id = "x"'))


def test_what_cannot_be_read_is_reported_with_its_line() -> None:
    with pytest.raises(BadSetting, match=r"`call` of MCPToolStep cannot be read. Line 2: `sea`"):
        play({}, make(MCPToolStep, call="library/search_books\nquery = sea"))


def test_a_wire_from_a_node_that_runs_later_is_reported() -> None:
    later = make(MCPToolStep, call=SEARCH)
    book = make(MCPToolStep, results=[later.result], call="library/get_book\nbook_id = results.x")
    with pytest.raises(BadSetting, match=r"`results\[0\]` of MCPToolStep .* has not run yet"):
        play({}, book, later)


def test_a_drawn_tool_is_a_step_too() -> None:
    ctx: dict[str, Any] = {}
    define_tool(ctx, None, "shout", "Says it loudly.", lambda _ctx, text, _: {"said": text.upper()})
    step = make(MCPToolStep, call='canvas/shout\ninput = "ahoy"')
    play(ctx, step)
    assert step.result.value == {"said": "AHOY"}
    with pytest.raises(UnknownTool, match=r"No tool 'shuot' is drawn .* 'shout'"):
        play(ctx, make(MCPToolStep, call="canvas/shuot"))


def test_a_literal_in_which_nobody_has_written_yet_is_reported() -> None:
    get = "library/get_book\nbook_id = results[0]"
    with pytest.raises(BadSetting, match=r"`results\[0\]` of MCPToolStep has no value: .*literal"):
        play({}, make(MCPToolStep, results=[TO_BE_GIVEN], call=get))
    book = make(MCPToolStep, results=[14], call=get)
    play({}, book)
    assert book.result.value["title"] == "Moby-Dick"
