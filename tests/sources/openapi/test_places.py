"""Where a document from elsewhere may send calls, and that they go to the address that was judged.

Documents and services are at two addresses of this machine, which count as two places.
"""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tests.sources.openapi.test_source import at, offer, using
from tests.support.http_service import (
    HttpService,
    as_json,
    http_service,
    redirect,
    resolve,
    shared_port,
    use_proxy,
)  # fmt: skip
from xai_mcp_agent import BadSetting, SourceFailed

HERE, ELSEWHERE = "127.0.0.1", "127.0.0.2"
NAME = "api.example.org"


@pytest.fixture
def docs() -> Generator[HttpService]:
    """Serve the document and the operation `one`."""
    with http_service(shared_port(), ELSEWHERE) as running:
        running.replies["/one"] = as_json("of the document's host")
        yield running


@pytest.fixture
def here(docs: HttpService) -> Generator[HttpService]:
    """Serve operations on this machine; remote documents must not lead calls to it."""
    with http_service(docs.port) as running:
        running.replies["*"] = as_json("of this machine")
        yield running


def test_a_document_from_elsewhere_has_no_server_of_this_machine_called(
    docs: HttpService, here: HttpService, monkeypatch: pytest.MonkeyPatch
):
    resolve(monkeypatch, NAME, HERE)
    for host in (HERE, "localhost", "[::1]", "0.0.0.0", "10.0.0.1", "2130706433", NAME):
        server = f"http://{host}:{docs.port}"
        offer(docs, "one", server=server)
        with using(at(docs)) as bridge, pytest.raises(SourceFailed, match="document is not") as why:
            bridge.call_tool("it", "one")
        assert f'add "baseUrl" with the address of the service, such as {server}' in str(why.value)
    assert here.got == []
    with using(at(docs), baseUrl=here.url) as bridge:  # a person says so
        assert bridge.call_tool("it", "one").structured == "of this machine"


def test_a_call_goes_to_the_address_that_was_judged(
    docs: HttpService, here: HttpService, monkeypatch: pytest.MonkeyPatch
):
    """A name that resolves to another address the next time does not redirect the call."""
    resolve(monkeypatch, NAME, ELSEWHERE, HERE)
    offer(docs, "one", server=f"http://{NAME}:{docs.port}")
    with using(at(docs)) as bridge:
        assert bridge.call_tool("it", "one").structured == "of the document's host"
    assert docs.last.headers["host"] == f"{NAME}:{docs.port}"
    assert here.got == []


def test_the_host_of_a_document_does_not_move_into_another_network(
    docs: HttpService, here: HttpService, monkeypatch: pytest.MonkeyPatch
):
    resolve(monkeypatch, NAME, ELSEWHERE, HERE)
    offer(docs, "one", headers={"connection": "close"})
    with (
        using(f"http://{NAME}:{docs.port}/openapi.json") as bridge,
        pytest.raises(SourceFailed, match="document is not"),
    ):
        bridge.call_tool("it", "one")
    assert here.got == []


def test_a_redirect_goes_to_the_address_that_was_judged(
    docs: HttpService, here: HttpService, monkeypatch: pytest.MonkeyPatch
):
    resolve(monkeypatch, NAME, ELSEWHERE, HERE)
    docs.replies["/one"] = redirect(f"http://{NAME}:{docs.port}/two")
    docs.replies["/two"] = as_json(2)
    offer(docs, "one")
    with using(at(docs)) as bridge:
        assert bridge.call_tool("it", "one").structured == 2
    assert here.got == []


def test_behind_a_proxy_only_addresses_are_judged(
    docs: HttpService, monkeypatch: pytest.MonkeyPatch
):
    use_proxy(monkeypatch, docs.url)
    spec, inside = f"http://{NAME}/openapi.json", "http://inside.example.org"
    docs.replies[f"{inside}/one"] = as_json("by the proxy")
    offer(docs, "one", server=inside)
    docs.replies[spec] = docs.replies["/openapi.json"]
    with using(spec) as bridge:
        assert bridge.call_tool("it", "one").structured == "by the proxy"
    offer(docs, "one", server="http://10.0.0.1/x")
    docs.replies[spec] = docs.replies["/openapi.json"]
    with using(spec) as bridge, pytest.raises(SourceFailed, match="document is not"):
        bridge.call_tool("it", "one")
    assert not [x for x in docs.got if "10.0.0.1" in x.path]


@pytest.mark.parametrize("server", ["ftp://files.example.org", "http://169.254.169.254/latest"])
def test_a_document_without_a_usable_server_says_what_to_add(docs: HttpService, server: str):
    offer(docs, "one", server=server)
    for auth in ({}, {"apiKey": "sesame-open"}):
        with using(at(docs), auth=auth) as bridge, pytest.raises(BadSetting) as error:
            bridge.call_tool("it", "one")
        assert str(error.value) == (
            "The document names no server that can be called. Write its address as `baseUrl`, "
            "such as https://api.example.com/v1."
        )
