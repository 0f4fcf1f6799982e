"""Fetching for programs without a loop: every wait ends, and nothing goes to another host.

The rules are ours, because a service may be hostile.
"""

from __future__ import annotations

import itertools
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress

import pytest

from tests.support.http_service import HttpService, Reply, redirect, use_proxy
from tests.support.processes import free_port
from tests.support.watchdog import compute_within
from xai_mcp_agent.sources.fetching import FetchLimits, fetch

LIMITS = FetchLimits(seconds=0.3, max_bytes=10_000)


@contextmanager
def dripping(head: bytes, pause_seconds: float) -> Generator[str]:
    """The URL of a service that sends `head`, and then a byte after each pause, for ever."""
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            with suppress(OSError):
                connection, _ = listening.accept()
                with connection:
                    connection.sendall(head)
                    while not over.wait(pause_seconds):
                        connection.sendall(b"a")

        threading.Thread(target=serve, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
        finally:
            over.set()


@pytest.mark.parametrize(
    ("head", "pause_seconds"),
    [(b"HTTP/1.1 200 OK\r\nX: ", 0.05), (b"HTTP/1.1 200 OK\r\n\r\n", 0.05), (b"", 20)],
)
def test_an_answer_that_comes_byte_by_byte_or_never_ends_in_time(head: bytes, pause_seconds: float):
    late = pytest.raises(OSError, match=r"not there after 0\.3 s")
    with dripping(head, pause_seconds) as url, late:
        compute_within(5, lambda: fetch(url, LIMITS))


def test_a_service_that_does_not_run_is_reported_with_what_to_check():
    with pytest.raises(OSError, match="Check that the server runs"):
        fetch(f"http://127.0.0.1:{free_port()}/", LIMITS)


def test_a_redirect_to_another_host_or_in_a_circle_is_refused(service: HttpService):
    for address in ("http://127.0.0.2/", "//localhost/", "http://[::1]/"):
        service.replies["/a"] = redirect(address)
        with pytest.raises(OSError, match="nothing is sent to another server"):
            fetch(f"{service.url}/a", LIMITS)
    service.replies["/a"] = redirect("/a")
    with pytest.raises(OSError, match="again and again"):
        fetch(f"{service.url}/a", LIMITS)


def test_an_answer_larger_than_the_limit_is_refused(service: HttpService):
    service.replies["*"] = lambda _: Reply(pieces=itertools.repeat(b"x" * 1000, 100_000))
    with pytest.raises(OSError, match="larger than 10,000 bytes"):
        compute_within(5, lambda: fetch(service.url, LIMITS))


def test_a_proxy_is_used_for_other_hosts_only(
    service: HttpService, monkeypatch: pytest.MonkeyPatch
):
    use_proxy(monkeypatch, "http://me:secret@127.0.0.1:9")
    service.replies["*"] = Reply(body=b"here")
    assert fetch(service.url, LIMITS) == b"here"
    with pytest.raises(OSError, match=r"via the proxy 127\.0\.0\.1:9") as caught:
        fetch("http://registry.example.org/", LIMITS)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("exception", "direct", "others"),
    [
        ("example.invalid", "shop.example.invalid", "invalid"),
        (".example.invalid", "shop.example.invalid", "another.invalid"),
        ("10.0.0.1, *.Example.invalid", "shop.example.invalid", "another.invalid"),
        ("192.0.2.0/24", "192.0.2.7", "198.51.100.7"),
        ("2001:db8::/32", "[2001:db8::7]", "[2001:db9::7]"),
        ("192.0.2.7", "192.0.2.7", "192.0.2.8"),
        ("*", "shop.example.invalid", ""),
    ],
)
def test_a_host_that_no_proxy_covers_is_reached_directly(
    monkeypatch: pytest.MonkeyPatch, exception: str, direct: str, others: str
):
    use_proxy(monkeypatch, "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", exception)
    for host, is_proxied in ((direct, False), (others, True)):
        if host:
            with pytest.raises(OSError, match=r"it is not there|cannot be reached") as caught:
                fetch(f"http://{host}/", LIMITS)
            assert ("via the proxy" in str(caught.value)) == is_proxied, host
