"""Hostile servers say where one signs in: to places that are not theirs, and without an end.

The server is on 127.0.0.1; what listens at 127.0.0.2 is none of its business, and counts.
"""

from __future__ import annotations

import gzip
import json
import socket
import threading
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import pytest

from tests.support.authorization_server import (
    Protected,
    bridge_to,
    browse,
    failure_of,
    go_there,
    protected_server,
)
from xai_mcp_agent import Answer, Bridge, Question
from xai_mcp_agent.sources.mcp.auth import flow

NAME = "sign-in.example"
ELSEWHERE = "127.0.0.2"
FORMS = [ELSEWHERE, "2130706434", "0x7f000002", "127.2", "[::ffff:127.0.0.2]", NAME]
_ENDLESS_BYTES = (
    64 * 1024 * 1024
)  # it ends when nobody reads; if everything is read, far above the limit


@dataclass
class Place:
    """A web server. `asked` are the paths of all requests to it, `sent` counts bytes of bodies."""

    port: int
    status: int = 404
    headers: dict[str, str] = field(default_factory=dict[str, str])
    body: Iterable[bytes] = ()
    asked: list[str] = field(default_factory=list[str])
    sent: int = 0

    def answers(self, status: int, body: Iterable[bytes] = (), **headers: str) -> None:
        """What everybody gets from now on."""
        self.status, self.body, self.headers = status, body, headers


@contextmanager
def place(host: str = "127.0.0.1", port: int = 0) -> Generator[Place]:
    class Handler(BaseHTTPRequestHandler):
        disable_nagle_algorithm = True  # else an answer in pieces waits for 40 milliseconds

        def do_GET(self) -> None:
            found.asked.append(self.path)
            self.rfile.read(int(self.headers.get("content-length", 0)))
            self.send_response(found.status)
            for name, value in found.headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            with suppress(OSError):
                for piece in found.body:
                    self.wfile.write(piece)
                    found.sent += len(piece)

        do_POST = do_GET

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing on stderr."""

    server = ThreadingHTTPServer((host, port), Handler)
    found = Place(server.server_port)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture
def elsewhere() -> Iterator[Place]:
    """What nobody may be sent to."""
    with place(ELSEWHERE) as found:
        yield found
        assert found.asked == []


def resolved(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    """Look `NAME` up at these addresses, one after the other, and at the last from then on."""
    real, left = socket.getaddrinfo, chain(addresses, repeat(addresses[-1]))

    def found(host: Any, *rest: Any, **more: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host
        return real(next(left) if name == NAME else host, *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", found)


def challenged_with(url: str) -> dict[str, str]:
    return {"www_authenticate": f'Bearer resource_metadata="{url}"'}


def failure_at(server: str, folder: Path, **more: Any) -> str:
    settings = {"mcpServers": {"it": {"url": server, **more}}}
    with Bridge(settings, sign_in=go_there, token_folder=folder) as bridge:
        error = failure_of(bridge)
        return f"{error.problem} {error.next_step}"


@pytest.mark.parametrize("form", FORMS)
def test_a_server_sends_nobody_to_where_it_is_not_itself(
    elsewhere: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
):
    resolved(monkeypatch, ELSEWHERE)
    with place() as server:
        server.answers(401, **challenged_with(f"http://{form}:{elsewhere.port}/secret"))
        said = failure_at(f"http://127.0.0.1:{server.port}/mcp", tmp_path)
    assert "which is on this machine, at 127.0.0.2; the server is not." in said
    assert "`issuer` under `auth` of 'it'" in said


@pytest.mark.parametrize(
    "told", ["registration_endpoint", "authorization_endpoint", "token_endpoint"]
)
def test_neither_does_the_service_that_it_names(elsewhere: Place, tmp_path: Path, told: str):
    address = f"http://{ELSEWHERE}:{elsewhere.port}/secret"
    opened: list[str] = []

    def answer(question: Question) -> Answer:
        if question.is_sign_in:
            opened.append(question.url)
            browse(question.url)
        return Answer.accepted()

    with protected_server(metadata={told: address}) as protected:
        servers = {"it": protected.entry}
        with Bridge({"mcpServers": servers}, answer=answer, token_folder=tmp_path) as bridge:
            assert "the server is not." in failure_of(bridge).problem
    assert not any(ELSEWHERE in x for x in opened), "not with the person's browser either"


def test_an_authorization_server_elsewhere_is_not_asked(elsewhere: Place, tmp_path: Path):
    with protected_server() as protected:
        protected.service.url = f"http://{ELSEWHERE}:{elsewhere.port}"
        protected.move_to(protected.service)
        with bridge_to(protected, tmp_path) as bridge:
            assert "the server is not." in failure_of(bridge).problem


def test_a_redirect_leads_nowhere_else(elsewhere: Place, tmp_path: Path):
    with place() as server:
        url = f"http://127.0.0.1:{server.port}"
        server.answers(
            401,
            location=f"http://{ELSEWHERE}:{elsewhere.port}/",
            **challenged_with(f"{url}/moved"),
        )
        failure_at(f"{url}/mcp", tmp_path)
        with place() as moved:
            moved.answers(307, location=f"http://{ELSEWHERE}:{elsewhere.port}/")
            server.answers(401, **challenged_with(f"http://127.0.0.1:{moved.port}/"))
            failure_at(f"{url}/mcp", tmp_path)
            assert moved.asked


def test_what_was_checked_is_connected_to_though_the_name_leads_elsewhere_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, elsewhere: Place
):
    resolved(monkeypatch, "127.0.0.1", ELSEWHERE)
    with place() as server, place(port=elsewhere.port) as service:
        server.answers(401, **challenged_with(f"http://{NAME}:{service.port}/"))
        failure_at(f"http://127.0.0.1:{server.port}/mcp", tmp_path)
        assert service.asked == ["/"]


def test_the_name_of_the_server_itself_leads_nowhere_else_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, elsewhere: Place
):
    """Whoever owns the name may have it lead anywhere, and choose the port besides."""
    resolved(monkeypatch, "127.0.0.1", ELSEWHERE)
    with place() as server:
        server.answers(401, **challenged_with(f"http://{NAME}:{elsewhere.port}/secret"))
        failure_at(f"http://{NAME}:{server.port}/mcp", tmp_path)
        assert server.asked


def test_a_server_that_is_reached_by_a_proxy_sends_nobody_to_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """As one on the internet: where it is itself says nothing about this machine."""
    with place() as proxy, place() as here:
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.port}")
        for host in ("127.0.0.1", "localhost", "[::1]", "0.0.0.0"):
            proxy.answers(401, **challenged_with(f"http://{host}:{here.port}/secret"))
            said = failure_at("http://mcp.example/mcp", tmp_path)
            assert "which is on this machine; the server is not." in said
    assert here.asked == []
    assert proxy.asked


def test_what_the_settings_name_is_asked(tmp_path: Path):
    """A person has said that it is right."""
    with place() as server, place(ELSEWHERE) as service:
        address = f"http://{ELSEWHERE}:{service.port}"
        server.answers(401, **challenged_with(f"{address}/about"))
        url = f"http://127.0.0.1:{server.port}/mcp"
        failure_at(url, tmp_path, auth={"issuer": address})
        assert service.asked


def test_a_token_is_renewed_where_the_server_turns_out_to_be(
    protected: Protected, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Of a server with a name it is known once it has answered, without a look at the name."""
    with bridge_to(protected, tmp_path) as bridge:
        bridge.list_tools("it")
    file = next(tmp_path.glob("*.json"))
    file.write_text(json.dumps({**json.loads(file.read_text()), "expires_at": 1.0}))
    monkeypatch.setattr(flow, "place_of_host", lambda host: None)
    with bridge_to(protected, tmp_path, sign_in=None) as bridge:
        assert bridge.call_tool("it", "who").text
    assert protected.service.count("refresh_token") == 1
    assert protected.service.count("authorize") == 1


def endless(piece: bytes = b" " * 65536) -> Iterator[bytes]:
    return repeat(piece, _ENDLESS_BYTES // len(piece))


def test_no_more_of_a_document_is_read_than_a_service_ever_needs(tmp_path: Path):
    """Nor of what comes packed, nor of the refusal itself."""
    packed = [gzip.compress(bytes(_ENDLESS_BYTES))]
    for status, body, encoding in ((404, endless(), "identity"), (200, packed, "gzip")):
        with place() as server, place() as service:
            service.answers(status, body, content_encoding=encoding)
            challenge = challenged_with(f"http://127.0.0.1:{service.port}/")
            server.answers(401, endless(), **challenge)
            said = failure_at(f"http://127.0.0.1:{server.port}/mcp", tmp_path)
        assert "sent more than 1024 KiB at once" in said
        assert service.sent < _ENDLESS_BYTES / 2
        assert server.sent < _ENDLESS_BYTES / 2
