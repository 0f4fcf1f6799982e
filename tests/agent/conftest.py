"""What the tests of agents share: a model that fails is asked again soon."""

from __future__ import annotations

import pytest

from xai_mcp_agent.agent.models import quirks, retries


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pauses that we choose, not those that a service asks for."""
    monkeypatch.setattr(retries, "_FIRST_PAUSE_SECONDS", 0.02)


@pytest.fixture(autouse=True)
def _new_services() -> None:
    """An endpoint may get the port of one whose refusals are remembered."""
    quirks._quirks.clear()
