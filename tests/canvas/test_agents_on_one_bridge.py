"""Several agents at once: they share the bridge, its servers, and never each other's answers."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.support.agents_in_ctx import init_agent, use_server
from tests.support.fault_server import entry
from tests.support.model_endpoint import ModelEndpoint, Step, calls, model_endpoint, says
from xai_mcp_agent.canvas.agent_run import CanvasRun, run_agent
from xai_mcp_agent.canvas.toolbelts import make_toolbelt

_AGENTS = 6


def answer_with_what_the_tools_said(body: dict[str, Any]) -> Step:
    """A model that calls two tools with what it was asked, and answers with their results."""
    messages = body["messages"]
    results = [x["content"] for x in messages if x["role"] == "tool"]
    if results:
        return says(" ".join(results))
    question = messages[-1]["content"]
    return calls(("it_echo", {"text": question}), ("it_pid", {}))


def run(endpoint: ModelEndpoint, name: str, ctx: dict[str, Any]) -> str:
    """One agent's run, in whichever thread this is; its answer."""
    use_server(ctx, "it", None)
    init_agent(
        ctx, name, provider="openai", model="m", base_url=endpoint.base_url,
        toolbelt_spec=make_toolbelt(ctx, None),
    )  # fmt: skip
    outcome = CanvasRun()
    run_agent(ctx, name, f"I am {name}", outcome=outcome)
    return outcome.answer


def test_agents_in_several_threads_share_one_process_and_get_their_own_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A workshop's notebook server, or a workflow that runs others side by side."""
    (tmp_path / "mcp_settings.json").write_text(json.dumps({"mcpServers": {"it": entry()}}))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("XAI_MCP_SETTINGS", raising=False)
    names = [f"agent{number}" for number in range(_AGENTS)]
    contexts: list[dict[str, Any]] = [{} for _ in names]
    script = model_endpoint(answer_with_what_the_tools_said)
    with script as endpoint, ThreadPoolExecutor(_AGENTS) as pool:
        answers = list(pool.map(lambda x: run(endpoint, *x), zip(names, contexts, strict=True)))
    assert [x.rpartition(" ")[0] for x in answers] == [f"I am {name}" for name in names]
    assert len({x.rpartition(" ")[2] for x in answers}) == 1, "one server process for all"
