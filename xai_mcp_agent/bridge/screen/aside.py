"""Messages in the log that come while runs write on the screen: between lines, not in them."""

from __future__ import annotations

import logging

from .screen import SCREEN

logger = logging.getLogger(__name__)


def warn_beside_runs(text: str) -> None:
    """Log a warning, which by itself is written on stderr, from any thread."""
    SCREEN.aside(lambda: logger.warning("%s", text))
