"""The public interfaces answer as the tables say."""

from __future__ import annotations

import pytest

from . import tables
from .recorders import CHECKED_BY_THE_FAULT_SUITE, RECORDERS, current_rows

# The first row of a table waits for all of them, perhaps on a busy machine.
pytestmark = pytest.mark.timeout(300)

_TABLES = [x for x in RECORDERS if x != CHECKED_BY_THE_FAULT_SUITE]
_ROWS = [(table, row) for table in _TABLES for row in tables.read(table)]


@pytest.mark.parametrize(("table", "row"), _ROWS, ids=[f"{x}: {y}" for x, y in _ROWS])
def test_the_answer_is_as_recorded(table: str, row: str) -> None:
    """To accept an intended difference: `python -m tests.oracle --only TABLE`."""
    answer = current_rows(table).get(row, "no such row")
    different = tables.differences(tables.read(table)[row], answer)
    assert not different, f"\n{different}"


@pytest.mark.parametrize("table", _TABLES)
def test_no_row_is_missing_in_the_table(table: str) -> None:
    assert sorted(current_rows(table)) == sorted(tables.read(table))
