"""Rows of which some may be damaged: read one by one, so that one does not cost the others.

A file with a damaged row is set aside and mended. On a server nobody does that.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, TypeVar

from sqlalchemy import Connection, Select, Table, TypeDecorator, type_coerce

from .integrity import OF_ROWS
from .tables import Unreadable

logger = logging.getLogger(__name__)

T = TypeVar("T")


def readable_rows(
    connection: Connection, table: Table, wanted: Select[Any], read: Callable[[Any], T]
) -> Iterator[T]:
    """What `read` makes of each row that is `wanted` of a table, by the names of its columns.

    Raises:
        Unreadable: one in a file is not what was ever written there.
    """
    plain = [type_coerce(x, _kept_as(x.type)).label(x.name) for x in table.columns]
    for row in connection.execute(wanted.with_only_columns(*plain)):
        try:
            yield read(SimpleNamespace(**dict(_values(connection, table, row))))
        except (*OF_ROWS, Unreadable) as cause:
            if connection.dialect.name == "sqlite":
                raise Unreadable("A row is not what was written.") from cause
            logger.debug("A row of %s cannot be read: %s", table.name, cause)


def _kept_as(of: Any) -> Any:
    return of.impl_instance if isinstance(of, TypeDecorator) else of


def _values(connection: Connection, table: Table, row: Any) -> Iterator[tuple[str, Any]]:
    for column in table.columns:
        value, of = getattr(row, column.name), column.type
        is_ours = isinstance(of, TypeDecorator)
        yield column.name, of.process_result_value(value, connection.dialect) if is_ours else value
