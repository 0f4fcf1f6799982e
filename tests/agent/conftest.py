"""Fixtures of all agent tests: short pauses between retries."""

from __future__ import annotations

import pytest

from xai_mcp_agent.agent.models import quirks, retries


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the pauses that we choose; a service may still ask for longer ones."""
    monkeypatch.setattr(retries, "_FIRST_PAUSE_SECONDS", 0.02)


@pytest.fixture(autouse=True)
def _new_services() -> None:
    """Forget quirks of services: an endpoint may get the port of an earlier one."""
    quirks._quirks.clear()
