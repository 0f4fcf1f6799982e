"""How stores reach their database."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import String, literal, select
from sqlalchemy.engine.interfaces import CacheStats

from tests.support.databases import place_of
from xai_mcp_agent.history.database import engine_for


def test_a_statement_is_compiled_once_for_all_stores_in_sqlite(tmp_path: Path):
    """Ours: each workflow of a process has a bridge, and each bridge a store."""
    statement = select(literal(str(tmp_path), String).label("compiled_once_for_all_stores"))
    found: list[CacheStats] = []
    for name in ("one", "other"):
        engine = engine_for(place_of(tmp_path / name, tmp_path))
        with engine.connect() as connection:
            result = connection.execute(statement)
            found.append(result.context.cache_hit)
            assert result.scalar_one() == str(tmp_path)
        engine.dispose()
    assert found == [CacheStats.CACHE_MISS, CacheStats.CACHE_HIT]
