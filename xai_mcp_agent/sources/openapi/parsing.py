"""The text of a document as plain data: JSON, or YAML 1.2, as OpenAPI demands."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import date
from typing import Any, cast

from ...core.errors import XaiMcpError
from ...core.json import as_list
from ...core.visible import visible_text
from ...core.yaml import YamlError, parse_yaml
from ..web.large_json import read_in_steps

MAX_BYTES = 64 * 1024 * 1024
"""Of one file. The largest that are published have about 40 MB."""

_MAX_PARTS = 5_000_000  # some hundreds of megabytes
_LARGE_CHARS = 1_000_000  # Python's reader would hold all other threads for longer
_PROBLEM_CHARS = 200
_BLANK = 10_000  # characters in which a text shows what it is; JSON is YAML, too
_HALF = re.compile("[\ud800-\udfff]")


class BadDocument(XaiMcpError):
    """A document that cannot be used at all; the message says where it is, why, and what to do."""


class NotReadable(ValueError):
    """A text that is neither JSON nor YAML, or too much of it."""


def texts_of(value: Any) -> list[str]:
    """Return the texts in a list, each once."""
    return list(dict.fromkeys(x for x in as_list(value) if isinstance(x, str) and is_whole(x)))


def is_whole(text: str) -> bool:
    """Whether a text can be sent: half of a surrogate pair, which JSON can say, cannot."""
    return text.isascii() or not _HALF.search(text)


def text_of(value: Any, at_most: int) -> str:
    """Return a text without invisible characters, cut; empty for what is no text."""
    return visible_text(value, at_most).strip() if isinstance(value, str) else ""


def parse(data: bytes | str) -> Any:
    """Read JSON or YAML into what `json.loads` would return.

    Raises:
        NotReadable: in plain words, why.
    """
    if len(data) > MAX_BYTES:
        raise NotReadable(f"it is larger than {MAX_BYTES // 1024**2} MiB")
    text = _decode(data) if isinstance(data, bytes) else data.removeprefix("\ufeff")
    if text[:_BLANK].lstrip()[:1] not in ("{", "["):
        return _parse_yaml(text)
    try:
        return _parse_json(text)
    except RecursionError:
        raise NotReadable("it is nested too deeply") from None
    except ValueError as cause:
        try:
            return _parse_yaml(text)  # it may begin with a bracket, too
        except NotReadable:
            raise NotReadable(f"it is not JSON: {str(cause)[:_PROBLEM_CHARS]}") from None


def json_of(value: Any) -> str:
    """Write a document that a program read: YAML readers return numbers as keys, and dates.

    Raises:
        NotReadable: it holds itself, or is nested too deeply.
    """
    try:
        return json.dumps(value, default=_plain, skipkeys=True)
    except (ValueError, RecursionError) as cause:
        raise NotReadable(f"it is no JSON: {cause}") from None


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(cast(Mapping[Any, Any], value))
    return value.isoformat() if isinstance(value, date) else str(value)


def _decode(data: bytes) -> str:
    try:
        return data.decode(json.detect_encoding(data)).removeprefix("\ufeff")
    except UnicodeDecodeError:
        raise NotReadable("it is not text in UTF-8") from None


# JSON


def _parse_json(text: str) -> Any:
    return json.loads(text) if len(text) < _LARGE_CHARS else read_in_steps(text, _MAX_PARTS)


# YAML


def _parse_yaml(text: str) -> Any:
    try:
        return parse_yaml(text)
    except YamlError as cause:
        raise NotReadable(str(cause)) from None
