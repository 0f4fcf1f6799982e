"""Fetching for programs without an event loop: no credentials, with limits, on one host only."""

from __future__ import annotations

from dataclasses import dataclass

import anyio
import httpx2
from anyio.from_thread import start_blocking_portal

from ..core.errors import SourceClosed
from .http import WebClient, failure_of, read_body


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """Limits of one fetch: in time, with redirects, and in size."""

    seconds: float = 60.0
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
    client = WebClient({"accept": accept})
    try:
        with anyio.fail_after(limits.seconds):
            response, _ = await client.follow(await client.build("GET", url), mask=str)
            body = await read_body(response, limits.max_bytes)
    except TimeoutError:
        raise OSError(f"it is not there after {limits.seconds:g} s") from None
    except (OSError, httpx2.HTTPError) as cause:
        error = failure_of("", cause, str)
        advice = "" if isinstance(error, SourceClosed) else f" {error.next_step}"
        raise OSError(f"{error.problem}{advice}".rstrip(".")) from None
    except (httpx2.InvalidURL, ValueError) as cause:
        raise OSError(str(cause)) from None
    finally:
        await client.close()
    if len(body) > limits.max_bytes:
        raise OSError(f"it is larger than {limits.max_bytes:,} bytes")
    if not response.is_success:
        raise HttpStatusError(response.status_code, response.reason_phrase)
    return body, str(response.request.url)
