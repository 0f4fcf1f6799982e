"""What stands in a document may be anything: read as what it should be, or as nothing."""

from __future__ import annotations

import re
from typing import Any

from ....core.json import as_list
from ....core.visible import visible_text

_HALF = re.compile("[\ud800-\udfff]")


def texts_of(value: Any) -> list[str]:
    """The texts that are in a list, each once."""
    return list(dict.fromkeys(x for x in as_list(value) if isinstance(x, str) and is_whole(x)))


def is_whole(text: str) -> bool:
    """Whether it can be sent: half of a pair, which JSON can say, is no character."""
    return text.isascii() or not _HALF.search(text)


def text_of(value: Any, at_most: int) -> str:
    """The text as somebody who looks at it sees it, or an empty one."""
    return visible_text(value, at_most).strip() if isinstance(value, str) else ""
