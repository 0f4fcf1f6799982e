"""A server that requires authorization: a person signs in, and everything works from then on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import anyio
import anyio.to_thread
import httpx2
import pytest

from tests.support.authorization_server import (
    Protected,
    bridge_to,
    browse,
    go_there,
    protected_server,
)
from tests.support.bridges import failure_of
from tests.support.fault_http import fault_http
from tests.support.http_faults import refuse
from tests.support.processes import free_port, listens, wait_until
from tests.support.watchdog import ends_within
from xai_mcp_agent import Answer, Bridge, Question, ServerError, SignInRequest, SourceFailed
from xai_mcp_agent.core.errors import CircuitOpen


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_sign_in_is_kept_for_the_next_bridge(protected: Protected, tmp_path: Path, mode: str):
    for sign_in in (go_there, None):
        with bridge_to(protected, tmp_path, sign_in=sign_in, mode=mode) as bridge:
            token = bridge.call_tool("it", "who").text[::-1].removeprefix("Bearer ")
        assert token in protected.service.tokens
        assert protected.service.requests == [
            "metadata", "register", "authorize", "authorization_code",
        ]  # fmt: skip


def test_without_a_person_the_error_names_the_command(protected: Protected, tmp_path: Path):
    with bridge_to(protected, tmp_path, sign_in=None) as bridge:
        failure = failure_of(bridge)
    assert "requires a sign-in" in failure.problem
    assert "xai-mcp-agent login it" in failure.next_step
    assert protected.service.requests == ["metadata"], "no client is registered without a person"


def test_after_a_sign_in_a_server_is_called_that_failed_too_often(
    protected: Protected, tmp_path: Path
):
    breaker = {"failures": 1, "seconds": 300}
    with bridge_to(protected, tmp_path, sign_in=None, breaker=breaker) as bridge:
        with pytest.raises(SourceFailed, match="requires a sign-in"):
            bridge.call_tool("it", "who")
        with pytest.raises(CircuitOpen):
            bridge.call_tool("it", "who")
        bridge.sign_in("it", go_there)
        assert bridge.call_tool("it", "who").text


def test_the_start_timeout_does_not_end_a_sign_in(
    protected: Protected, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A person needs longer than a server may take to start."""

    async def sign_in_slowly(request: SignInRequest) -> str:
        loop = asyncio.get_running_loop()
        real, later = loop.time, 60.0
        # A minute passes at once for the whole bridge: every limit that runs now expires.
        monkeypatch.setattr(loop, "time", lambda: real() + later)
        await anyio.wait_all_tasks_blocked()
        return await anyio.to_thread.run_sync(go_there, request)

    with bridge_to(protected, tmp_path, sign_in=sign_in_slowly, startTimeout=30) as bridge:
        assert bridge.call_tool("it", "who").text


def test_a_sign_in_has_its_own_limit(protected: Protected, tmp_path: Path):
    async def never(_request: SignInRequest) -> None:
        await anyio.sleep_forever()

    auth = {"signInTimeout": 0.2}
    with bridge_to(protected, tmp_path, sign_in=never, auth=auth) as bridge:
        assert failure_of(bridge).problem == "nobody signed in within 0.2 s."


def test_the_listener_for_the_browser_ignores_other_requests_and_closes(
    protected: Protected, tmp_path: Path
):
    """Any web page can have a browser open an address on this machine."""
    ports, pages, statuses = list[int](), list[str](), list[int]()

    def open_browser(request: SignInRequest) -> None:
        ports.append(urlsplit(request.redirect_uri).port or 0)
        for query in ("?code=theirs&state=guessed", "?error=access_denied", "", "?code=theirs"):
            statuses.append(httpx2.get(request.redirect_uri + query).status_code)
        pages.append(browse(request.url))

    with bridge_to(protected, tmp_path, sign_in=open_browser) as bridge:
        assert bridge.call_tool("it", "who").text
        assert not listens(ports[0])
    assert statuses == [404] * 4
    assert "You can close this window" in pages[0]


def test_the_listener_uses_the_address_in_the_settings(protected: Protected, tmp_path: Path):
    """RFC 8252 allows addresses on this machine."""
    address = f"http://localhost:{free_port()}/back"

    def open_browser(request: SignInRequest) -> None:
        assert request.redirect_uri == address
        browse(request.url)

    auth = {"redirectUri": address, "signInTimeout": 20}
    with bridge_to(protected, tmp_path, sign_in=open_browser, auth=auth) as bridge:
        assert bridge.call_tool("it", "who").text


def test_a_person_may_enter_the_code_alone(protected: Protected, tmp_path: Path):
    """Where the browser cannot reach us, a person copies the code."""

    def enter_code(request: SignInRequest) -> str:
        return parse_qs(urlsplit(go_there(request)).query)["code"][0]

    protected.service.metadata = {"authorization_response_iss_parameter_supported": False}
    with bridge_to(protected, tmp_path, sign_in=enter_code) as bridge:
        assert bridge.call_tool("it", "who").text


def _raise(_request: SignInRequest) -> str:
    raise RuntimeError("no browser here")


REFUSED: dict[str, tuple[dict[str, Any], Callable[[SignInRequest], str], str]] = {
    "denied": ({"denies": "access_denied"}, go_there, "access was denied when signing in (The"),
    "expired": ({"codes_are_expired": True}, go_there, "HTTP 400 invalid_grant (the code has exp"),
    "no registration": (
        {"registers": False},
        go_there,
        "does not register clients by itself (HTTP 403)",
    ),
    "wrong issuer": ({"redirect_issuer": "https://evil.example"}, go_there, "it is not safe"),
    "no issuer": ({"redirect_issuer": ""}, go_there, "it is not safe"),
    "service down": ({"is_down": True}, go_there, "gave no token: HTTP 503"),
    "another state": ({}, lambda _: "http://127.0.0.1/callback?code=x&state=y", "not safe"),
    "no code": ({}, lambda _: "http://127.0.0.1/callback", "not an address with a code"),
    "a program that fails": ({}, _raise, "RuntimeError: no browser here"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_failed_sign_in_is_explained_and_not_repeated(
    protected: Protected, tmp_path: Path, case: str
):
    options, sign_in, words = REFUSED[case]
    vars(protected.service).update(options)
    requests: list[SignInRequest] = []

    def once(request: SignInRequest) -> str:
        requests.append(request)
        return sign_in(request)

    with bridge_to(protected, tmp_path, sign_in=once) as bridge:
        error = failure_of(bridge)
    assert words in error.problem
    assert error.next_step
    assert len(requests) <= 1, "one start asks once"


@pytest.mark.anyio
async def test_two_sign_ins_at_once_take_turns(protected: Protected, tmp_path: Path):
    """Otherwise the second would close the server during the first."""
    with bridge_to(protected, tmp_path) as bridge:
        tools: list[int] = []

        async def sign_in() -> None:
            tools.append(len(await bridge.aio.sign_in("it")))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(sign_in)
            tasks.start_soon(sign_in)
        assert tools[0] == tools[1] > 0
        assert protected.service.count("authorize") == 2


def test_after_a_failed_sign_in_the_next_use_asks_again(protected: Protected, tmp_path: Path):
    service = protected.service
    service.denies = "access_denied"
    with bridge_to(protected, tmp_path) as bridge:
        failure_of(bridge)
        service.denies = ""
        assert bridge.call_tool("it", "who").text
        assert service.count("register") == 1, "the registration is kept"
        # Services compare the whole address: with its port.
        service.revoke_tokens()
        assert bridge.call_tool("it", "who").text
    assert (service.count("register"), service.count("authorize")) == (1, 3)


def test_a_server_that_refuses_the_new_token_causes_one_sign_in(
    protected: Protected, tmp_path: Path
):
    protected.refuses_all = True
    with bridge_to(protected, tmp_path) as bridge:
        assert "refuses the token that was just issued for it" in failure_of(bridge).problem
    assert protected.service.count("authorize") == 1


def test_closing_the_bridge_ends_a_waiting_sign_in(protected: Protected, tmp_path: Path):
    """Ctrl-C ends the block in the same way."""
    requests: list[SignInRequest] = []

    async def never(request: SignInRequest) -> None:
        requests.append(request)
        await anyio.sleep_forever()

    with ends_within(40), bridge_to(protected, tmp_path, sign_in=never) as bridge:
        bridge.connect("it")
        wait_until(lambda: bool(requests), "a person is asked to sign in")
    assert not listens(urlsplit(requests[0].redirect_uri).port or 0)


def test_there_is_no_sign_in_if_the_settings_forbid_it(protected: Protected, tmp_path: Path):
    entries: list[dict[str, Any]] = [{"headers": {"Authorization": "Bearer x"}}, {"auth": False}]
    for entry in entries:
        with bridge_to(protected, tmp_path, **entry) as bridge:
            assert "`Authorization` header" in failure_of(bridge).next_step
    assert protected.service.requests == []


def test_a_server_that_needs_a_key_and_offers_no_sign_in_is_reported(tmp_path: Path):
    refusal = refuse(401, "no key", **{"www-authenticate": 'Bearer realm="api"'})
    with fault_http() as peer:
        peer.faults["*"] = refusal
        servers = {"it": peer.entry()}
        with Bridge({"mcpServers": servers}, token_folder=tmp_path) as bridge:
            error = failure_of(bridge)
    assert "offers no sign-in" in error.problem
    assert "`Authorization` header" in error.next_step


def test_a_call_that_needs_more_scopes_causes_a_sign_in_for_them(
    protected: Protected, tmp_path: Path
):
    protected.scope_for["admin"] = "admin"
    with bridge_to(protected, tmp_path) as bridge:
        bridge.list_tools("it")
        assert bridge.call_tool("it", "admin").text == "done"
        assert bridge.call_tool("it", "who").text
    assert protected.service.requested_scopes == ["tools", "tools admin"]


def test_scopes_that_are_refused_are_requested_once(protected: Protected, tmp_path: Path):
    protected.scope_for["admin"] = "admin"
    protected.service.grants = frozenset({"tools"})
    with bridge_to(protected, tmp_path) as bridge:
        for _ in range(2):
            with pytest.raises(ServerError, match="rights"):
                bridge.call_tool("it", "admin")
        assert bridge.call_tool("it", "who").text, "other tools still work"
    assert protected.service.count("authorize") == 2


def test_a_client_in_the_settings_sends_its_secret_as_the_service_requires(tmp_path: Path):
    methods = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
    with protected_server(metadata=methods) as protected:
        service = protected.service
        service.add_client("by-hand", "a secret of length")
        auth = {"clientId": "by-hand", "clientSecret": "a secret of length", "scopes": "tools x"}
        with bridge_to(protected, tmp_path, auth=auth) as bridge:
            assert bridge.call_tool("it", "who").text
            service.end_access_tokens()
            assert bridge.call_tool("it", "who").text
        assert service.requested_scopes == ["tools x"]
        counts = [service.count(x) for x in ("register", "authorize", "refresh_token")]
        assert counts == [0, 1, 1]
        assert "a secret of length" not in next(tmp_path.glob("*.json")).read_text()


def test_a_run_with_a_person_asks_them_to_sign_in(protected: Protected, tmp_path: Path):
    """The host of the run gets the page as a question."""
    questions: list[Question] = []

    def answer(question: Question) -> Answer:
        questions.append(question)
        if question.is_sign_in:
            browse(question.url)
        else:
            assert "sign in at 127.0.0.1, where this program is registered" in question.message
            assert protected.service.requests == ["metadata"]
        return Answer.accepted()

    with Bridge(
        {"mcpServers": {"it": protected.entry}}, answer=answer, token_folder=tmp_path
    ) as bridge:
        assert bridge.call_tool("it", "who").text
    assert [(x.server, x.is_sign_in) for x in questions] == [("it", False), ("it", True)]


def test_no_client_is_registered_if_the_person_declines(protected: Protected, tmp_path: Path):
    servers = {"it": protected.entry}
    for answer, words in ((Answer.declined("not now"), " (not now)"), (Answer.cancelled(""), "")):
        with Bridge(
            {"mcpServers": servers}, answer=lambda _, a=answer: a, token_folder=tmp_path
        ) as bridge:
            assert f"the page to sign in was not opened{words}" in failure_of(bridge).problem
    assert set(protected.service.requests) == {"metadata"}
