"""Words of a question, wherever it is asked: its title, its message, both answers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from ..core.questions import Question
from ..core.schemas import properties
from .text import clean

# Browsers drop these; a program that passes the address on may interpret them.
_NOT_IN_AN_ADDRESS = re.compile(r"[\x00-\x20\x7f]")


@dataclass(frozen=True)
class QuestionWords:
    """Words of a question; `yes` and `no` say what each answer does."""

    title: str
    message: str
    yes: str
    no: str


def words_of(question: Question) -> QuestionWords:
    """Return the words of a question; the server's message is cleaned."""
    server, host = question.server, host_of(question.url)
    title, message = f"{server} asks", clean(question.message)
    if question.is_sign_in:
        title, yes, no = f"Sign in to {server}", f"Sign in at {host}", "Do not sign in"
        message = (
            f"The server {server} wants you to sign in at {host}. Go on only if you know that "
            "name. When you are done there, the workflow goes on by itself."
        )
    elif question.schema is None:
        title, yes, no = f"{title} you to open a page of {host}", f"Open {host}", "Do not open it"
    elif properties(question.schema):
        yes, no = "Send", "Do not send"
    else:
        yes, no = "Agree", "Refuse"
    return QuestionWords(question.heading or title, message, question.yes or yes, question.no or no)


def host_of(url: str) -> str:
    """Return the host of a web page in a form that cannot be disguised, or ""."""
    if _NOT_IN_AN_ADDRESS.search(url):
        return ""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        if parts.scheme not in ("http", "https"):
            return ""
        return host if host.isascii() else host.encode("idna").decode()
    except ValueError:  # also of the encoding
        return ""
