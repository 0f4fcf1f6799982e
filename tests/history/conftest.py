"""Agents that learn, for the suites of what is kept of that."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tests.support.learning_agents import LearningAgent
from xai_mcp_agent.history.place import Place


@pytest.fixture
def agent(request: pytest.FixtureRequest, place: Place) -> Generator[LearningAgent]:
    """The `Agent` of the suite, on each kind of store."""
    with request.module.Agent(place) as agent:
        yield agent


@pytest.fixture
def lasting(request: pytest.FixtureRequest, lasting_place: Place) -> Generator[LearningAgent]:
    """The same, where others can open the store, too."""
    with request.module.Agent(lasting_place) as agent:
        yield agent
