"""Cost of the screen while a model's text streams: a run that prints against a quiet one."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import redirect_stdout
from functools import partial

from tests.support.agents_in_ctx import init_agent
from tests.support.model_endpoint import model_endpoint, says
from xai_mcp_agent.canvas.agent_run import CanvasRun, run_agent

from .rows import Row, compare, size

_ROUNDS = size(9, 1)
_TARGET = 1.2
_TEXT = "many short words of a text that streams, " * size(300, 10)  # some two thousand pieces


def rows() -> Iterator[Row]:
    """Measure with a real service on loopback; what is printed goes into memory."""
    with model_endpoint(lambda _: says(_TEXT)) as endpoint:

        def run(show: str) -> None:
            ctx: dict[str, object] = {}
            model = {"model": "m", "base_url": endpoint.base_url, "api_key": "k"}
            init_agent(ctx, "a", provider="openai", **model)
            with redirect_stdout(io.StringIO()):
                run_agent(ctx, "a", "Go on.", outcome=CanvasRun(), show=show)

        what = "a streamed answer on the screen / without one"
        yield compare(what, partial(run, "normal"), partial(run, "quiet"), _ROUNDS, _TARGET)
