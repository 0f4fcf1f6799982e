"""Drawn tools run one at a time, each with a limit of time."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from tests.support.agents_in_ctx import init_agent
from tests.support.model_endpoint import Step, calls, hangs, model_endpoint, says
from xai_mcp_agent.canvas.agent_run import CanvasRun, run_agent
from xai_mcp_agent.canvas.toolbelts import define_tool, make_toolbelt
from xai_mcp_agent.canvas.workflow_thread import OutOfTime

_MOST_SECONDS = 60.0  # of any wait; nothing waits so long unless something is wrong
_LIMIT_SECONDS = 0.2


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))


def play(ctx: dict[str, Any], script: Any) -> tuple[str, list[str]]:
    """Run the agent `outer` with all that was defined; its answer, and the results it read."""
    with model_endpoint(script) as endpoint:
        init_agent(
            ctx, "outer", provider="openai", model="m", base_url=endpoint.base_url,
            toolbelt_spec=make_toolbelt(ctx, None),
        )  # fmt: skip
        outcome = CanvasRun()
        run_agent(ctx, "outer", "Go.", outcome=outcome)
    results = [x["content"] for x in outcome.conversation if x["role"] == "tool"]
    return outcome.answer, results


def test_a_drawn_tool_over_its_limit_is_an_error_and_others_wait_until_its_nodes_end():
    ctx, release, end = dict[str, Any](), threading.Event(), threading.Event()

    def slow(_ctx: Any, _text: str, _arguments: Any) -> None:
        assert release.wait(_MOST_SECONDS)
        end.set()

    def script(body: dict[str, Any]) -> Step:
        results = [x for x in body["messages"] if x["role"] == "tool"]
        if len(results) == 2:
            release.set()
            assert end.wait(_MOST_SECONDS)
        if len(results) == 3:
            return says("Done.")
        return calls(("other" if results else "slow", {}))

    define_tool(ctx, None, "slow", "Takes long.", slow, None, _LIMIT_SECONDS)
    define_tool(ctx, None, "other", "Quick.", lambda *_: "other", None, _LIMIT_SECONDS)
    answer, (first, second, third) = play(ctx, script)
    assert answer == "Done."
    assert first.startswith("ERROR: The drawn tool 'slow' did not end within its limit of 0.2")
    assert second.startswith("ERROR: The drawn tool 'other' did not start within 0.2 seconds")
    assert "the nodes of 'slow'" in second
    assert third == "other"


def test_the_drawn_tools_of_one_turn_run_one_after_another_each_with_its_whole_limit():
    """Together they take longer than the limit of each."""
    ctx, steps, limit_seconds = dict[str, Any](), list[str](), 0.4

    def part(_ctx: Any, text: str, _arguments: Any) -> str:
        steps.append(f"{text} begins")
        threading.Event().wait(limit_seconds / 4)
        steps.append(f"{text} ends")
        return text

    define_tool(ctx, None, "part", "Takes a while.", part, None, limit_seconds)
    uses = [("part", {"input": x}) for x in "abcdef"]
    _, results = play(ctx, [calls(*uses), says("Done.")])
    assert results == list("abcdef")
    assert steps == [f"{x} {what}" for x in "abcdef" for what in ("begins", "ends")]


def inner_agent(ctx: dict[str, Any], endpoint: Any) -> None:
    init_agent(ctx, "inner", provider="openai", model="m", base_url=endpoint.base_url)


def test_an_agent_in_a_tool_over_its_limit_is_stopped():
    ctx, errors = dict[str, Any](), list[BaseException]()

    def ask_inner(run_ctx: Any, text: str, _arguments: Any) -> str:
        try:
            run_agent(run_ctx, "inner", text, outcome=CanvasRun())
        except OutOfTime as error:
            errors.append(error)
            raise
        return "never"

    define_tool(ctx, None, "ask_inner", "Asks.", ask_inner, None, _LIMIT_SECONDS)
    with model_endpoint([hangs()]) as endpoint:
        inner_agent(ctx, endpoint)
        answer, (results,) = play(ctx, [calls(("ask_inner", {"input": "Hi."})), says("Done.")])
    assert answer == "Done."
    assert "'ask_inner' did not end within its limit" in results
    assert "went over its time limit" in str(errors[0])
