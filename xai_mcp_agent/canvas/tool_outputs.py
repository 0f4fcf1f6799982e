"""Outputs of drawn tools, kept apart for each call.

A tool may run another agent with drawn tools of its own, and several threads may use tools with
one `ctx`; so an output belongs to the use that is going on in its thread. Nodes of other libraries
leave theirs in `ctx["tool_output"]`, as xai-agent does: that counts where nothing else was given.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

_KEY = "tool_output"


@dataclass
class _Use:
    """One use of a drawn tool that is going on."""

    ctx: Any
    is_given: bool = False
    output: Any = None


class _Uses(threading.local):
    """Those of this thread, the innermost last."""

    def __init__(self) -> None:
        self.open: list[_Use] = []


_uses = _Uses()


def collect_output(ctx: Any, run: Callable[[], None]) -> Any:
    """Run the nodes of a drawn tool, and return what they gave with `give_output`, or None."""
    use, around = _Use(ctx), ctx.pop(_KEY, None)
    _uses.open.append(use)
    try:
        run()
    finally:
        _uses.open.pop()
        left = ctx.pop(_KEY, None)
        if around is not None:
            ctx[_KEY] = around
    return use.output if use.is_given else left


def give_output(ctx: Any, values: Sequence[Any]) -> None:
    """Give this back from the drawn tool that is running: one value, or several as a list."""
    output = values[0] if len(values) == 1 else (list(values) or None)
    use = _uses.open[-1] if _uses.open else None
    if use is not None and use.ctx is ctx:
        use.is_given, use.output = True, output
    else:  # for a tool that is not ours, or runs in another thread
        ctx[_KEY] = output
