"""What counts as a secret, and how settings are shown without it."""

from __future__ import annotations

import base64
from pathlib import Path

from xai_mcp_agent.secrets.redactor import redact_args, redact_url
from xai_mcp_agent.secrets.search import (
    is_secret,
    looks_secret,
    secrets_in_args,
    secrets_in_env,
    secrets_in_headers,
    secrets_in_text,
)
from xai_mcp_agent.secrets.secrets import Secrets

SECRET_NAMES = """
    GITHUB_TOKEN API_KEY apiKey OPENAI_APIKEY X-Api-Key --client-secret DB_PASSWORD PGPASSWORD
    SMTP_PASSWD Authorization Proxy-Authorization X-Auth AWS_SECRET_ACCESS_KEY GITHUB_PAT
    GOOGLE_CREDENTIALS Cookie SESSION SENTRY_DSN connection_string signature
"""
OTHER_NAMES = """
    PATH GIT_AUTHOR_NAME KEYBOARD SSH_AUTH_SOCK KEY_FILE TOKEN_URL AUTH_TYPE
    TOKENIZERS_PARALLELISM TOKEN_LIMIT Accept
"""


def test_names_of_secrets_are_recognised_in_any_spelling(tmp_path: Path):
    """An error about the file of GOOGLE_APPLICATION_CREDENTIALS must be able to name it."""
    assert [x for x in SECRET_NAMES.split() if not looks_secret(x)] == []
    assert [x for x in OTHER_NAMES.split() if looks_secret(x)] == []
    assert not is_secret("MAX_TOKENS", "100000")
    assert is_secret("PASSWORD", "12345678")
    assert not is_secret("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path))
    assert is_secret("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "not there"))


def test_secrets_in_the_environment_and_in_headers_are_found_by_what_they_hold():
    env = {
        "TOKEN": "tok-1",
        "DATABASE_URL": "postgres://me:pa%2Fss@db/x",
        "NOTION_HEADERS": '{"Authorization": "Bearer ntn-2", "Accept": "x"}',
        "OPTIONS": "host=db;password=pw-3;port=1",
        "PLAIN": "hello",
    }
    secrets = set(secrets_in_env(env))
    assert {"tok-1", "pa%2Fss", "pa/ss", "ntn-2", "pw-3"} <= secrets
    assert not {"hello", "db", "me", "x"} & secrets
    basic = base64.b64encode(b"me:pass-word").decode()
    headers = {
        "Authorization": "Bearer abc123", "Proxy-Authorization": f"Basic {basic}",
        "Cookie": "a=one-1; b=two-2", "X-Api-Key": "key-3", "Accept": "text/plain",
    }  # fmt: skip
    secrets = set(secrets_in_headers(headers))
    assert {"Bearer abc123", "abc123", basic, "pass-word", "one-1", "two-2", "key-3"} <= secrets
    assert "text/plain" not in secrets
    token = "ghp_0123456789abcdefghij"
    assert token in set(secrets_in_text(f"use {token} here")), "of a well-known service"


def test_secrets_among_arguments_are_found_and_never_shown():
    cases: list[list[str]] = [
        ["--token", "abc-123"], ["--api-key=abc-123"], ["-e", "GITHUB_TOKEN=abc-123"],
        ["--header", "Authorization: Bearer abc-123"], ["--header=X-Api-Key:abc-123"],
        ["postgres://me:abc-123@db/x"], ["--db=postgres://me:abc-123@db/x"],
        ["https://example.com/mcp?api_key=abc-123&x=1"], ['{"password": "abc-123"}'],
        ["Server=x;Password=abc-123;"],
    ]  # fmt: skip
    for args in cases:
        assert "abc-123" in set(secrets_in_args(args))
        assert "abc-123" not in " ".join(redact_args(args, Secrets()))
    plain = ["-y", "@scope/server@1.2", "--root", "C:\\work", "/srv/data", "--token-file", "a.txt"]
    assert redact_args(plain, Secrets()) == plain
    assert not [*secrets_in_args(plain)]


def test_a_url_is_shown_without_what_may_be_secret():
    for url, shown in (
        ("https://example.com/mcp", "https://example.com/mcp"),
        ("https://me:pw@example.com:81/mcp", "https://***@example.com:81/mcp"),
        ("https://example.com/mcp?key=a&b=c#d", "https://example.com/mcp?key=***&b=***"),
        ("https://example.com/?secret", "https://example.com/?***"),
        ("https://example.com/s/a1b2c3d4e5f6a7b8c9d0e1f2/mcp", "https://example.com/s/***/mcp"),
        ("https://[broken", "***"),
    ):
        assert redact_url(url) == shown
