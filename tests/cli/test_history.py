"""`history show` with histories that were written without servers; it starts none."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import AS_A_PROCESS, Cli, write_settings
from tests.support.processes import wait_until
from tests.support.recorded import NOON, a_history, a_tool, place_of_file, write_history
from tests.support.scripts import child_environment
from xai_mcp_agent import Bridge, Subject, Tool
from xai_mcp_agent.cli import history as history_command
from xai_mcp_agent.core.calls import Caller
from xai_mcp_agent.core.tools import MCP
from xai_mcp_agent.history.event import Event
from xai_mcp_agent.history.recording.call_journal import call_event
from xai_mcp_agent.history.recording.recorder import caller_fields
from xai_mcp_agent.history.recording.reports import Listed, Lost, Report, refusal_event

_SECONDS = 60.0
TEXT, NUMBER = {"type": "string"}, {"type": "integer"}
LIBRARY, UNITS = Subject(MCP, "library"), Subject(MCP, "units")
SEARCH, LEND = a_tool("search", "Finds.", query=TEXT), a_tool("lend", "Lends.", book=NUMBER)
ODD = "\x1b[31m\u202e.*(odd"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "history.db"


@pytest.fixture
def show(file: Path, cli: Cli) -> Callable[..., str]:
    """Returns the output of `history show` for the file."""

    return lambda *words: cli("history show", *words, "--store", str(file)).shows().out


@pytest.fixture
def lines(show: Callable[..., str]) -> Callable[..., list[str]]:
    """Returns the lines of the output, without days and times."""
    return lambda *words: [x[10:] for x in show(*words).splitlines() if x[2:3] == ":"]


def session(
    source: Subject, minute: int, *tools: Tool, reason: str = "it was closed."
) -> list[Report]:
    at = NOON + timedelta(minutes=minute)
    end = at + timedelta(seconds=9)
    return [Listed(source, at, tools, "stdio"), Lost(source, end, reason)]


def called(tool: str, minute: int, error: str = "", agent: str = "", run_id: str = "") -> Event:
    caller = Caller("agent", agent, run=run_id, workflow="my_agent") if agent else Caller("program")
    at = NOON + timedelta(minutes=minute)
    by = caller_fields(caller, "call_1")
    return call_event(Subject(MCP, "library", tool), at, 0.5, error, by=by)


# Lines


def test_sessions_without_changes_share_a_line(file: Path, show: Any, lines: Any):
    reports = [*session(LIBRARY, 0, SEARCH), *session(UNITS, 0, LEND)]
    for minute in range(1, 9):
        reports += [*session(LIBRARY, minute, SEARCH), *session(UNITS, minute, LEND)]
    write_history(file, *reports)
    entries = lines()
    assert len(entries) == 7
    assert entries[-1].startswith("library, units: connected and closed 16 times until ")
    assert " ".join(show().split()).endswith(", nothing changed")
    assert len(lines("--all")) == 6 + 32
    assert len(json.loads(show("--json"))) == 18 * 4, "programs get every event"


def test_a_session_with_changes_has_lines_of_its_own(file: Path, lines: Any):
    change = Listed(LIBRARY, NOON + timedelta(minutes=1, seconds=3), (SEARCH, LEND))
    sessions = [*session(LIBRARY, 0, SEARCH), *session(LIBRARY, 1, SEARCH)]
    write_history(file, *sessions[:-1], called("search", 1), change, sessions[-1])
    write_history(file, *session(UNITS, 2, LEND), *session(UNITS, 3, LEND, reason="It crashed."))
    entries = lines()
    assert any(x.startswith("library: connected again, 1 tool") for x in entries), entries
    assert any(x.startswith("units: disconnected") for x in entries), entries
    assert not any("connected and closed" in x for x in entries)


def test_the_limit_counts_lines_and_not_events(file: Path, show: Any, lines: Any):
    calls = [called("search", x) for x in range(30)]
    write_history(file, *session(LIBRARY, 0, SEARCH), *calls, called("lend", 31))
    entries = lines("--limit", "2")
    assert [x.partition(":")[0] for x in entries] == ["library.search", "library.lend"]
    assert "called 30 times" in entries[0]
    assert show("--limit", "2").startswith("The newest 2 lines; ")
    assert show("--limit", "1").startswith("The newest line; --limit shows more")
    assert "newest" not in show("--limit", "9")


def test_the_line_of_a_changed_tool_shows_the_differences(file: Path, show: Any):
    other = a_tool("search", "Finds things.", query=TEXT, limit=NUMBER)
    with a_history(place_of_file(file)) as history:
        history.connected("library", SEARCH, LEND)
        history.listed("library", other, LEND)
        history.listed("library", a_tool("search", "Finds.", query=TEXT), a_tool("lend", "Gives."))
    text = " ".join(show().split())
    assert "library.search: changed Description: 'Finds.' → 'Finds things.'" in text
    assert "Parameter 'limit' was added (integer, optional)" in text
    assert "library: 2 tools changed (lend, search)" in text
    assert "search: Parameter 'limit' was removed" in text


def test_the_line_of_a_call_names_its_agent_and_run(file: Path, cli: Cli, show: Any, lines: Any):
    calls = [called("search", x, agent="helper", run_id="b1946ac92492") for x in range(3)]
    write_history(file, *calls, called("search", 4, "There is no shelf 9.", agent="other"))
    several, _ = lines()
    assert several.startswith("library.search: called by helper in my_agent (run b1946ac924")
    (other,) = lines("--agent", "other")
    assert other.startswith("library.search: called by other in my_agent, failed after 500 ms:")
    cli("history show --agent helpr --store", str(file)).fails("Did you mean 'helper'")


# Filters


def test_failed_shows_failures_and_refusals_only(file: Path, show: Any, lines: Any):
    with a_history(place_of_file(file)) as history:
        history.connected("library", SEARCH)
        history.failed("web", "no such program")
    tool = Subject(MCP, "library", "search")
    write_history(
        file, called("search", 1), call_event(tool, NOON, 0.5, arguments={"error": "no"}),
        called("lend", 2, "no"), refusal_event(tool, NOON, "It is switched off."),
    )  # fmt: skip
    heads = [x.partition(": ")[0] for x in lines("--failed")]
    assert heads == ["web", "library.lend", "library.search"]
    events = json.loads(show("--failed", "--json"))
    assert [x["change"] for x in events] == ["failed", "called", "refused"]


def test_grep_searches_plain_text_and_ignores_case(file: Path, show: Any, lines: Any):
    """Issue 15: plain text, no pattern of any kind."""
    write_history(
        file,
        called("search", 1, "There is no shelf 9."),
        called("lend", 2, agent="helper", run_id="b1946ac92492"),
        called("Öl", 3, agent=ODD),
    )
    for text, count in {
        "SHELF": 1, "no shelf .": 0, ".*": 1, "%": 0, "_": 3, "library.len": 1, "b1946": 1, "öl": 1,
    }.items():  # fmt: skip
        assert len(json.loads(show("--grep", text, "--json"))) == count, text
        assert len(lines("--grep", text)) == count, text
    assert not {"\x1b", "\u202e"} & set(show("--all"))


def test_since_and_until_limit_the_events(file: Path, cli: Cli, show: Any, lines: Any):
    write_history(file, *(called(f"t{x}", x) for x in range(9)))
    words = ["--since", "2026-07-28T12:02+00:00", "--until", "2026-07-28T12:05+00:00"]
    names = [x.partition(":")[0] for x in lines(*words)]
    assert names == [f"library.t{x}" for x in range(2, 6)]
    assert len(lines("--until", "2")) == 2
    assert lines("--until", "2000-01-01") == []
    assert show("--since", "2099-01-01").startswith("The history has nothing")
    cli("history show --until 2 --follow --store", str(file)).fails(status=2)


# The history of a folder


def test_a_history_of_other_projects_is_reported_with_their_names(
    folder: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
):
    cli("history show").shows(f"There is no history yet of the project {folder.name!r} in ")
    for project in ("front desk", "library"):
        (folder / "mcp_settings.json").write_text(json.dumps({"project": project}))
        with Bridge.open() as bridge:
            bridge.records()
    cli("history show").shows("There is no history yet.")
    monkeypatch.setenv("XAI_MCP_PROJECT", "fron desk")
    others = "It has: front desk, library. Name one in XAI_MCP_PROJECT."
    cli("history show").shows("no history yet of the project 'fron desk'", others)
    cli("history show --store .xircuits/history.db").fails("project 'fron desk'", others)
    assert cli("history show --json").json == []


def test_show_reports_a_missing_history_and_starts_no_server(folder: Path, cli: Cli):
    cli("history show").shows("There is no history yet")
    assert cli("history show --json").out == "[]\n"
    assert [*folder.iterdir()] == []
    mark = folder / "started"
    write_settings(folder, {"it": {"command": "touch", "args": [str(mark)]}})
    with Bridge.open() as bridge:
        bridge.connect(wait=True)
    mark.unlink()
    cli("history show").shows("it: failed")
    assert not mark.exists()
    for words, status, hint in (
        ("--since soon", 2, "Write 2h or 3d"),
        ("--limit 0", 2, "--limit"),
        ("--server ti", 1, "Did you mean 'it'?"),
        ("--store no.db", 1, "no such file"),
        ("--store mysql://x/y", 1, "postgresql://"),
    ):
        cli(f"history show {words}").fails(hint, status=status)


# Following


def test_follow_shows_each_new_event_once(file: Path, show: Any, monkeypatch: pytest.MonkeyPatch):
    def later(*events: Event) -> None:
        """Write these events while `--follow` runs, then interrupt it."""
        remaining = list(events)

        def pause(_: float) -> None:
            if not remaining:
                raise KeyboardInterrupt
            write_history(file, remaining.pop(0))

        monkeypatch.setattr(history_command.time, "sleep", pause)

    write_history(file, called("search", 1))
    later(called("lend", 2), called("lend", 3, "no"), called("search", 4))
    names = [x[10:].partition(":")[0] for x in show("--follow").splitlines()[1:]]
    assert names == [f"library.{x}" for x in ("search", "lend", "lend", "search")]
    later(called("lend", 5), called("lend", 6, "no"))
    events = map(json.loads, show("--follow", "--failed", "--json").splitlines())
    assert [x["payload"]["status"] for x in events] == ["error", "error"]


def test_an_interrupt_ends_follow(file: Path, tmp_path: Path):
    write_history(file, called("search", 1))
    out = tmp_path / "out.txt"
    with out.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, *AS_A_PROCESS, "history", "show", "--follow", "--store", str(file)],
            stdout=output, stderr=subprocess.STDOUT, cwd=tmp_path, env=child_environment(tmp_path),
        )  # fmt: skip
        try:
            wait_until(lambda: "library.search" in out.read_text(), "the first line", _SECONDS)
            process.send_signal(signal.SIGINT)
            assert process.wait(_SECONDS) == 0
        finally:
            process.kill()
            process.wait(_SECONDS)
    assert not {"Traceback", "Aborted"} & set(out.read_text().split())
