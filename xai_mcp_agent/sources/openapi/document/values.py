"""What stands in a document may be anything: read as what it should be, or as nothing."""

from __future__ import annotations

import re
from typing import Any, cast
from urllib.parse import urlsplit

from ....core.tools import JsonObject
from ....core.visible import visible_text

_USUAL_PORTS = {"http": ":80", "https": ":443"}
_HALF = re.compile("[\ud800-\udfff]")


def object_of(value: Any) -> JsonObject:
    """The object, or an empty one."""
    return cast(JsonObject, value) if isinstance(value, dict) else {}


def list_of(value: Any) -> list[Any]:
    """The list, or an empty one."""
    return cast(list[Any], value) if isinstance(value, list) else []


def texts_of(value: Any) -> list[str]:
    """The texts that are in a list, each once."""
    return list(dict.fromkeys(x for x in list_of(value) if isinstance(x, str) and is_whole(x)))


def is_whole(text: str) -> bool:
    """Whether it can be sent: half of a pair, which JSON can say, is no character."""
    return text.isascii() or not _HALF.search(text)


def text_of(value: Any, at_most: int) -> str:
    """The text as somebody who looks at it sees it, or an empty one."""
    return visible_text(value, at_most).strip() if isinstance(value, str) else ""


def is_same_host(url: str, elsewhere: str) -> bool:
    """Whether somebody who was sent there is still at the same host and port, or now safely so."""
    here, there = origin_of(url), origin_of(elsewhere)
    return there in (here, ("https", here[1]))


def origin_of(url: str) -> tuple[str, str]:
    """The scheme, and the host with the port if it is not the usual one: what credentials are for.

    Without credentials in it, in lower case.
    """
    parts = urlsplit(url)
    scheme, host = parts.scheme.lower(), parts.netloc.rpartition("@")[2].lower()
    return scheme, host.removesuffix(_USUAL_PORTS.get(scheme, " "))
