"""Component classes as Xircuits' palette sees them, read without importing; clashes of names."""

from __future__ import annotations

import ast
import importlib.util
import logging
import os
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias

from ..canvas.installation import COMPONENT_FILES, COMPONENTS, LIBRARY, installed_components_folder
from .output import folded

PortKind: TypeAlias = Literal["in", "compulsory", "out", "branch"]

_MARK = "xai_component"
_KINDS: dict[str, PortKind] = {"InArg": "in", "InCompArg": "compulsory", "OutArg": "out"}
# The names the canvas has for Python's types; the others are called as in Python.
_CANVAS_NAMES = {"str": "string", "bool": "boolean"}
# What the palette gives a class by its place in the list; one of Xircuits' own colours.
_NO_COLOR = "rgb(102,102,102)"


logger = logging.getLogger(__name__)

_SHOWN = 3  # enough to know what it is about
_EFFECT = (
    "The palette shows only one node of a name, and Reload on the canvas can give a node to the "
    "other library. Workflows run all the same."
)
_STEP = "Next step: run `xai-mcp-agent adopt` on workflows made with it, then remove"


@dataclass(frozen=True, slots=True)
class PortSpec:
    """One port of a class. `type` is the canvas's name for it; a branch has none."""

    name: str
    kind: PortKind
    type: str = ""

    @property
    def is_in(self) -> bool:
        """Whether values flow into it."""
        return self.kind in ("in", "compulsory")


@dataclass(frozen=True, slots=True)
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


@cache
def our_components() -> dict[str, ComponentClass]:
    """Return the classes of this library by name, from the installed component files."""
    files = sorted(installed_components_folder().glob(COMPONENT_FILES))
    found = [x for file in files for x in read_component_file(file, LIBRARY)]
    return {x.name: x for x in found}


def read_component_file(file: Path, library: str) -> list[ComponentClass]:
    """Return the component classes of one file of the library folder `library`.

    Raises:
        OSError, ValueError, SyntaxError: it cannot be read, or is not Python.
    """
    tree = ast.parse(file.read_text(encoding="utf-8"), file.name)
    path = f"{COMPONENTS}/{library}/{file.name}"
    return [_class(x, path) for x in component_classes(tree)]


def component_classes(tree: ast.Module) -> list[ast.ClassDef]:
    """Return the classes the palette takes for components."""
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    return [node for node in classes if any(is_plain_mark(d) for d in node.decorator_list)]


def is_plain_mark(decorator: ast.expr) -> bool:
    """Whether this is `@xai_component` by its bare name, called or not."""
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
                # Not ast.get_source_segment: for each port it takes the whole file apart again.
                yield PortSpec(line.target.id, _KINDS[name], canvas_type(ast.unparse(inner)))
            case _:
                pass


def canvas_type(written: str) -> str:
    """Return the canvas's name for a type as Python writes it."""
    return re.sub(r"\b(?:str|bool)\b", lambda found: _CANVAS_NAMES[found[0]], written)


@dataclass(frozen=True, slots=True)
class Clash:
    """A library the palette reads that has component classes with names of ours."""

    library: str
    folders: tuple[Path, ...]
    classes: tuple[str, ...]
    explanation: str


def find_clashes(*folders: Path) -> tuple[Clash, ...]:
    """Return the libraries that clash with ours in a lab started in one of `folders`.

    What cannot be read is left out: the lab itself complains of it.
    """
    places: dict[str, list[Path]] = {}
    classes: dict[str, set[str]] = {}
    for library in _libraries(folders):
        if names := _our_names_in(library):
            places.setdefault(library.name, []).append(library)
            classes.setdefault(library.name, set()).update(names)
    return tuple(_clash(name, places[name], sorted(classes[name])) for name in places)


def clash_lines(clashes: Iterable[Clash]) -> Iterator[str]:
    """Explain clashes for a terminal."""
    for clash in clashes:
        yield from folded(f"note: {clash.explanation}", after="  ")


def _clash(library: str, folders: Sequence[Path], names: Sequence[str]) -> Clash:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    explanation = (
        f"the library {library} has nodes with the names of ours: "
        f"{', '.join(names[:_SHOWN])}{more}. {_EFFECT} {_STEP} {' and '.join(map(str, folders))}."
    )
    return Clash(library, tuple(folders), tuple(names), explanation)


def _libraries(folders: Iterable[Path]) -> Iterator[Path]:
    """The library folders that the palette reads, but for ours."""
    seen: set[str] = set()
    for place in _places(folders):
        for library in _entries(place):
            real = os.path.realpath(library)
            if real not in seen and library.name.startswith("xai_") and library.name != LIBRARY:
                seen.add(real)
                yield library


def _places(folders: Iterable[Path]) -> Iterator[Path]:
    """Where the palette looks: beside Xircuits, in the folder, at home, where a variable says."""
    xircuits = importlib.util.find_spec("xircuits")
    if xircuits and xircuits.origin:
        yield Path(xircuits.origin).parents[1] / COMPONENTS
    yield from (folder / COMPONENTS for folder in folders)
    yield Path(os.path.expanduser("~")) / COMPONENTS
    if more := os.environ.get("XIRCUITS_COMPONENTS_DIR"):
        yield Path(more)


def _entries(place: Path) -> list[Path]:
    try:
        return sorted(place.iterdir())
    except OSError:
        return []  # most of the places are not there


def _our_names_in(library: Path) -> set[str]:
    files = [x for x in _entries(library) if x.suffix == ".py" and not x.name.startswith(".")]
    return {name for file in files for name in _names_in(file)} & set(our_components())


def _names_in(file: Path) -> list[str]:
    try:
        source = file.read_bytes() if file.is_file() else b""
        # Most files of most libraries need not be parsed.
        if not any(name.encode() in source for name in our_components()):
            return []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a foreign file's own making
            return [cls.name for cls in component_classes(ast.parse(source))]
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError) as reason:
        logger.debug("%s was not read: %s", file, reason)
        return []
