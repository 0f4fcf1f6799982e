"""The surface that a run prints to (terminal, lab, file), and how much detail it shows."""

from __future__ import annotations

import html
import logging
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from secrets import token_hex
from typing import Any, Literal, TypeAlias

from ..core.errors import BadSetting
from .notebook import kernel

logger = logging.getLogger(__name__)

Kind: TypeAlias = Literal["terminal", "lab", "plain"]

VARIABLE = "XAI_MCP_SHOW"
CARD = "application/vnd.xai-mcp-agent.card+json"
"""Key beside the HTML of a card for our extension of the lab."""

_USUAL_WIDTH = 80
_LEAST_WIDTH = 40  # below this, one word per line; the terminal's own wrapping reads better
_MOST_WIDTH = 100  # longer lines are hard to read
EM_PER_COLUMN = 0.6  # of the lab's code font; its sanitizer allows no finer unit
_ID_BYTES = 8  # of a card
_reported_errors: set[type[Exception]] = set()
_LINK = (
    '<div style="margin:0.3em 0 0.3em {margin:.1f}em;font-weight:bold">'
    '<a href="{url}" target="_blank">{text}</a></div>'
)


class Detail(IntEnum):
    """quiet: only what went wrong. normal: what happens, long texts cut. verbose: all of it."""

    QUIET = 0
    NORMAL = 1
    VERBOSE = 2


_CHOICES = ", ".join(x.name.lower() for x in Detail)


@dataclass(frozen=True)
class Surface:
    """A surface and its abilities. A terminal that knows its width has a `file` number."""

    kind: Kind = "plain"
    has_colours: bool = False
    file: int | None = None

    @property
    def width(self) -> int:
        """Return the current columns of a line."""
        if self.file is None:
            return _USUAL_WIDTH
        try:
            columns = os.get_terminal_size(self.file).columns
        except OSError:
            return _USUAL_WIDTH
        return min(max(columns, _LEAST_WIDTH), _MOST_WIDTH) if columns else _USUAL_WIDTH


def surface_of(stream: Any, environment: Mapping[str, str] = os.environ) -> Surface:
    """Return the surface of a stream, with colours if wanted (`NO_COLOR`, `FORCE_COLOR`)."""
    kind: Kind = "plain"
    file: int | None = None
    if _is_of_a_kernel(stream):
        kind = "lab"
    elif (terminal := _terminal(stream)) is not None and environment.get("TERM") != "dumb":
        kind, file = "terminal", terminal
    # A Windows console may show the codes instead; nothing says which do.
    colours = kind == "lab" or (kind == "terminal" and os.name != "nt")
    # A kernel sets it for its children, whose captured output is for a program.
    if environment.get("FORCE_COLOR") and kernel() is None:
        colours = environment["FORCE_COLOR"] != "0"
    if environment.get("NO_COLOR"):
        colours = False
    return Surface(kind, colours, file)


def detail_on(port: Any) -> Detail | None:
    """Return the detail of a node's port `show`, or None if it is empty.

    Raises:
        BadSetting: it is not one of the choices.
    """
    if port is None or port == "":
        return None
    detail = _detail(port)
    if detail is None:
        raise BadSetting(f"`show` is {port!r}. Set one of: {_CHOICES}; or leave it empty.")
    return detail


@cache  # cached, so that a mistake is reported once
def detail_in_environment(value: str) -> Detail:
    """Return the detail of the variable, or `normal` if it is not one of the choices."""
    detail = _detail(value)
    if detail is None and value.strip():
        logger.warning("%s is %r. Set it to one of: %s.", VARIABLE, value, _CHOICES)
    return Detail.NORMAL if detail is None else detail


def write_to_stdout(text: str) -> None:
    """Write to the stream of `print`.

    If that fails (the reader of the pipe has gone, the disk is full) it is logged once: the run's
    work must not be lost.
    """
    stream = sys.stdout
    if stream is None:  # pyright: ignore[reportUnnecessaryComparison] - a windowed Python
        return
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        # A server's text may not fit the terminal's encoding; that must not end the run.
        stream.write(text.encode(encoding, "replace").decode(encoding))
        # A kernel flushes a few times a second by itself; each request would cost a wait.
        if not _is_of_a_kernel(stream):
            stream.flush()
    except (OSError, ValueError) as reason:  # ValueError: it was closed
        _report_once(reason)


def show_link(text: str, url: str, margin: float) -> None:
    """Show a line that links to a page of ours, in the lab; its margin is in em."""
    # Imported here: only a kernel needs it, and has loaded it.
    from IPython.display import display  # pyright: ignore[reportUnknownVariableType]

    page = _LINK.format(margin=margin, text=html.escape(text), url=html.escape(url))
    display({"text/html": page, "text/plain": f"{text}: {url}"}, raw=True)


class CardOutput:
    """An output of the lab that can be drawn again; with `is_last` it moves to the end.

    A viewer without HTML shows the text, and may not know about redrawing: so the last drawing is a
    new output, and the one before is removed.
    """

    def __init__(self) -> None:
        self._id = token_hex(_ID_BYTES)
        self._is_there = False

    def draw(self, page: str, text: str, is_last: bool) -> None:
        """Show HTML; it must be safe."""
        if is_last:
            if self._is_there:
                self._show("", "", "gone", anew=False)
            self._show(page, text, "done", anew=True)
        else:
            self._show(page, text, "running", anew=not self._is_there)
            self._is_there = True

    def _show(self, page: str, text: str, state: str, *, anew: bool) -> None:
        from IPython.display import (  # imported here, as in `show_link`
            display,  # pyright: ignore[reportUnknownVariableType]
            update_display,  # pyright: ignore[reportUnknownVariableType]
        )

        about = {"id": self._id, "state": state}
        bundle = {CARD: about, "text/html": page, "text/plain": text}
        if anew:
            display(bundle, raw=True, display_id=f"{self._id} {state}")
        else:
            update_display(bundle, raw=True, display_id=f"{self._id} running")


def _detail(value: Any) -> Detail | None:
    name = value.strip().upper() if isinstance(value, str) else ""
    return Detail[name] if name in Detail.__members__ else None


def _report_once(reason: Exception) -> None:
    if type(reason) not in _reported_errors:
        _reported_errors.add(type(reason))
        logger.warning("What runs print is not shown: %s. They go on.", str(reason).rstrip("."))


def _is_of_a_kernel(stream: Any) -> bool:
    """Return whether a stream goes to a cell's output and is not captured."""
    return type(stream).__module__.startswith("ipykernel.")


def _terminal(stream: Any) -> int | None:
    """Return the file number of a terminal, or None for any other stream."""
    try:
        return stream.fileno() if stream.isatty() else None
    except (AttributeError, OSError, ValueError):  # no stream, or closed
        return None
