"""The questions that the offline model offers where it cannot answer: asked, they are answered."""

from __future__ import annotations

import re
from typing import Any

import pytest

from benchmarks.questions import SOURCES, belt
from tests.sources.mcp.test_real_servers import from_npm, installed
from tests.support.bridges import bridge_with
from tests.support.warm_python import warm_python
from xai_mcp_agent import Agent, Bridge

CANNOT = "Paint the fence of Mrs Zwirnli"


@pytest.fixture(autouse=True)
def _start_quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.questions.PYTHON", warm_python())


def _offered(agent: Agent) -> list[str]:
    found = re.findall(r'"([^"\n]+)"', agent.run(CANNOT).answer)
    return [x for x in found if x not in CANNOT]


@pytest.mark.parametrize("source", SOURCES)
def test_three_questions_are_offered_and_each_is_answered(source: str) -> None:
    with belt([source]) as bridge:
        agent = Agent(bridge, [source])
        offered = _offered(agent)
        assert len(set(offered)) == 3
        for question in offered:
            result = Agent(bridge, [source]).run(question)
            assert result.calls, question
            assert not any(x.result.is_error for x in result.calls), (question, result.answer)


@pytest.mark.npm
@pytest.mark.parametrize("package", ["server-everything", "server-memory"])
def test_so_they_are_for_servers_of_node_that_others_made(package: str) -> None:
    _check_offers(from_npm(package))


@pytest.mark.parametrize("program", ["mcp-server-time", "mcp-server-git"])
def test_so_they_are_for_servers_of_python_that_others_made(program: str) -> None:
    _check_offers(installed(program))


def _check_offers(entry: dict[str, Any]) -> None:
    """Three that are different, and each is understood as a call of one of its tools."""
    with bridge_with(theirs=entry) as bridge:
        offered = _offered(Agent(bridge, ["theirs"]))
        assert len(set(offered)) == 3
        for question in offered:
            assert _is_understood(bridge, question), question


def _is_understood(bridge: Bridge, question: str) -> bool:
    calls = Agent(bridge, ["theirs"]).run(question).calls
    return bool(calls) and not any("Wrong arguments" in x.result.text for x in calls)
