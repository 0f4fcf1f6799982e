"""Writes the component files as an installed package has them: all nodes in one, in their order.

The palette of the lab shows nodes in the order of their lines, and files in the order that the file
system gives, which is any. So `palette_components.py` gets all classes, in the order of its
`__all__`; the files that they are written in take them from there, for workflows that name those.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_ENGINE = "xai_mcp_agent"
_LIBRARY = "xai_components/xai_mcp_agent"
_ALL = "palette_components.py"


class PaletteHook(BuildHookInterface[Any]):
    """Adds those files to a wheel, also to one for an editable install."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before a wheel is built."""
        self._made = TemporaryDirectory()
        files = installed_files(Path(self.root) / _ENGINE)
        included: dict[str, str] = {}
        for name, text in files.items():
            file = Path(self._made.name) / name
            file.write_text(text, encoding="utf-8", newline="\n")
            included[str(file)] = f"{_LIBRARY}/{name}"
        if version == "editable":
            # What is said here counts alone then.
            included |= self.build_config.target_config.get("force-include", {})
            build_data["force_include_editable"] = included
        else:
            build_data["force_include"] |= included

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Called after it."""
        self._made.cleanup()


def installed_files(folder: Path) -> dict[str, str]:
    """The component files of an installed package, by name, made of those in `folder`.

    Raises:
        ValueError: a class is not named in the order, or a name in it is no class of a file.
    """
    order = _order(folder / _ALL)
    sources = [x for x in sorted(folder.glob("*_components.py")) if x.name != _ALL]
    files = {file.name: _File(file) for file in sources}
    classes = {name: text for file in files.values() for name, text in file.classes.items()}
    if wrong := set(order) ^ set(classes):
        raise ValueError(f"__all__ of {_ALL} and the component files differ in {sorted(wrong)}")
    base = sorted({x for file in files.values() for x in file.base})
    head = f'"""All nodes, in the order in which they are learned."""\n\n{_import(base)}'
    head += f"from {_ENGINE} import canvas\n"
    whole = "\n\n".join([head, *(classes[name] for name in order)])
    return {_ALL: whole, **{name: file.passed_on for name, file in files.items()}}


class _File:
    """A file of nodes: its title, what it takes from Xircuits, and its classes as they stand."""

    def __init__(self, file: Path) -> None:
        text = file.read_text(encoding="utf-8")
        tree = ast.parse(text)
        self.title = ast.get_docstring(tree) or ""
        self.base: list[str] = []
        self.classes: dict[str, str] = {}
        for node in tree.body[1:]:
            match node:
                case ast.ImportFrom(module="xai_components.base"):
                    self.base += [x.name for x in node.names]
                case ast.ClassDef():
                    self.classes[node.name] = "".join(_lines(text, node))
                case ast.ImportFrom(module="xai_mcp_agent", names=[ast.alias(name="canvas")]):
                    pass
                case _:
                    raise ValueError(f"{file.name}, line {node.lineno}: only nodes stand here")

    @property
    def passed_on(self) -> str:
        """The file in an installed package."""
        names = ",\n".join(f"    {x} as {x}" for x in self.classes)
        return f'"""{self.title}"""\n\nfrom .{Path(_ALL).stem} import (\n{names},\n)\n'


def _lines(text: str, node: ast.ClassDef) -> Iterator[str]:
    """The lines of a class, with its decorators and what is remarked before them."""
    lines = text.splitlines(keepends=True)
    first = min(x.lineno for x in (node, *node.decorator_list)) - 1
    while lines[first - 1].startswith("#"):
        first -= 1
    yield from lines[first : node.end_lineno]


def _import(names: list[str]) -> str:
    listed = "".join(f"    {x},\n" for x in names)
    return f"from xai_components.base import (\n{listed})\n"


def _order(file: Path) -> list[str]:
    """What `__all__` of a file says."""
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        match node:
            case ast.Assign(targets=[ast.Name(id="__all__")]):
                return ast.literal_eval(node.value)
            case _:
                continue
    raise ValueError(f"{file} has no __all__")
