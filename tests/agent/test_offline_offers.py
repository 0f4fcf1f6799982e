"""The questions that the offline model offers where it cannot answer: asked, they are answered."""

from __future__ import annotations

import re

import pytest

from benchmarks.questions import SOURCES, belt
from xai_mcp_agent import Agent

CANNOT = "Paint the fence of Mrs Zwirnli"


@pytest.mark.parametrize("source", SOURCES)
def test_each_question_that_is_offered_is_answered(source: str) -> None:
    with belt([source]) as bridge:
        agent = Agent(bridge, [source])
        offered = re.findall(r'"([^"\n]+)"', agent.run(CANNOT).answer)
        for question in (x for x in offered if x not in CANNOT):
            result = Agent(bridge, [source]).run(question)
            assert result.calls, question
            assert not any(x.result.is_error for x in result.calls), (question, result.answer)
