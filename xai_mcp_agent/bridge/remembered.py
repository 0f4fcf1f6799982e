"""Calls of tools are remembered: how long each took, and what went wrong with it."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager

from ..catalog.keeping.memory import Memory
from ..core.errors import DefinitionChanged, SourceError
from ..core.kinds import SourceKind
from ..core.results import ToolResult
from ..core.tools import JsonObject, ToolKey

_CANCELLED = "It was cancelled."
_NO_WORDS = "It failed, and did not say why."


class Call:
    """A call that is under way; whoever makes it puts its result here."""

    result: ToolResult | None = None


@contextmanager
def remembered(
    memory: Memory, key: ToolKey, arguments: JsonObject, kind: SourceKind | None = None
) -> Generator[Call]:
    """Have the call that is made within the block remembered when it is over."""
    call, started = Call(), time.perf_counter()
    error: str | None = _CANCELLED
    try:
        yield call
        error = (call.result.text or _NO_WORDS) if call.result and call.result.is_error else ""
    except DefinitionChanged:
        error = None  # it was not called at all
        raise
    except Exception as cause:
        said = cause.problem if isinstance(cause, SourceError) else str(cause)
        error = said or type(cause).__name__
        raise
    finally:
        if error is not None:
            seconds = time.perf_counter() - started
            memory.called(key, seconds, error, arguments, call.result, kind)
