"""A line at the terminal that shows which servers are awaited, and for how long at most."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager

import typer

from ..console.surface import surface_of
from ..console.text import clean, cut
from ..settings.entry import START_TIMEOUT_SECONDS
from ..settings.models import Settings

_PATIENCE_SECONDS = 1.0  # servers usually start faster than this
_REWRITE_SECONDS = 0.5


@contextmanager
def shown_wait(names: Sequence[str], most_seconds: float) -> Generator[None]:
    """Show on stderr that these servers are awaited; the line is erased at the end."""
    if not names or not surface_of(sys.stderr).rewrites:
        yield
        return
    over = threading.Event()
    line = threading.Thread(target=_rewrite, args=(names, most_seconds, over), daemon=True)
    line.start()
    try:
        yield
    finally:
        over.set()
        line.join()


def start_limit(settings: Settings, names: Sequence[str]) -> float:
    """Return the longest start timeout of these servers."""
    limits = [settings.servers[x].start_timeout_seconds for x in names if x in settings.servers]
    return max(limits, default=START_TIMEOUT_SECONDS)


def _rewrite(names: Sequence[str], most_seconds: float, over: threading.Event) -> None:
    began, width = time.monotonic(), surface_of(sys.stderr).width - 1
    if over.wait(_PATIENCE_SECONDS):
        return
    what = clean(", ".join(names))
    while True:
        spent = time.monotonic() - began
        text = f".. waiting for {what}: {spent:.0f} s, at most {most_seconds:g} s"
        typer.echo(f"\r{cut(text, width).ljust(width)}", err=True, nl=False)
        if over.wait(_REWRITE_SECONDS):
            break
    typer.echo(f"\r{' ' * width}\r", err=True, nl=False)
