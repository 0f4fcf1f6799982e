"""Cost of the screen while a model's text streams: a run that prints against a quiet one."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import redirect_stdout

from tests.support.model_endpoint import model_endpoint, says
from xai_mcp_agent.canvas.agent_run import CanvasRun, run_agent
from xai_mcp_agent.canvas.agents import init_agent

from .rows import Row, ratio, size

_ROUNDS = size(9, 1)
_TARGET = 1.2
_TEXT = "many short words of a text that streams, " * size(300, 10)  # some two thousand pieces


def rows() -> Iterator[Row]:
    """Measure with a real service on loopback; what is printed goes into memory."""
    with model_endpoint(lambda _: says(_TEXT)) as endpoint:

        def run(show: str) -> None:
            ctx: dict[str, object] = {}
            init_agent(
                ctx,
                "a",
                provider="openai",
                model="m",
                model_settings={"base_url": endpoint.base_url, "api_key": "k"},
            )
            with redirect_stdout(io.StringIO()):
                run_agent(ctx, "a", "Go on.", outcome=CanvasRun(), show=show)

        value, spread = ratio(lambda: run("normal"), lambda: run("quiet"), _ROUNDS)
    yield Row("a streamed answer on the screen / without one", value, "x", _TARGET, spread)
