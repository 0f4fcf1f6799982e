"""What is kept of what people say: no secret of theirs, however they put it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.support.watchdog import done_within
from xai_mcp_agent.secrets.redactor import Redactor
from xai_mcp_agent.secrets.secrets import Secrets
from xai_mcp_agent.secrets.speech import kept_speech

REDACT = Redactor([Secrets(["zebra-crossing"])], guesses=True, environ={})

SECRETS = {
    "known": ("deploy with zebra-crossing now", "zebra"),
    "token": ("use sk-abcdefghijklmnopqrstuv to log in", "sk-a"),
    "after a name": ("set API_KEY=horse", "horse"),
    "short after a name": ("password: cat", "cat"),
    "said": ("my password is horse", "horse"),
    "said in other words": ("the password I use everywhere would be horse", "horse"),
    "said before": ("horse is my password", "horse"),
    "told how to use it": ("log in with horse as the password", "horse"),
    "German": ("Mein Kennwort lautet Pferd", "Pferd"),
    "mixed with digits": ("log in as ada with horse7battery", "horse7"),
    "a card": ("pay with 4111 1111 1111 1111", "4111"),
    "a card with other signs": ("pay with 4111\u20131111, 1111", "4111"),
    "the number behind it": ("the CVV is 123", "123"),
    "a telephone": ("call (030) 12-34 now", "030"),
    "German, several": ("Die Passw\u00f6rter sind Pferd und Hund", "Pferd"),
    "Portuguese": ("a senha \u00e9 cavalo", "cavalo"),
    "an address": ("write to ada@example.org", "ada@"),
    "in a URL": ("open https://ada:horse@example.org/x", "horse"),
    "in JSON": ('call it with {"token": "horse"}', "horse"),
    "with a dot in it": ("the secret is horse.battery", "battery"),
    "on the next line": ("the passphrase:\nhorse battery", "battery"),
}


def test_no_secret_is_kept() -> None:
    for text, secret in SECRETS.values():
        assert secret in text
        assert secret not in kept_speech(text, REDACT)


def test_what_is_asked_for_is_kept() -> None:
    text = "Find the issue #12 in repo foo/bar, convert mp3 to wav. Then tell Turkey's capital!"
    assert kept_speech(text, REDACT) == text
    said = "My password is horse. Now list the open issues."
    assert kept_speech(said, REDACT).endswith("Now list the open issues.")


def test_a_secret_across_the_end_of_what_is_kept_is_not_kept_in_part() -> None:
    for padding in range(260, 305, 3):
        kept = kept_speech(f"{'a ' * (padding // 2)}{'b' * (padding % 2)}zebra-crossing", REDACT)
        assert "zeb" not in kept


def test_what_is_cut_off_does_not_uncover_what_stands_before_it() -> None:
    """Masks are shorter than what they hide, so that the end of what is looked at may be kept."""
    for padding in range(0, 200, 9):
        begin = f"{'x1' * 300} {'b ' * (padding // 2)}{'c' * (padding % 2)} "
        for words in ("pay 4111 1111 1111 1111", "horse is my password"):
            kept = kept_speech(f"{begin}{'b ' * 60}{words}", REDACT)
            assert "411" not in kept
            assert "horse" not in kept


@given(st.text())
def test_anything_can_be_said(text: str) -> None:
    kept = kept_speech(text, REDACT)
    assert len(kept) <= 300
    assert kept == "" or any(x.isalpha() for x in kept)


def test_hostile_texts_take_no_longer_than_others() -> None:
    cases: list[str] = [
        "a ",
        "x",
        "password ",
        "1",
        "1 ",
        "a1",
        "is ",
        "x. ",
        ".",
        "@",
        "key: ",
        "a=b ",
    ]
    for text in cases:
        done_within(0.5, lambda text=text: kept_speech(text * 100_000, REDACT))
