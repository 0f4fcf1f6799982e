"""The choice of credentials, and their secrecy."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest
from pydantic import TypeAdapter

from xai_mcp_agent.secrets.secrets import Secrets
from xai_mcp_agent.settings.interpolation import Variables
from xai_mcp_agent.settings.openapi import CredentialsByScheme
from xai_mcp_agent.settings.validation import ValidationContext
from xai_mcp_agent.sources.openapi.auth import (
    Credentials,
    CredentialsMissing,
    add_credentials,
    grants_for,
)
from xai_mcp_agent.sources.openapi.plan import SecurityNeed

BASE = "https://api.example.com/v1"
KEY = SecurityNeed("key", "apiKey", "header", "X-Key")
QUERY_KEY = SecurityNeed("query_key", "apiKey", "query", "api key")
COOKIE_KEY = SecurityNeed("cookie_key", "apiKey", "cookie", "session")
BASIC = SecurityNeed("basic", "http", method="Basic")
BEARER = SecurityNeed("bearer", "http", method="bearer")
OAUTH = SecurityNeed("oauth", "oauth2", scopes=("a",), token_url="https://api.example.com/token")
OPENID = SecurityNeed("openid", "openIdConnect")
TLS = SecurityNeed("tls", "mutualTLS")
DIGEST = SecurityNeed("digest", "http", method="digest")


def header_key(header: str) -> SecurityNeed:
    return SecurityNeed("odd", "apiKey", "header", header)


def read(value: Any, **environ: str) -> Credentials:
    context = ValidationContext(Variables(environ, "/", Secrets()))
    adapter: TypeAdapter[Credentials] = TypeAdapter(CredentialsByScheme)
    return adapter.validate_python(value, context=context)


def sign(security: Any, credentials: Any) -> httpx2.Request:
    request = httpx2.Request("GET", f"{BASE}?a=1")
    grants = grants_for(security, read(credentials), BASE)
    for _ in range(2):  # the same request may be sent again
        add_credentials(request, grants, "".join(f"token of {x.token_url}" for x in grants))
    return request


def added_headers(security: Any, credentials: Any) -> dict[str, str]:
    headers = dict(sign(security, credentials).headers)
    return {name: text for name, text in headers.items() if name != "host"}


@pytest.mark.parametrize(
    ("need", "credentials", "headers"),
    [
        (KEY, {"apiKey": "k"}, {"x-key": "k"}),
        (BASIC, {"username": "u", "password": "p:w"}, {"authorization": "Basic dTpwOnc="}),
        (BEARER, {"bearer": "t"}, {"authorization": "Bearer t"}),
        (OPENID, {"bearer": "t"}, {"authorization": "Bearer t"}),
        (OAUTH, {"bearer": "t"}, {"authorization": "Bearer t"}),
        (OAUTH, {"clientId": "i", "clientSecret": "s"},
         {"authorization": "Bearer token of https://api.example.com/token"}),
        (OPENID, {"clientId": "i", "clientSecret": "s", "tokenUrl": "https://x.example.com/t"},
         {"authorization": "Bearer token of https://x.example.com/t"}),
    ],
)  # fmt: skip
def test_each_scheme_takes_its_own_credentials(
    need: SecurityNeed, credentials: Any, headers: dict[str, str]
):
    assert added_headers([(need,)], credentials) == headers
    assert added_headers([(need,)], {need.scheme: credentials}) == headers


def test_a_key_can_be_in_the_query_and_in_a_cookie():
    request = sign([(QUERY_KEY, COOKIE_KEY)], {"apiKey": "a b&c"})
    assert str(request.url) == f"{BASE}?a=1&api%20key=a%20b%26c"
    assert request.headers["cookie"] == "session=a%20b%26c"


def test_the_first_alternative_that_can_be_satisfied_counts():
    credentials = {"key": {"apiKey": "k"}, "bearer": {"bearer": "t"}, "basic": {"username": "u"}}
    assert added_headers([(OAUTH,), (BEARER, TLS), (BEARER, KEY), (BASIC,)], credentials) == {
        "authorization": "Bearer t", "x-key": "k",
    }  # fmt: skip


def test_a_document_without_security_gets_the_credentials_for_all_schemes():
    assert added_headers([], {"bearer": "t"}) == {"authorization": "Bearer t"}
    assert added_headers([], {"key": {"bearer": "t"}}) == {}
    assert added_headers([], {"apiKey": "k"}) == {}


def test_missing_credentials_are_named():
    rows: tuple[tuple[Any, Any, str], ...] = (
        ([(KEY,)], {}, r"key \(apiKey\).*\"key\": \{\.\.\.\} with `apiKey`"),
        ([(BASIC,)], {"bearer": "t"}, r"basic \(http Basic\).*`username` and `password`"),
        ([(KEY, BEARER), (OAUTH,)], {"apiKey": "k"}, r"key \(apiKey\) and bearer .* or oauth"),
        ([(TLS,)], {"apiKey": "k"}, "not supported"),
        ([(header_key("X-Key: 1\r\nX"),)], {"apiKey": "k"}, "not supported"),
        ([(header_key("Content-Length"),)], {"apiKey": "k"}, "not supported"),
        ([(DIGEST,)], {"username": "u"}, "not supported"),
        ([(OPENID,)], {"clientId": "i", "clientSecret": "s"}, "tokenUrl"),
    )
    for security, credentials, words in rows:
        with pytest.raises(CredentialsMissing, match=f"(?s){words}"):
            added_headers(security, credentials)


def test_a_document_cannot_have_a_clients_secret_sent_elsewhere():
    """Only an operator may say that a secret belongs to another host."""
    evil = SecurityNeed("o", "oauth2", token_url="https://evil.example.org/token")
    client = {"clientId": "i", "clientSecret": "s"}
    with pytest.raises(CredentialsMissing, match=r"evil\.example\.org/token.*another host"):
        added_headers([(evil,)], client)
    assert added_headers([(evil,)], {**client, "tokenUrl": "https://login.example.org/t"})


def test_a_secret_with_a_line_break_is_not_sent_and_not_shown():
    with pytest.raises(CredentialsMissing, match="line break") as caught:
        added_headers([(KEY,)], {"apiKey": "topsecret\nX: 1"})
    assert "topsecret" not in str(caught.value)
