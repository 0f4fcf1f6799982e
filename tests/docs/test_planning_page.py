"""`docs/planning.md`: its programs run and print what the page says."""

from __future__ import annotations

import contextlib
import io

from tests.support.pages import ROOT, blocks_of, codes_of
from xai_mcp_agent import planning

PAGE = ROOT / "docs" / "planning.md"


def printed() -> list[list[str]]:
    """Return the lines that each program of the page prints; they share their variables."""
    namespace: dict[str, object] = {}
    lines: list[list[str]] = []
    for block in (x for x in blocks_of(PAGE) if x.language == "python" and "bridge" not in x.text):
        with contextlib.redirect_stdout(output := io.StringIO()):
            exec(compile(block.text, "docs/planning.md", "exec"), namespace)
        lines.append(output.getvalue().splitlines())
    return lines


def test_the_program_on_the_page_asks_for_the_id_first():
    first, second, rest = printed()[0]
    assert first.startswith("shop/find_user_id_by_email {'email': Value(value='ada@example.org'")
    assert second.startswith("shop/list_orders {'user_id': FromResult(call=0, field=None")
    assert rest.startswith("(Edge(producer=0, consumer=1, parameter='user_id'),) () (")


def test_the_answer_of_a_model_on_the_page_is_a_plan_without_problems():
    problems, arguments = printed()[1]
    assert problems == "[]"
    assert arguments.startswith("{'user_id': FromResult(call=0")


def test_every_public_name_of_planning_is_on_the_page():
    codes = " ".join(codes_of(PAGE))
    assert [x for x in planning.__all__ if x not in codes] == []
