"""What `xai-mcp-agent history show` tells of a long history: chosen, folded, and followed."""

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

from tests.support.processes import wait_until
from tests.support.recorded import NOON, a_history, a_tool
from tests.support.scripts import child_environment
from xai_mcp_agent import Subject, Tool
from xai_mcp_agent.cli import history as shown_history
from xai_mcp_agent.cli.main import run
from xai_mcp_agent.core.calls import Caller
from xai_mcp_agent.core.tools import MCP
from xai_mcp_agent.history.event import Event
from xai_mcp_agent.history.history import open_history
from xai_mcp_agent.history.place import Place
from xai_mcp_agent.history.recording.report_writer import ReportWriter
from xai_mcp_agent.history.recording.reports import (
    Listed,
    Lost,
    Report,
    call_event,
    kept_use,
    refusal_event,
    used_by,
)

_SECONDS = 60.0
TEXT, NUMBER = {"type": "string"}, {"type": "integer"}
LIBRARY, UNITS = Subject(MCP, "library"), Subject(MCP, "units")
SEARCH, LEND = a_tool("search", "Finds.", query=TEXT), a_tool("lend", "Lends.", book=NUMBER)
ODD = "\x1b[31m\u202e.*(odd"


def place_of(file: Path) -> Place:
    return Place(f"sqlite:///{file}", str(file), file.parent, file, is_own=True)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "history.db"


def record(file: Path, *reports: Report) -> None:
    writer = ReportWriter(open_history(place_of(file)), str)
    for report in reports:
        writer.record([report])
    writer.close()


def session(
    source: Subject, hour: int, *tools: Tool, reason: str = "it was closed."
) -> list[Report]:
    at = NOON + timedelta(minutes=hour)
    ended = at + timedelta(seconds=9)
    return [Listed(source, at, tools, True, "stdio"), Lost(source, ended, reason)]


def called(tool: str, minute: int, error: str = "", agent: str = "", run_id: str = "") -> Event:
    caller = Caller("agent", agent, run=run_id, workflow="my_agent") if agent else Caller("program")
    at = NOON + timedelta(minutes=minute)
    by = kept_use(used_by(caller, "call_1"), str)
    return call_event(Subject(MCP, "library", tool), at, 0.5, error, by=by)


def command(capsys: Any, file: Path, *words: str) -> str:
    """Run the command on that history; what it printed."""
    with pytest.raises(SystemExit) as ended:
        run(["history", "show", *words, "--store", str(file)])
    out, err = capsys.readouterr()
    assert not ended.value.code, err
    return out


def told(capsys: Any, file: Path, *words: str) -> list[str]:
    """Its lines, without days and times."""
    lines = command(capsys, file, *words).splitlines()
    return [x[10:] for x in lines if x[2:3] == ":"]


def test_sessions_in_which_nothing_happened_share_a_line(file: Path, capsys: Any) -> None:
    reports = [*session(LIBRARY, 0, SEARCH), *session(UNITS, 0, LEND)]
    for minute in range(1, 9):
        reports += [*session(LIBRARY, minute, SEARCH), *session(UNITS, minute, LEND)]
    record(file, *reports)
    lines = told(capsys, file)
    assert len(lines) == 7
    assert lines[-1].startswith("library, units: connected and closed 16 times until ")
    assert " ".join(command(capsys, file).split()).endswith(", nothing changed")
    assert len(told(capsys, file, "--all")) == 6 + 32
    events = json.loads(command(capsys, file, "--json"))
    assert len(events) == 18 * 4, "programs get every event"


@pytest.mark.parametrize(
    "between",
    [
        [called("search", 1)],
        [Listed(LIBRARY, NOON + timedelta(minutes=1, seconds=3), (SEARCH, LEND))],
    ],
    ids=["a call", "a change"],
)
def test_a_session_in_which_something_happened_is_reported(
    file: Path, capsys: Any, between: list[Report]
) -> None:
    begin, end = session(LIBRARY, 1, SEARCH)
    record(file, *session(LIBRARY, 0, SEARCH), begin, *between, end)
    lines = told(capsys, file)
    assert any(x.startswith("library: connected again, 1 tool") for x in lines)
    assert not any("connected and closed" in x for x in lines)


def test_a_session_that_ended_badly_is_reported(file: Path, capsys: Any) -> None:
    bad = "The server exited with code 1."
    record(file, *session(LIBRARY, 0, SEARCH), *session(LIBRARY, 1, SEARCH, reason=bad))
    assert any("exited with code 1" in x for x in told(capsys, file))


def test_ten_thousand_tools_in_each_session_are_reported_in_a_moment(
    file: Path, capsys: Any
) -> None:
    many = [a_tool(f"t{number}") for number in range(10_000)]
    for minute in range(3):
        record(file, *session(LIBRARY, minute, *many))
    lines = told(capsys, file)
    assert lines[-1].startswith("library: connected and closed 2 times")
    assert "10,000 tools new (t0, t1, t10, t100, t1000, t1001 and 9,994 more)" in " ".join(
        command(capsys, file).split()
    )
    again = told(capsys, file, "--all")
    assert again.count("library: connected again, 10,000 tools, as before") == 2


def test_the_limit_is_for_lines_and_not_for_events(file: Path, capsys: Any) -> None:
    calls = [called("search", x) for x in range(30)]
    record(file, *session(LIBRARY, 0, SEARCH), *calls, called("lend", 31))
    lines = told(capsys, file, "--limit", "2")
    assert [x.partition(":")[0] for x in lines] == ["library.search", "library.lend"]
    assert "called 30 times" in lines[0]
    assert command(capsys, file, "--limit", "2").startswith("The newest 2 lines; ")
    assert "newest" not in command(capsys, file, "--limit", "9")


def test_a_changed_tool_says_what_is_different(file: Path, capsys: Any) -> None:
    other = a_tool("search", "Finds things.", query=TEXT, limit=NUMBER)
    with a_history(place_of(file)) as history:
        history.connected("library", SEARCH, LEND)
        history.listed("library", other, LEND)
        history.listed("library", a_tool("search", "Finds.", query=TEXT), a_tool("lend", "Gives."))
    out = " ".join(command(capsys, file).split())
    assert "library.search: changed Description: 'Finds.' → 'Finds things.'" in out
    assert "Parameter 'limit' was added (integer, optional)" in out
    assert "library: 2 tools changed (lend, search)" in out
    assert "lend: Description: 'Lends.' → 'Gives.'" in out
    assert "search: Parameter 'limit' was removed" in out


def test_a_call_says_which_agent_made_it_in_which_run(file: Path, capsys: Any) -> None:
    calls = [called("search", x, agent="helper", run_id="b1946ac92492") for x in range(3)]
    record(file, *calls, called("search", 4, "There is no shelf 9.", agent="other"))
    several, failed = told(capsys, file)
    assert several.startswith(
        "library.search: called by helper in my_agent (run b1946ac92492) 3 times"[:60]
    )
    out = " ".join(command(capsys, file).split())
    assert "called by other in my_agent, failed after 500 ms: There is no shelf 9." in out
    assert failed.startswith("library.search: called by other")


def test_what_failed_can_be_chosen(file: Path, capsys: Any) -> None:
    with a_history(place_of(file)) as history:
        history.connected("library", SEARCH)
        history.failed("web", "no such program")
    tool, given = Subject(MCP, "library", "search"), {"error": "no"}
    record(
        file,
        called("search", 1), call_event(tool, NOON, 0.5, arguments=given), called("lend", 2, "no"),
        refusal_event(tool, NOON, "It is switched off."),
    )  # fmt: skip
    lines = told(capsys, file, "--failed")
    assert [x.partition(": ")[0] for x in lines] == ["web", "library.lend", "library.search"]
    events = json.loads(command(capsys, file, "--failed", "--json"))
    assert [x["change"] for x in events] == ["failed", "called", "refused"]


def test_what_an_agent_called_can_be_chosen(file: Path, capsys: Any) -> None:
    record(file, called("search", 1, agent="helper"), called("lend", 2, agent=ODD))
    assert len(told(capsys, file, "--agent", "helper")) == 1
    with pytest.raises(SystemExit):
        run(["history", "show", "--agent", "helpr", "--store", str(file)])
    assert "Did you mean 'helper'?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("SHELF", 1), ("no shelf 9.", 1), ("no shelf .", 0), (".*", 1), ("(", 1), ("%", 0),
        ("_", 4), ("\\", 0), ("'; DROP", 0), ("lib", 4), ("library.len", 1), ("helper", 1),
        ("b1946", 1), ("ÖL", 1), ("öl", 1), ("CALLED", 4), ("\x1b", 0),
    ],
)  # fmt: skip
def test_text_is_looked_for_as_it_stands_in_capitals_or_not(
    file: Path, capsys: Any, text: str, found: int
) -> None:
    """Issue 15: plain text, no pattern of any kind."""
    record(
        file,
        called("search", 1, "There is no shelf 9."),
        called("lend", 2, agent="helper", run_id="b1946ac92492"),
        called("Öl", 3, agent=ODD),
        called("plain", 4),
    )
    events = json.loads(command(capsys, file, "--grep", text, "--json"))
    assert len(events) == found
    assert len(told(capsys, file, "--grep", text)) == found


def test_a_tool_among_many_of_a_listing_is_found_by_its_name(file: Path, capsys: Any) -> None:
    many = [a_tool(f"t{number}") for number in range(300)]
    record(file, *session(LIBRARY, 0, *many))
    lines = told(capsys, file, "--grep", "library.t277")
    assert lines == ["library.t277: new", "library.t277: not available: it was closed."]


def test_a_begin_and_an_end_can_be_given(file: Path, capsys: Any) -> None:
    record(file, *(called(f"t{x}", x) for x in range(9)))
    words = ["--since", "2026-07-28T12:02+00:00", "--until", "2026-07-28T12:05+00:00"]
    assert [x.partition(":")[0] for x in told(capsys, file, *words)] == [
        "library.t2", "library.t3", "library.t4", "library.t5",
    ]  # fmt: skip
    assert len(told(capsys, file, "--until", "2")) == 2
    assert told(capsys, file, "--until", "2000-01-01") == []
    with pytest.raises(SystemExit) as ended:
        run(["history", "show", "--until", "2", "--follow", "--store", str(file)])
    assert ended.value.code == 2


def test_nothing_of_odd_names_reaches_a_terminal(file: Path, capsys: Any) -> None:
    with a_history(place_of(file)) as history:
        history.connected(ODD, a_tool(ODD, ODD))
        history.listed(ODD, a_tool(ODD, f"{ODD}!"))
    record(file, called(ODD, 1, ODD, agent=ODD))
    for words in ((), ("--all",), ("--grep", "odd")):
        out = command(capsys, file, *words)
        assert "odd" in out
        assert not {"\x1b", "\u202e"} & set(out)


@pytest.fixture
def later(file: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[list[Report]], None]:
    """Have these written while somebody follows; then they interrupt."""

    def have(reports: list[Report]) -> None:
        left = list(reports)

        def pause(_: float) -> None:
            if not left:
                raise KeyboardInterrupt
            record(file, left.pop(0))

        monkeypatch.setattr(shown_history.time, "sleep", pause)

    return have


def test_what_happens_while_it_follows_is_reported_once(
    file: Path, capsys: Any, later: Any
) -> None:
    record(file, called("search", 1))
    later([called("lend", 2), called("lend", 3, "no"), called("search", 4)])
    out = command(capsys, file, "--follow")
    assert [x[10:].partition(":")[0] for x in out.splitlines()[1:]] == [
        "library.search", "library.lend", "library.lend", "library.search",
    ]  # fmt: skip
    later([called("lend", 5), called("lend", 6, "no")])
    lines = command(capsys, file, "--follow", "--failed", "--json").splitlines()
    assert [json.loads(x)["payload"]["status"] for x in lines] == ["error", "error"]


def test_whoever_follows_ends_it_with_an_interrupt(file: Path, tmp_path: Path) -> None:
    record(file, called("search", 1))
    code = "from xai_mcp_agent.cli.main import run; run()"
    out = tmp_path / "out.txt"
    with out.open("w") as written:
        process = subprocess.Popen(
            [sys.executable, "-c", code, "history", "show", "--follow", "--store", str(file)],
            stdout=written, stderr=subprocess.STDOUT, cwd=tmp_path, env=child_environment(tmp_path),
        )  # fmt: skip
        try:
            wait_until(lambda: "library.search" in out.read_text(), "the first line", _SECONDS)
            record(file, called("lend", 2))
            wait_until(lambda: "library.lend" in out.read_text(), "the next line", _SECONDS)
            process.send_signal(signal.SIGINT)
            assert process.wait(_SECONDS) == 0
        finally:
            process.kill()
            process.wait(_SECONDS)
    assert "Traceback" not in out.read_text()
    assert "Aborted" not in out.read_text()
