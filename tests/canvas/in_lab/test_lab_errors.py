"""A person's mistake, as the lab's output panel tells it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.lab_canvas import Canvas

pytestmark = pytest.mark.browser

EXAMPLE = "examples/ex01_quickstart"
PANEL_COLUMNS = 90  # fewer than it has in a small window; longer lines are broken in mid-word


@pytest.fixture
def renamed(folder: Path) -> Iterator[Path]:
    """The settings, in which the server `library` has another name for a while."""
    settings = folder / "mcp_settings.json"
    before = settings.read_text(encoding="utf-8")
    settings.write_text(before.replace('"library"', '"librarian"'), encoding="utf-8")
    yield settings
    settings.write_text(before, encoding="utf-8")


def test_a_server_that_was_renamed_is_explained_in_the_panel(
    canvas: Canvas, renamed: Path, artefacts: Path
) -> None:
    """The workflow still has the old name: what is wrong, which names there are, what to do."""
    canvas.open_workflow(f"{EXAMPLE}.xircuits")
    canvas.compile()
    text = canvas.run_script(f"{EXAMPLE}.py")
    _, _, told = text.partition("The workflow stopped at AgentUseMCPTools (UnknownServer):")
    lines = told.strip().splitlines()
    assert all(len(x) < PANEL_COLUMNS for x in lines if str(renamed) not in x)
    assert len(lines) < 6, "buried"
    words = " ".join(told.split())
    assert f"No MCP server 'library' in {renamed}." in words
    assert "Known: librarian, " in words
    assert words.endswith("Correct the name, or add it under `mcpServers`.")
    assert "Traceback" not in text
    canvas.picture(artefacts / "error.png")
