"""A history in each kind of store, through its writer or through its queries."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.support.databases import MEMORY, POSTGRESQL, place_of
from tests.support.recorded import History, a_history
from xai_mcp_agent.history.history import open_history
from xai_mcp_agent.history.place import Place
from xai_mcp_agent.history.recording.report_writer import ReportWriter


@pytest.fixture(params=[MEMORY, POSTGRESQL])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """A new place in each kind of database; memory stands for files, too."""
    if request.param == MEMORY:
        return place_of("memory", tmp_path)
    server = request.getfixturevalue("postgresql")
    return place_of(server.new_database(), tmp_path)


@pytest.fixture
def writer(place: Place) -> Generator[ReportWriter]:
    """The writer of a new store."""
    writer = ReportWriter(open_history(place), str)
    yield writer
    writer.close()


@pytest.fixture
def history() -> Generator[History]:
    """An empty history in memory, whose clock advances by an hour with each report."""
    with a_history() as history:
        yield history
