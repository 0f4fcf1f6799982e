"""What entries of things behind a URL have in common: the URL, and the headers to send."""

from __future__ import annotations

import re
from typing import Annotated, Any, cast
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, PlainValidator, ValidationInfo

from .entry import Reading, as_dict, mistake, read_text

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
# They follow from what is sent; another value would make the server read other requests than ours.
_OF_THE_BODY = ("content-length", "transfer-encoding")
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e]*")
_URL_TEXT = re.compile(r"[^\s\x00-\x1f\x7f]+")


def _header_text(value: Any, info: ValidationInfo) -> str:
    text = read_text(value, info).strip()
    if not _HEADER_VALUE.fullmatch(text):
        raise mistake(
            "it has a line break or a character that headers cannot carry.",
            "Use plain ASCII on one line; look at the variables in it too.",
        )
    return text


def header_names(found: dict[str, str]) -> dict[str, str]:
    """What has headers by their names, as it is; it must be possible to send them."""
    if not all(_HEADER_NAME.fullmatch(x) for x in found):
        fix = "Use letters, digits and hyphens, without the colon."
        raise mistake("this is not the name of a header.", fix)
    if told := next((x for x in found if x.lower() in _OF_THE_BODY), ""):
        raise mistake(f"{told} follows from what is sent.", "Remove it.")
    return found


def wrong_with_url(url: str) -> str:
    """What is wrong with a URL, or nothing. Never quotes it."""
    if not url.lower().startswith(("http://", "https://")):
        return "it does not start with http:// or https://."
    if not _URL_TEXT.fullmatch(url):
        return "it has a blank or a line break in it."
    try:
        parts = urlsplit(url)
        # Reading the port is what checks it.
        host_and_port = parts.hostname, parts.port
    except ValueError:
        return "its host or port cannot be understood."
    return "" if host_and_port[0] else "it names no host."


def _address(value: Any, info: ValidationInfo) -> str:
    url = read_text(value, info).strip()
    is_off = cast(Reading, info.context).is_off
    if not is_off and (problem := wrong_with_url(url)):
        raise mistake(problem, "Write a full address such as https://example.com.")
    return url


Address = Annotated[str, PlainValidator(_address)]
HeaderText = Annotated[str, PlainValidator(_header_text)]
Headers = Annotated[
    dict[str, HeaderText],
    BeforeValidator(as_dict),
    AfterValidator(header_names),
]
