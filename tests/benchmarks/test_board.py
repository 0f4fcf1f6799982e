"""The tables of `make bench-peers`, and how figures get into the page."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import page
from benchmarks.peers.board import Board
from benchmarks.peers.environments import Environment
from benchmarks.peers.peers import CONTROL, OURS, PEERS
from benchmarks.peers.steps import BY_KEY, Measurement
from benchmarks.planning import __main__ as planning
from benchmarks.search import __main__ as search

CALLS, READY = BY_KEY["calls-stdio"], BY_KEY["one-hangs"]
COMMANDS = ("make bench", "make bench-peers", planning.COMMAND, search.COMMAND)
ONE, _ = CALLS.rows
FASTMCP = next(x for x in PEERS if x.name == "fastmcp")
THREAD = next(x for x in PEERS if x.is_another_door)


@pytest.fixture
def board() -> Board:
    versions = Environment("python", {"mcp": "2.3.0", "fastmcp": "4.1.2"})
    return Board([CALLS, READY], dict.fromkeys((OURS, CONTROL, FASTMCP, THREAD), versions))


def line(board: Board, start: str) -> list[str]:
    """Return the cells of the first line that starts so."""
    row = next(x for x in board.markdown().splitlines() if x.startswith(f"| {start}"))
    return [x.strip() for x in row.strip("|").split("|")]


def test_a_cell_is_the_median_of_all_passes(board: Board) -> None:
    board.add(OURS, {ONE.key: Measurement((1.0, 1.1))})
    board.add(OURS, {ONE.key: Measurement((1.3,))})
    assert line(board, ONE.title)[1] == "**1.10**"


def test_the_first_is_bold_and_the_bare_client_takes_no_part(board: Board) -> None:
    for peer, value in ((OURS, 1.2), (CONTROL, 1.0), (FASTMCP, 1.1), (THREAD, 0.9)):
        board.add(peer, {ONE.key: Measurement((value,))})
    assert line(board, ONE.title)[1:] == ["1.20", "1.00", "**1.10**"]


def test_a_command_writes_between_its_own_marks_only(tmp_path: Path) -> None:
    file = tmp_path / "page.md"
    mine, other = page.begin("make mine"), page.begin("make other")
    file.write_text(f"a\n{other}\nkept\n{page.END}\n{mine}\nold\n{page.END}\nz\n")
    page.write("make mine", "new", file)
    assert file.read_text() == f"a\n{other}\nkept\n{page.END}\n{mine}\nnew\n{page.END}\nz\n"


def test_the_page_has_the_marks_of_every_command() -> None:
    text = page.PAGE.read_text(encoding="utf-8")
    assert [x for x in COMMANDS if page.begin(x) not in text] == []
