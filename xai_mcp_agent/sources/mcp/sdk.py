"""The MCP SDK: imported when the first server starts, with its loggers and our name set up."""

from __future__ import annotations

import asyncio
import logging
import threading
from concurrent.futures import Future
from functools import cache, partial
from typing import TYPE_CHECKING

import anyio

from ...core.imports import begin_import, without_collection
from ...core.util import installed_version

if TYPE_CHECKING:
    import mcp_types as types

NAME = "xai-mcp-agent"

is_loaded = threading.Event()
"""Set once the SDK is imported in this process."""

_import_lock = threading.Lock()


async def load(stop: anyio.Event) -> None:
    """Import the SDK in a thread, because other servers are being served.

    The wait ends early once `stop` is set. At its exit Python waits for the module that is
    being imported, which is short.
    """
    outcome = Future[None]()
    outcome.set_running_or_notify_cancel()  # a cancelled wait does not stop the import
    begin_import(partial(_load, outcome))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_cancel_when, stop, tasks.cancel_scope)
        await asyncio.wrap_future(outcome)
        tasks.cancel_scope.cancel()


async def _cancel_when(event: anyio.Event, scope: anyio.CancelScope) -> None:
    await event.wait()
    scope.cancel()


def _load(outcome: Future[None]) -> None:
    try:
        load_now()
    except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
        outcome.set_exception(error)
    else:
        outcome.set_result(None)


def load_now() -> None:
    """Import the SDK in this thread, or wait until another one has.

    Two threads that import its parts meet half-imported modules.
    """
    with _import_lock, without_collection():
        import jsonschema_rs  # noqa: F401  # pyright: ignore[reportUnusedImport]
        import mcp  # noqa: F401  # pyright: ignore[reportUnusedImport]

    for name in ("mcp", "client"):  # names of the SDK's loggers
        # Our errors say what it logs, in fewer words; a program that sets up logging still sees it.
        logging.getLogger(name).addHandler(logging.NullHandler())
    logger = logging.getLogger("mcp.client.auth.oauth2")
    if not any(isinstance(x, _NoTracebacks) for x in logger.filters):
        logger.addFilter(_NoTracebacks())
    is_loaded.set()


class _NoTracebacks(logging.Filter):
    """Filter that removes exceptions: they quote states, codes and responses that hold tokens.

    Nothing is lost: our errors say what happened.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Let every record pass with its text only."""
        record.exc_info = record.exc_text = None
        return True


@cache
def our_name() -> types.Implementation:
    """Return our name and version: servers log them, and some treat clients differently."""
    import mcp_types as types  # as heavy as the SDK, which is loaded when this is called

    return types.Implementation(name=NAME, version=installed_version())
