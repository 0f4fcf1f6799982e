"""URLs that cannot be reached: errors distinguish names, certificates, proxies and protocols."""

from __future__ import annotations

import ssl
import warnings
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import trustme

from tests.support.bridges import bridge_with, failure_of
from tests.support.fault_http import fault_http
from tests.support.http_faults import raw
from tests.support.http_service import use_proxy
from xai_mcp_agent import Bridge, SourceFailed


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    """An authority for certificates that is trusted only where it is configured."""
    return trustme.CA()


def tls_context(certificate: trustme.LeafCert) -> ssl.SSLContext:
    """Return the TLS context of a server with this certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    return context


def failure_at(url: str) -> SourceFailed:
    """Return the error for a server at this URL."""
    with bridge_with(it={"url": url}) as bridge:
        return failure_of(bridge)


@pytest.fixture
def trusting(authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have SSL_CERT_FILE name the authority, as the error advises."""
    file = tmp_path / "authority.pem"
    authority.cert_pem.write_to_path(str(file))
    monkeypatch.setenv("SSL_CERT_FILE", str(file))


@pytest.mark.usefixtures("trusting")
def test_a_certificate_from_ssl_cert_file_is_trusted(authority: trustme.CA):
    with (
        fault_http(era="modern", tls=tls_context(authority.issue_cert("127.0.0.1"))) as peer,
        bridge_with(it=peer.entry()) as bridge,
    ):
        assert bridge.call_tool("it", "echo", {"text": "safe"}).text == "safe"


def test_a_certificate_of_an_unknown_authority_is_not_trusted(
    authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    with fault_http(tls=tls_context(authority.issue_cert("127.0.0.1"))) as peer:
        error = failure_at(peer.url)
        assert peer.requests == []
    assert "CERTIFICATE_VERIFY_FAILED" in error.problem
    assert "SSL_CERT_FILE can name a PEM file that vouches for it" in error.next_step
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))
    error = failure_at("https://127.0.0.1:1/mcp")
    assert "the certificates that SSL_CERT_FILE names cannot be read" in error.problem
    assert "Correct SSL_CERT_FILE" in error.next_step


@pytest.mark.usefixtures("trusting")
def test_an_unusable_certificate_is_reported_with_the_reason(authority: trustme.CA):
    yesterday = datetime.now(UTC) - timedelta(days=1)
    too_old = tls_context(authority.issue_cert("127.0.0.1"))
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        too_old.maximum_version = ssl.TLSVersion.TLSv1_1
    too_old.set_ciphers("DEFAULT@SECLEVEL=0")
    for context, words in (
        (
            tls_context(authority.issue_cert("127.0.0.1", not_after=yesterday)),
            "renew its certificate",
        ),
        (tls_context(authority.issue_cert("elsewhere.invalid")), "write that name in `url`"),
        (too_old, "Its TLS is too old to be safe"),
    ):
        with fault_http(tls=context) as peer:
            assert words in failure_at(peer.url).next_step


def test_a_server_that_speaks_only_http_2_is_reported():
    with fault_http() as peer:
        peer.faults["*"] = raw(b"\0\0\x12\4\0\0\0\0\0\0\3\0\0\0\x64\0\4\0\1\0\0\0\2\0\5")
        error = failure_at(peer.url)
    assert "does not speak HTTP/1.1: check the port" in error.next_step


def test_a_server_on_this_machine_is_never_reached_through_a_proxy(monkeypatch: pytest.MonkeyPatch):
    """httpx2 would send even loopback to the proxy of the environment."""
    use_proxy(monkeypatch, "http://127.0.0.1:9")
    with fault_http(era="modern") as peer:
        local = peer.url.replace("127.0.0.1", "localhost")
        with bridge_with(it=peer.entry(), too={"url": local}) as bridge:
            assert bridge.call_tool("it", "echo", {"text": "near"}).text == "near"
            assert bridge.call_tool("too", "echo", {"text": "near"}).text == "near"


def test_an_unusable_proxy_is_named_without_its_password(monkeypatch: pytest.MonkeyPatch):
    for password in ("pass-word-1", "pass-word-1/?#@2"):
        use_proxy(monkeypatch, f"http://me:{password}@127.0.0.1:9")
        error = failure_at("https://example.invalid/mcp")
        assert "(via the proxy 127.0.0.1:9)" in error.problem
        assert "Check that the proxy runs" in error.next_step
        assert "pass-word-1" not in str(error)
    with fault_http() as peer:  # it knows no CONNECT
        proxy = peer.url.removesuffix("/mcp")
        use_proxy(monkeypatch, proxy)
        error = failure_at("https://example.invalid/mcp")
    assert "ProxyError: 501 Unsupported method" in error.problem
    assert f"(via the proxy {proxy.removeprefix('http://')})" in error.problem


def test_a_socks_proxy_or_an_invalid_one_is_refused_with_the_fix(monkeypatch: pytest.MonkeyPatch):
    """SOCKS is often in ALL_PROXY, beside proxies that are used."""
    service = {"openapiServices": {"it": {"spec": "http://example.invalid/spec"}}}
    port = "Invalid port: '9x' (via the proxy 127.0.0.1:9x)"
    for proxy, problem, fix in (
        ("http://me:pass-word-1@127.0.0.1:9x", port, "Correct HTTPS_PROXY"),
        (
            "socks://me:pass-word-1@127.0.0.1:9",
            "Unknown scheme for proxy URL",
            "Name an HTTP proxy",
        ),
    ):
        use_proxy(monkeypatch, proxy)
        with Bridge(service, store="memory") as bridge:
            errors = [failure_of(bridge), failure_at("http://example.invalid/mcp")]
        for error in errors:
            assert f"cannot be reached: {problem}" in error.problem
            assert error.next_step.startswith(fix)
            assert "pass-word-1" not in str(error)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert "ConnectError" in failure_at("http://example.invalid/mcp").problem


@pytest.mark.parametrize(
    "exception",
    ["*.example.invalid", "mcp.example.invalid:8443", "https://mcp.example.invalid", "a, *"],
)
def test_the_variable_no_proxy_is_respected(monkeypatch: pytest.MonkeyPatch, exception: str):
    """In the forms of curl, Go and httpx2."""
    use_proxy(monkeypatch, "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", exception)
    assert "proxy" not in failure_at("https://mcp.example.invalid:8443/mcp").problem
    if exception != "a, *":
        assert "proxy" in failure_at("http://other.invalid:8444/mcp").problem
