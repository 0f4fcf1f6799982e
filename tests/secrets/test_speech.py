"""What is kept of what people say: no secret of theirs, however they put it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.support.watchdog import done_within
from xai_mcp_agent.secrets.redactor import Redactor
from xai_mcp_agent.secrets.secrets import Secrets
from xai_mcp_agent.secrets.speech import kept_speech

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


def test_no_secret_is_kept():
    for text, secret in SECRETS:
        assert secret in text
        assert secret not in kept_speech(text, REDACT)


def test_a_request_is_kept():
    text = "Find the issue #12 in repo foo/bar, convert mp3 to wav. Then tell Turkey's capital!"
    assert kept_speech(text, REDACT) == text
    speech = kept_speech("My password is horse. Now list the open issues.", REDACT)
    assert speech.endswith("Now list the open issues.")


def test_no_secret_is_kept_in_part_where_a_text_is_cut():
    """Masks are shorter than what they hide, so that the end of what is looked at may be kept."""
    for padding in range(260, 305, 3):
        begin = f"{'a ' * (padding // 2)}{'b' * (padding % 2)}"
        assert "zeb" not in kept_speech(f"{begin}zebra-crossing", REDACT)
    for padding in range(0, 200, 9):
        begin = f"{'x1' * 300} {'b ' * (padding // 2)}{'c' * (padding % 2)} {'b ' * 60}"
        for words in ("pay 4111 1111 1111 1111", "horse is my password"):
            speech = kept_speech(f"{begin}{words}", REDACT)
            assert "411" not in speech
            assert "horse" not in speech


@given(st.text())
def test_anything_can_be_said(text: str):
    speech = kept_speech(text, REDACT)
    assert len(speech) <= 300
    assert speech == "" or any(x.isalpha() for x in speech)


def test_hostile_texts_take_no_longer_than_others():
    for text in ("a ", "x", "password ", "1", "1 ", "a1", "is ", "x. ", ".", "@", "key: ", "a=b "):
        done_within(0.5, lambda text=text: kept_speech(text * 100_000, REDACT))
