"""Component classes as the palette sees them: read from the source, nothing is imported."""

from __future__ import annotations

import ast
import importlib.util
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias

import xai_mcp_agent

from .component_rules import component_classes

PortKind: TypeAlias = Literal["in", "compulsory", "out", "branch"]

_KINDS: dict[str, PortKind] = {"InArg": "in", "InCompArg": "compulsory", "OutArg": "out"}
# The names the canvas has for Python's types; the others are called as in Python.
_CANVAS_NAMES = {"str": "string", "bool": "boolean"}
# What the palette gives a class by its place in the list; one of Xircuits' own colours.
_NO_COLOR = "rgb(102,102,102)"


@dataclass(frozen=True)
class PortSpec:
    """One port of a class. `type` is the canvas's name for it; a branch has none."""

    name: str
    kind: PortKind
    type: str = ""

    @property
    def is_in(self) -> bool:
        """Whether values flow into it."""
        return self.kind in ("in", "compulsory")


@dataclass(frozen=True)
class ComponentClass:
    """What a workflow file says about a class. `path` is how compiled scripts find it."""

    name: str
    path: str
    type: str
    color: str
    description: str
    lines: tuple[int, int]
    ports: tuple[PortSpec, ...]

    def port(self, name: str) -> PortSpec:
        """Return the port of that name; the error names those there are."""
        for port in self.ports:
            if port.name == name:
                return port
        known = ", ".join(port.name for port in self.ports)
        raise KeyError(f"{self.name} has no port {name!r}; it has: {known}")


def component(name: str) -> ComponentClass:
    """Return a class of ours or of a plain Xircuits by its name alone, as the palette does."""
    known = all_components()
    if name not in known:
        raise KeyError(f"no component {name!r} in ours and Xircuits' own files")
    return known[name]


@cache
def all_components() -> dict[str, ComponentClass]:
    """Return every class by name: what comes with Xircuits, then ours from the source tree."""
    found = [x for file, path in _files() for x in _classes(file, path)]
    return {x.name: x for x in found}


def our_components() -> dict[str, ComponentClass]:
    """Return the classes of this library by name."""
    ours = {x.name: x for x in all_components().values() if x.path.split("/")[1] == "xai_mcp_agent"}
    assert ours, "no component files found"
    return ours


def _files() -> Iterator[tuple[Path, str]]:
    spec = importlib.util.find_spec("xai_components")
    assert spec is not None, "Xircuits is not installed"
    assert spec.origin is not None
    installed = Path(spec.origin).parent
    for file in sorted(installed.glob("xai_*/*.py")):
        if file.parent.name != "xai_mcp_agent":
            yield file, f"xai_components/{file.parent.name}/{file.name}"
    for file in sorted(Path(xai_mcp_agent.__file__).parent.glob("*_components.py")):
        yield file, f"xai_components/xai_mcp_agent/{file.name}"


def _classes(file: Path, path: str) -> Iterator[ComponentClass]:
    source = file.read_text(encoding="utf-8")
    for node in component_classes(ast.parse(source, file.name)):
        mark = _mark_keywords(node)
        yield ComponentClass(
            name=node.name,
            path=path,
            type=mark.get("type", "library_component"),
            color=mark.get("color", _NO_COLOR),
            description=ast.get_docstring(node) or "",
            lines=(node.lineno, node.end_lineno or node.lineno),
            ports=tuple(_ports(node, source)),
        )


def _mark_keywords(node: ast.ClassDef) -> dict[str, str]:
    calls = [mark for mark in node.decorator_list if isinstance(mark, ast.Call)]
    return {k.arg or "": ast.literal_eval(k.value) for call in calls for k in call.keywords}


def _ports(node: ast.ClassDef, source: str) -> Iterator[PortSpec]:
    for line in node.body:
        if not isinstance(line, ast.AnnAssign) or not isinstance(line.target, ast.Name):
            continue
        match line.annotation:
            case ast.Name("BaseComponent"):
                yield PortSpec(line.target.id, "branch")
            case ast.Subscript(ast.Name(name), inner) if name in _KINDS:
                written = ast.get_source_segment(source, inner) or ""
                yield PortSpec(line.target.id, _KINDS[name], canvas_type(written))
            case _:
                pass


def canvas_type(written: str) -> str:
    """Return the canvas's name for a type as Python writes it."""
    return re.sub(r"\b(?:str|bool)\b", lambda found: _CANVAS_NAMES[found[0]], written)
