"""The event loops of portals, and what a forked process does with those of its parent.

A fork inherits the parent's ends of everything the loop watches: pipes to servers, connections,
and the loop's own selector. Kept open there, a server would not see its stdin close when the
parent ends; and what the child collects as garbage would unregister the parent's pipes, because
both share one selector. So the child replaces its copies by ones that lead nowhere.
"""

from __future__ import annotations

import asyncio
import os
import selectors
import weakref
from collections.abc import Mapping
from typing import Any, cast

_selectors: weakref.WeakSet[selectors.BaseSelector] = weakref.WeakSet()


def new_loop() -> asyncio.AbstractEventLoop:
    """A loop of the kind that somebody has chosen for this process, else Python's own."""
    loop = asyncio.new_event_loop()
    if os.name != "posix" or type(loop) is not asyncio.SelectorEventLoop:
        return loop
    loop.close()
    selector = selectors.DefaultSelector()
    _selectors.add(selector)
    return asyncio.SelectorEventLoop(selector)


def _let_go_of_the_parents() -> None:
    """In a child that was just forked; the numbers stay taken, so that nothing else gets them."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for selector in list(_selectors):
        for number in _numbers_in(selector):
            os.dup2(nowhere, number, inheritable=False)
    os.close(nowhere)
    _selectors.clear()


def _numbers_in(selector: selectors.BaseSelector) -> list[int]:
    """Every file number that the selector watches, and its own where it has one."""
    watched = cast("Mapping[Any, selectors.SelectorKey] | None", selector.get_map())
    if watched is None:
        return []  # it was closed
    own = getattr(selector, "fileno", None)
    return [key.fd for key in watched.values()] + ([own()] if own else [])


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go_of_the_parents)
