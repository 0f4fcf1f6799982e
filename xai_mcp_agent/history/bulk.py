"""Many rows into a table at once: SQLAlchemy's own way takes longer for a row than the database.

A listing may have ten thousand tools, and what it costs to write them down is time of the process
that runs the agent.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from sqlalchemy import Connection, Table

_MARKS = {"sqlite": "?"}
_OTHER_MARK = "%s"


def insert_rows(
    connection: Connection,
    table: Table,
    rows: Iterable[tuple[Any, ...]],
    update: str = "",
    *,
    are_new: bool = False,
) -> None:
    """Add rows: for each all columns in their order, with values as the database keeps them.

    One that is there already is left as it is, or only gets the new value of the column `update`;
    where all `are_new` that is an error.
    """
    new = list(rows)
    if new:
        mark = _MARKS.get(connection.dialect.name, _OTHER_MARK)
        connection.exec_driver_sql(_statement(table, mark, update, are_new), new)


@cache
def _statement(table: Table, mark: str, update: str, are_new: bool) -> str:
    names = [column.name for column in table.columns]
    values = ", ".join([mark] * len(names))
    statement = f"INSERT INTO {table.name} ({', '.join(names)}) VALUES ({values})"
    if are_new:
        return statement
    key = ", ".join(column.name for column in table.primary_key)
    do = f"UPDATE SET {update} = excluded.{update}" if update else "NOTHING"
    return f"{statement} ON CONFLICT ({key}) DO {do}"
