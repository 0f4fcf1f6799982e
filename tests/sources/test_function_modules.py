"""Functions of a module by its dotted name: imported as Python does, again after each change."""

from __future__ import annotations

import re
import sys
import uuid
from collections.abc import Generator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.support.bridges import names_of, source_bridge, status_of
from tests.support.files import change
from xai_mcp_agent import Bridge, SourceFailed


@pytest.fixture
def package(tmp_path: Path) -> Generator[str]:
    """The name of a new package in the settings' folder; its modules are removed at the end."""
    name = f"package_{uuid.uuid4().hex[:8]}"
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").touch()
    path = list(sys.path)
    yield name
    sys.path[:] = path
    for module in [x for x in sys.modules if x.partition(".")[0] == name]:
        del sys.modules[module]


def using(folder: Path, module: str, **entry: Any) -> Bridge:
    """A bridge whose source `it` is this module."""
    return source_bridge("functions", module=module, folder=str(folder), **entry)


def write(folder: Path, package: str, module: str, text: str) -> Path:
    file = folder / package / f"{module}.py"
    file.write_text(text, encoding="utf-8")
    return file


def test_the_module_is_the_same_object_that_other_code_imports(tmp_path: Path, package: str):
    write(tmp_path, package, "near", "def helper(): return 'from beside'\n")
    body = "CALLS = []\ndef f():\n    CALLS.append(1)\n    return helper()\n"
    write(tmp_path, package, "tools", f"from .near import helper\n{body}")
    with using(tmp_path, f"{package}.tools") as bridge:
        assert names_of(bridge.list_tools("it")) == ["f"]
        assert bridge.call_tool("it", "f").text == "from beside"
        assert (status_of(bridge, "it").server, status_of(bridge, "it").transport) == (
            f"{package}.tools", "python",
        )  # fmt: skip
    assert import_module(f"{package}.tools").CALLS == [1]


def test_imported_functions_are_tools_only_if_include_names_them(tmp_path: Path, package: str):
    write(tmp_path, package, "near", "def helper(x: int) -> int: return x\ndef other(): ...\n")
    text = "from math import sqrt\nfrom .near import *\ndef own(): ...\n"
    write(tmp_path, package, "tools", text)
    with using(tmp_path, f"{package}.tools") as bridge:
        assert names_of(bridge.list_tools("it")) == ["own"]
    with using(tmp_path, f"{package}.tools", include=["helper", "own", "sqrt"]) as bridge:
        assert names_of(bridge.list_tools("it")) == ["helper", "own"], (
            "sqrt has a positional-only argument"
        )
        assert bridge.call_tool("it", "helper", {"x": 2}).structured == 2


def test_a_changed_module_is_imported_again_also_by_the_next_bridge(tmp_path: Path, package: str):
    """As in a notebook, the process goes on and keeps its imported modules."""
    file = write(tmp_path, package, "tools", "def a(): return 1\ndef b(): return 1\n")
    with using(tmp_path, f"{package}.tools") as bridge:
        assert names_of(bridge.list_tools("it")) == ["a", "b"]
        before = sys.modules[f"{package}.tools"]
        assert bridge.call_tool("it", "a").structured == 1
        assert sys.modules[f"{package}.tools"] is before
        change(file, "def a(): return 2\ndef c(): return 1\n")
        assert names_of(bridge.list_tools("it")) == ["a", "c"]
        assert bridge.call_tool("it", "a").structured == 2
    change(file, "def a(): return 3\n")
    with using(tmp_path, f"{package}.tools") as bridge:
        assert bridge.call_tool("it", "a").structured == 3
    assert import_module(f"{package}.tools").a() == 3


def test_a_module_that_fails_is_used_once_it_is_corrected(tmp_path: Path, package: str):
    name = f"{package}.tools"
    with using(tmp_path, name) as bridge:
        with pytest.raises(SourceFailed, match=f"No module named '{name}'") as caught:
            bridge.list_tools("it")
        assert str(tmp_path) in caught.value.next_step
        file = write(tmp_path, package, "tools", "import sys\nsys.exit(3)\n")
        failed = re.escape("SystemExit: 3 (in tools.py, line 2)")
        with pytest.raises(SourceFailed, match=failed):
            bridge.list_tools("it")
        assert name not in sys.modules
        change(file, "def f(): return 'fine'\n")
        assert bridge.call_tool("it", "f").text == "fine"


def test_several_sources_of_one_module_are_read_again_at_the_same_time(
    tmp_path: Path, package: str
):
    """For instance one for reading tools and one for writing tools; the import takes a moment."""
    slow = "import time\ntime.sleep(0.05)\n"
    file = write(tmp_path, package, "tools", f"{slow}def a(): ...\n")
    entry = {"module": f"{package}.tools", "folder": str(tmp_path)}
    names = ["one", "two", "three"]
    with Bridge({"functions": dict.fromkeys(names, entry)}, store="memory") as bridge:
        for number in range(3):
            bridge.connect(*names, wait=True)
            assert [status_of(bridge, x).error for x in names] == [""] * 3
            change(file, f"{slow}def a{number}(): ...\n")
        assert [names_of(bridge.list_tools(x)) for x in names] == [["a2"]] * 3
