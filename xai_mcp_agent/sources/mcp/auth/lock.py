"""One process at a time: a lock on a file, which the system takes off when its holder dies."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

logger = logging.getLogger(__name__)

_LOOK_SECONDS = 0.05


@asynccontextmanager
async def file_lock(path: Path) -> AsyncGenerator[None]:
    """Hold the lock of this file, which is made, within the block; waits for as long as it takes.

    Where files cannot be locked (some network drives) it goes on without.
    """
    file = _opened(path)
    try:
        while file is not None and not _taken(file):  # noqa: ASYNC110 - nobody tells us
            await anyio.sleep(_LOOK_SECONDS)
        yield
    finally:
        if file is not None:
            os.close(file)  # which takes it off as well


def _opened(path: Path) -> int | None:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as reason:
        logger.debug("No lock at %s: %s", path, reason)
        return None


if os.name == "nt":
    import msvcrt

    def _taken(file: int) -> bool:
        """Whether the lock is ours now."""
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _taken(file: int) -> bool:
        """Whether the lock is ours now, or there can be none."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as reason:
            logger.debug("Files cannot be locked here: %s", reason)
        return True
