"""What a reader of a registry gives: pages of documents, each with where the next one is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from ...core.visible import visible_text
from ...sources.fetching import FetchLimits, fetch
from ...sources.openapi.document.parsing import NotReadable, parsed
from ..values import Document

CURSOR_CHARS = 2_000


@dataclass(frozen=True, slots=True)
class Page:
    """Some documents. `next` is the cursor of the next page, empty at the end.

    `is_whole` says that there is nothing else, so that what is not in it is gone.
    """

    documents: Iterable[Document]
    next: str = ""
    size: int = 0
    is_whole: bool = False


class Reader(Protocol):
    """Reads one registry."""

    def page(self, cursor: str, since: str, limits: FetchLimits) -> Page:
        """The page at a cursor, of what was changed since a time.

        Raises:
            OSError: it cannot be read; says why.
        """
        ...


def fetched_json(url: str, limits: FetchLimits) -> tuple[Any, int]:
    """What is at a URL, and its size.

    Raises:
        OSError: it cannot be fetched, or is no JSON.
    """
    data = fetch(url, limits, "application/json")
    try:
        return parsed(data), len(data)
    except NotReadable as reason:
        said = visible_text(str(reason), CURSOR_CHARS)
        raise OSError(f"what is there cannot be read: {said}") from None


def is_text(text: str) -> bool:
    """Whether it can be sent and kept: JSON can say halves of characters, which nothing takes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
