"""Masks secrets in logs of the HTTP library and in results of tools."""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import anyio.to_thread

from ..core.json import children, is_list, is_object
from ..core.results import LinkPart, ResourcePart, ResultPart, TextPart, ToolResult, UnknownPart
from .redactor import redact_value
from .secrets import Mask

# Both HTTP libraries are in use: models and agents bring their own. The SDK logs a server's URL.
_LOGGERS = ("httpx2", "httpx", "mcp.client.streamable_http")


@contextmanager
def mask_logs(mask: Mask) -> Generator[None]:
    """Mask the logs of HTTP within the block, in the whole process."""

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


# Characters from which the search for secrets is worth a thread; each value counts as some.
_LARGE, _EACH_VALUE = 128 * 1024, 32


async def mask_result(result: ToolResult, mask: Mask) -> ToolResult:
    """Return the result with secrets masked in its texts and values; binary data is unchanged."""
    if _is_large(result):
        return await anyio.to_thread.run_sync(_mask_parts, result, mask)
    return _mask_parts(result, mask)


def _mask_parts(result: ToolResult, mask: Mask) -> ToolResult:
    return replace(
        result,
        parts=tuple(_mask_part(x, mask) for x in result.parts),
        structured=_mask_value(result.structured, mask),
        notes=tuple(map(mask, result.notes)),
        meta=_mask_value(result.meta, mask),
    )


def _mask_part(part: ResultPart, mask: Mask) -> ResultPart:
    if isinstance(part, UnknownPart):
        return replace(part, raw=_mask_value(part.raw, mask))
    if part.more is not None:
        part = replace(part, more=_mask_value(part.more, mask))
    match part:
        case TextPart(text):
            return replace(part, text=mask(text))
        case LinkPart(uri, name, description):
            masked = description and mask(description)
            return replace(part, uri=mask(uri), name=mask(name), description=masked)
        case ResourcePart(uri, text, around=around):
            around = around and _mask_value(around, mask)
            return replace(part, uri=mask(uri), text=text and mask(text), around=around)
        case _:
            return part


def _mask_value(value: Any, mask: Mask) -> Any:
    """Return the masked value; one search decides whether there is anything to mask."""
    texts = "\n".join(_texts_in(value))
    return value if mask(texts) == texts else redact_value(value, mask)


def _texts_in(value: Any) -> Iterator[str]:
    """Yield the texts and numbers in a JSON value."""
    stack = [value]
    while stack:
        part = stack.pop()
        if is_object(part):
            yield from part
        elif not is_list(part):
            yield str(part)
        stack += children(part)


def _is_large(result: ToolResult) -> bool:
    """Return whether masking takes long enough to block the event loop."""
    words = (x.text or "" for x in result.parts if isinstance(x, TextPart | ResourcePart))
    budget = _LARGE - sum(map(len, words))
    for text in _texts_in(result.structured):
        budget -= len(text) + _EACH_VALUE
        if budget < 0:
            break
    return budget < 0
