"""How a compiled workflow ends: a few lines in place of pages of traceback.

After Ctrl-C the status is that of a process ended by SIGINT: 130 in a shell. An error of ours that
a node raised is shown as in the lab, and the status is 1; `XAI_MCP_SHOW=verbose` shows where it
came from. Whatever else happens is a fault of somebody, and keeps its traceback.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
import traceback
import warnings
from pathlib import Path
from types import TracebackType
from typing import NoReturn

from ..core.errors import XaiMcpError

_interrupted = threading.Event()


class Stopped(KeyboardInterrupt):
    """A person pressed Stop in the lab, which shows the sentence in place of a traceback."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


def stop(*_: object) -> NoReturn:
    """A handler for SIGINT in a kernel of the lab."""
    raise Stopped("Stopped by you.")


def show_endings_shortly() -> None:
    """From now on, unless somebody else shows errors in this process, or a person types into it."""
    if sys.excepthook is sys.__excepthook__ and not hasattr(sys, "ps1"):
        sys.excepthook = _show
        atexit.register(_end_by_signal)  # before others do: what comes first is done last


def _show(kind: type[BaseException], error: BaseException, where: TracebackType | None) -> None:
    is_verbose = os.environ.get("XAI_MCP_SHOW", "").strip().lower() == "verbose"
    # Python 3.11 makes a RuntimeError of one that comes while a class is made.
    if isinstance(error, KeyboardInterrupt) or isinstance(error.__cause__, KeyboardInterrupt):
        _interrupted.set()
        # What it was about to have done, had it not been interrupted.
        warnings.filterwarnings("ignore", "coroutine .* was never awaited", RuntimeWarning)
        words = f"\nInterrupted{_place(where)}; what it had started is ended.\nKeyboardInterrupt"
        print(words, file=sys.stderr)
    elif isinstance(error, XaiMcpError) and not is_verbose and (lines := error.told_by_node()):
        print(
            *lines,
            "",
            "  XAI_MCP_SHOW=verbose shows where it came from.",
            sep="\n",
            file=sys.stderr,
        )
    else:
        sys.__excepthook__(kind, error, where)


def _end_by_signal() -> None:
    """Python forgets that it was interrupted when a library is imported meanwhile in any thread."""
    if _interrupted.is_set() and os.name == "posix":
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)


def _place(where: TracebackType | None) -> str:
    """The line of the workflow's script that was being run."""
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    lines = [line for frame, line in traceback.walk_tb(where) if frame.f_code.co_filename == script]
    return f" in {Path(script).name}, line {lines[-1]}" if script and lines else ""
