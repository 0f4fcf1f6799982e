"""How a compiled workflow ends: a few lines in place of pages of traceback.

After Ctrl-C the exit status is that of a process ended by SIGINT: 130 in a shell. An error of ours
that a node raised is shown as in the lab, with status 1; `XAI_MCP_SHOW=verbose` shows where it came
from. Any other error is a bug, and keeps its traceback.
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

from ..core.errors import XaiMcpError

_interrupt = threading.Event()


def show_endings_shortly() -> None:
    """Shorten endings, unless the process has another excepthook or is interactive."""
    if sys.excepthook is sys.__excepthook__ and not hasattr(sys, "ps1"):
        sys.excepthook = _show
        atexit.register(_end_by_signal)  # registered before others, so it runs last


def _show(kind: type[BaseException], error: BaseException, where: TracebackType | None) -> None:
    is_verbose = os.environ.get("XAI_MCP_SHOW", "").strip().lower() == "verbose"
    # Python 3.11 turns a KeyboardInterrupt into a RuntimeError while a class is being made.
    if isinstance(error, KeyboardInterrupt) or isinstance(error.__cause__, KeyboardInterrupt):
        _interrupt.set()
        # The coroutines that the interrupt kept it from awaiting.
        warnings.filterwarnings("ignore", "coroutine .* was never awaited", RuntimeWarning)
        words = f"\nInterrupted{_place(where)}; all that it started was stopped.\nKeyboardInterrupt"
        print(words, file=sys.stderr)
    elif isinstance(error, XaiMcpError) and not is_verbose and (lines := error.node_message()):
        why = "  XAI_MCP_SHOW=verbose shows where it came from."
        print(*lines, "", why, sep="\n", file=sys.stderr)
    else:
        sys.__excepthook__(kind, error, where)


def _end_by_signal() -> None:
    """End the process by SIGINT after an interrupt.

    Python forgets that it was interrupted if any thread imports a library meanwhile.
    """
    if _interrupt.is_set() and os.name == "posix":
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)


def _place(where: TracebackType | None) -> str:
    """Return the line of the workflow's script that was running."""
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    lines = [line for frame, line in traceback.walk_tb(where) if frame.f_code.co_filename == script]
    return f" in {Path(script).name}, line {lines[-1]}" if script and lines else ""
