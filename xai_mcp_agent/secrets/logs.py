"""Logs of the HTTP library without secrets: it tells the URL of each request, key and all."""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager

from .secrets import Mask

_LOGGERS = ("httpx2", "httpx")  # both are in use: models and agents come with their own


@contextmanager
def masked_logs(mask: Mask) -> Generator[None]:
    """Mask what these write in the block, in the whole process, whoever reads it."""

    def hide(record: logging.LogRecord) -> bool:
        record.msg, record.args = mask(record.getMessage()), ()
        return True

    loggers = [logging.getLogger(x) for x in _LOGGERS]
    for logger in loggers:
        logger.addFilter(hide)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(hide)
