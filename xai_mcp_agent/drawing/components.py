"""Component classes as Xircuits' palette sees them, read without importing."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias

from ..core.util import COMPONENT_FILES, COMPONENTS, LIBRARY, installed_components_folder, module_of

PortKind: TypeAlias = Literal["in", "compulsory", "out", "branch"]

_MARK = "xai_component"
_KINDS: dict[str, PortKind] = {"InArg": "in", "InCompArg": "compulsory", "OutArg": "out"}
# The canvas's names for Python's types; the others are the same.
_CANVAS_NAMES = {"str": "string", "bool": "boolean"}
# The palette colours a class by its place in the list; this is one of Xircuits' colours.
_NO_COLOR = "rgb(102,102,102)"


@dataclass(frozen=True, slots=True)
class PortSpec:
    """Port of a class. `type` is the canvas's name for it; a branch has none."""

    name: str
    kind: PortKind
    type: str = ""

    @property
    def is_in(self) -> bool:
        """Return whether values flow into it."""
        return self.kind in ("in", "compulsory")


@dataclass(frozen=True, slots=True)
class ComponentClass:
    """Class as a workflow file describes it. `path` is where compiled scripts import it from."""

    name: str
    path: str
    type: str
    color: str
    description: str
    lines: tuple[int, int]
    ports: tuple[PortSpec, ...]

    def port(self, name: str) -> PortSpec:
        """Return the port of that name; the error lists the existing ones."""
        for port in self.ports:
            if port.name == name:
                return port
        names = ", ".join(port.name for port in self.ports)
        raise KeyError(f"{self.name} has no port {name!r}; it has: {names}")


@cache
def our_components() -> dict[str, ComponentClass]:
    """Return the classes of this library by name, from the installed component files."""
    files = sorted(installed_components_folder().glob(COMPONENT_FILES))
    classes = [x for file in files for x in read_component_file(file, LIBRARY)]
    return {x.name: x for x in classes}


def read_component_file(file: Path, library: str) -> list[ComponentClass]:
    """Return the component classes of one file of a library, by the name of its folder.

    Raises:
        OSError, ValueError, SyntaxError: it cannot be read, or is not Python.
    """
    tree = module_of(file.read_text(encoding="utf-8"), file.name)
    path = f"{COMPONENTS}/{library}/{file.name}"
    return [_class(x, path) for x in component_classes(tree)]


def component_classes(tree: ast.Module) -> list[ast.ClassDef]:
    """Return the classes that the palette shows as components."""
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    return [node for node in classes if any(is_plain_mark(d) for d in node.decorator_list)]


def is_plain_mark(decorator: ast.expr) -> bool:
    """Return whether this is `@xai_component` by its bare name, called or not."""
    name = decorator.func if isinstance(decorator, ast.Call) else decorator
    return isinstance(name, ast.Name) and name.id == _MARK


def _class(node: ast.ClassDef, path: str) -> ComponentClass:
    mark = _mark_keywords(node)
    return ComponentClass(
        name=node.name,
        path=path,
        type=mark.get("type", "library_component"),
        color=mark.get("color", _NO_COLOR),
        description=ast.get_docstring(node) or "",
        lines=(node.lineno, node.end_lineno or node.lineno),
        ports=tuple(_ports(node)),
    )


def _mark_keywords(node: ast.ClassDef) -> dict[str, str]:
    calls = [mark for mark in node.decorator_list if isinstance(mark, ast.Call)]
    return {k.arg or "": ast.literal_eval(k.value) for call in calls for k in call.keywords}


def _ports(node: ast.ClassDef) -> Iterator[PortSpec]:
    for line in node.body:
        if not isinstance(line, ast.AnnAssign) or not isinstance(line.target, ast.Name):
            continue
        match line.annotation:
            case ast.Name("BaseComponent"):
                yield PortSpec(line.target.id, "branch")
            case ast.Subscript(ast.Name(name), inner) if name in _KINDS:
                # ast.get_source_segment would split the whole file again for each port.
                yield PortSpec(line.target.id, _KINDS[name], canvas_type(ast.unparse(inner)))
            case _:
                pass


def canvas_type(annotation: str) -> str:
    """Return the canvas's name for a Python type."""
    return re.sub(r"\b(?:str|bool)\b", lambda word: _CANVAS_NAMES[word[0]], annotation)
