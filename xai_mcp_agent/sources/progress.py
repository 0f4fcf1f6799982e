"""Progress reports of a call to a listener that may fail."""

from __future__ import annotations

import logging

from ..core.errors import PROGRAM_ERRORS
from ..core.results import OnProgress
from ..core.visible import visible_text

logger = logging.getLogger(__name__)

_MOST_CHARS = 2000  # of a message; nobody reads more during a call


class ProgressListener:
    """The listener of one call. If it raises, the call goes on without further reports.

    The `notes` of the call's result then say so.
    """

    def __init__(self, listener: OnProgress, notes: list[str]) -> None:
        self._listener = listener
        self._notes = notes
        self._is_working = True

    async def report(self, progress: float, total: float | None, message: str | None) -> None:
        """Report progress, with the message made visible; a missing message is empty."""
        if not self._is_working:
            return
        try:
            await self._listener(progress, total, visible_text(message or "", _MOST_CHARS))
        except PROGRAM_ERRORS as cause:
            self._is_working = False
            logger.exception("A progress listener raised; it is not called for this call any more")
            self._notes.append(
                f"Progress was not reported to the end: the listener raised "
                f"{type(cause).__name__}. The log says more."
            )
