"""How a compiled workflow ends: a few lines in place of pages of traceback.

After Ctrl-C the status stays Python's own, that of a process ended by SIGINT: 130 in a shell. An
error of ours that a node raised is told as in the lab, and the status is 1; `XAI_MCP_SHOW=verbose`
shows where it came from. Whatever else happens is a fault of somebody, and keeps its traceback.
"""

from __future__ import annotations

import _thread
import atexit
import os
import signal
import sys
import threading
import time
import traceback
import warnings
from pathlib import Path
from types import TracebackType
from typing import NoReturn

from ..core.errors import XaiMcpError
from ..core.imports import end_imports

STOPPED = "Stopped by you."

_interrupted = threading.Event()
_MOMENT_SECONDS = 0.01


class Stopped(KeyboardInterrupt):
    """A person pressed Stop in the lab, which shows the sentence in place of a traceback."""

    def __init__(self) -> None:
        super().__init__(STOPPED)

    def _render_traceback_(self) -> list[str]:
        return [STOPPED]


def stop(*_: object) -> NoReturn:
    """A handler for SIGINT in a kernel of the lab."""
    raise Stopped


def tell_interrupts_in_few_words() -> None:
    """From now on, unless somebody else shows errors in this process, or a person types into it."""
    if sys.excepthook is sys.__excepthook__ and not hasattr(sys, "ps1"):
        sys.excepthook, sys.unraisablehook = _show, _raise_again
        atexit.register(_stay_interrupted)  # before others do: what comes first is done last


def _show(kind: type[BaseException], error: BaseException, where: TracebackType | None) -> None:
    if not _is_interrupt(error):
        if lines := _told_shortly(error):
            print("\n".join(lines), file=sys.stderr)
        else:
            sys.__excepthook__(kind, error, where)
        return
    _interrupted.set()
    # What it was about to have done, had it not been interrupted.
    warnings.filterwarnings("ignore", "coroutine .* was never awaited", RuntimeWarning)
    if sys.stderr is not None:  # pyright: ignore[reportUnnecessaryComparison] - as in pythonw
        place = _place(where)
        print(
            f"\nInterrupted{place}; what it had started is ended.\nKeyboardInterrupt",
            file=sys.stderr,
        )


def _told_shortly(error: BaseException) -> list[str]:
    """The lines for an error of ours that a node raised; none where all of it is wanted."""
    if os.environ.get("XAI_MCP_SHOW", "").strip().lower() == "verbose" or sys.stderr is None:  # pyright: ignore[reportUnnecessaryComparison] - as in pythonw
        return []
    lines = error.told_by_node() if isinstance(error, XaiMcpError) else []
    return [*lines, "", "  XAI_MCP_SHOW=verbose shows where it came from."] if lines else []


def _raise_again(lost: sys.UnraisableHookArgs) -> None:
    """An interrupt in the middle of `__del__` is lost: Python lets nothing out of there."""
    if issubclass(lost.exc_type, KeyboardInterrupt):
        # Raised from here it would be lost as well; so nothing here may wait for a thread's start.
        _thread.start_new_thread(_interrupt_again, ())
    else:
        sys.__unraisablehook__(lost)


def _interrupt_again() -> None:
    """Once the main thread is out of the hook."""
    while True:
        time.sleep(_MOMENT_SECONDS)
        stacks = sys._current_frames()  # pyright: ignore[reportPrivateUsage] - documented
        frame = stacks.get(threading.main_thread().ident or 0)
        while frame is not None and frame.f_code is not _raise_again.__code__:
            frame = frame.f_back
        if frame is None:
            os.kill(os.getpid(), signal.SIGINT)
            return


def _is_interrupt(error: BaseException | None) -> bool:
    """Whether it is one, or what Python makes of one where a class is made."""
    while isinstance(error, RuntimeError):
        error = error.__cause__
    return isinstance(error, KeyboardInterrupt)


def _stay_interrupted() -> None:
    """Python keeps in mind that it was interrupted until source is executed, in any thread.

    As it is wherever a library is imported that makes classes so; the status would then be 1.
    """
    if _interrupted.is_set():
        end_imports()
        # Not `suppress`: where a function is called another thread may take over, and execute.
        try:  # noqa: SIM105
            exec("raise KeyboardInterrupt")
        except KeyboardInterrupt:
            pass


def _place(where: TracebackType | None) -> str:
    """The line of the workflow's script that was being run."""
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    if script is None:
        return ""
    lines = [line for frame, line in traceback.walk_tb(where) if frame.f_code.co_filename == script]
    return f" in {Path(script).name}, line {lines[-1]}" if lines else ""
