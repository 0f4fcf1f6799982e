"""The agents of the soak: each has a thread, with one real run after the other."""

from __future__ import annotations

import random
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from xai_mcp_agent.canvas.agent_run import CanvasRun, run_agent
from xai_mcp_agent.canvas.agents import init_agent
from xai_mcp_agent.canvas.sources import use_source
from xai_mcp_agent.canvas.toolbelts import SourceChoice, make_toolbelt
from xai_mcp_agent.core.tools import MCP

from .tally import Tally

_SERVERS_EACH = 6  # for the agent of one run
_MAX_THOUGHTS = 8
_END_SECONDS = 90.0  # for the last runs


class Agents:
    """So many agents at once. `runs` counts the runs that have ended."""

    def __init__(self, count: int, servers: Sequence[str], model: str, tally: Tally, seed: str):
        self.runs = 0
        self._names = [f"agent {number + 1}" for number in range(count)]
        self._servers = servers
        self._model = model
        self._tally = tally
        self._seed = seed
        self._stop = threading.Event()

    @contextmanager
    def at_work(self) -> Generator[None]:
        """Run them for the length of the block."""
        threads = [threading.Thread(target=self._work, args=[x], name=x) for x in self._names]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._stop.set()
            for thread in threads:
                thread.join(_END_SECONDS)
                if thread.is_alive():
                    self._tally.fail(f"a run of {thread.name} did not end")

    def run_once(self, name: str, generator: random.Random) -> None:
        """Make one run of one agent, as its nodes would."""
        ctx: dict[str, Any] = {}
        for server in generator.sample(self._servers, min(_SERVERS_EACH, len(self._servers))):
            use_source(ctx, MCP, server, SourceChoice())
        init_agent(
            ctx, name, provider="openai", model="random",
            model_settings={"base_url": self._model, "api_key": "sk-none"},
            max_thoughts=_MAX_THOUGHTS, toolbelt_spec=make_toolbelt(ctx, None),
        )  # fmt: skip
        run_agent(
            ctx, name, "Go on.", outcome=CanvasRun(), on_thought=self._tally.count, show="quiet"
        )
        self.runs += 1

    def _work(self, name: str) -> None:
        generator = random.Random(f"{self._seed} {name}")
        while not self._stop.is_set():
            try:
                self.run_once(name, generator)
            except Exception as error:  # noqa: BLE001 - any error fails the soak
                self._tally.fail(f"a run of {name} ended with {error!r}")
