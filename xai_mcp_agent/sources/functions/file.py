"""The public functions of a file or a module, as tools."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import lru_cache
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from ...core.tools import FUNCTIONS, ToolKey
from ...settings.sources import FunctionSettings
from ..choice import choose
from .function import Function
from .modules import PRIVATE, imported

_FUNCTIONS = (FunctionType, BuiltinFunctionType, type(lru_cache(len)))


@dataclass(frozen=True)
class FunctionFile:
    """What was found in a file or a module. `notes` tell what was left out, and why."""

    functions: dict[str, Function]
    notes: tuple[str, ...]
    disabled: tuple[str, ...]
    module: str

    def forget(self) -> None:
        """Let go of a file's module: nobody imports anything from it any more."""
        if self.module.startswith(PRIVATE):
            sys.modules.pop(self.module, None)


def read_functions(settings: FunctionSettings) -> FunctionFile:
    """Import what has the functions, and make tools of them. Blocks as long as that wants.

    Raises:
        SourceFailed: it cannot be read or imported; names the line and what to do.
    """
    module = imported(settings)
    file = getattr(module, "__file__", None) or ""
    found = dict(_public(module, settings.include))
    choice = choose(found, settings, "which is none of its functions")
    notes = [*choice.notes]
    functions: dict[str, Function] = {}
    for name in choice.names:
        try:
            key = ToolKey(FUNCTIONS.name, settings.name, name)
            functions[name] = Function.of(key, file, found[name])
        except BaseException as cause:  # noqa: BLE001 - a person's types; the others can be used
            notes.append(f"{name} is left out, its types cannot be understood: {_first(cause)}")
    return FunctionFile(functions, tuple(notes), choice.disabled, module.__name__)


def _public(
    module: ModuleType, include: Collection[str]
) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The functions that it defines itself, by name; of two names for one, the first.

    Also those that it has from elsewhere and that `include` names.
    """
    seen: set[Any] = set()
    for name, value in vars(module).items():
        if name.startswith("_") or not isinstance(value, _FUNCTIONS):
            continue
        is_own = value.__module__ == module.__name__ and value not in seen
        seen.add(value)
        if is_own or name in include:
            yield name, value


def _first(cause: BaseException) -> str:
    return str(cause).strip().partition("\n")[0] or type(cause).__name__
