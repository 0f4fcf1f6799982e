"""Imports of functions: a file under a private name, or a module as Python finds it."""

from __future__ import annotations

import importlib
import itertools
import os
import sys
import threading
from contextlib import suppress
from functools import partial
from importlib.util import cache_from_source, find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from ...core.errors import SourceFailed
from ...core.shell import shell_command
from ...settings.sources import FunctionSettings
from ..reading import file_stamp
from .function import words_of

PRIVATE = "_xai_mcp_functions_"
"""Prefix of the module names of files."""

_AGAIN = "It is read again when it changes."
_numbers = itertools.count(1)
# Modification stamp of each module at its import. Shared by all bridges, as `sys.modules` is.
_stamps: dict[str, object] = {}
# One lock per module: a module is missing from `sys.modules` while it is imported again.
_turns: dict[str, threading.Lock] = {}


def stamp_of(settings: FunctionSettings) -> object:
    """Return a value that changes when the file is saved; None for a module without a file."""
    file = settings.file
    if not file:
        with suppress(BaseException):  # of the package around it; reading it reports the error
            file = _file_of(settings)
    return file_stamp(file)


def import_functions(settings: FunctionSettings) -> ModuleType:
    """Import the current file or module. Blocks until the import is complete.

    Raises:
        SourceFailed: it cannot be read or imported; names the line and what to do.
    """
    if settings.file:
        return _file(settings.file, settings.name)
    with _turns.setdefault(settings.module, threading.Lock()):
        return _module(settings)


def _file(file: str, name: str) -> ModuleType:
    # Compiled here from the current text: Python's cache may be a second behind.
    try:
        code = compile(Path(file).read_bytes(), file, "exec", dont_inherit=True)
    except OSError as cause:
        problem = f"{file} cannot be read: {cause.strerror}."
        raise SourceFailed(name, problem, "Correct `file` in the settings, or write it.") from cause
    except (SyntaxError, ValueError, RecursionError, MemoryError) as cause:
        line = f", line {cause.lineno}" if isinstance(cause, SyntaxError) and cause.lineno else ""
        why = cause.msg if isinstance(cause, SyntaxError) else str(cause)
        problem = f"{file}{line}: this is not Python: {why}."
        raise SourceFailed(name, problem, f"Correct the line. {_AGAIN}") from None
    module = ModuleType(f"{PRIVATE}{next(_numbers)}")
    module.__file__ = file
    _print_to_stderr(module)
    sys.modules[module.__name__] = module  # dataclasses look up their module during the import
    try:
        exec(code, module.__dict__)
    except BaseException as cause:  # noqa: BLE001 - sys.exit in the file ends its import alone
        del sys.modules[module.__name__]
        problem = f"{file} cannot be imported: {words_of(cause, file)}."
        raise SourceFailed(name, problem, _next_step(cause)) from None
    return module


def _module(settings: FunctionSettings) -> ModuleType:
    name, file = settings.module, ""
    try:
        file = _file_of(settings)
        stamp, current = file_stamp(file), sys.modules.get(name)
        if current is not None and _stamps.setdefault(name, stamp) == stamp:
            return current
        module = importlib.import_module(name) if current is None else _anew(current, file)
    except BaseException as cause:  # noqa: BLE001 - as above
        problem = f"the module {name} cannot be imported: {words_of(cause, file)}."
        missing = cause.name if isinstance(cause, ModuleNotFoundError) else None
        if missing and f"{name}.".startswith(f"{missing}."):
            fix = f"Correct `module`, put it into {settings.folder}, or write its `folder`."
            raise SourceFailed(settings.name, problem, fix) from None
        raise SourceFailed(settings.name, problem, _next_step(cause)) from None
    _print_to_stderr(module)
    _stamps[name] = stamp
    return module


def _file_of(settings: FunctionSettings) -> str:
    """Return the module's file, or an empty text. Imports the packages it is in.

    Raises:
        ModuleNotFoundError: there is no such module.
    """
    if settings.folder not in sys.path:
        sys.path.append(settings.folder)  # last, so that nothing there hides other modules
    spec = find_spec(settings.module)
    if spec is None:
        importlib.invalidate_caches()  # it may be new
        spec = find_spec(settings.module)
    if spec is None:
        raise ModuleNotFoundError(f"No module named {settings.module!r}", name=settings.module)
    return spec.origin or ""


def _anew(module: ModuleType, file: str) -> ModuleType:
    """Import a changed module again; if that fails, the old one stays."""
    with suppress(OSError, NotImplementedError):
        os.unlink(cache_from_source(file))  # the cache may be a second behind
    del sys.modules[module.__name__]
    try:
        return importlib.import_module(module.__name__)
    except BaseException:
        sys.modules[module.__name__] = module
        raise


def _print_to_stderr(module: ModuleType) -> None:
    """Let a module print to stderr: stdout of a command may be JSON for a program."""
    module.__dict__.setdefault("print", partial(_print, sys.stderr))


def _print(stream: Any, *values: Any, **options: Any) -> None:
    print(*values, **{"file": stream, **options})


def _next_step(cause: BaseException) -> str:
    if isinstance(cause, ModuleNotFoundError) and cause.name:
        command = shell_command(sys.executable, "-m", "pip", "install", cause.name.split(".")[0])
        return f"Install what it imports, perhaps with `{command}`."
    if isinstance(cause, SystemExit):
        return f'Put what only a script does under `if __name__ == "__main__":`. {_AGAIN}'
    return f"Correct the file. {_AGAIN}"
