"""The MCP SDK: imported when the first server starts, logging no tracebacks, told our name."""

from __future__ import annotations

import asyncio
import logging
import threading
from concurrent.futures import Future
from functools import cache, partial
from typing import TYPE_CHECKING

import anyio

from ...core.imports import begin_import
from ...core.util import installed_version

if TYPE_CHECKING:
    import mcp_types as types

NAME = "xai-mcp-agent"

is_loaded = threading.Event()
"""Set once in a process."""

_importing = threading.Lock()


def load_now() -> None:
    """Import it in this thread, or wait until another one has.

    Two threads that import its parts meet modules that are imported halfway.
    """
    _import_libraries()


async def load(given_up: anyio.Event) -> None:
    """Import what sessions need, in a thread: other servers are being served.

    The wait ends when it is `given_up`. Python waits at its exit for the module that is being
    imported, which is short.
    """
    imported = Future[None]()
    imported.set_running_or_notify_cancel()  # who stops waiting does not stop it
    begin_import(partial(_load, imported))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_cancel_when, given_up, tasks.cancel_scope)
        await asyncio.wrap_future(imported)
        tasks.cancel_scope.cancel()


async def _cancel_when(event: anyio.Event, scope: anyio.CancelScope) -> None:
    await event.wait()
    scope.cancel()


def _load(imported: Future[None]) -> None:
    try:
        _import_libraries()
    except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
        imported.set_exception(error)
    else:
        imported.set_result(None)


def _import_libraries() -> None:
    with _importing:
        import jsonschema_rs  # noqa: F401  # pyright: ignore[reportUnusedImport]
        import mcp  # noqa: F401  # pyright: ignore[reportUnusedImport]

    for name in ("mcp", "client"):  # as the SDK calls its loggers
        # What it logs is in our errors, in fewer words; who sets up logging sees it all the same.
        logging.getLogger(name).addHandler(logging.NullHandler())
    logger = logging.getLogger("mcp.client.auth.oauth2")
    if not any(isinstance(x, _NoTracebacks) for x in logger.filters):
        logger.addFilter(_NoTracebacks())
    is_loaded.set()


class _NoTracebacks(logging.Filter):
    """Takes the exceptions away: they quote states, codes and answers that hold tokens.

    Nothing is lost: our errors say what happened.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Let every record pass, and nothing but its text."""
        record.exc_info = record.exc_text = None
        return True


@cache
def our_name() -> types.Implementation:
    """Our name and version: servers log it, and some treat clients differently."""
    import mcp_types as types  # as heavy as the SDK, which is loaded when this is called

    return types.Implementation(name=NAME, version=installed_version())
