"""Where a history is kept: what is named decides, in its order, and folders may have any name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from xai_mcp_agent import Settings, SettingsError, StoreFailed, load_settings, settings_from
from xai_mcp_agent.history import place as places
from xai_mcp_agent.history.history import open_history
from xai_mcp_agent.history.place import Place, find_place

OWN = Path(".xircuits") / "history.db"
PASSWORD = "correct-horse"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project's, which is not the working folder."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def settings_in(folder: Path, store: str | None = None) -> Settings:
    """Those of a file there."""
    beside = {} if store is None else {"store": store}
    file = folder / "mcp_settings.json"
    file.write_text(json.dumps({"mcpServers": {}, **beside}), encoding="utf-8")
    return load_settings(file, environ={})


def found(settings: Settings, given: str | Path | None = None, variable: str = "") -> Place:
    """The place for these settings."""
    return find_place(settings, given, {"XAI_MCP_STORE": variable})


def test_by_itself_it_is_beside_the_settings_file(folder: Path):
    place = found(settings_in(folder))
    assert place.file == folder / OWN
    assert (place.folder, place.is_own, place.is_lasting) == (folder, True, True)
    assert place.shown == str(folder / OWN)


def test_what_is_given_decides_then_the_variable_then_the_settings(folder: Path):
    settings = settings_in(folder, "c.db")
    assert found(settings, "a.db", "b.db").file == folder / "a.db"
    assert found(settings, None, " b.db ").file == folder / "b.db"
    assert found(settings, None, "  ").file == folder / "c.db"
    assert not found(settings).is_own


def test_memory_may_be_named_in_each_way_that_people_know(folder: Path):
    for named in ("memory", "MEMORY", ":memory:", "sqlite://", "sqlite:///:memory:"):
        place = found(settings_in(folder, named))
        assert (place.file, place.is_lasting, place.shown) == (None, False, "memory"), named


def test_a_file_may_be_absolute_at_home_a_url_or_a_path(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HOME", str(tmp_path))
    settings = settings_in(folder)
    assert found(settings, "~/h.db").file == tmp_path / "h.db"
    assert found(settings, str(tmp_path / "h.db")).file == tmp_path / "h.db"
    assert found(settings, f"sqlite:///{tmp_path}/h.db").file == tmp_path / "h.db"
    assert found(settings, "sqlite:///h.db").file == folder / "h.db"
    assert found(settings, Path("memory")).file == folder / "memory"


def test_a_folder_may_have_any_name(folder: Path):
    for name in ("what?", "100%", "a#b", "a b", "é", "@:"):
        (folder / name).mkdir()
        open_history(found(settings_in(folder / name))).close()
        assert (folder / name / OWN).is_file(), name


def test_settings_given_in_python_have_a_history_in_memory(folder: Path):
    """They are no project's, until somebody says where it is to be kept."""
    settings = settings_from({"mcpServers": {}}, environ={})
    assert not found(settings).is_lasting
    assert found(settings, "h.db").file == Path.cwd() / "h.db"
    assert found(settings, None, "h.db").file == Path.cwd() / "h.db"
    named = settings_from({"mcpServers": {}, "store": "h.db"}, environ={})
    assert found(named).file == Path.cwd() / "h.db"


def test_a_database_is_shown_without_its_password(folder: Path):
    cases: list[str] = ["postgresql", "postgres", "postgresql+psycopg", "PostgreSQL"]
    for scheme in cases:
        place = found(settings_in(folder, f"{scheme}://me:{PASSWORD}@db.example.org/agents"))
        assert place.url == f"postgresql+psycopg://me:{PASSWORD}@db.example.org/agents"
        assert "db.example.org/agents" in place.shown
        assert PASSWORD not in place.shown
        assert (place.file, place.problem) == (None, "")


def test_a_kind_of_database_that_is_not_known_is_reported_where_it_was_named(folder: Path):
    """Given in Python it is a mistake; elsewhere an agent goes on without a history."""
    settings, url = settings_in(folder), f"mysql://me:{PASSWORD}@db/agents"
    with pytest.raises(SettingsError, match="'mysql' is not a kind of database") as raised:
        found(settings, url)
    assert places.KINDS in str(raised.value)
    place = found(settings, None, url)
    with pytest.raises(StoreFailed, match="'mysql' is not a kind of database") as failed:
        open_history(place)
    for said in (str(raised.value), str(failed.value), place.shown):
        assert PASSWORD not in said
