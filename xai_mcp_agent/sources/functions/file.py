"""A file of Python functions: imported under a private name, and its public functions found."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from ...core.errors import SourceFailed
from ...core.kinds import FUNCTIONS
from ...core.names import did_you_mean
from ...core.shell import shown_command
from ...core.tools import ToolKey
from ...settings.functions import FunctionSettings
from .function import Function, words_of

_AGAIN = "It is read again when it has changed."
_FUNCTIONS = (FunctionType, type(lru_cache(len)))
_numbers = itertools.count(1)


@dataclass(frozen=True)
class FunctionFile:
    """What was found in a file. `notes` tell what was left out, and why."""

    functions: dict[str, Function]
    notes: tuple[str, ...]
    disabled: tuple[str, ...]
    module: str

    def forget(self) -> None:
        """Let go of the module: nobody imports anything from it any more."""
        sys.modules.pop(self.module, None)


def read_functions(settings: FunctionSettings) -> FunctionFile:
    """Import the file, and make tools of its functions. Blocks as long as the file wants.

    Raises:
        SourceFailed: it cannot be read or imported; names the line and what to do.
    """
    module = _imported(settings)
    found = dict(_public(module))
    notes = [*_unknown(settings, found)]
    wanted = {n: x for n, x in found.items() if not settings.include or n in settings.include}
    functions: dict[str, Function] = {}
    for name, run in wanted.items():
        if name in settings.exclude or name in settings.disabled_tools:
            continue
        try:
            key = ToolKey(FUNCTIONS.name, settings.name, name)
            functions[name] = Function.of(key, settings.file, run)
        except BaseException as cause:  # noqa: BLE001 - a person's types; the others can be used
            notes.append(f"{name} is left out, its types cannot be understood: {_first(cause)}")
    off = tuple(x for x in settings.disabled_tools if x in wanted and x not in settings.exclude)
    return FunctionFile(functions, tuple(notes), off, module.__name__)


def _imported(settings: FunctionSettings) -> ModuleType:
    file, name = settings.file, settings.name
    # Compiled here, from what the file holds now: a cache of Python's may be a second behind.
    try:
        code = compile(Path(file).read_bytes(), file, "exec", dont_inherit=True)
    except OSError as cause:
        problem = f"{file} cannot be read: {cause.strerror}."
        raise SourceFailed(name, problem, "Correct `file` in the settings, or write it.") from cause
    except (SyntaxError, ValueError, RecursionError, MemoryError) as cause:
        line = f", line {cause.lineno}" if isinstance(cause, SyntaxError) and cause.lineno else ""
        said = cause.msg if isinstance(cause, SyntaxError) else str(cause)
        problem = f"{file}{line}: this is not Python: {said}."
        raise SourceFailed(name, problem, f"Correct the line. {_AGAIN}") from None
    module = ModuleType(f"_xai_mcp_functions_{next(_numbers)}")
    module.__file__ = file
    # What a command writes to stdout may be JSON for a program.
    module.__dict__["print"] = partial(_print, sys.stderr)
    sys.modules[module.__name__] = module  # dataclasses look their module up while it is imported
    try:
        exec(code, module.__dict__)
    except BaseException as cause:  # noqa: BLE001 - sys.exit in the file ends its import alone
        del sys.modules[module.__name__]
        problem = f"{file} cannot be imported: {words_of(cause, file)}."
        raise SourceFailed(name, problem, _next_step(cause)) from None
    return module


def _print(stream: Any, *values: Any, **options: Any) -> None:
    print(*values, **{"file": stream, **options})


def _next_step(cause: BaseException) -> str:
    if isinstance(cause, ModuleNotFoundError) and cause.name:
        command = shown_command(sys.executable, "-m", "pip", "install", cause.name.split(".")[0])
        return f"Install what it imports, perhaps with `{command}`."
    if isinstance(cause, SystemExit):
        return f'Put what only a script does under `if __name__ == "__main__":`. {_AGAIN}'
    return f"Correct the file. {_AGAIN}"


def _public(module: ModuleType) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The functions that the file defines itself, by name; of two names for one, the first."""
    seen: set[Any] = set()
    for name, value in vars(module).items():
        if isinstance(value, _FUNCTIONS) and not name.startswith("_") and value not in seen:
            seen.add(value)
            if value.__module__ == module.__name__:
                yield name, value


def _unknown(settings: FunctionSettings, found: dict[str, Any]) -> Iterator[str]:
    lists = {"include": settings.include, "exclude": settings.exclude}
    for key, names in (lists | {"disabledTools": settings.disabled_tools}).items():
        for name in (x for x in names if x not in found):
            hint = did_you_mean(name, list(found))
            yield f"`{key}` names {name!r}, which the file does not define. {hint}".rstrip()


def _first(cause: BaseException) -> str:
    return str(cause).strip().partition("\n")[0] or type(cause).__name__
