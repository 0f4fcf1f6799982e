"""What is wrong with a body that is no message, in a few words."""

from __future__ import annotations

import html
import json
import re
from typing import Any, cast

from ....secrets.secrets import Mask

# A title is near the beginning, and what else is shown is short.
_HEAD_BYTES = 64 * 1024
_SHOWN = 100
_TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
# Above this, finding out what is wrong would hold up other servers.
_MAX_LOOKED_INTO_BYTES = 1024 * 1024


def what_came_instead(status: int, content_type: str, body: bytes, mask: Mask) -> str:
    """An answer of another type than MCP's, for a sentence that begins with the server."""
    if not body.strip():
        return f"HTTP {status} with nothing in it"
    if page := _page(body):
        return page
    kind = content_type.partition(";")[0].strip() or "no type"
    return f"{kind} instead of JSON: {_head(body, mask)}"


def why_no_message(body: bytes, mask: Mask) -> str:
    """Why a body that calls itself JSON is no message, for a sentence."""
    if not body.strip():
        return "it is empty"
    if page := _page(body):
        return f"it is {page}"
    if len(body) > _MAX_LOOKED_INTO_BYTES:
        return "it is not a valid message"
    try:
        found = json.loads(body.decode())
    except UnicodeDecodeError:
        return f"it is {_encoding(body)}, and not UTF-8 as it must be"
    except RecursionError:
        return "it is nested too deeply"
    except ValueError:
        return f"it is not valid JSON: {_head(body, mask)}"
    return _why_no_json_rpc(found, body, mask)


def words_of(body: bytes, content_type: str = "") -> str:
    """What a refusal says, in one line and whole: it has to be masked before it is cut."""
    if page := _page(body) or ("an HTML page" if "html" in content_type else ""):
        return page
    return " ".join(body.decode("utf-8", "replace").split())


def _why_no_json_rpc(found: Any, body: bytes, mask: Mask) -> str:
    if isinstance(found, list):
        return "it is a list, and batches of messages are not allowed"
    if isinstance(found, dict) and cast(dict[str, Any], found).get("jsonrpc") == "2.0":
        return f"it is not a valid message: {_head(body, mask)}"
    return f"it is JSON, but not JSON-RPC: {_head(body, mask)}"


def _page(body: bytes) -> str:
    text = body[:_HEAD_BYTES].decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    if not text[:15].lower().startswith(("<html", "<!doctype", "<head", "<body")):
        return ""
    found = _TITLE.search(text)
    title = " ".join(html.unescape(found[1]).split())[:_SHOWN] if found else ""
    return f"an HTML page, {title!r}" if title else "an HTML page"


def _encoding(body: bytes) -> str:
    if body.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in body[:4]:
        return "UTF-16 or UTF-32"
    return "text in an older encoding"


def _head(body: bytes, mask: Mask) -> str:
    # Masked before it is cut: half a secret is not recognised.
    text = mask(" ".join(body[:_HEAD_BYTES].decode("utf-8", "replace").split()))
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "...")
