"""Hostile servers say where one signs in: to places that are not theirs, and without an end.

The server is on 127.0.0.1; what listens at 127.0.0.2 is none of its business, and counts.
"""

from __future__ import annotations

import gzip
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.authorization_server import (
    browse,
    failure_of,
    go_there,
    protected_server,
)
from tests.support.http_service import HttpService, Reply, http_service, resolve, shared_port
from xai_mcp_agent import Answer, Bridge, Question

NAME = "sign-in.example"
ELSEWHERE = "127.0.0.2"
FORMS = [ELSEWHERE, "2130706434", "[::ffff:127.0.0.2]", NAME]
_ENDLESS_BYTES = 64 * 1024 * 1024  # far above the limit, if everything is read


def answers(
    service: HttpService, status: int, headers: dict[str, str], body: Iterable[bytes] | None = None
) -> list[int]:
    """What everybody gets from a service from now on; the lengths of all pieces that went out."""
    sent = list[int]()

    def counted() -> Iterator[bytes]:
        for piece in body or ():
            yield piece
            sent.append(len(piece))

    pieces = None if body is None else counted
    service.replies["*"] = lambda _: Reply(status, headers=headers, pieces=pieces and pieces())
    return sent


@pytest.fixture
def elsewhere() -> Generator[HttpService]:
    """What nobody may be sent to."""
    with http_service(shared_port(), ELSEWHERE) as service:
        yield service
        assert service.got == []


def challenged_with(url: str) -> dict[str, str]:
    return {"www-authenticate": f'Bearer resource_metadata="{url}"'}


def failure_at(server: str, folder: Path, **more: Any) -> str:
    settings = {"mcpServers": {"it": {"url": server, **more}}}
    with Bridge(settings, sign_in=go_there, token_folder=folder) as bridge:
        error = failure_of(bridge)
        return f"{error.problem} {error.next_step}"


@pytest.mark.parametrize("form", FORMS)
def test_a_server_sends_nobody_to_where_it_is_not_itself(
    elsewhere: HttpService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
):
    resolve(monkeypatch, NAME, ELSEWHERE)
    with http_service() as server:
        answers(server, 401, challenged_with(f"http://{form}:{elsewhere.port}/secret"))
        error = failure_at(f"{server.url}/mcp", tmp_path)
    assert "which is on this machine, at 127.0.0.2; the server is not." in error
    assert "`issuer` under `auth` of 'it'" in error


@pytest.mark.parametrize(
    "endpoint", ["registration_endpoint", "authorization_endpoint", "token_endpoint"]
)
def test_its_service_sends_nobody_elsewhere_either(
    elsewhere: HttpService, tmp_path: Path, endpoint: str
):
    address = f"{elsewhere.url}/secret"
    opened: list[str] = []

    def answer(question: Question) -> Answer:
        if question.is_sign_in:
            opened.append(question.url)
            browse(question.url)
        return Answer.accepted()

    with protected_server(metadata={endpoint: address}) as protected:
        servers = {"it": protected.entry}
        with Bridge({"mcpServers": servers}, answer=answer, token_folder=tmp_path) as bridge:
            assert "the server is not." in failure_of(bridge).problem
    assert not any(ELSEWHERE in x for x in opened), "not with the person's browser either"


def test_a_redirect_leads_nowhere_else(elsewhere: HttpService, tmp_path: Path):
    with http_service() as server:
        away = {"location": f"{elsewhere.url}/"}
        answers(server, 401, away | challenged_with(f"{server.url}/moved"))
        failure_at(f"{server.url}/mcp", tmp_path)
        with http_service() as moved:
            answers(moved, 307, away)
            answers(server, 401, challenged_with(f"{moved.url}/"))
            failure_at(f"{server.url}/mcp", tmp_path)
            assert moved.got


def test_a_name_that_leads_elsewhere_at_the_second_look_up_is_not_followed_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, elsewhere: HttpService
):
    """Whoever owns a name may have it lead anywhere, also that of the server itself."""
    resolve(monkeypatch, NAME, "127.0.0.1", ELSEWHERE)
    with http_service() as server, http_service(elsewhere.port) as service:
        answers(server, 401, challenged_with(f"http://{NAME}:{service.port}/"))
        failure_at(f"{server.url}/mcp", tmp_path)
        assert [x.path for x in service.got] == ["/"]
    resolve(monkeypatch, NAME, "127.0.0.1", ELSEWHERE)
    with http_service() as server:
        answers(server, 401, challenged_with(f"http://{NAME}:{elsewhere.port}/secret"))
        failure_at(f"http://{NAME}:{server.port}/mcp", tmp_path)
        assert server.got


def test_a_server_that_is_reached_by_a_proxy_sends_nobody_to_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """As one on the internet: where it is itself says nothing about this machine."""
    with http_service() as proxy, http_service() as here:
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        for host in ("127.0.0.1", "localhost"):
            answers(proxy, 401, challenged_with(f"http://{host}:{here.port}/secret"))
            error = failure_at("http://mcp.example/mcp", tmp_path)
            assert "which is on this machine; the server is not." in error
    assert here.got == []
    assert proxy.got


def test_an_issuer_in_the_settings_may_be_anywhere(tmp_path: Path):
    """A person has said that it is right."""
    with http_service() as server, http_service(shared_port(), ELSEWHERE) as service:
        answers(server, 401, challenged_with(f"{service.url}/about"))
        failure_at(f"{server.url}/mcp", tmp_path, auth={"issuer": service.url})
        assert service.got


def test_no_more_of_a_document_is_read_than_a_service_ever_needs(tmp_path: Path):
    """Nor of what comes packed, nor of the refusal itself."""
    endless = [b" " * 65536] * (_ENDLESS_BYTES // 65536)
    packed = [gzip.compress(bytes(16 * 1024 * 1024))]
    for status, body, encoding in ((404, endless, "identity"), (200, packed, "gzip")):
        with http_service() as server, http_service() as service:
            document = answers(service, status, {"content-encoding": encoding}, body)
            refusal = answers(server, 401, challenged_with(f"{service.url}/"), endless)
            error = failure_at(f"{server.url}/mcp", tmp_path)
        assert "sent more than 1024 KiB at once" in error
        assert sum(document) < _ENDLESS_BYTES / 2
        assert sum(refusal) < _ENDLESS_BYTES / 2
