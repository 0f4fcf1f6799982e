"""The IPython in which this code may run: its kernel, the end of its cells, its last error."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any


def shell() -> Any:
    """Return the IPython that this code runs in, or None."""
    # A kernel has imported it before any code runs; a script need not import it to ask.
    # A finalizer may ask while a script is importing it: its functions are not there yet.
    get_ipython = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return get_ipython() if get_ipython else None


def kernel() -> Any:
    """Return the kernel that this code runs in, or None."""
    return getattr(shell(), "kernel", None)


def is_in_lab() -> bool:
    """Return whether a lab started this kernel, and not for a notebook."""
    session = os.environ.get("JPY_SESSION_NAME", "")
    return bool(session) and not session.endswith(".ipynb") and kernel() is not None


def at_end_of_cell(do: Callable[[BaseException | None], None]) -> None:
    """Call `do` once at the end of the current cell, with the error that stopped the cell."""
    events, before = shell().events, last_error()

    def once(_: object) -> None:
        events.unregister("post_run_cell", once)
        error = last_error()
        do(None if error is before else error)

    events.register("post_run_cell", once)


def last_error() -> BaseException | None:
    """Return the last error that Python or the notebook showed."""
    return getattr(sys, "last_value", None)
