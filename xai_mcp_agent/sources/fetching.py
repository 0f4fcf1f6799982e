"""Fetching for programs without an event loop: no credentials, with limits, on one host only."""

from __future__ import annotations

import os
from dataclasses import dataclass

import anyio
import httpx2
from anyio.from_thread import start_blocking_portal

from .http import TooLarge, WebClient, read_until
from .web.network_errors import by_which_way, reaching_help


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """Limits of one fetch: in total with redirects, for a pause without data, and in size."""

    seconds: float = 60.0
    read_seconds: float = 20.0
    max_bytes: int = 64 * 1024**2


USUAL_LIMITS = FetchLimits()


class HttpStatusError(OSError):
    """The service answered with an HTTP error."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(f"the answer is {status} {reason}".strip())
        self.status = status


def fetch(url: str, limits: FetchLimits = USUAL_LIMITS, accept: str = "*/*") -> bytes:
    """Return the content at a URL.

    Raises:
        HttpStatusError: the service answered with an HTTP error.
        OSError: the URL cannot be fetched; says why.
    """
    return fetch_from(url, limits, accept)[0]


def fetch_from(
    url: str, limits: FetchLimits = USUAL_LIMITS, accept: str = "*/*"
) -> tuple[bytes, str]:
    """Return the content at a URL, and its final address after all redirects.

    Raises:
        HttpStatusError: the service answered with an HTTP error.
        OSError: the URL cannot be fetched; says why.
    """
    with start_blocking_portal() as portal:  # the caller's thread may already run an event loop
        return portal.call(_fetch_from, url, limits, accept)


async def _fetch_from(url: str, limits: FetchLimits, accept: str) -> tuple[bytes, str]:
    read_seconds = min(limits.read_seconds, limits.seconds)
    client = WebClient({"accept": accept}, read_seconds=read_seconds)
    try:
        with anyio.fail_after(limits.seconds):
            return await _read(client, url, limits.max_bytes)
    except TimeoutError:
        raise OSError(f"it is not there after {limits.seconds:g} s") from None
    except TooLarge:
        raise OSError(f"it is larger than {_size(limits.max_bytes)}") from None
    except httpx2.ReadTimeout:
        raise OSError(f"nothing came for {read_seconds:g} s") from None
    except (httpx2.ConnectError, httpx2.ProxyError) as cause:
        reason = f"{_innermost(cause)}{by_which_way(url)}"
        raise OSError(f"{reason}. {reaching_help(reason)}".rstrip(".")) from None
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as cause:
        raise OSError(str(cause) or type(cause).__name__) from None
    finally:
        await client.close()


async def _read(client: WebClient, url: str, max_bytes: int) -> tuple[bytes, str]:
    response, _ = await client.follow(await client.build("GET", url), mask=str)
    body, is_whole = await read_until(response, max_bytes)
    if not is_whole:
        raise TooLarge
    if not response.is_success:
        raise HttpStatusError(response.status_code, response.reason_phrase)
    return body, str(response.request.url)


def _innermost(cause: BaseException) -> str:
    """Return the system's reason; the library only says that all connection attempts failed."""
    while inner := cause.__cause__ or cause.__context__:
        cause = inner
    if isinstance(cause, ConnectionError) and cause.errno:
        return os.strerror(cause.errno)  # asyncio only says "Connect call failed"
    return str(cause)


def _size(number: int) -> str:
    mega = 1024**2
    return f"{number // mega} MiB" if number >= mega else f"{number:,} bytes"
