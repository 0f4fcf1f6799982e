"""Long waits show their reason and their length."""

from __future__ import annotations

from contextlib import suppress

from tests.support.screens import STARTED, Paper
from xai_mcp_agent.agent.events import (
    ModelAsked,
    TextArrived,
    ToolProgressed,
    ToolReturned,
    ToolStarted,
)
from xai_mcp_agent.agent.models.base import ModelRequest

REQUEST = ModelAsked(1, ModelRequest(()))


def test_a_wait_is_one_line_that_counts_where_lines_can_be_rewritten() -> None:
    paper = Paper("terminal")
    with paper.console() as console:
        console.show(STARTED)
        console.show(REQUEST)
        paper.pass_time(0.5, console)
        assert len(paper.lines) == 1, "nobody wonders yet"
        paper.pass_time(11.5, console)
        assert paper.lines[1:] == ["    .. waiting for the model offline rules: 12 s"]
        console.show(TextArrived("At last. "))
        assert "waiting" not in "".join(paper.lines)
    assert paper.lines[1:] == [" 1. At last."]


def test_a_wait_is_a_few_lines_with_growing_pauses_in_files_and_pipes() -> None:
    paper = Paper("plain")
    with paper.console() as console:
        console.show(STARTED)
        console.show(REQUEST)
        paper.pass_time(70, console)
    ends = [x.rpartition(": ")[2] for x in paper.lines[1:]]
    assert ends == ["2 s", "4 s", "8 s", "16 s", "32 s", "1 min 4 s"]
    assert "\r" not in paper.output


def test_an_interrupt_removes_the_line_of_a_wait() -> None:
    paper = Paper("terminal")
    with suppress(KeyboardInterrupt), paper.console() as console:
        console.show(REQUEST)
        paper.pass_time(3, console)
        raise KeyboardInterrupt
    assert "waiting" in paper.output
    assert paper.lines == [""]


def test_servers_that_start_are_named_until_they_are_there() -> None:
    paper = Paper("terminal")
    with paper.console() as console:
        console.wait_for_servers(["slow", "slower"])
        paper.pass_time(2, console)
        assert paper.lines == [".. waiting for the servers slow, slower: 2 s"]
        console.wait_for_servers(["slower"])
        paper.pass_time(1, console)
        assert paper.lines == [".. waiting for the server slower: 3 s"]
        console.wait_for_servers([])
        paper.pass_time(5, console)
        console.show(STARTED)
    assert paper.lines == ["== helper: offline rules, 1 tool"]


def test_only_tools_that_still_run_are_waited_for_with_what_they_tell() -> None:
    paper = Paper("terminal")
    with paper.console() as console:
        console.show(STARTED)
        console.show(ToolStarted("1", "quick", {}))
        console.show(ToolStarted("2", "slow", {}))
        paper.pass_time(2, console)
        assert paper.lines[-1] == "    .. waiting for quick, slow: 2 s"
        console.show(ToolReturned("1"))
        paper.now += 0.5
        console.show(ToolProgressed("2", "slow", 3, 10, "copying"))
        assert paper.lines[-1] == "    .. waiting for slow: 2 s (slow 3 of 10 copying)"


def test_a_text_that_stops_for_long_is_reported_and_goes_on_below() -> None:
    paper = Paper("terminal")
    with paper.console() as console:
        console.show(STARTED)
        console.show(REQUEST)
        console.show(TextArrived("I look "))
        paper.pass_time(2, console)
        assert paper.lines[-1] == " 1. I look", "a breath"
        paper.pass_time(2, console)
        assert paper.lines[-1] == "    .. waiting for the model offline rules to go on: 4 s"
        console.show(TextArrived("it up. "))
    assert paper.lines[1:] == [" 1. I look", "    it up."]
