"""What the SDK logs of a sign-in, without what is secret in it."""

from __future__ import annotations

import logging


class _NoTracebacks(logging.Filter):
    """Takes the exceptions away: they quote states, codes and answers that hold tokens.

    Nothing is lost: whoever needs the server is told in our words.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Let every record pass, and nothing but its text."""
        record.exc_info = record.exc_text = None
        return True


def hide_what_the_sdk_logs() -> None:
    """May be called more than once."""
    logger = logging.getLogger("mcp.client.auth.oauth2")
    if not any(isinstance(x, _NoTracebacks) for x in logger.filters):
        logger.addFilter(_NoTracebacks())
