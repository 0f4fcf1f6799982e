"""Addresses and keys on every wire: each goes where it belongs, and none is shown."""

from __future__ import annotations

import base64
import contextlib
import gc
import json
import ssl
import traceback
import weakref
from typing import Any

import pytest
import trustme

from tests.agent.models.wires import ASK, KEY, ScriptedWire, ask
from tests.support.fault_http import fault_http
from tests.support.http_service import use_proxy
from tests.support.model_endpoint import (
    drops_midway,
    fails,
    hangs,
    model_endpoint,
    raw_chunks,
    says,
)  # fmt: skip
from xai_mcp_agent import ModelAuthenticationError, ModelError, Secret
from xai_mcp_agent.agent.models.access import is_home
from xai_mcp_agent.agent.models.base import AskedAgain, ModelRequest, ModelSettings, ignore_text

pytestmark = pytest.mark.anyio

PASSWORD = "password-in-the-address"


A = "https://a.example.com/v1"
HOMES = [
    ("", "https://API.openai.com:443/v1/", True),
    ("", "https://eu.api.openai.com/v1", True),
    ("", "http://api.openai.com/v1", False),
    ("", "https://api.openai.com.example.com/v1", False),
    ("", "https://notapi.openai.com/v1", False),
    ("", "https://api.openai.com@example.com/v1", False),
    (A, "https://user:pw@a.example.com/v1/", True),
    (A, "http://a.example.com/v1", False),
    (A, "https://a.example.com:8443/v1", False),
    ("https://a.example.com/one/v1", "https://a.example.com/two/v1", False),
    (A, "https://api.openai.com/v1", False),
    ("https://eu.api.openai.com/v1", "https://api.openai.com/v1", True),
]


@pytest.mark.parametrize(("beside", "url", "is_for_it"), HOMES)
def test_the_address_that_the_environments_key_is_for(
    beside: str, url: str, is_for_it: bool, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OPENAI_BASE_URL", beside)
    assert is_home(url) is is_for_it


# Where it is, and who asks


async def test_the_key_of_the_environment_goes_to_the_address_beside_it(
    wire: ScriptedWire, monkeypatch: pytest.MonkeyPatch
):
    """The same holds if `base_url` is that address."""
    async with wire.model_of([says("ok")], api_key=None) as (subject, endpoint):
        monkeypatch.setenv("OPENAI_BASE_URL", f"{endpoint.base_url}/")
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("OPENAI_ORG_ID", "org-a")
        assert (await ask(subject)).text == "ok"
    assert endpoint.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert endpoint.requests[0].headers["openai-organization"] == "org-a"


@pytest.mark.parametrize("own", [None, Secret("sk-of-this-service")])
async def test_nothing_of_the_environment_is_sent_to_another_address(
    wire: ScriptedWire, own: Secret | None, monkeypatch: pytest.MonkeyPatch
):
    for name in ("API_KEY", "ADMIN_KEY", "ORG_ID", "PROJECT_ID", "WEBHOOK_SECRET"):
        monkeypatch.setenv(f"OPENAI_{name}", KEY)
    custom = f"X-Gateway: {KEY}\nAuthorization: Bearer {KEY}"
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", custom)
    monkeypatch.setenv("OPENAI_BASE_URL", "https://elsewhere.example.com/v1")
    async with wire.model_of([says("ok")], api_key=own) as (subject, endpoint):
        assert (await ask(subject)).text == "ok"
    (request,) = endpoint.requests
    assert KEY not in json.dumps([request.headers, request.body])
    key = own.reveal() if own else "unused"
    assert request.headers["authorization"] == f"Bearer {key}"


async def test_parameters_of_an_address_are_sent_as_its_query(wire: ScriptedWire):
    """Azure's preview features have one: `?api-version=preview`."""
    async with wire.model_of([says("ok")]) as (_, endpoint):
        subject = wire.model("m", base_url=f"{endpoint.base_url}?api-version=preview")
        assert (await ask(subject)).text == "ok"
        await subject.aclose()
    assert endpoint.requests[0].query == "api-version=preview"


async def test_no_proxy_is_asked_for_a_service_on_this_machine(
    wire: ScriptedWire, monkeypatch: pytest.MonkeyPatch
):
    """A company's proxy in the environment does not reach an Ollama here."""
    use_proxy(monkeypatch, "http://127.0.0.1:9")
    assert (await wire.reply(says("ok"))).text == "ok"


async def test_a_proxy_or_certificates_that_cannot_be_used_are_reported(
    wire: ScriptedWire, monkeypatch: pytest.MonkeyPatch
):
    async def refusal() -> str:
        with pytest.raises(ModelError) as caught:
            await ask(wire.model("m", base_url="https://models.example.com", api_key=Secret(KEY)))
        assert (caught.value.__cause__, caught.value.__context__) == (None, None)
        return str(caught.value)

    use_proxy(monkeypatch, f"gopher://ada:{PASSWORD}@127.0.0.1:9")
    proxy = await refusal()
    assert "Unknown scheme for proxy URL" in proxy
    assert "Check HTTPS_PROXY" in proxy
    assert PASSWORD not in proxy
    use_proxy(monkeypatch, f"http://ada:{PASSWORD}/9@127.0.0.1:9")  # its `/` should be `%2F`
    proxy = await refusal()
    assert "Check HTTPS_PROXY" in proxy
    assert PASSWORD not in proxy
    use_proxy(monkeypatch, "")
    monkeypatch.setenv("SSL_CERT_FILE", "/no/such/file.pem")
    assert "No such file" in await refusal()


async def test_a_certificate_that_is_not_trusted_is_reported_at_once(wire: ScriptedWire):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)
    repeats: list[AskedAgain] = []

    async def on_again(event: AskedAgain) -> None:
        repeats.append(event)

    with fault_http(tls=context) as service:
        subject = wire.model("m", base_url=service.url)
        with pytest.raises(ModelError, match="SSL_CERT_FILE can name a PEM file"):
            await subject.reply(ModelRequest(ASK), ignore_text, on_again)
    assert repeats == []


# No error shows a key

REVEALING: dict[str, Any] = {
    "quoted": [fails(401, {"message": f"Incorrect API key provided: {KEY}"})],
    "quoted in a stream": [raw_chunks([{"error": {"message": f"bad key {KEY}"}}])],
    "quoted in broken JSON": [raw_chunks([KEY])],
    "failing": [fails(503, {"message": KEY}, {"retry-after-ms": "1"})] * 3,
    "dropped": [drops_midway(KEY)] * 3,
    "silent": [hangs()],
}


@pytest.mark.parametrize("case", REVEALING)
async def test_no_error_chained_error_traceback_or_line_of_a_log_holds_a_key(
    wire: ScriptedWire, case: str, caplog: pytest.LogCaptureFixture
):
    """The errors of the client library hold the request, whose headers hold the key."""
    caplog.set_level("DEBUG")
    with model_endpoint(REVEALING[case]) as endpoint:
        url = endpoint.base_url.replace("://", f"://ada:{PASSWORD}@")
        settings = ModelSettings(timeout_seconds=0.2)
        subject = wire.model("small", base_url=url, api_key=Secret(KEY), settings=settings)
        with pytest.raises(ModelError) as caught:
            await ask(subject)
        await subject.aclose()
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)
    assert_no_secrets(f"{caught.value!r} {vars(caught.value)} {subject!r} {vars(subject)}")
    assert_no_secrets(traceback_with_values(caught.value))
    ours = [x.getMessage() for x in caplog.records if not x.name.startswith("tests")]
    assert_no_secrets("\n".join(ours))


async def test_an_error_is_freed_as_soon_as_its_catcher_ends(wire: ScriptedWire):
    """A traceback holds the run and its servers: they must not wait for the garbage collector."""

    class Run:
        pass

    async def fail(_: Run) -> None:
        with contextlib.suppress(ModelError):
            await ask(wire.model("m", base_url="http://127.0.0.1:9/v1"))

    gc.collect()
    gc.disable()
    try:
        run = Run()
        reference = weakref.ref(run)
        await fail(run)
        del run
        assert reference() is None
    finally:
        gc.enable()


async def test_a_missing_or_impossible_key_is_reported_before_anything_is_sent(
    wire: ScriptedWire, monkeypatch: pytest.MonkeyPatch
):
    async def refusal(**options: Any) -> str:
        with pytest.raises(ModelAuthenticationError) as caught:
            await ask(wire.model("gpt-5-mini", **options))
        assert (caught.value.__cause__, caught.value.__context__) == (None, None)
        assert "sk-clé" not in f"{caught.value} {traceback_with_values(caught.value)}"
        return str(caught.value)

    without = await refusal()
    for words in ("`api_key` of AgentModel", "OPENAI_API_KEY", "`offline` needs no key"):
        assert words in without
    assert "no key has" in await refusal(api_key=Secret("sk-clé"))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    elsewhere = await refusal(base_url="https://models.example.com/v1")
    where = "`api_key` of AgentModel (`--api-key` of a command)"
    assert "there is no API key for this address" in elsewhere
    assert f"Set {where}, such as ${{ACME_API_KEY}}." in elsewhere
    assert KEY not in elsewhere


async def test_an_address_that_is_invalid_is_refused(wire: ScriptedWire):
    for url in ("localhost:1234/v1", "nonsense", "http://127.0.0.1:99999/v1", "http://[::1/v1"):
        with pytest.raises(ModelError, match="no web address"):
            await ask(wire.model("m", base_url=url, api_key=Secret(KEY)))


def traceback_with_values(error: BaseException) -> str:
    """The traceback with the values of our variables, as tools for errors show it."""
    frames = traceback.TracebackException.from_exception(error, capture_locals=True).stack
    ours = [x for x in frames if "xai_mcp_agent/" in x.filename and "/tests/" not in x.filename]
    assert ours
    return "\n".join(f"{x.name}: {x.locals}" for x in ours)


def assert_no_secrets(text: str) -> None:
    basic = base64.b64encode(f"ada:{PASSWORD}".encode()).decode()
    assert [x for x in (KEY, PASSWORD, basic) if x in text] == []
