"""Secrets stay out of everything that is printed."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote

from hypothesis import given
from hypothesis import strategies as st

from xai_mcp_agent import Secret
from xai_mcp_agent.secrets.secrets import MIN_SECRET_LENGTH, Secrets

KEY = "s3cr/et+k=y&\"'\\é"

# A letter or digit in it, or it would be a mask already; a digit keeps it from being a word.
secret_texts = st.text(min_size=MIN_SECRET_LENGTH, max_size=60).map(lambda text: f"7{text}")


def test_a_secret_shows_stars_however_it_is_printed():
    """design.md 1.7: nothing leaks."""
    secret = Secret(KEY)
    assert [repr(secret), str(secret), f"{secret}", f"{[secret]}"] == ["***"] * 3 + ["[***]"]
    assert f"{secret:>5}" == "  ***"


def test_a_secret_is_found_in_the_forms_it_travels_in():
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
    """Masking every `1` or `default` hides nothing; a server's stderr is read by lines."""
    assert Secrets(["abcdef", "abcdefghi"]).redact("abcdefghi") == "***"
    secrets = Secrets(["abc", "12345", "default", "Bearer", "", "   ", "******"])
    text = "abc 12345 default Bearer    ******"
    assert secrets.redact(text) == text
    lines = ["-----BEGIN KEY-----", "MIIEvQIBADANBgkqhkiG9w0B", "AQEFAASCBKcwggSjAgEAAoIB"]
    secrets = Secrets(["\n".join(lines)])
    assert secrets.redact(f"bad line: {lines[1]}") == "bad line: ***"
    assert secrets.redact(lines[0]) == lines[0]


@given(secret=secret_texts, before=st.text(), after=st.text())
def test_mask_never_leaves_the_secret_in(secret: str, before: str, after: str):
    secrets = Secrets([secret])
    masked = secrets.redact(f"{before}{secret}{after}")
    assert secret not in masked
    assert json.dumps(secret)[1:-1] not in secrets.redact(json.dumps(f"{before}{secret}{after}"))
