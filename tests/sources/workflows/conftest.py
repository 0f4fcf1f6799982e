"""A warm Python reads and runs workflows, except in tests of child processes."""

from __future__ import annotations

import pytest

from tests.support.warm_python import warm_python
from xai_mcp_agent.sources.workflows import process


@pytest.fixture(autouse=True)
def _warm(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is another process that has the children of a warm Python."""
    if not request.node.get_closest_marker("own_python"):
        warm = (warm_python(), *process._PYTHON[1:])
        monkeypatch.setattr(process, "_PYTHON", warm)
