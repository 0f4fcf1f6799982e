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

logger = logging.getLogger(__name__)

Kind: TypeAlias = Literal["terminal", "lab", "plain"]

VARIABLE = "XAI_MCP_SHOW"
CARD = "application/vnd.xai-mcp-agent.card+json"
"""Beside the HTML of a run's card: what our extension of the lab knows about it."""

_USUAL_WIDTH = 80
_LEAST_WIDTH = 40  # below, one word a line; a terminal's own breaking reads better then
_MOST_WIDTH = 100  # longer lines are hard to read
EM_PER_COLUMN = 0.6  # of the lab's letters for code; its sanitizer takes no finer unit
_ID_BYTES = 8  # of a card
_reported: set[type[Exception]] = set()
_FOLD = (
    '<details style="margin-left:{margin:.1f}em"><summary>{title}</summary>'
    '<pre style="max-height:40em;overflow:auto">{more}</pre></details>'
)
_LINK = (
    '<div style="margin:0.3em 0 0.3em {margin:.1f}em;font-weight:bold">'
    '<a href="{more}" target="_blank">{title}</a></div>'
)


class Detail(IntEnum):
    """quiet: only what went wrong. normal: what happens, long texts cut. verbose: all of it."""

    QUIET = 0
    NORMAL = 1
    VERBOSE = 2


_CHOICES = ", ".join(x.name.lower() for x in Detail)


@dataclass(frozen=True)
class Surface:
    """A surface and its abilities. A terminal that knows its width has a `file` number.

    `columns` are those of a line where that is not a usual one.
    """

    kind: Kind = "plain"
    has_colours: bool = False
    file: int | None = None
    columns: int = _USUAL_WIDTH

    @property
    def width(self) -> int:
        """The columns of a line, at this moment."""
        if self.file is None:
            return self.columns
        try:
            columns = os.get_terminal_size(self.file).columns
        except OSError:
            return _USUAL_WIDTH
        return min(max(columns, _LEAST_WIDTH), _MOST_WIDTH) if columns else _USUAL_WIDTH

    @property
    def rewrites(self) -> bool:
        """Whether the last line can be written again."""
        return self.kind != "plain"


def surface_of(stream: Any, environment: Mapping[str, str] = os.environ) -> Surface:
    """The surface of a stream, in colours if the person wants them (`NO_COLOR`, `FORCE_COLOR`)."""
    is_simple = environment.get("TERM") == "dumb"
    kind: Kind = "plain"
    if _is_of_a_kernel(stream):
        kind = "lab"
    elif _is_terminal(stream) and not is_simple:
        kind = "terminal"
    # A console of Windows may show the codes instead; nothing tells which do.
    colours = kind == "lab" or (kind == "terminal" and os.name != "nt")
    # A kernel sets it for its children; what a person captures there is for a program to read.
    if environment.get("FORCE_COLOR") and not _is_in_kernel():
        colours = environment["FORCE_COLOR"] != "0"
    if environment.get("NO_COLOR"):
        colours = False
    return Surface(kind, colours, _file_number(stream) if kind == "terminal" else None)


def detail_on(port: Any) -> Detail | None:
    """The detail that the port `show` of a node asks for; None when it is empty.

    Raises:
        BadSetting: something else.
    """
    if port is None or port == "":
        return None
    detail = _detail(port)
    if detail is None:
        raise BadSetting(f"`show` is {port!r}. Set one of: {_CHOICES}; or leave it empty.")
    return detail


@cache  # and so a mistake is reported once
def detail_in_environment(value: str) -> Detail:
    """The detail that the variable asks for; `normal` where that is none of the choices."""
    detail = _detail(value)
    if detail is None and value.strip():
        logger.warning("%s is %r. Set it to one of: %s.", VARIABLE, value, _CHOICES)
    return Detail.NORMAL if detail is None else detail


def write_to_stdout(text: str) -> None:
    """Write to where `print` writes.

    Where nothing can be written any more (whoever read the pipe is gone, the disk is full) that
    is logged once: the tools a run has used must not be for nothing.
    """
    stream = sys.stdout
    if stream is None:  # pyright: ignore[reportUnnecessaryComparison] - a windowed Python
        return
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        # Servers may say what a terminal's encoding cannot; that must not end the run.
        stream.write(text.encode(encoding, "replace").decode(encoding))
        # A kernel sends what it has a few times a second; asking for it would cost a wait each.
        if not _is_of_a_kernel(stream):
            stream.flush()
    except (OSError, ValueError) as reason:  # ValueError: it was closed
        _report_once(reason)


def show_fold(title: str, text: str, indent: int) -> None:
    """In the lab: a line that a click unfolds to a text; that is shown as it is, never rendered."""
    _display(_FOLD, title, "", text, indent)


def show_link(text: str, url: str, indent: int) -> None:
    """In the lab: a line that a click leads from to a page of ours."""
    _display(_LINK, text, f": {url}", url, indent)


class ShownCard:
    """In the lab: HTML that can be drawn again. `is_last`: it stands at the end of all output then.

    Whoever cannot show HTML shows the text, and may know nothing of drawing again: so the last
    one is output of its own, and the one before it is gone.
    """

    def __init__(self) -> None:
        self._id = token_hex(_ID_BYTES)
        self._is_there = False

    def draw(self, page: str, text: str, is_last: bool) -> None:
        """Show this; the page must be safe as it is."""
        if is_last:
            if self._is_there:
                self._show("", "", "gone", anew=False)
            self._show(page, text, "done", anew=True)
        else:
            self._show(page, text, "running", anew=not self._is_there)
            self._is_there = True

    def _show(self, page: str, text: str, state: str, *, anew: bool) -> None:
        from IPython.display import (  # here: as in `_display`
            display,  # pyright: ignore[reportUnknownVariableType]
            update_display,  # pyright: ignore[reportUnknownVariableType]
        )

        about = {"id": self._id, "state": state}
        shown = {CARD: about, "text/html": _encodable(page), "text/plain": _encodable(text)}
        if anew:
            display(shown, raw=True, display_id=f"{self._id} {state}")
        else:
            update_display(shown, raw=True, display_id=f"{self._id} running")


def _display(page: str, title: str, plain: str, more: str, indent: int) -> None:
    # Here: only a kernel needs it, and has it already.
    from IPython.display import display  # pyright: ignore[reportUnknownVariableType]

    safe = html.escape(_encodable(more))
    shown = page.format(margin=indent * EM_PER_COLUMN, title=html.escape(title), more=safe)
    display({"text/html": shown, "text/plain": f"{' ' * indent}{title}{plain}"}, raw=True)


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _detail(value: Any) -> Detail | None:
    name = value.strip().upper() if isinstance(value, str) else ""
    return Detail[name] if name in Detail.__members__ else None


def _report_once(reason: Exception) -> None:
    if type(reason) not in _reported:
        _reported.add(type(reason))
        logger.warning("What runs print is not shown: %s. They go on.", str(reason).rstrip("."))


def _is_of_a_kernel(stream: Any) -> bool:
    """Whether a stream leads to a cell's output; not so where a person captures it."""
    return type(stream).__module__.startswith("ipykernel.")


def _is_in_kernel() -> bool:
    shell = sys.modules.get("IPython")
    return shell is not None and hasattr(shell.get_ipython(), "kernel")


def _is_terminal(stream: Any) -> bool:
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):  # none, or closed
        return False


def _file_number(stream: Any) -> int | None:
    try:
        return stream.fileno()
    except (AttributeError, OSError, ValueError):
        return None
