"""How long calls take is known to a few percent, however many there were."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xai_mcp_agent import Usage
from xai_mcp_agent.history.usage import Call

NOW = datetime(2026, 1, 1, tzinfo=UTC)

durations = st.lists(st.floats(1e-5, 3600), min_size=1, max_size=60)


def after(seconds: list[float]) -> Usage:
    """The usage of a tool whose calls took so long."""
    return Usage().with_calls(Call(NOW, one, "") for one in seconds)


@given(durations)
def test_mean_and_p95_are_those_of_the_calls(seconds: list[float]):
    """Issue: the 95th percentile, of the calls themselves, not of a sample; to 5 %."""
    usage = after(seconds)
    exact = sorted(seconds)[math.ceil(0.95 * len(seconds)) - 1]
    assert usage.p95_seconds == pytest.approx(exact, rel=0.051)
    assert (usage.p95_seconds or 0) >= min(seconds) * (1 - 1e-9)
    assert usage.mean_seconds == pytest.approx(math.fsum(seconds) / len(seconds))


def test_the_percentile_is_that_of_recent_calls():
    usage = after([5.0] * 2000 + [0.01] * 1000)
    assert usage.p95_seconds == pytest.approx(0.01, rel=0.051)
    assert sum(usage.durations.values()) + sum(usage.durations_before.values()) <= 1000
