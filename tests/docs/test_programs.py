"""docs/planning.md and docs/search.md: their programs run and print what the pages say."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

from tests.support.pages import ROOT, blocks_of, codes_of
from xai_mcp_agent import planning

PAGE = ROOT / "docs" / "planning.md"


def printed(page: Path) -> list[list[str]]:
    """Return the lines that each program of a page prints; they share their variables."""
    namespace: dict[str, object] = {}
    lines: list[list[str]] = []
    for block in (x for x in blocks_of(page) if x.language == "python" and "bridge" not in x.text):
        with contextlib.redirect_stdout(output := io.StringIO()):
            exec(compile(block.text, page.name, "exec"), namespace)
        lines.append(output.getvalue().splitlines())
    return lines


def test_the_program_on_the_page_of_search_finds_the_right_tool_first():
    assert printed(ROOT / "docs" / "search.md")[0][0].startswith("mail/send; 1.0; ")


def test_the_programs_on_the_page_of_planning_ask_for_the_id_first_and_accept_a_plan_of_a_model():
    (first, second, rest), (problems, arguments) = printed(PAGE)
    assert first.startswith("shop/find_user_id_by_email {'email': Value(value='ada@example.org'")
    assert second.startswith("shop/list_orders {'user_id': FromResult(call=0, field=None")
    assert rest.startswith("(Edge(producer=0, consumer=1, parameter='user_id'),) () (")
    assert problems == "[]"
    assert arguments.startswith("{'user_id': FromResult(call=0")


def test_every_public_name_of_planning_is_on_the_page():
    codes = " ".join(codes_of(PAGE))
    assert [x for x in planning.__all__ if x not in codes] == []
