"""When a run is over nothing keeps what wrote its history, or the history's database, alive."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

from tests.support.canvas import make, play
from xai_mcp_agent.agent_components import AgentInit, AgentMakeToolbelt, AgentRun, AgentUseMCPTools
from xai_mcp_agent.history.recording.recorder import HistoryRecorder
from xai_mcp_agent.history.store import Store

from .conftest import UseServers


def alive(folder: Path) -> list[object]:
    """The recorders and stores of a project that are still there."""
    gc.collect()
    found = [x for x in gc.get_objects() if type(x) in (HistoryRecorder, Store)]
    return [x for x in found if x.place.folder == folder]


def run_once() -> None:
    belt = make(AgentMakeToolbelt)
    agent = make(
        AgentInit, agent_name="a", toolbelt_spec=belt.toolbelt_spec, agent_provider="offline"
    )
    use = make(AgentUseMCPTools, server_name="library")
    run = make(AgentRun, agent_name="a", conversation="Search for books about whales.")
    ctx: dict[str, Any] = {}
    play(ctx, use, belt, agent, run)
    assert run.last_response.value
    ctx["mcp_bridge"].release()


def test_nothing_keeps_the_recorder_of_a_run_that_is_over(
    use_servers: UseServers, library: dict[str, Any], tmp_path: Path
) -> None:
    use_servers(library=library)
    for _ in range(2):
        run_once()
    assert alive(tmp_path) == []
