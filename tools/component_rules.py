"""The rules that the palette and the canvas force on a component file, read from its source.

Each was tried with Xircuits 1.19.2: most violations empty the whole palette, or silently leave
a port out. The findings name file, line and effect.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import TypeGuard

from xai_mcp_agent.drawing.components import component_classes, is_plain_mark

PORT_KINDS = {"InArg", "InCompArg", "OutArg"}
# Types that the canvas draws and lets people wire.
PORT_TYPES = {"str", "int", "float", "bool", "list", "dict", "any", "secret", "chat", "dynalist"}
_OLDEST_PYTHON = (3, 11)


def findings(file: Path) -> list[str]:
    """Return a line `name:line: problem` for each broken rule in `file`."""
    source = file.read_bytes()
    if not source.isascii():
        line = next(n for n, text in enumerate(source.splitlines(), 1) if not text.isascii())
        return [f"{file.name}:{line}: not plain ASCII; Windows reads it in another encoding"]
    tree = ast.parse(source, file.name, feature_version=_OLDEST_PYTHON)
    return [f"{file.name}:{line}: {what}" for line, what in sorted(_all(tree))]


def _all(tree: ast.Module) -> Iterator[tuple[int, str]]:
    yield from _imports(tree)
    yield from _places(tree)
    yield from _decorators(tree)
    for component in component_classes(tree):
        yield from _bases(component)
        yield from _ports(component)


def _imports(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom):
            continue
        for alias in node.names:
            if node.module == "__future__":
                yield node.lineno, "a future import; annotations as text leave ports None"
            if alias.name == "AsyncComponent":
                yield node.lineno, "AsyncComponent; it raises under the lab's Run"
            if alias.name in PORT_KINDS | {"xai_component", "BaseComponent"} and alias.asname:
                yield node.lineno, f"{alias.name} imported under another name; not recognised"


def _places(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Only components, constants and private functions stand at the top of a component file."""
    components = component_classes(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node not in components:
            marked = any(_mark_name(d) == "xai_component" for d in node.decorator_list)
            hidden = "a component that is not at the top of the file; not in the palette"
            yield (
                node.lineno,
                hidden if marked else "a class that is not a component; it belongs in the engine",
            )
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield node.lineno, "a public function; it belongs in the engine"


def _decorators(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for component in (node for node in tree.body if isinstance(node, ast.ClassDef)):
        for mark in component.decorator_list:
            if isinstance(mark, ast.Call) and isinstance(mark.func, ast.Attribute):
                yield mark.lineno, "a dotted decorator call; it empties the palette"
            elif is_plain_mark(mark):
                yield from _mark_arguments(mark)


def _mark_arguments(mark: ast.expr) -> Iterator[tuple[int, str]]:
    keywords = mark.keywords if isinstance(mark, ast.Call) else []
    if "color" not in {keyword.arg for keyword in keywords}:
        yield mark.lineno, "no color; it would change with every library that is added"
    for keyword in keywords:
        if not isinstance(keyword.value, ast.Constant):
            yield mark.lineno, f"{keyword.arg} is not a literal; it empties the palette"
        if keyword.arg == "task":
            yield mark.lineno, "task; Reload does not find the node any more"


def _bases(component: ast.ClassDef) -> Iterator[tuple[int, str]]:
    bases = [ast.unparse(base) for base in component.bases]
    if bases != ["Component"]:
        yield component.lineno, f"based on {bases}, not on Component; inherited ports vanish"


def _ports(component: ast.ClassDef) -> Iterator[tuple[int, str]]:
    for node in component.body:  # an annotation inside a method harms nothing
        if isinstance(node, ast.AnnAssign):
            yield from _port(node)


def _port(node: ast.AnnAssign) -> Iterator[tuple[int, str]]:
    name, annotation = ast.unparse(node.target), node.annotation
    if annotation.lineno != annotation.end_lineno:
        yield node.lineno, f"{name}: its type is spread over lines and comes out mangled"
    elif isinstance(annotation, ast.Name) and annotation.id == "BaseComponent":
        pass
    elif not _is_port(annotation):
        text = ast.unparse(annotation)
        yield node.lineno, f"{name}: {text} is not a port; Xircuits ignores it and sets it to None"
    elif (kind := ast.unparse(annotation.slice)) not in PORT_TYPES:
        yield node.lineno, f"{name}: nothing can be wired to the type {kind}"
    if node.value is not None:
        yield node.lineno, f"{name}: a default; Xircuits ignores it"


def _is_port(annotation: ast.expr) -> TypeGuard[ast.Subscript]:
    return (
        isinstance(annotation, ast.Subscript)
        and isinstance(annotation.value, ast.Name)
        and annotation.value.id in PORT_KINDS
    )


def _mark_name(decorator: ast.expr) -> str:
    name = decorator.func if isinstance(decorator, ast.Call) else decorator
    return name.attr if isinstance(name, ast.Attribute) else getattr(name, "id", "")
