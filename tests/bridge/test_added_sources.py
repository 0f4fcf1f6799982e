"""Sources that a run adds to those of the settings file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.bridges import names_of, status_of
from tests.support.commands import write_settings
from xai_mcp_agent import Bridge
from xai_mcp_agent.canvas.lease import bridge_of
from xai_mcp_agent.canvas.sources import add_source
from xai_mcp_agent.canvas.toolbelts import SOURCES, SourceChoice, make_toolbelt
from xai_mcp_agent.core.tools import FUNCTIONS
from xai_mcp_agent.settings.sources import FunctionSettings


def file_with(folder: Path, function: str) -> FunctionSettings:
    """Write a file with one function; return it as a source called `it`."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "tools.py"
    file.write_text(f"def {function}(): ...\n", encoding="utf-8")
    return FunctionSettings(name="it", file=str(file))


@pytest.fixture
def bridge(tmp_path: Path):
    settings = {"functions": {"other": {"file": str(tmp_path / "other.py")}, "bad": {}}}
    with Bridge(settings, store="memory") as bridge:
        yield bridge


def test_an_added_source_is_used_like_one_of_the_file_and_gets_a_free_name(
    bridge: Bridge, tmp_path: Path
) -> None:
    first, second = file_with(tmp_path / "a", "one"), file_with(tmp_path / "b", "two")
    assert bridge.add_source(first) == "it"
    assert names_of(bridge.list_tools("it")) == ["one"]
    assert bridge.add_source(first) == "it", "adding it again closes nothing"
    assert status_of(bridge, "it").state == "ready"
    assert "it" in bridge.settings.names
    assert "it" not in bridge.settings.of_file
    assert bridge.add_source(second) == "it_2"
    assert bridge.add_source(replace(first, name="other")) == "other_2"
    assert bridge.add_source(replace(first, name="bad")) == "bad_2"
    assert names_of(bridge.list_tools("it")) == ["one"]
    assert names_of(bridge.list_tools("it_2")) == ["two"]


@pytest.fixture
def settings_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = write_settings(tmp_path, {})
    monkeypatch.setenv("XAI_MCP_SETTINGS", str(file))
    return file


def test_a_node_adds_a_source_to_its_toolbelt_and_the_next_run_keeps_the_bridge(
    settings_file: Path,
) -> None:
    """An added source does not count as a change of the settings file."""
    file_with(settings_file.parent, "one")
    first: dict[str, object] = {}
    add_source(first, FUNCTIONS, FunctionSettings, "it", {"file": "tools.py"}, SourceChoice("belt"))
    assert make_toolbelt(first, "belt")[SOURCES] == ["it"]
    second: dict[str, object] = {}
    assert bridge_of(first) is bridge_of(second)
    assert names_of(bridge_of(second).list_tools("it")) == ["one"]


def test_a_group_has_no_source_that_was_added_for_a_toolbelt(tmp_path: Path) -> None:
    """Otherwise an agent with a group would get tools that a node gave to another agent."""
    file = file_with(tmp_path / "own", "own").file
    groups = {"all": {"selectors": [{"name": "*"}]}}
    settings = {"functions": {"own": {"file": file}}, "groups": groups}
    with Bridge(settings, store="memory") as bridge:
        assert bridge.add_source(file_with(tmp_path, "one")) == "it"
        assert names_of(bridge.list_tools("it")) == ["one"]
        assert bridge.aio.operations.choice(["all"]).all_sources == ("own",)


@pytest.mark.usefixtures("settings_file")
def test_two_runs_at_the_same_time_may_configure_a_source_differently(tmp_path: Path) -> None:
    """A run must not use the arguments or credentials of another run."""
    file_with(tmp_path, "one")
    open_to_all: dict[str, object] = {"file": str(tmp_path / "tools.py")}
    shut = {**open_to_all, "exclude": ["one"]}
    first, second, third, later = (dict[str, object]() for _ in range(4))

    def add(ctx: dict[str, object], options: dict[str, object]) -> str:
        return add_source(ctx, FUNCTIONS, FunctionSettings, "it", options, SourceChoice("b"))

    assert [add(first, shut), add(second, open_to_all)] == ["it", "it_2"]
    assert bridge_of(first).list_tools("it") == []
    assert names_of(bridge_of(second).list_tools("it_2")) == ["one"]
    assert add(third, shut) == "it"
    first.clear()
    third.clear()
    # The node's settings were changed, and no run uses the earlier ones.
    assert add(later, open_to_all) == "it"
