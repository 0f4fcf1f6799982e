"""Imports that an interrupt cannot break: none is made in the main thread while others import.

Ctrl-C raises KeyboardInterrupt in the main thread, wherever it is. In the middle of an import that
leaves a module's lock taken for good; another thread that needs the module then waits for ever, and
Python, when it ends, for that thread.
"""

from __future__ import annotations

import sys
import threading
from importlib import import_module
from importlib.util import resolve_name
from types import ModuleType


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


class _Import:
    """One module on its way, in a thread that no interrupt reaches."""

    def __init__(self, name: str, package: str | None) -> None:
        self._name = name
        self._package = package
        self._found: ModuleType | None = None
        self._error: BaseException | None = None
        self._is_done = threading.Event()
        threading.Thread(target=self._run, name="xai-mcp-import", daemon=True).start()

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
