"""What the tests of servers behind a URL share: who was refused comes back soon."""

from __future__ import annotations

import pytest

from xai_mcp_agent.sources.mcp.http import retry


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pauses that we choose, not those that a server asks for."""
    monkeypatch.setattr(retry, "_FIRST_PAUSE_SECONDS", 0.02)
