"""Secrets stay out of everything that is printed."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from urllib.parse import quote

from hypothesis import given
from hypothesis import strategies as st

from tests.support.watchdog import compute_within
from xai_mcp_agent import Secret
from xai_mcp_agent.secrets.redactor import Redactor, redact_args, redact_url
from xai_mcp_agent.secrets.search import (
    is_secret,
    looks_secret,
    secrets_in_args,
    secrets_in_env,
    secrets_in_headers,
    secrets_in_text,
)
from xai_mcp_agent.secrets.secrets import MIN_SECRET_LENGTH, Secrets
from xai_mcp_agent.secrets.speech import mask_speech

KEY = "s3cr/et+k=y&\"'\\é"

# The digit makes it neither a mask nor a common word.
secret_texts = st.text(min_size=MIN_SECRET_LENGTH, max_size=60).map(lambda text: f"7{text}")


def test_a_secret_prints_as_stars_in_any_format():
    """design.md 1.7: nothing leaks."""
    secret = Secret(KEY)
    assert [repr(secret), str(secret), f"{secret}", f"{[secret]}"] == ["***"] * 3 + ["[***]"]
    assert f"{secret:>5}" == "  ***"


def test_a_secret_is_masked_in_every_encoding():
    cases: list[str] = [
        KEY,
        f"https://example.com/?key={quote(KEY)}",
        f"https://example.com/?key={quote(KEY, safe='')}",
        "https://example.com/?key=s3cr%2fet%2bk%3dy%26%22%27%5c%c3%a9",
        json.dumps({"key": KEY}),
        json.dumps({"key": KEY}, ensure_ascii=False),
        json.dumps({"result": json.dumps({"key": KEY})}),
        repr({"key": KEY}),
        "Basic " + base64.b64encode(f"somebody:{KEY}".encode()).decode(),
        base64.urlsafe_b64encode(KEY.encode()).decode(),
    ]
    for text in cases:
        masked = Secrets([KEY]).redact(text)
        assert "***" in masked
        for piece in ("s3cr", "et+k", quote(KEY, safe="")[:6], "k=y"):
            assert piece not in masked.replace("key", "").replace("k=***", "")


def test_basic_authentication_is_masked_whatever_the_user_name():
    for before in ("", "u:", "us:", "use:"):
        header = base64.b64encode(f"{before}correct-horse-battery".encode()).decode()
        masked = Secrets(["correct-horse-battery"]).redact(header)
        assert "***" in masked
        assert len(masked) <= len(before) * 2 + 7


def test_the_longest_secret_and_each_line_of_one_is_masked_and_short_words_stay():
    """A mask for every `1` or `default` would hide nothing; stderr is read line by line."""
    assert Secrets(["abcdef", "abcdefghi"]).redact("abcdefghi") == "***"
    secrets = Secrets(["abc", "12345", "default", "Bearer", "", "   ", "******"])
    text = "abc 12345 default Bearer    ******"
    assert secrets.redact(text) == text
    lines = ["-----BEGIN KEY-----", "MIIEvQIBADANBgkqhkiG9w0B", "AQEFAASCBKcwggSjAgEAAoIB"]
    secrets = Secrets(["\n".join(lines)])
    assert secrets.redact(f"bad line: {lines[1]}") == "bad line: ***"
    assert secrets.redact(lines[0]) == lines[0]


@given(secret=secret_texts, before=st.text(), after=st.text())
def test_a_masked_text_never_contains_the_secret(secret: str, before: str, after: str):
    secrets = Secrets([secret])
    masked = secrets.redact(f"{before}{secret}{after}")
    assert secret not in masked
    assert json.dumps(secret)[1:-1] not in secrets.redact(json.dumps(f"{before}{secret}{after}"))


# Texts that count as secrets, and settings without them.


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


def test_secrets_in_the_environment_and_in_headers_are_found_by_name_or_content():
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


def test_a_url_is_shown_without_possible_secrets():
    for url, masked in (
        ("https://example.com/mcp", "https://example.com/mcp"),
        ("https://me:pw@example.com:81/mcp", "https://***@example.com:81/mcp"),
        ("https://example.com/mcp?key=a&b=c#d", "https://example.com/mcp?key=***&b=***"),
        ("https://example.com/?secret", "https://example.com/?***"),
        ("https://example.com/s/a1b2c3d4e5f6a7b8c9d0e1f2/mcp", "https://example.com/s/***/mcp"),
        ("https://[broken", "***"),
    ):
        assert redact_url(url) == masked


# Messages of people, stored without their secrets.


REDACT = Redactor([Secrets(["zebra-crossing"])], guesses=True, environ={})

SECRETS = (
    ("deploy with zebra-crossing now", "zebra"),
    ("use sk-abcdefghijklmnopqrstuv to log in", "sk-a"),
    ("set API_KEY=horse", "horse"),
    ("password: cat", "cat"),
    ("my password is horse", "horse"),
    ("the password I use everywhere would be horse", "horse"),
    ("horse is my password", "horse"),
    ("log in with horse as the password", "horse"),
    ("Mein Kennwort lautet Pferd", "Pferd"),
    ("log in as ada with horse7battery", "horse7"),
    ("pay with 4111 1111 1111 1111", "4111"),
    ("pay with 4111\u20131111, 1111", "4111"),
    ("the CVV is 123", "123"),
    ("call (030) 12-34 now", "030"),
    ("Die Passw\u00f6rter sind Pferd und Hund", "Pferd"),
    ("a senha \u00e9 cavalo", "cavalo"),
    ("write to ada@example.org", "ada@"),
    ("open https://ada:horse@example.org/x", "horse"),
    ('call it with {"token": "horse"}', "horse"),
    ("the secret is horse.battery", "battery"),
    ("the passphrase:\nhorse battery", "battery"),
)


def test_secrets_in_messages_are_masked():
    for text, secret in SECRETS:
        assert secret in text
        assert secret not in mask_speech(text, REDACT)


def test_a_request_without_secrets_stays_as_it_is():
    text = "Find the issue #12 in repo foo/bar, convert mp3 to wav. Then tell Turkey's capital!"
    assert mask_speech(text, REDACT) == text
    speech = mask_speech("My password is horse. Now list the open issues.", REDACT)
    assert speech.endswith("Now list the open issues.")


def test_no_part_of_a_secret_survives_where_a_text_is_cut():
    """Masks are shorter than secrets, so text from the end of the searched part may remain."""
    for padding in range(260, 305, 3):
        begin = f"{'a ' * (padding // 2)}{'b' * (padding % 2)}"
        assert "zeb" not in mask_speech(f"{begin}zebra-crossing", REDACT)
    for padding in range(0, 200, 9):
        begin = f"{'x1' * 300} {'b ' * (padding // 2)}{'c' * (padding % 2)} {'b ' * 60}"
        for words in ("pay 4111 1111 1111 1111", "horse is my password"):
            speech = mask_speech(f"{begin}{words}", REDACT)
            assert "411" not in speech
            assert "horse" not in speech


@given(st.text())
def test_any_message_is_masked_and_cut(text: str):
    speech = mask_speech(text, REDACT)
    assert len(speech) <= 300
    assert speech == "" or any(x.isalpha() for x in speech)


def test_hostile_texts_take_no_longer_than_others():
    for text in ("a ", "x", "password ", "1", "1 ", "a1", "is ", "x. ", ".", "@", "key: ", "a=b "):
        compute_within(0.5, lambda text=text: mask_speech(text * 100_000, REDACT))
