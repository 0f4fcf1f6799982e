"""What runs taught, for plans and for people: to read, and to forget."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

import anyio.to_thread

from .history import answer
from .run_memory import Remembered

if TYPE_CHECKING:
    from ..history.intents import Which
    from ..history.learned import Learnings
    from ..history.store import Store
    from .engine import Engine


async def remembered(engine: Engine, toolbelt: str | None = None) -> Remembered:
    """What runs with a toolbelt taught, or all of the project did, for `bring_up_to_date`.

    Cheap when nothing is new. Where the store cannot be read it is what was known before.
    """
    return await engine.learned.remembered(toolbelt)


async def learned(
    engine: Engine, server: str | None, tool: str | None, toolbelt: str | None
) -> Learnings:
    """See `Bridge.learned`."""
    look = partial(_kept, toolbelt, server, tool)
    return await answer(engine, look, from_any_file=True)


async def forget(
    engine: Engine, server: str | None, tool: str | None, toolbelt: str | None
) -> Learnings:
    """See `Bridge.forget_learned`."""
    # In a thread: it loads SQLAlchemy.
    which = await anyio.to_thread.run_sync(_which, toolbelt, server, tool)
    return await asyncio.wrap_future(engine.recorder.forget_runs(which))


# What follows runs beside the loop.


def _which(toolbelt: str | None, server: str | None, tool: str | None) -> Which:
    from ..history.intents import Which

    return Which(toolbelt, server, tool)


def _kept(toolbelt: str | None, server: str | None, tool: str | None, store: Store) -> Learnings:
    from ..history.learned import learnings_of

    return learnings_of(store, _which(toolbelt, server, tool))
