"""Import graph of a package, read from its source files.

Imports inside functions and under `TYPE_CHECKING` count too: an arrow is an arrow.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Import:
    """`importer` and `imported` are full module names; `level` is 0 for an absolute import."""

    importer: str
    imported: str
    line: int
    level: int
    at_top: bool

    def __str__(self) -> str:
        return f"{self.importer}:{self.line} imports {self.imported}"


def modules_of(package: Path) -> dict[str, Path]:
    """Return every module of `package` by its full name; a package's name is its `__init__`."""
    modules: dict[str, Path] = {}
    for file in sorted(package.rglob("*.py")):
        parts = [package.name, *file.relative_to(package).with_suffix("").parts]
        modules[".".join(parts).removesuffix(".__init__")] = file
    return modules


def imports_of(package: Path) -> list[Import]:
    """Return all imports of all modules, of our own modules and of others."""
    modules = modules_of(package)
    return [entry for name, file in modules.items() for entry in _imports(name, file, modules)]


def _imports(importer: str, file: Path, modules: dict[str, Path]) -> Iterator[Import]:
    tree = ast.parse(file.read_bytes(), str(file))
    base = importer if file.name == "__init__.py" else importer.rpartition(".")[0]
    top = {id(node) for node in tree.body}
    for node in ast.walk(tree):
        at_top = id(node) in top
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(importer, alias.name, node.lineno, 0, at_top)
        elif isinstance(node, ast.ImportFrom):
            module = _absolute(node, base)
            for alias in node.names:
                # `from .a import b` means the module a.b if there is one, else a name in a.
                inner = f"{module}.{alias.name}"
                imported = inner if inner in modules else module
                yield Import(importer, imported, node.lineno, node.level, at_top)


def _absolute(node: ast.ImportFrom, base: str) -> str:
    if not node.level:
        return node.module or ""
    parts = base.split(".")
    parts = parts[: len(parts) - (node.level - 1)]
    return ".".join([*parts, *([node.module] if node.module else [])])


def cycle_in(imports: list[Import], modules: dict[str, Path]) -> list[str]:
    """Return one cycle of modules, first and last the same; empty when there is none."""
    return _cycle((x.importer, x.imported) for x in imports if x.imported in modules)


def folder_cycles(imports: list[Import], modules: dict[str, Path]) -> list[list[str]]:
    """Return a cycle for each folder in which its folders and files import each other in a ring.

    A folder counts with everything in it; `__init__.py` files do not count.
    """
    files = {name for name, file in modules.items() if file.name != "__init__.py"}
    arrows = [(x.importer, x.imported) for x in imports if {x.importer, x.imported} <= files]
    folders = sorted({x.rpartition(".")[0] for x in modules if "." in x})
    rings = (_cycle((_part(x, one), _part(x, other)) for one, other in arrows) for x in folders)
    return [ring for ring in rings if ring]


def _part(folder: str, module: str) -> str:
    """Return the part of a folder that a module is or lies in; "" if it lies elsewhere."""
    rest = module.removeprefix(f"{folder}.")
    return "" if rest == module else f"{folder}.{rest.partition('.')[0]}"


def _cycle(arrows: Iterable[tuple[str, str]]) -> list[str]:
    graph: dict[str, set[str]] = {}
    for importer, imported in arrows:
        if importer and imported and importer != imported:
            graph.setdefault(importer, set()).add(imported)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1][::-1]  # graphlib names the imported module first
    return []
