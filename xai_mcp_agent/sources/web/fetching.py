"""Fetches one thing for programs without a loop: no credentials, limits, never another host."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import httpx2

from ...core.util import trusted_certificates
from .network_errors import by_which_way, is_this_machine, reaching_help
from .origins import is_same_host, origin_of

_MAX_REDIRECTS = 5


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """What one fetch may take: in all with its redirects, without a byte, and how large it is."""

    seconds: float = 60.0
    read_seconds: float = 20.0
    max_bytes: int = 64 * 1024**2


USUAL_LIMITS = FetchLimits()


class Answered(OSError):
    """Whoever was asked answers that it is not there, or that something is wrong."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(f"the answer is {status} {reason}".strip())
        self.status = status


def fetch(url: str, limits: FetchLimits = USUAL_LIMITS, accept: str = "*/*") -> bytes:
    """What is at a URL.

    Raises:
        Answered: the answer is that it is not there, or another error.
        OSError: it cannot be fetched; says why.
    """
    return fetch_from(url, limits, accept)[0]


def fetch_from(
    url: str, limits: FetchLimits = USUAL_LIMITS, accept: str = "*/*"
) -> tuple[bytes, str]:
    """What is at a URL, and where that is after all redirects.

    Raises:
        Answered: the answer is that it is not there, or another error.
        OSError: it cannot be fetched; says why.
    """
    ends = time.monotonic() + limits.seconds
    try:
        with _client(url, limits, accept) as client, _cut_off(ends) as watched:
            wanted = httpx2.URL(url)
            for _ in range(_MAX_REDIRECTS):
                request = client.build_request("GET", wanted, extensions=watched)
                found = _answer(client, request, limits, ends)
                if isinstance(found, bytes):
                    return found, str(wanted)
                wanted = found
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as cause:
        raise _failure(cause, url, limits, is_over=time.monotonic() >= ends) from None
    raise OSError(f"it is redirected more than {_MAX_REDIRECTS} times")


def _client(url: str, limits: FetchLimits, accept: str) -> httpx2.Client:
    return httpx2.Client(
        timeout=min(limits.read_seconds, limits.seconds),
        follow_redirects=False,
        trust_env=not is_this_machine(url),  # no proxy can reach this machine for us
        verify=trusted_certificates(),
        headers={"accept": accept},
    )


def _failure(cause: Exception, url: str, limits: FetchLimits, *, is_over: bool) -> OSError:
    """What happened, and what to do where that can be told."""
    if is_over:
        return OSError(f"it is not there after {limits.seconds:g} s")
    if isinstance(cause, httpx2.ReadTimeout):
        return OSError(f"nothing came for {min(limits.read_seconds, limits.seconds):g} s")
    said = f"{str(cause) or type(cause).__name__}{by_which_way(url)}"
    is_unreached = isinstance(cause, httpx2.ConnectError | httpx2.ProxyError)
    return OSError(f"{said}. {reaching_help(said)}".rstrip(".") if is_unreached else said)


def _answer(
    client: httpx2.Client, request: httpx2.Request, limits: FetchLimits, ends: float
) -> bytes | httpx2.URL:
    """The body, or where it is instead."""
    with closing(client.send(request, stream=True)) as response:
        if response.is_redirect:
            elsewhere = request.url.join(response.headers.get("location", ""))
            if not is_same_host(str(request.url), str(elsewhere)):
                raise OSError(f"it is redirected to another host, {origin_of(str(elsewhere))[1]}")
            return elsewhere
        if not response.is_success:
            raise Answered(response.status_code, response.reason_phrase)
        return _body(response, limits, ends)


@contextmanager
def _cut_off(ends: float) -> Generator[dict[str, Any]]:
    """For requests whose connection is cut when time is over: headers may come byte by byte."""
    sockets: list[socket.socket] = []

    def connected(event: str, info: dict[str, Any]) -> None:
        if event == "connection.connect_tcp.complete":
            sockets.append(info["return_value"].get_extra_info("socket"))

    def cut() -> None:
        for connection in sockets:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(max(ends - time.monotonic(), 0), cut)
    timer.daemon = True
    timer.start()
    try:
        yield {"trace": connected}
    finally:
        timer.cancel()


def _body(response: httpx2.Response, limits: FetchLimits, ends: float) -> bytes:
    found = bytearray()
    for chunk in response.iter_bytes():
        found += chunk
        if len(found) > limits.max_bytes:
            raise OSError(f"it is larger than {_size(limits.max_bytes)}")
        if time.monotonic() >= ends:
            break
    if time.monotonic() >= ends:  # a connection that was cut may look like its end
        raise OSError(f"it is not there after {limits.seconds:g} s")
    return bytes(found)


def _size(number: int) -> str:
    mega = 1024**2
    return f"{number // mega} MiB" if number >= mega else f"{number:,} bytes"
