"""What the tests of agents share: a model that fails is asked again soon."""

from __future__ import annotations

import pytest

from xai_mcp_agent.agent.models import openai_attempts


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pauses that we choose, not those that a service asks for."""
    monkeypatch.setattr(openai_attempts, "_FIRST_PAUSE_SECONDS", 0.02)
