"""A history in each kind of store, through its writer or through its queries."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tests.support.recorded import History, a_history
from xai_mcp_agent.history.history import open_history
from xai_mcp_agent.history.place import Place
from xai_mcp_agent.history.recording.report_writer import ReportWriter


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
