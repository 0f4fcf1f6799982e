"""Fetches a document for programs without a bridge: no credentials, limits, never another host."""

from __future__ import annotations

import time

import httpx2

from .parsing import MAX_BYTES
from .values import is_same_host, origin_of

_SECONDS = 60.0  # for one file, all redirects together
_READ_SECONDS = 20.0  # without a byte
_MAX_REDIRECTS = 5


def fetch(url: str) -> bytes:
    """What is at a URL.

    Raises:
        OSError: it cannot be fetched; says why.
    """
    return fetch_from(url)[0]


def fetch_from(url: str) -> tuple[bytes, str]:
    """What is at a URL, and where that is after all redirects.

    Raises:
        OSError: it cannot be fetched; says why.
    """
    ends = time.monotonic() + _SECONDS
    try:
        with httpx2.Client(timeout=_READ_SECONDS, follow_redirects=False) as client:
            wanted = httpx2.URL(url)
            for _ in range(_MAX_REDIRECTS):
                found = _answer(client, wanted, ends)
                if isinstance(found, bytes):
                    return found, str(wanted)
                wanted = found
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as cause:
        raise OSError(str(cause) or type(cause).__name__) from None
    raise OSError(f"it is redirected more than {_MAX_REDIRECTS} times")


def _answer(client: httpx2.Client, url: httpx2.URL, ends: float) -> bytes | httpx2.URL:
    """The body, or where it is instead."""
    with client.stream("GET", url) as response:
        if response.is_redirect:
            elsewhere = url.join(response.headers.get("location", ""))
            if not is_same_host(str(url), str(elsewhere)):
                raise OSError(f"it is redirected to another host, {origin_of(str(elsewhere))[1]}")
            return elsewhere
        if not response.is_success:
            raise OSError(f"the answer is {response.status_code} {response.reason_phrase}".strip())
        return _body(response, ends)


def _body(response: httpx2.Response, ends: float) -> bytes:
    found = bytearray()
    for chunk in response.iter_bytes():
        found += chunk
        if len(found) > MAX_BYTES:
            raise OSError(f"it is larger than {MAX_BYTES // 1024**2} MiB")
        if time.monotonic() > ends:
            raise OSError(f"it is not there after {_SECONDS:g} s")
    return bytes(found)
