"""Imports point one way, importing the package is cheap, and names are unique.

Who decided it: design.md section 2, The house.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import xai_mcp_agent
from tools.imports import Import, cycle_in, folder_cycles, imports_of, modules_of

PACKAGE = Path(xai_mcp_agent.__file__).parent
CHILD_SECONDS = 30

# The arrows of design.md; a package may also use everything that its targets may use.
ARROWS = {
    "components": {"canvas", "bridge", "views"},
    "cli": {"admin", "gateway", "canvas", "bridge", "views", "registries", "drawing"},
    "gateway": {"canvas", "bridge", "views"},
    "admin": {"gateway", "canvas", "bridge", "views"},
    "canvas": {"bridge", "console", "views", "drawing"},
    "views": {"console", "history", "planning"},
    "console": {"agent"},
    "drawing": {"planning"},
    "bridge": {"agent", "planning", "search", "policy", "catalog", "history", "sources"},
    "agent": {"search", "policy", "planning"},
    "planning": {"search", "steps"},
    "search": {"catalog"},
    "policy": {"catalog"},
    "catalog": {"history"},
    "registries": {"search", "sources"},
    "sources": {"settings"},
    "history": {"settings"},
    "settings": {"secrets"},
    "secrets": {"core"},
    "steps": {"core"},
    "core": set(),
}
# What the package itself offers is found lazily in the bridge; see its __init__.
TOP = "the package"

HEAVY = {"anyio", "httpx2", "jsonschema_rs", "mcp", "openai", "pydantic", "rapidfuzz", "rich",
         "sqlalchemy", "typer", "xai_components", "xircuits"}  # fmt: skip


def may_import(layer: str) -> set[str]:
    """Return the packages a layer may import: the arrows followed to their ends, itself, core."""
    if layer == TOP:
        return {"bridge", *may_import("bridge")}
    reached = {layer, "core"}
    for target in ARROWS[layer]:
        reached |= may_import(target)
    return reached


def layer_of(module: str) -> str:
    """Return the inner package a module is in; component files are a layer of their own."""
    _, _, rest = module.partition(".")
    first = rest.partition(".")[0]
    return "components" if first.endswith("_components") else first or TOP


def violations(package: Path) -> list[str]:
    """Return a sentence for each import that breaks the rules."""
    modules = modules_of(package)
    imports = imports_of(package)
    sentences = [line for entry in imports for line in _judge(entry, package.name, modules)]
    strangers = {layer_of(name) for name in modules} - set(ARROWS) - {TOP}
    sentences += [f"{name} is a part that design.md does not name" for name in sorted(strangers)]
    if path := cycle_in(imports, modules):
        sentences.append(f"a cycle: {' -> '.join(path)}")
    sentences += [
        f"a cycle of folders: {' -> '.join(path)}" for path in folder_cycles(imports, modules)
    ]
    return sentences


def _judge(entry: Import, package: str, modules: dict[str, Path]) -> Iterator[str]:
    importer, ours = layer_of(entry.importer), entry.imported.partition(".")[0] == package
    if importer == "components":
        yield from _judge_component(entry, ours)
    elif ours and not entry.level:
        yield f"{entry}, absolutely; inside the engine imports are relative"
    if not ours or (importer not in ARROWS and importer != TOP):
        return
    if entry.imported not in modules:
        yield f"{entry}, which does not exist"
    elif layer_of(entry.imported) not in may_import(importer):
        yield f"{entry}; {importer} may not import {layer_of(entry.imported)}"


def _judge_component(entry: Import, ours: bool) -> Iterator[str]:
    root = entry.imported.partition(".")[0]
    if entry.level and not entry.imported.endswith("_components"):
        yield f"{entry}, relatively; a component file is loaded under a second package name"
    elif entry.at_top and not ours and root not in {*sys.stdlib_module_names, "xai_components"}:
        yield f"{entry} at its top; a component file starts with the engine and Xircuits alone"


def test_imports_point_one_way():
    assert violations(PACKAGE) == []


def modules_after(code: str) -> set[str]:
    """Return the modules that a fresh Python has loaded after this code."""
    process = subprocess.run(
        [sys.executable, "-Werror", "-c", f"import sys; {code}; print(*sys.modules)"],
        cwd=PACKAGE.parent, capture_output=True, text=True, timeout=CHILD_SECONDS, check=True,
    )  # fmt: skip
    return set(process.stdout.split())


def test_every_class_has_a_name_of_its_own():
    """A reader who meets `Place` or `Answer` need not ask which; see style.md, Names."""
    files: dict[str, list[str]] = defaultdict(list)
    for file in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                files[node.name].append(str(file.relative_to(PACKAGE)))
    # Nodes have the names that xai-agent gave them; an operation of OpenAPI is called so there.
    allowed = {"AgentModel", "AgentRun", "Operation"}
    assert {x: y for x, y in files.items() if len(y) > 1 and x not in allowed} == {}


def test_nodes_and_commands_use_operations_and_no_engine():
    """What they can do, a program in Python can, by the same operation; see design.md section 6."""
    files = [*PACKAGE.glob("*_components.py")]
    files += [x for room in ("canvas", "cli") for x in (PACKAGE / room).rglob("*.py")]
    users = {
        str(file.relative_to(PACKAGE))
        for file in files
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr == "engine"
    }
    assert users == set()


def test_importing_all_component_files_loads_nothing_heavy_but_xircuits():
    files = ", ".join(f"{PACKAGE.name}.{x.stem}" for x in sorted(PACKAGE.glob("*_components.py")))
    beside = modules_after("import xai_components.base")
    assert HEAVY & (modules_after(f"import {files}") - beside) == set()


def test_reading_settings_loads_no_heavy_library_but_pydantic():
    """Starting a command stays quick."""
    modules = modules_after("import xai_mcp_agent.settings.load")
    assert (HEAVY | {"json5", "platformdirs"}) & modules == {"pydantic"}


TYPES_ONLY = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ..bridge import b"
TOYS = [
    ("core/a.py", "from ..bridge import b", "core may not import bridge"),
    ("agent/a.py", "from ..sources.b import B", "may not import sources"),
    ("search/a.py", "def f():\n    from ..agent import b", "search may not import agent"),
    ("history/a.py", TYPES_ONLY, "history may not import bridge"),
    ("sources/mcp/a.py", "from ...catalog import b", "sources may not import catalog"),
    ("cli/a.py", "from toy.bridge import b", "imports are relative"),
    ("x_components.py", "from .bridge import b", "second package name"),
    ("x_components.py", "import mcp", "at its top"),
    ("core/a.py", "from ..x_components import X", "may not import components"),
    ("cli/a.py", "from ..bridge.gone import b", "does not exist"),
    ("attic/a.py", "x = 1", "attic is a part that design.md does not name"),
    ("sources/mcp/c.py", "from ..files import d",
     "a cycle of folders: toy.sources.files -> toy.sources.mcp -> toy.sources.files"),
    ("sources/b.py", "from .mcp import b",
     "a cycle of folders: toy.sources.b -> toy.sources.mcp -> toy.sources.b"),
    ("bridge/b.py", "from . import c", "toy.bridge.b -> toy.bridge.c -> toy.bridge.b"),
]  # fmt: skip


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """A small package that keeps the rules."""
    for file in ("bridge/c.py", "agent/b.py", "sources/mcp/b.py", "x_components.py"):
        _write(tmp_path / "toy" / file, "")
    _write(tmp_path / "toy/sources/files/d.py", "")
    _write(tmp_path / "toy/sources/files/e.py", "from ..mcp import b")
    _write(tmp_path / "toy/sources/mcp/d.py", "from .. import b")
    _write(tmp_path / "toy/bridge/c.py", "from . import b\nfrom ..agent.b import B")
    for name in ("agent", "bridge", "catalog", "core", "sources"):
        _write(tmp_path / "toy" / name / "b.py", "import json\nimport mcp")
    _write(tmp_path / "toy/x_components.py", "from xai_components.base import Component")
    return tmp_path / "toy"


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    (file.parent / "__init__.py").touch()
    file.write_text(text, encoding="utf-8")


def test_a_sound_package_has_no_violations(toy: Path):
    assert violations(toy) == []


@pytest.mark.parametrize(("file", "source", "says"), TOYS)
def test_an_import_against_the_rules_is_reported(toy: Path, file: str, source: str, says: str):
    _write(toy / file, source)
    assert any(says in line for line in violations(toy)), violations(toy)
