"""The page on which a person in the lab answers: what it shows, takes, and refuses."""

from __future__ import annotations

import re
import socket
import struct
import threading
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

from tests.support.processes import wait_until
from xai_mcp_agent import Answer, Question
from xai_mcp_agent.console.question_page import Page, serving

FORM = Question(
    "booking",
    "Who <script>comes</script>?",
    {
        "type": "object",
        "properties": {
            "name": {"type": "string", "title": "<b>Name</b>", "description": 'Say "it".'},
            "guests": {"type": "integer", "maximum": 9, "default": 2},
            "news": {"type": "boolean", "default": True},
            "extras": {"type": "array", "items": {"type": "string", "enum": ["dog", "cake"]}},
        },
        "required": ["name"],
    },
)
_SECONDS = 30.0


def ask(url: str, form: list[tuple[str, str]] | None = None, **headers: str) -> tuple[int, str]:
    """The status and the page for a request as a browser makes it."""
    data = urlencode(form).encode() if form is not None else None
    request = urllib.request.Request(url, data, headers)
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def answering() -> list[str]:
    """The threads that answer a request now."""
    return [x.name for x in threading.enumerate() if "process_request" in x.name]


def test_words_of_the_server_are_shown_as_text() -> None:
    with serving(Page(FORM)) as page:
        status, text = ask(page.url)
    assert status == 200
    assert "Who &lt;script&gt;comes&lt;/script&gt;?" in text
    assert "&lt;b&gt;Name&lt;/b&gt;" in text
    assert "<script" not in text


def test_the_buttons_say_what_they_do_and_the_page_who_asks() -> None:
    yes_or_no = {"type": "object", "properties": {}}
    trust = Question("f", "", yes_or_no, heading="Start?", yes="Start them", no="Not now")
    for question, words in (
        (FORM, ["Send", "Do not send"]),
        (Question("shop", "Delete it?", yes_or_no), ["Agree", "Refuse"]),
        (trust, ["Start them", "Not now"]),
    ):
        page = Page(question, "From the workflow w in /home/lab.").first()
        assert re.findall(r"<button.*?>(.*?)</button>", page) == words
        assert "From the workflow w in /home/lab." in page


def test_a_form_is_checked_and_an_invalid_one_is_asked_again() -> None:
    with serving(Page(FORM)) as page:
        _, text = ask(page.url, [("action", "accept"), ("f0", ""), ("f1", "99")])
        assert "An answer is needed here." in text
        assert "maximum of 9" in text
        assert not page.answer.done()
        form = [("action", "accept"), ("f0", "Ada"), ("f1", ""), ("f3", "cake"), ("f2", "yes")]
        _, text = ask(page.url, form)
        assert "was sent" in text
        content = {"name": "Ada", "news": True, "extras": ["cake"]}
        assert page.answer.result(_SECONDS) == Answer.accepted(content)
        assert "already been answered" in ask(page.url)[1]


def test_a_page_of_others_is_reached_after_a_yes_and_one_to_sign_in_at_until_a_no() -> None:
    """A person who closed the page of the service could not go on otherwise."""
    target = "http://127.0.0.1:9/authorize?a=1&b=2"
    page = Page(Question("bank", "Pay.", url=target))
    assert ">Open 127.0.0.1</button>" in page.first()
    assert not page.answer.done()
    _, elsewhere = page.take({"action": ["accept"]})
    assert (elsewhere, page.answer.result(_SECONDS)) == (target, Answer.accepted())
    page = Page(Question("notes", "Please sign in.", url=target, is_sign_in=True))
    for _ in range(2):
        assert "wants you to sign in at 127.0.0.1." in page.first()
        assert "Sign in to notes" in page.first()
        assert page.take({"action": ["accept"]})[1] == target
        assert not page.answer.done()
    text, elsewhere = page.take({"action": ["decline"]})
    assert (elsewhere, page.answer.result(_SECONDS).action) == ("", "decline")
    assert "You may close this page" in text


@pytest.mark.parametrize(
    ("path", "headers"),
    [("/", {}), ("/guess", {}), (None, {"Host": "evil.example"}), (None, {"Host": "localhost"})],
)
def test_only_the_owner_of_the_address_can_see_or_answer_it(
    path: str | None, headers: dict[str, Any]
) -> None:
    """The address is a secret, and a page of the web cannot have its name point here."""
    with serving(Page(FORM)) as page:
        url = page.url if path is None else page.url.replace(page.path, path)
        for form in (None, [("action", "decline")]):
            status, text = ask(url, form, **headers)
            assert status == 404
            assert "Who" not in text
        assert not page.answer.done()
        ask(page.url, [("action", "cancel")])
        assert page.answer.result(_SECONDS).action == "cancel"


@pytest.mark.parametrize(("length", "resets"), [("30", False), ("30", True), ("\u00b2", False)])
def test_a_browser_that_leaves_early_answers_nothing_and_prints_nothing(
    length: str, resets: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    """The output is the person's: a traceback there says that something is wrong."""
    others = answering()
    with serving(Page(FORM)) as page:
        parts = urlsplit(page.url)
        head = f"POST {page.path} HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Length: {length}"
        with socket.create_connection((str(parts.hostname), parts.port or 0)) as browser:
            browser.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", resets, 0))
            browser.sendall(f"{head}\r\n\r\nf0=Ada&act".encode("latin-1"))
        # Connections are taken one after the other: the one before was seen by then.
        assert ask(page.url)[0] == 200
        wait_until(lambda: {*answering()} <= {*others}, "all requests were answered")
        assert not page.answer.done()
    assert capfd.readouterr().err == ""
