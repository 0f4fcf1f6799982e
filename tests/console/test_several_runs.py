"""Several runs on one screen: in threads, and one inside another. Only whole lines, each one's own.

Who decided it: a person who watches two agents wants to know which of them says what.
"""

from __future__ import annotations

import os
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.support.canvas import agent_nodes, asking_tool, call, make, play
from tests.support.model_endpoint import calls, model_endpoint, says
from tests.support.screens import STARTED, Paper
from xai_mcp_agent.agent.events import RunStarted, TextArrived
from xai_mcp_agent.agent_components import AgentInit, AgentRun
from xai_mcp_agent.console.screen import SCREEN
from xai_mcp_agent.console.surface import Detail

_EXECUTING = r"\nExecuting: (AgentRun|AgentInit|AgentMakeToolbelt|AgentToolOutput|Call)"


@pytest.fixture(autouse=True)
def _alone(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def in_thread(do: Any) -> None:
    """Do it in a thread of its own and wait for it."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(do).result(10)


def start_event(name: str) -> RunStarted:
    """A run of that agent begins."""
    return RunStarted(name, "m", "native", ())


def test_a_message_of_the_log_stands_between_the_lines_of_a_run() -> None:
    paper, starts = Paper("terminal"), list[str]()

    def warn() -> None:
        starts.append(paper.output[-1])  # where the line begins, or is wiped

    with paper.console() as console:
        console.show(STARTED)
        console.wait_for("the server web")
        paper.pass_time(2.0, console)
        assert ".. waiting" in paper.lines[-1]
        in_thread(lambda: paper.screen.put(warn))
        console.show(TextArrived("Half a "))
        in_thread(lambda: paper.screen.put(warn))
        console.show(TextArrived("line.\n"))
    assert starts == ["\r", "\r"]
    assert paper.lines[-1] == "    Half a line."


def test_a_run_inside_another_is_as_quiet_as_that() -> None:
    paper = Paper()
    with paper.console("boss") as boss:
        boss.show(start_event("boss"))
        with paper.console("clerk") as clerk:
            clerk.show(start_event("clerk"))
            with paper.console("mouse", "quiet") as mouse:
                mouse.show(start_event("mouse"))
    with paper.console("boss", "quiet"), paper.console("clerk") as clerk:
        clerk.show(start_event("clerk"))
    assert paper.lines == ["== boss: m, 0 tools", "    == clerk: m, 0 tools"]


def answer(body: dict[str, Any]) -> Any:
    """A model that asks another agent if it has a tool for it, and else says many words."""
    messages = body["messages"]
    if body.get("tools") and messages[-1]["role"] != "tool":
        return calls(("ask", {"input": "How?"}), text="I ask the clerk.")
    return says("many short words " * 20)


def test_real_agents_nested_and_in_threads_never_mix_their_lines(
    capsys: pytest.CaptureFixture[str],
) -> None:
    together = threading.Barrier(2)
    with model_endpoint(answer) as endpoint, ThreadPoolExecutor(2) as pool:

        def run(boss: str) -> None:
            clerk = make(AgentInit, agent_name="clerk", **endpoint.inputs)
            # Both are going on when the inner ones begin.
            tool = asking_tool("ask", call(lambda _: together.wait(20)), agent="clerk")
            agents = [clerk, *agent_nodes(name=boss, **endpoint.inputs)]
            play({}, *agents, make(AgentRun, conversation="Go!"), tools=[tool])

        list(pool.map(run, ["ada", "bob"]))
    # Xircuits prints in two pieces, text and line end; another thread may come between.
    ours = re.sub(_EXECUTING, "\n", capsys.readouterr().out).splitlines()
    assert max(map(len, ours)) <= 80
    for boss in ("ada", "bob"):
        own = [x.removeprefix(f"{boss} | ") for x in ours if x.startswith(f"{boss} | ")]
        inner = [x for x in own if x.startswith("    == clerk")]
        assert len(inner) == 2, "the begin and the end of the nested run"
        words = " ".join(own).split()
        assert words.count("many") == words.count("words") == 60, "inner answer, tool, answer"


def test_a_run_that_is_interrupted_while_it_writes_is_not_on_the_screen_for_ever() -> None:
    """Else all later runs would be a part of it: moved to the right, as quiet, or held back."""
    paper = Paper()
    first = paper.console("first").__enter__()
    first.show(STARTED)
    first.show(TextArrived("the beginning of "))
    paper.is_interrupted = True
    with pytest.raises(KeyboardInterrupt):
        first.__exit__(None, None, None)
    paper.is_interrupted = False
    assert paper.screen.current() is None
    with paper.console("second") as second:
        second.note("--", "once")
        second.note("--", "and again")
    assert paper.lines[-1] == "-- and again"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks there")
def test_a_fork_begins_with_an_empty_screen() -> None:
    """A person's node may fork while another thread writes."""
    voice = SCREEN.enter("boss", Detail.QUIET)
    try:
        child = os.fork()
        if child == 0:
            os._exit(0 if SCREEN.current() is None else 1)
        assert os.waitpid(child, 0)[1] == 0
    finally:
        SCREEN.leave(voice)
