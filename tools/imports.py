"""Import graph of a package, read from its source files.

Imports inside functions and under `TYPE_CHECKING` count too: an arrow is an arrow.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
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
    arrows: dict[str, set[str]] = {name: set() for name in modules}
    for entry in imports:
        if entry.imported in modules and entry.imported != entry.importer:
            arrows[entry.importer].add(entry.imported)
    done: set[str] = set()
    for name in modules:
        if path := _walk(name, arrows, done, []):
            return path
    return []


def folder_cycles(imports: list[Import], modules: dict[str, Path]) -> list[list[str]]:
    """Return a cycle for each folder in which its folders and files import each other in a ring.

    A folder counts with all that is in it; files right in the folder that is looked at count alone.
    """
    folders = sorted({x.rpartition(".")[0] for x in modules if "." in x})
    arrows = [
        (x.importer, x.imported)
        for x in imports
        if x.imported in modules and _is_file(x.importer, modules) and _is_file(x.imported, modules)
    ]
    return [path for folder in folders if (path := _cycle_within(folder, arrows))]


def _is_file(module: str, modules: dict[str, Path]) -> bool:
    return modules[module].name != "__init__.py"


def _cycle_within(folder: str, arrows: list[tuple[str, str]]) -> list[str]:
    units: dict[str, set[str]] = {}
    for importer, imported in arrows:
        one, other = _unit(folder, importer), _unit(folder, imported)
        if one and other and one != other:
            units.setdefault(one, set()).add(other)
            units.setdefault(other, set())
    done: set[str] = set()
    return next(
        (path for name in sorted(units) if (path := _walk(name, units, done, []))), list[str]()
    )


def _unit(folder: str, module: str) -> str:
    """Return the part of a folder that a module is or lies in; "" if it lies elsewhere."""
    rest = module.removeprefix(f"{folder}.")
    return "" if rest == module else f"{folder}.{rest.partition('.')[0]}"


def _walk(name: str, arrows: dict[str, set[str]], done: set[str], path: list[str]) -> list[str]:
    if name in path:
        return [*path[path.index(name) :], name]
    if name in done:
        return []
    for imported in sorted(arrows[name]):
        if cycle := _walk(imported, arrows, done, [*path, name]):
            return cycle
    done.add(name)
    return []
