"""Other libraries that have component classes with the names of ours."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ..console.text import one_line
from ..core.util import COMPONENTS, LIBRARY
from ..drawing.components import our_components

_MAX_NAMES = 3  # enough to recognise the library
_COMPONENT = re.compile(rb"^@xai_component\b.*?^class (\w+)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Clash:
    """Library in the palette that has component classes with our names."""

    library: str
    folder: Path
    classes: tuple[str, ...]

    @property
    def explanation(self) -> str:
        """Return what it does to the palette, and the next step."""
        more = len(self.classes) - _MAX_NAMES
        names = ", ".join(self.classes[:_MAX_NAMES]) + (f" and {more} more" if more > 0 else "")
        return (
            f"the library {self.library} has nodes with the names of ours: {names}. The palette "
            "shows only one node of a name, and Reload on the canvas can give a node to the other "
            "library. Workflows run all the same. Next step: run `xai-mcp-agent adopt` on "
            f"workflows made with it, then remove {self.folder}."
        )


def find_clashes(*folders: Path) -> tuple[Clash, ...]:
    """Return the libraries that clash with ours in a lab started in one of `folders`."""
    libraries = {os.path.realpath(x): x for x in _libraries(folders)}.values()
    named = ((x, sorted({*_names_in(x)} & {*our_components()})) for x in libraries)
    return tuple(Clash(x.name, x, tuple(names)) for x, names in named if names)


def clash_lines(clashes: Iterable[Clash]) -> Iterator[str]:
    """Explain clashes for a terminal."""
    return (one_line(f"note: {x.explanation}") for x in clashes)


def _libraries(folders: Iterable[Path]) -> Iterator[Path]:
    """Yield the library folders that the palette reads, except ours.

    It looks beside Xircuits, in `folders`, at home, and in the variable.
    """
    places = [*folders, Path(os.path.expanduser("~"))]
    xircuits = importlib.util.find_spec("xircuits")
    if xircuits and xircuits.origin:
        places.insert(0, Path(xircuits.origin).parents[1])
    parents = [x / COMPONENTS for x in places]
    if more := os.environ.get("XIRCUITS_COMPONENTS_DIR"):
        parents.append(Path(more))
    for parent in parents:
        yield from (x for x in sorted(parent.glob("xai_*")) if x.name != LIBRARY)


def _names_in(library: Path) -> Iterator[str]:
    """Yield the names of component classes; unreadable files are skipped: the lab reports them."""
    for file in library.glob("[!.]*.py"):
        try:
            source = file.read_bytes()
        except OSError:
            continue
        yield from (x.decode() for x in _COMPONENT.findall(source))
