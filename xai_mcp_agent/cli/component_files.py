"""Other libraries that have component classes with the names of ours."""

from __future__ import annotations

import importlib.util
import logging
import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..core.util import COMPONENTS, LIBRARY, module_of
from ..drawing.components import component_classes, our_components
from .output import line

logger = logging.getLogger(__name__)

_MAX_NAMES = 3  # enough to recognise the library
_EFFECT = (
    "The palette shows only one node of a name, and Reload on the canvas can give a node to the "
    "other library. Workflows run all the same."
)
_STEP = "Next step: run `xai-mcp-agent adopt` on workflows made with it, then remove"


@dataclass(frozen=True, slots=True)
class Clash:
    """Library in the palette that has component classes with our names."""

    library: str
    folders: tuple[Path, ...]
    classes: tuple[str, ...]
    explanation: str


def find_clashes(*folders: Path) -> tuple[Clash, ...]:
    """Return the libraries that clash with ours in a lab started in one of `folders`.

    Unreadable files are skipped: the lab reports them.
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
    return (line(f"note: {x.explanation}") for x in clashes)


def _clash(library: str, folders: Sequence[Path], names: Sequence[str]) -> Clash:
    more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    nodes = f"{', '.join(names[:_MAX_NAMES])}{more}"
    explanation = (
        f"the library {library} has nodes with the names of ours: {nodes}. {_EFFECT} "
        f"{_STEP} {' and '.join(map(str, folders))}."
    )
    return Clash(library, tuple(folders), tuple(names), explanation)


def _libraries(folders: Iterable[Path]) -> Iterator[Path]:
    """Yield the library folders that the palette reads, except ours."""
    visited: set[str] = set()
    for place in _places(folders):
        for library in _entries(place):
            real = os.path.realpath(library)
            if real not in visited and library.name.startswith("xai_") and library.name != LIBRARY:
                visited.add(real)
                yield library


def _places(folders: Iterable[Path]) -> Iterator[Path]:
    """Yield where the palette looks: beside Xircuits, in `folders`, at home, in the variable."""
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
        return []  # most of these folders do not exist


def _our_names_in(library: Path) -> set[str]:
    files = [x for x in _entries(library) if x.suffix == ".py" and not x.name.startswith(".")]
    return {name for file in files for name in _names_in(file)} & set(our_components())


def _names_in(file: Path) -> list[str]:
    try:
        source = file.read_bytes() if file.is_file() else b""
        # Most files need no parsing.
        if not any(name.encode() in source for name in our_components()):
            return []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings about the other library's code
            return [cls.name for cls in component_classes(module_of(source))]
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError) as reason:
        logger.debug("%s was not read: %s", file, reason)
        return []
