"""Sections of the settings file beside that of the servers: `functions`, and names over all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from xai_mcp_agent import Settings, SettingsError, UnknownServer, settings_from
from xai_mcp_agent.core.tools import FUNCTIONS, MCP
from xai_mcp_agent.settings.sources import FunctionSettings

FOLDER = Path("/srv/project")
SERVER = {"command": "a"}
FILE = {"file": "tools.py"}


def read(document: Any) -> Settings:
    return settings_from(document, folder=FOLDER, environ={"PLACE": "elsewhere"})


def problem_of(entry: Any) -> SettingsError:
    return read({"functions": {"f": entry}}).problems["f"]


def test_a_file_of_functions_is_read_with_everything_filled_in() -> None:
    found = read({"functions": {"f": {**FILE, "timeout": 5, "include": ["a"], "lock": True}}})
    assert found.sources == {
        "f": FunctionSettings(
            name="f", file=str(FOLDER / "tools.py"), folder=str(FOLDER), include=("a",), lock=True,
            call_timeout_seconds=5.0,
        )
    }  # fmt: skip
    assert (found.sources["f"].kind, found.servers, found.problems) == (FUNCTIONS, {}, {})


def test_variables_are_replaced_in_it_too() -> None:
    found = read({"functions": {"f": {"file": "${PLACE}/tools.py"}}}).source("f")
    assert isinstance(found, FunctionSettings)
    assert found.file == str(FOLDER / "elsewhere" / "tools.py")


@pytest.mark.parametrize(
    ("entry", "key_path", "problem", "fix"),
    [
        ("tools.py", "", "must be an object, but is a text", '{"file": ...}'),
        ({}, "", "neither a `file` nor a `module`", '"file": "tools.py"'),
        ({**FILE, "module": "a.b"}, "", "both set", "Remove one"),
        ({"module": "a-b"}, ".module", "not a valid name of a module", "package.module"),
        ({"module": ".a"}, ".module", "not a valid name of a module", "package.module"),
        ({"module": ""}, ".module", "not a valid name of a module", "package.module"),
        ({"file": " "}, ".file", "empty", "Name the file"),
    ],
)
def test_a_mistake_in_it_is_reported_with_its_place_and_the_fix(
    entry: Any, key_path: str, problem: str, fix: str
) -> None:
    error = problem_of(entry)
    assert error.key_path == f"functions.f{key_path}"
    assert problem in error.problem
    assert fix in error.fix


def test_an_unknown_key_is_noted_with_what_it_may_mean() -> None:
    assert "functions.f.flie: unknown key, ignored. Did you mean 'file'" in str(
        read({"functions": {"f": {**FILE, "flie": "x"}}}).notes
    )


def test_servers_and_functions_stand_side_by_side() -> None:
    found = read({"mcpServers": {"s": SERVER}, "functions": {"f": FILE}, "store": "memory"})
    assert ([*found.sources], [*found.servers]) == (["s", "f"], ["s"])
    assert (found.kind_of("s"), found.kind_of("f"), found.kind_of("x")) == (MCP, FUNCTIONS, None)
    assert found.store == "memory"


def test_functions_may_stand_beside_a_bare_map_of_servers() -> None:
    found = read({"s": SERVER, "functions": {"f": FILE}, "record": ["results"]})
    assert ([*found.sources], found.record) == (["s", "f"], {"results"})


@pytest.mark.parametrize("server", [SERVER, {}])
def test_a_name_that_another_section_has_is_a_problem_of_the_later_entry(server: Any) -> None:
    found = read({"mcpServers": {"x": server, "y": SERVER}, "functions": {"x": FILE, "f": FILE}})
    assert [*found.sources] == [*(["x"] if server else []), "y", "f"]
    if server:
        assert found.problems["x"].key_path == "functions.x"
        assert "another section" in found.problems["x"].problem
        assert found.problems["x"].fix == "Rename one of them."


def test_a_section_that_is_no_object_is_an_error_with_its_place() -> None:
    with pytest.raises(SettingsError, match="must be an object of files") as caught:
        read({"mcpServers": {}, "functions": []})
    assert caught.value.key_path == "functions"


def test_a_name_of_another_kind_is_reported_with_where_it_stands() -> None:
    found = read({"mcpServers": {"s": SERVER}, "functions": {"f": FILE, "bad": {}}})
    for name in ("f", "bad"):
        with pytest.raises(UnknownServer, match="is under `functions`"):
            found.server(name)
    with pytest.raises(UnknownServer) as caught:
        found.source("x")
    assert str(caught.value) == (
        "No source 'x' in settings given in Python. Known: bad, f, s. "
        "Correct the name, or add it under the section of its kind, such as `mcpServers`."
    )
