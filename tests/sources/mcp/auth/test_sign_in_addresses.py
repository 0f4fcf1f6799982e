"""Hostile servers that lead a sign-in to other places or send endless documents.

The server is on 127.0.0.1; a service at 127.0.0.2 counts the requests that must not reach it.
"""

from __future__ import annotations

import gzip
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.authorization_server import browse, go_there, protected_server
from tests.support.bridges import failure_of
from tests.support.http_service import (
    HttpService,
    Reply,
    http_service,
    resolve,
    shared_port,
    use_proxy,
)
from xai_mcp_agent import Answer, Bridge, Question

NAME = "sign-in.example"
ELSEWHERE = "127.0.0.2"
FORMS = [ELSEWHERE, "2130706434", "[::ffff:127.0.0.2]", NAME]
_ENDLESS_BYTES = 64 * 1024 * 1024  # far above the limit, if everything is read


def respond_with(
    service: HttpService, status: int, headers: dict[str, str], body: Iterable[bytes] | None = None
) -> list[int]:
    """Set the response of a service to all requests; return a list that gets the sizes it sends."""
    sizes = list[int]()

    def send() -> Iterator[bytes]:
        for piece in body or ():
            yield piece
            sizes.append(len(piece))

    pieces = None if body is None else send
    service.replies["*"] = lambda _: Reply(status, headers=headers, pieces=pieces and pieces())
    return sizes


@pytest.fixture
def elsewhere() -> Generator[HttpService]:
    """A service that must get no request."""
    with http_service(shared_port(), ELSEWHERE) as service:
        yield service
        assert service.got == []


def challenge_with(url: str) -> dict[str, str]:
    return {"www-authenticate": f'Bearer resource_metadata="{url}"'}


def failure_at(server: str, folder: Path, **more: Any) -> str:
    settings = {"mcpServers": {"it": {"url": server, **more}}}
    with Bridge(settings, sign_in=go_there, token_folder=folder) as bridge:
        error = failure_of(bridge)
        return f"{error.problem} {error.next_step}"


@pytest.mark.parametrize("form", FORMS)
def test_a_server_cannot_lead_to_a_place_that_it_is_not_in(
    elsewhere: HttpService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
):
    resolve(monkeypatch, NAME, ELSEWHERE)
    with http_service() as server:
        respond_with(server, 401, challenge_with(f"http://{form}:{elsewhere.port}/secret"))
        error = failure_at(f"{server.url}/mcp", tmp_path)
    assert "which is on this machine, at 127.0.0.2; the server is not." in error
    assert "`issuer` under `auth` of 'it'" in error


@pytest.mark.parametrize(
    "endpoint", ["registration_endpoint", "authorization_endpoint", "token_endpoint"]
)
def test_its_sign_in_service_cannot_lead_to_another_place_either(
    elsewhere: HttpService, tmp_path: Path, endpoint: str
):
    address = f"{elsewhere.url}/secret"
    urls: list[str] = []

    def answer(question: Question) -> Answer:
        if question.is_sign_in:
            urls.append(question.url)
            browse(question.url)
        return Answer.accepted()

    with protected_server(metadata={endpoint: address}) as protected:
        servers = {"it": protected.entry}
        with Bridge({"mcpServers": servers}, answer=answer, token_folder=tmp_path) as bridge:
            assert "the server is not." in failure_of(bridge).problem
    assert not any(ELSEWHERE in x for x in urls), "the person's browser is not sent there either"


def test_a_redirect_cannot_lead_to_another_place(elsewhere: HttpService, tmp_path: Path):
    with http_service() as server:
        away = {"location": f"{elsewhere.url}/"}
        respond_with(server, 401, away | challenge_with(f"{server.url}/moved"))
        failure_at(f"{server.url}/mcp", tmp_path)
        with http_service() as moved:
            respond_with(moved, 307, away)
            respond_with(server, 401, challenge_with(f"{moved.url}/"))
            failure_at(f"{server.url}/mcp", tmp_path)
            assert moved.got


def test_a_name_that_resolves_elsewhere_the_second_time_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, elsewhere: HttpService
):
    """The owner of a name may have it resolve to any address, even the server's own name."""
    resolve(monkeypatch, NAME, "127.0.0.1", ELSEWHERE)
    with http_service() as server, http_service(elsewhere.port) as service:
        respond_with(server, 401, challenge_with(f"http://{NAME}:{service.port}/"))
        failure_at(f"{server.url}/mcp", tmp_path)
        assert [x.path for x in service.got] == ["/"]
    resolve(monkeypatch, NAME, "127.0.0.1", ELSEWHERE)
    with http_service() as server:
        respond_with(server, 401, challenge_with(f"http://{NAME}:{elsewhere.port}/secret"))
        failure_at(f"http://{NAME}:{server.port}/mcp", tmp_path)
        assert server.got


def test_a_server_behind_a_proxy_cannot_lead_to_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Its own place is unknown, so it is treated like a server on the internet."""
    with http_service() as proxy, http_service() as here:
        use_proxy(monkeypatch, proxy.url)
        for host in ("127.0.0.1", "localhost"):
            respond_with(proxy, 401, challenge_with(f"http://{host}:{here.port}/secret"))
            error = failure_at("http://mcp.example/mcp", tmp_path)
            assert "which is on this machine; the server is not." in error
    assert here.got == []
    assert proxy.got


def test_an_issuer_in_the_settings_may_be_anywhere(tmp_path: Path):
    """A person has written it there."""
    with http_service() as server, http_service(shared_port(), ELSEWHERE) as service:
        respond_with(server, 401, challenge_with(f"{service.url}/about"))
        failure_at(f"{server.url}/mcp", tmp_path, auth={"issuer": service.url})
        assert service.got


def test_a_document_without_an_end_is_read_up_to_a_limit(tmp_path: Path):
    """The same holds for compressed documents and for the refusal itself."""
    endless = [b" " * 65536] * (_ENDLESS_BYTES // 65536)
    packed = [gzip.compress(bytes(16 * 1024 * 1024))]
    for status, body, encoding in ((404, endless, "identity"), (200, packed, "gzip")):
        with http_service() as server, http_service() as service:
            document = respond_with(service, status, {"content-encoding": encoding}, body)
            refusal = respond_with(server, 401, challenge_with(f"{service.url}/"), endless)
            error = failure_at(f"{server.url}/mcp", tmp_path)
        assert "sent more than 1024 KiB at once" in error
        assert sum(document) < _ENDLESS_BYTES / 2
        assert sum(refusal) < _ENDLESS_BYTES / 2
