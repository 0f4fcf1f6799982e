"""How long a model is left alone before it is asked again."""

from __future__ import annotations

from math import inf

import pytest

from xai_mcp_agent import ModelError
from xai_mcp_agent.agent.models.openai_attempts import Attempts
from xai_mcp_agent.agent.models.openai_failures import Failure

pytestmark = pytest.mark.anyio


async def test_pauses_begin_at_half_a_second_and_double(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.undo()  # the other tests here have shorter ones
    attempts = Attempts(inf)
    broken = Failure(ModelError("It broke off."), again="soon")
    pauses = [attempts.pause_seconds(broken) for _ in range(3)]
    assert pauses[2] is None
    assert 0.375 <= pauses[0] <= 0.5
    assert 0.75 <= pauses[1] <= 1.0
