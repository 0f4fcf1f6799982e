"""Python code as a tree, from any thread.

Python 3.11 counts the depth of a tree for all threads together: where one parses while garbage is
collected in the middle of another's parsing, both fail with a SystemError.
"""

from __future__ import annotations

import ast
import threading
from typing import Any

_alone = threading.Lock()


def module_of(source: str | bytes, name: str = "<unknown>") -> ast.Module:
    """What a file holds, as `ast.parse` reads it.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: it is no Python.
    """
    with _alone:
        return ast.parse(source, name)


def expression_of(source: str) -> ast.expr:
    """One expression. Raises as `module_of`."""
    with _alone:
        return ast.parse(source, mode="eval").body


def literal_in(source: str) -> Any:
    """The value that a literal such as `{'a': (1, 2)}` writes down; nothing is run for it.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError, TypeError: it is none.
    """
    return ast.literal_eval(expression_of(source.lstrip(" \t")))
