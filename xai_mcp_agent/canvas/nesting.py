"""Limits how deep agents run inside each other: a drawn tool of one may run another.

An agent that is a tool of itself is bounded here: with ten turns each, five such levels
would already be a hundred thousand requests.
"""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager

from ..core.errors import XaiMcpError

# An agent that hands a part of its work to itself needs two; more is a mistake in the drawing.
_MOST_OF_ONE_AGENT = 3


class NestedTooDeep(XaiMcpError):
    """An agent's tools run the agent itself, over and over."""


class _Running(threading.local):
    """The agents that run in this thread, the outermost first."""

    def __init__(self) -> None:
        self.agents: list[str] = []


_running = _Running()


@contextmanager
def nested(agent: str) -> Generator[None]:
    """Count a run of this agent for the length of the block.

    Raises:
        NestedTooDeep: so many of its runs are going on in this thread already.
    """
    agents = _running.agents
    if agents.count(agent) >= _MOST_OF_ONE_AGENT:
        raise NestedTooDeep(
            f"Agent {agent!r} would run inside itself once more "
            f"({' > '.join([*agents, agent])}). One of its tools leads back to it: have that "
            "tool run another agent, with a toolbelt that lacks this tool."
        )
    agents.append(agent)
    try:
        yield
    finally:
        agents.pop()


def is_inside_an_agent() -> bool:
    """Whether this thread works for a run of an agent."""
    return bool(_running.agents)


def is_running(agent: str) -> bool:
    """Whether a run of this agent goes on in this thread."""
    return agent in _running.agents
