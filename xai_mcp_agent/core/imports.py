"""Imports that an interrupt cannot break: none is made in the main thread while others import.

Ctrl-C raises KeyboardInterrupt in the main thread, wherever it is. In the middle of an import that
leaves a module's lock taken for good; another thread that needs the module then waits for ever, and
Python, when it ends, for that thread.

A thread that still imports when Python ends is ended before that: Python would end it in the middle
of compiled code, and some of that (Rust) then takes the whole process with it.
"""

from __future__ import annotations

import atexit
import sys
import threading
import time
from collections.abc import Callable
from importlib import import_module
from importlib.util import resolve_name
from types import ModuleType

_END_SECONDS = 2.0  # for the module that a thread is in the middle of: most take far less
_threads = set[threading.Thread]()


def import_aside(name: str, package: str | None = None) -> ModuleType:
    """As `import_module`; in the main thread it waits for another one to import it.

    Raises:
        ImportError: there is no such module, or it cannot be imported.
    """
    module = sys.modules.get(resolve_name(name, package))
    if module is not None and not getattr(module.__spec__, "_initializing", False):
        return module  # without a look at any lock
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or threading.active_count() == 1:
        return import_module(name, package)
    return _Import(name, package).result()


def begin_import(run: Callable[[], None]) -> None:
    """Have a thread do it that no interrupt reaches, and nobody has to wait for.

    When Python ends it may still be on its way: then the next `import` in it raises a
    `BaseException`, which it must let pass or hand on.
    """

    def import_and_go() -> None:
        try:
            run()
        finally:
            _threads.discard(threading.current_thread())

    thread = threading.Thread(target=import_and_go, name="xai-mcp-import", daemon=True)
    _threads.add(thread)
    thread.start()


@atexit.register
def end_imports() -> None:
    """Have all threads that import end before their next module: the process is about to end."""
    if not _threads:
        return
    sys.meta_path.insert(0, _NothingMore())
    deadline = time.monotonic() + _END_SECONDS
    for thread in list(_threads):
        thread.join(max(0.0, deadline - time.monotonic()))


class _Ending(BaseException):
    """Not an error of the module: it is not looked for any more."""


class _NothingMore:
    def find_spec(self, *_: object) -> None:
        if threading.current_thread() in _threads:
            raise _Ending


class _Import:
    """One module on its way, in a thread that no interrupt reaches."""

    def __init__(self, name: str, package: str | None) -> None:
        self._name = name
        self._package = package
        self._found: ModuleType | None = None
        self._error: BaseException | None = None
        self._is_done = threading.Event()
        begin_import(self._run)

    def result(self) -> ModuleType:
        """Wait for it; an interrupt ends the wait, and the import goes on."""
        self._is_done.wait()
        if self._found is None:
            raise self._error or ImportError(self._name)
        return self._found

    def _run(self) -> None:
        try:
            self._found = import_module(self._name, self._package)
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            self._error = error
        finally:
            self._is_done.set()
