"""`docs/search.md`: its program runs and prints what the page says."""

from __future__ import annotations

import contextlib
import io

from tests.support.pages import ROOT, blocks_of


def test_the_program_on_the_page_finds_the_right_tool_first():
    (block,) = (x for x in blocks_of(ROOT / "docs" / "search.md") if x.language == "python")
    with contextlib.redirect_stdout(output := io.StringIO()):
        exec(compile(block.text, "docs/search.md", "exec"), {})
    assert output.getvalue().startswith("mail/send; 1.0; ")
