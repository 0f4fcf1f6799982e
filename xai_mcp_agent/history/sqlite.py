"""SQLite as SQLAlchemy knows it, with statements that are compiled once for all stores.

Loaded by name, when the first such store is opened: see `database.py`.
"""

from __future__ import annotations

from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite


class AlikeDialect(SQLiteDialect_pysqlite):
    """Equal to any other: a cache of compiled statements, which has it in its keys, may be shared.

    What SQLAlchemy asks a database about itself when it connects depends on SQLite alone, of which
    a process has one.
    """

    supports_statement_cache = True

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __hash__(self) -> int:
        return hash(type(self))
