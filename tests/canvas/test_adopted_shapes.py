"""Workflows of the shapes that people published are adopted, compiled and run.

The table in tests/support/old_workflows/README.md says what came of them.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.old_workflows.drawn import SHAPES
from tests.support.old_workflows.outcomes import outcome
from tools.build_adopted import PAGE
from xai_mcp_agent.cli.adopt.command import adopt_file
from xai_mcp_agent.cli.init import init_folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A separate working folder, because stand-ins of other libraries are installed in it."""
    return init_folder(tmp_path_factory.mktemp("work") / "lab").folder


@pytest.mark.parametrize("name", SHAPES)
def test_the_outcome_of_a_shape_is_the_one_on_the_page(name: str, folder: Path) -> None:
    result = outcome(SHAPES[name], folder)
    assert result.wrong == ()
    assert "fails" not in result.ran
    assert result.row() in PAGE.read_text(encoding="utf-8"), "python -m tools.build_adopted"
    remarks = " ".join(x.text for x in result.report.remarks)
    for value in ("not-a-key", "nobody", "guest", "127.0.0.1"):
        assert value not in remarks, "the value of a literal"
    assert result.report.written is not None
    assert adopt_file(result.report.written).status == "nothing to do"
