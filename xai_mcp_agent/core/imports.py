"""Imports that an interrupt cannot break: the main thread never imports beside other threads.

Ctrl-C raises KeyboardInterrupt in the main thread, wherever it is. In the middle of an import that
leaves a module's lock taken for good; another thread that needs the module then waits for ever, and
Python waits for that thread at exit.

A thread that still imports when Python exits is stopped first: Python would stop it in the middle
of compiled code, some of which (Rust) then crashes the whole process.
"""

from __future__ import annotations

import atexit
import gc
import sys
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import Future
from contextlib import contextmanager
from importlib import import_module
from importlib.util import resolve_name
from types import ModuleType

_END_SECONDS = 2.0  # for the module that a thread is importing: most take far less
_threads = set[threading.Thread]()


def import_aside(name: str, package: str | None = None) -> ModuleType:
    """Import a module as `import_module` does, in another thread if this is the main one.

    An interrupt ends the wait, but the import continues.

    Raises:
        ImportError: there is no such module, or it cannot be imported.
    """
    module = sys.modules.get(resolve_name(name, package))
    if module is not None and not getattr(module.__spec__, "_initializing", False):
        return module  # without taking any lock
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or threading.active_count() == 1:
        return _import(name, package)
    future = Future[ModuleType]()

    def run() -> None:
        try:
            future.set_result(_import(name, package))
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            future.set_exception(error)

    begin_import(run)
    return future.result()


def _import(name: str, package: str | None) -> ModuleType:
    with without_collection():
        return import_module(name, package)


def begin_import(run: Callable[[], None]) -> None:
    """Run a function in a thread that no interrupt reaches and that does not delay the exit.

    At exit, the next `import` in it raises a `BaseException`, which it must not swallow.
    """

    def run_and_leave() -> None:
        try:
            run()
        finally:
            _threads.discard(threading.current_thread())

    thread = threading.Thread(target=run_and_leave, name="xai-mcp-import", daemon=True)
    _threads.add(thread)
    thread.start()


@contextmanager
def without_collection() -> Generator[None]:
    """Pause Python's garbage collection: it takes a tenth of a large import and finds nothing."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@atexit.register
def end_imports() -> None:
    """Stop all importing threads before their next module, because the process is about to exit."""
    if not _threads:
        return
    sys.meta_path.insert(0, _NoMoreImports())
    deadline = time.monotonic() + _END_SECONDS
    for thread in list(_threads):
        thread.join(max(0.0, deadline - time.monotonic()))


class _Ending(BaseException):
    """The process is exiting, so no more modules are searched; not an error of the module."""


class _NoMoreImports:
    def find_spec(self, *_: object) -> None:
        if threading.current_thread() in _threads:
            raise _Ending
