"""Calls of a real service on loopback: answers, limits, redirects, tokens, jobs."""

from __future__ import annotations

import base64
import gzip
import re
import time
import zlib
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, quote, quote_plus

import anyio
import anyio.to_thread
import pytest

from tests.support.http_service import HttpService, Received, Reply, as_json, http_service, redirect
from tests.support.processes import free_port
from xai_mcp_agent.core.errors import SourceFailed, ToolTimeout
from xai_mcp_agent.core.results import AudioPart, ImagePart, ResourcePart, ToolResult, bytes_of
from xai_mcp_agent.secrets.masking import mask_result
from xai_mcp_agent.secrets.secrets import Secret, Secrets
from xai_mcp_agent.settings.openapi import (
    AsyncSettings,
    CredentialSettings,
    OpenApiSettings,
    OperationSettings,
)
from xai_mcp_agent.sources.openapi.jobs import ServiceCalls
from xai_mcp_agent.sources.openapi.plan import Body, RequestPlan, SecurityNeed

pytestmark = pytest.mark.anyio
WAIT_SECONDS = 10
JSON = {"content-type": "application/json"}
KEY = "s3cret-key"
IN_HEADER = SecurityNeed("key", "apiKey", "header", "X-Key")


@asynccontextmanager
async def calls_of(
    url: str, *, credentials: Any = None, max_bytes: int = 1024 * 1024, **more: Any
) -> AsyncGenerator[ServiceCalls]:
    secrets = secrets_of(credentials)
    settings = OpenApiSettings(
        name="things", spec="api.json", base_url=url, auth=credentials or {}, secrets=secrets,
        max_answer_bytes=max_bytes, **more,
    )  # fmt: skip
    calls = ServiceCalls(settings, secrets.redact)
    try:
        with anyio.fail_after(WAIT_SECONDS):
            yield calls
    finally:
        await calls.close()


def secrets_of(credentials: Any) -> Secrets:
    return Secrets(x for one in (credentials or {}).values() for x in one.secret_texts())


def plan(
    method: str = "GET", path: str = "/things", *needs: SecurityNeed, **more: Any
) -> RequestPlan:
    return RequestPlan(method, path, "", security=(needs,) if needs else (), **more)


async def call_operation(
    service: HttpService, request: RequestPlan | None = None, **more: Any
) -> ToolResult:
    """Return the result of a call, masked like every result in the engine."""
    async with calls_of(service.url, **more) as calls:
        result = await calls.call(request or plan(), {})
        return await mask_result(result, secrets_of(more.get("credentials")).redact)


def compress(data: Iterator[bytes]) -> Iterator[bytes]:
    packer = zlib.compressobj(9, wbits=31)
    for piece in data:
        yield packer.compress(piece)
    yield packer.flush()


# Answers.

TEXT = "text/plain; charset="
WORDS = b"a-" + b"zzzzb9" * 150_000  # punycode would take a minute for these


async def test_an_answer_is_text_and_also_a_value_if_it_is_json(service: HttpService):
    rows = (
        (as_json({"a": [1, "e"]}), '{"a": [1, "e"]}', {"a": [1, "e"]}),
        (Reply(200, b'\xef\xbb\xbf{"a": 1}', JSON), '{"a": 1}', {"a": 1}),
        (Reply(200, gzip.compress(b"[1]"), {**JSON, "content-encoding": "gzip"}), "[1]", [1]),
        (Reply(200, b"{oops", JSON), "{oops", None),
        (Reply(200, b"\xe9", {"content-type": f"{TEXT}latin-1"}), "\u00e9", None),
        (Reply(200, WORDS, {"content-type": f"{TEXT}punycode"}), WORDS.decode(), None),
        (Reply(200, b"x", {"content-type": f"{TEXT}no-such"}), "x", None),
        (Reply(204), "Done: HTTP 204 No Content, without content.", None),
    )
    for reply, text, structured in rows:
        service.replies["/things"] = reply
        result = await call_operation(service)
        assert (result.text, result.structured, result.is_error) == (text, structured, False)
        assert bool(result.notes) == (text == "{oops")


async def test_binary_answers_stay_bytes(service: HttpService):
    kinds = {"image/png": ImagePart, "audio/wav": AudioPart, "application/pdf": ResourcePart}
    for kind, part_type in kinds.items():
        service.replies["/things"] = Reply(200, b"\0\xff", {"content-type": kind})
        (part,) = (await call_operation(service)).parts
        assert isinstance(part, part_type)
        assert bytes_of(part) == b"\0\xff"


async def test_a_refusal_is_an_error_with_the_shortened_text_of_the_service(service: HttpService):
    kind = "application/problem+json"
    service.replies["/things"] = as_json({"left": 0}, 409, content_type=kind, retry_after="5")
    result = await call_operation(service)
    assert result.is_error
    assert result.text.startswith('HTTP 409 Conflict: {"left": 0}')
    assert "Retry-After 5" in result.text
    service.replies["/things"] = Reply(500, b"x" * 1_000_000)
    assert len((await call_operation(service)).text) < 5_000


async def test_events_are_read_as_long_as_there_is_time(service: HttpService):
    def endless() -> Iterator[bytes]:
        yield b"data: one\n\nid: 2\ndata: two\n\n"
        for _ in range(200):
            time.sleep(0.05)
            yield b": still here\n\n"

    kind = {"content-type": "text/event-stream"}
    service.replies["/things"] = lambda _: Reply(200, b"", kind, endless())
    async with calls_of(service.url, call_timeout_seconds=0.3) as calls:
        result = await calls.call(plan(), {})
    assert result.text == "one\ntwo"
    assert result.notes == ("the response was cut at the limit",)


# Limits and trouble.


@pytest.mark.parametrize("packing", ["", "gzip"])
async def test_an_answer_beyond_the_limit_is_not_read_to_its_end(
    service: HttpService, packing: str
):
    """A few compressed bytes may become very many."""

    def reply(_: Received) -> Reply:
        zeros = iter([b"0" * 1024 * 1024] * 200)
        kind = {"content-type": "text/plain"} | ({"content-encoding": packing} if packing else {})
        return Reply(200, b"", kind, compress(zeros) if packing else zeros)

    service.replies["/things"] = reply
    result = await call_operation(service)
    assert result.is_error
    assert "larger than 1,048,576 bytes" in result.text
    assert "maxResponseBytes" in result.text


# Credentials and redirects.

BY_KEY = {"key": CredentialSettings(api_key=Secret(KEY))}


async def test_a_secret_is_masked_wherever_a_service_puts_it(service: HttpService):
    """In the status line, in headers and in the address of a redirect."""
    needs = plan("GET", "/things", IN_HEADER)
    headers = {"retry-after": KEY, "content-type": f"application/{KEY}"}
    service.replies["/things"] = Reply(400, b"x", headers, reason=f"Not {KEY}")
    refused = await call_operation(service, needs, credentials=BY_KEY)
    assert refused.text.startswith("HTTP 400 Not ***: (application/***, 1 bytes)")
    service.replies["/things"] = redirect(f"/of/{KEY}")
    service.replies[f"/of/{KEY}"] = Reply(200, b"\0", {"content-type": f"a/{KEY}"})
    assert KEY not in repr(await call_operation(service, needs, credentials=BY_KEY))
    service.replies["/things"] = redirect(f"http://{KEY}.localhost:{free_port()}/")
    with pytest.raises(SourceFailed, match=r"\*\*\*\.localhost") as caught:
        await call_operation(service, needs, credentials=BY_KEY)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("status", [302, 308])
async def test_a_redirect_within_the_service_keeps_credentials(service: HttpService, status: int):
    """The library drops cookies that its own store did not add. Those of an answer are not kept."""
    service.replies["/things"] = redirect("/new?x=1", status, **{"set-cookie": "a=b"})
    service.replies["/new"] = as_json("here")
    needs = plan("GET", "/things", IN_HEADER, SecurityNeed("key", "apiKey", "cookie", "sid"))
    assert (await call_operation(service, needs, credentials=BY_KEY)).structured == "here"
    assert (service.last.query, service.last.headers["x-key"]) == ("x=1", KEY)
    assert service.last.headers["cookie"] == f"sid={KEY}"


async def test_a_redirect_against_the_rules_is_not_followed(service: HttpService):
    rows = (
        ("file:///etc/passwd", "not a web address"),
        ("http://127.0.0.1:99999/x", "not a web address"),
        ("http://[::1", "no valid address"),
        ("http://u:p@127.0.0.1/x", "credentials of its own"),
        ("http://10.0.0.1/x", "in a private network"),
    )
    for location, words in rows:
        service.replies["/things"] = redirect(location)
        with pytest.raises(SourceFailed, match=words) as caught:
            await call_operation(service)
        assert "u:p" not in str(caught.value)


async def test_no_credentials_go_to_another_origin(service: HttpService):
    needs = (IN_HEADER, SecurityNeed("c", "apiKey", "cookie", "sid"))
    credentials = {**BY_KEY, "c": CredentialSettings(api_key=Secret("cookie-s3cret"))}
    with http_service() as other:
        other.replies["/there"] = as_json("elsewhere")
        service.replies["/things"] = redirect(f"{other.url}/there")
        result = await call_operation(
            service, plan("GET", "/things", *needs), credentials=credentials,
            headers={"X-Tenant": "mine"},
        )  # fmt: skip
        assert result.structured == "elsewhere"
        assert {*other.last.headers} == {"accept", "accept-encoding", "host", "user-agent"}
    assert service.last.headers["x-tenant"] == "mine"


async def test_a_redirect_takes_no_body_to_another_server_and_loses_none(service: HttpService):
    there = plan("POST", "/things", body=Body("application/json", is_required=True))
    with http_service() as other:
        for status, words in ((307, "another server"), (302, "loses the request")):
            service.replies["/things"] = redirect(f"{other.url}/x", status)
            with pytest.raises(SourceFailed, match=words):
                await call_operation(service, there)
        assert other.got == []
    service.replies["/things"] = redirect("/new", 307)
    service.replies["/new"] = lambda got: as_json([got.method, got.body.decode()])
    assert (await call_operation(service, there)).structured == ["POST", "{}"]
    service.replies["/things"] = redirect("/new", 303)
    assert (await call_operation(service, there)).structured == ["GET", ""]


# Tokens.


def client_of(service: HttpService, **more: Any) -> dict[str, CredentialSettings]:
    usual = {"client_id": "me", "client_secret": Secret("client-s3cret")}
    return {"o": CredentialSettings(**usual, **{"token_url": f"{service.url}/token", **more})}


OAUTH = SecurityNeed("o", "oauth2", scopes=("read", "write"))


def serve_tokens(service: HttpService, **more: Any) -> list[Received]:
    requests: list[Received] = []

    def give(got: Received) -> Reply:
        requests.append(got)
        return as_json({"access_token": f"token-{len(requests)}", "token_type": "Bearer", **more})

    service.replies["/token"] = give
    return requests


async def test_one_token_serves_until_it_expires(
    service: HttpService, monkeypatch: pytest.MonkeyPatch
):
    """A token that is valid for a minute is used for half of it."""
    requests, now = serve_tokens(service, expires_in=60), anyio.current_time
    service.replies["/things"] = lambda got: as_json(got.headers.get("authorization"))
    async with calls_of(service.url, credentials=client_of(service)) as calls:
        results: list[Any] = []

        async def call() -> None:
            results.append((await calls.call(plan("GET", "/things", OAUTH), {})).structured)

        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(call)
        for passed in (15, 31):
            monkeypatch.setattr(anyio, "current_time", lambda passed=passed: now() + passed)
            await call()
    assert results == [*["Bearer token-1"] * 6, "Bearer token-2"]
    assert parse_qs(requests[0].body.decode()) == {
        "grant_type": ["client_credentials"], "scope": ["read write"],
    }  # fmt: skip
    basic = base64.b64encode(b"me:client-s3cret").decode()
    assert requests[0].headers["authorization"] == f"Basic {basic}"


async def test_a_token_that_is_refused_is_replaced_once(service: HttpService):
    requests = serve_tokens(service, expires_in=3600)
    good = {"token-2"}
    service.replies["/things"] = lambda got: (
        as_json("in") if got.headers["authorization"][7:] in good else Reply(401, b"expired")
    )
    async with calls_of(service.url, credentials=client_of(service)) as calls:
        assert (await calls.call(plan("GET", "/things", OAUTH), {})).structured == "in"
        good.clear()
        result = await calls.call(plan("GET", "/things", OAUTH), {})
    assert result.is_error
    assert "HTTP 401" in result.text
    assert len(requests) == 3


async def test_a_client_refused_with_basic_authentication_posts_its_secret(service: HttpService):
    service.replies["/token"] = lambda got: (
        as_json({"access_token": "t-posted"}) if b"client_secret=" in got.body
        else as_json({"error": "invalid_client"}, 401)
    )  # fmt: skip
    service.replies["/things"] = lambda got: as_json(got.headers["authorization"])
    credentials = client_of(service)
    result = await call_operation(service, plan("GET", "/things", OAUTH), credentials=credentials)
    assert result.structured == "Bearer t-posted"


async def test_a_refused_token_request_is_explained(service: HttpService):
    rows = (
        (as_json({"error": "invalid_scope", "x": "client-s3cret"}, 400), "HTTP 400.*invalid_scope"),
        (Reply(307, b"", {"location": "/things"}), "redirects.*HTTP 307.*(?s:.*)`tokenUrl`"),
        (as_json({"access_token": "t", "token_type": "mac"}), "without a bearer token"),
        (Reply(200, b"<html>"), "without a bearer token"),
        (as_json({"access_token": "t\r\nX: 1"}), "without a bearer token"),
    )
    for reply, words in rows:
        service.replies["/token"] = reply
        with pytest.raises(SourceFailed, match=words) as caught:
            await call_operation(
                service, plan("GET", "/things", OAUTH), credentials=client_of(service)
            )
        assert "client-s3cret" not in str(caught.value)
    assert "/things" not in [x.path for x in service.got]


async def test_a_client_secret_in_a_refusal_is_masked(service: HttpService):
    """RFC 6749, 2.3.1: it is encoded for URLs before base64."""
    secret = "s3cret/with+odd chars & \u00e9"
    service.replies["/token"] = lambda got: as_json([got.headers, got.body.decode()], 500)
    client = CredentialSettings(
        client_id="me", client_secret=Secret(secret), token_url=f"{service.url}/token"
    )
    for how in ("client_secret_basic", "client_secret_post"):
        credentials = {"o": replace(client, client_authentication=how)}
        with pytest.raises(SourceFailed, match="HTTP 500") as caught:
            await call_operation(service, plan("GET", "/things", OAUTH), credentials=credentials)
        in_base64 = service.last.headers.get("authorization", "none-at-all-is-sent")[12:-4]
        for form in (secret, quote(secret, safe=""), quote_plus(secret), in_base64):
            assert form not in str(caught.value)


async def test_a_clients_secret_is_not_sent_in_the_clear(service: HttpService):
    credentials = client_of(service, token_url="http://192.0.2.1/token")
    with pytest.raises(SourceFailed, match="does not use https"):
        await call_operation(service, plan("GET", "/things", OAUTH), credentials=credentials)


# Jobs.

START = plan("POST", "/jobs", IN_HEADER)


class Jobs:
    """A service with a job; it answers with `states`, one after the other."""

    def __init__(self, service: HttpService, *states: Reply, start: Reply | None = None) -> None:
        self.states = list(states)
        self.cancelled: list[Received] = []
        started = as_json({"id": "j 1", "status": "queued"}, 202, location="/jobs/j%201")
        service.replies["/jobs"] = start or started
        service.replies["/jobs/j%201"] = self._state

    def _state(self, got: Received) -> Reply:
        if got.method == "DELETE":
            self.cancelled.append(got)
            return Reply(204)
        return self.states.pop(0) if len(self.states) > 1 else self.states[0]


def settings(**more: Any) -> OperationSettings:
    fields = {"interval_seconds": 0.01, **more}
    return OperationSettings(job=AsyncSettings(**fields))


async def run_job(
    service: HttpService, operation: OperationSettings | None = None, **more: Any
) -> ToolResult:
    async with calls_of(service.url, credentials=BY_KEY) as calls:
        result = await calls.call(START, {}, operation, **more)
        return await mask_result(result, secrets_of(BY_KEY).redact)


RUNNING = as_json({"status": "running", "progress": 0.5})
SUCCEEDED = as_json({"status": "succeeded", "result": {"rows": 3}, "href": "/results/9"})


async def test_a_job_is_recognised_and_followed_to_its_result(service: HttpService):
    steps: list[tuple[float, float | None, str]] = []

    async def on_progress(done: float, total: float | None, words: str) -> None:
        steps.append((done, total, words))

    start = as_json({}, 202, location="/jobs/j%201", retry_after="0")
    Jobs(
        service,
        as_json({"status": "running", "progress": 0.5}, retry_after="0"),
        SUCCEEDED,
        start=start,
    )
    result = await run_job(service, on_progress=on_progress)
    assert result.structured["result"] == {"rows": 3}
    assert steps == [(0.5, 1.0, "running"), (0.0, None, "succeeded")]
    assert {x.headers["x-key"] for x in service.got} == {KEY}


async def test_settings_describe_any_kind_of_job(service: HttpService):
    start = as_json({"data": [{"ref": "j 1"}]})
    Jobs(service, as_json({"s": {"now": "BUSY"}}), as_json({"s": {"now": "READY"}}), start=start)
    service.replies["/results/j%201"] = as_json("the result")
    result = await run_job(
        service,
        settings(
            job_pointer="/data/0/ref", poll_url="/jobs/{job}", status_pointer="/s/now",
            success=("ready",), running=("busy",), result_url="/results/{job}",
        ),
    )  # fmt: skip
    assert result.structured == "the result"


async def test_a_job_that_fails_is_an_error(service: HttpService):
    rows: tuple[tuple[Reply, dict[str, Any], str], ...] = (
        (as_json({"status": "Failed", "error": "no disk"}), {}, "(?s)ended as Failed.*no disk"),
        (as_json({"status": "odd"}), {"running": ("busy",)}, "unexpected status, 'odd'"),
        (as_json({}), {"status_pointer": "/status"}, "has no status"),
        (Reply(410, b"gone"), {}, "HTTP 410"),
        (Reply(503, b"down"), {}, "HTTP 503"),
    )
    for state, more, words in rows:
        Jobs(service, state)
        result = await run_job(service, settings(**more))
        assert result.is_error
        assert re.search(words, result.text)


async def test_a_job_at_another_host_is_not_polled(service: HttpService):
    with http_service() as other:
        start = as_json({}, 202, location=f"{other.url}/j")
        other.replies["/j"] = SUCCEEDED
        Jobs(service, SUCCEEDED, start=start)
        with pytest.raises(SourceFailed, match="another host") as caught:
            await run_job(service)
        assert "`hosts`" in caught.value.next_step
        assert other.got == []
        result = await run_job(service, settings(hosts=(other.url.removeprefix("http://"),)))
        assert not result.is_error
        assert KEY not in str(other.got)


async def test_the_settings_may_name_the_result_or_deny_the_job(service: HttpService):
    Jobs(service, Reply(503), RUNNING, SUCCEEDED)
    result = await run_job(service, settings(result_pointer="/result"))
    assert result.structured == {"rows": 3}
    service.replies["/results/9"] = as_json("further")
    further = settings(result_pointer="/href", result_url="{result}")
    assert (await run_job(service, further)).structured == "further"
    result = await run_job(service, OperationSettings(mode="sync_http"))
    assert result.structured["status"] == "queued"


async def test_a_job_is_cancelled_with_its_call_if_an_operator_says_how(service: HttpService):
    jobs = Jobs(service, RUNNING)
    with pytest.raises(ToolTimeout):
        await run_job(service, settings(), timeout_seconds=0.1)
    assert jobs.cancelled == []
    with anyio.move_on_after(0.2):
        await run_job(service, settings(cancel_url="{url}"))
    assert [(x.method, x.headers["x-key"]) for x in jobs.cancelled] == [("DELETE", KEY)]
