"""A question as a web page, served once, on this machine only, at a secret address."""

from __future__ import annotations

import logging
import secrets
import threading
from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping
from concurrent.futures import Future, InvalidStateError
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import TCPServer
from string import punctuation
from typing import Any, TypeVar, cast
from urllib.parse import parse_qs, quote, urlsplit

from ..core.json import JsonObject
from ..core.questions import Answer, Question
from .form import NO_DEFAULT, Field, Unfit, fields_of
from .question_words import host_of, words_of
from .text import template

logger = logging.getLogger(__name__)

_MOST_BYTES = 200_000  # of the submitted form; a person's has a few hundred
_IDLE_SECONDS = 10.0  # for a connection: browsers open some and send nothing
_HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; "
    "frame-ancestors 'none'; base-uri 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_ALREADY_ANSWERED = "This has already been answered."
_HTML = Path(__file__).with_suffix(".html")


@dataclass(frozen=True)
class Invitation:
    """The lines that lead a person to a page: its title and link, and what the run waits for.

    `subject` is the server or tool that the answer is about.
    """

    title: str
    link: str
    waits_for: str
    subject: str


class AnswerPage(ABC):
    """A page, or a question of the lab's panel, that takes one answer.

    It asks on behalf of `server`, and `origin` names the program that serves it. `answer` is set
    when the person sends it; `url` exists while the page is served.
    """

    def __init__(self, server: str, origin: str = "") -> None:
        self.server = server
        self.answer: Future[Any] = Future()
        self.path = f"/{secrets.token_urlsafe(24)}"
        self.url = ""
        self._origin = origin

    @abstractmethod
    def as_json(self) -> JsonObject:
        """Return the question as plain values, for a page or the lab's panel to show as text."""

    @abstractmethod
    def invitation(self) -> Invitation:
        """Return the lines that lead to the page."""

    @abstractmethod
    def take(self, form: Mapping[str, list[str]]) -> tuple[str, str]:
        """Process the submitted form; return the next page, and an address to redirect to."""

    def first(self) -> str:
        """Return the first page."""
        if self.answer.done():
            return closing(_ALREADY_ANSWERED)
        return html(**self._page_values(), origin=self._origin)

    def _page_values(self) -> JsonObject:
        return self.as_json()

    def _settle(self, answer: object, words: str) -> str:
        """Store the answer and return the closing page. The first answer counts."""
        try:
            self.answer.set_result(answer)
        except InvalidStateError:
            return closing(_ALREADY_ANSWERED)
        return closing(f"{words} You may close this page.".lstrip())


P = TypeVar("P", bound=AnswerPage)


class Page(AnswerPage):
    """Page of one question; its answer is an `Answer`."""

    def __init__(self, question: Question, origin: str = "") -> None:
        super().__init__(question.server, origin)
        self._question = question
        self._fields = fields_of(question.schema or {})
        self._form: Mapping[str, list[str]] = {}
        self._errors: Mapping[str, str] = {}

    def _page_values(self) -> JsonObject:
        url = "" if self._question.is_sign_in else self._question.url  # that is too long for an eye
        return {**self.as_json(), "url": url}

    def take(self, form: Mapping[str, list[str]]) -> tuple[str, str]:
        """Process the form; return the next page, and an address to redirect to."""
        match form.get("action", [""])[0]:
            # Not answered yet: somebody who closes the other page can open it here again.
            case "accept" if self._question.is_sign_in:
                return closing("You may close this page."), _for_a_header(self._question.url)
            case "accept" if self._question.schema is None:
                return self._settle(Answer.accepted(), ""), _for_a_header(self._question.url)
            case "accept":
                return self._check(form), ""
            case "decline":
                answer = Answer.declined("the person said no")
            case _:
                answer = Answer.cancelled("the person stopped the questions")
        return self._settle(answer, "Nothing was sent."), ""

    def invitation(self) -> Invitation:
        """Return the lines that lead to the page."""
        question, server, words = self._question, self.server, words_of(self._question)
        if question.is_sign_in:
            title = f"{server} wants you to sign in at {host_of(question.url)}."
            waits_for = f"you to sign in to {server}"
            return Invitation(title, f"Sign in to {server} here", waits_for, server)
        title = question.heading or f"{server} asks: {words.message}"
        link = f"{words.yes} or not: answer here"
        return Invitation(title, link, f"your answer to {server}", server)

    def as_json(self) -> JsonObject:
        """Return the question as plain values, for a page or the lab's panel to show as text."""
        words = words_of(self._question)
        return {
            "title": words.title,
            "message": words.message,
            "url": self._question.url,
            "fields": [self._field(number, x) for number, x in enumerate(self._fields)],
            "buttons": [["accept", words.yes, ""], ["decline", words.no, ""]],
        }

    def _field(self, number: int, field: Field) -> JsonObject:
        name = f"f{number}"
        return {
            "name": name,
            "kind": field.kind,
            "format": field.schema.get("format"),
            "label": field.label,
            "help": field.description,
            "wanted": field.expected(),
            "choices": [*map(list, field.choices.items())],
            "is_needed": field.is_needed,
            "values": self._form.get(name, _defaults(field)),
            "wrong": self._errors.get(field.name, ""),
        }

    def _check(self, form: Mapping[str, list[str]]) -> str:
        content: dict[str, Any] = {}
        errors: dict[str, str] = {}
        for number, field in enumerate(self._fields):
            try:
                value = _value(field, form.get(f"f{number}", []))
            except Unfit as why:
                errors[field.name] = str(why)
            else:
                if value is not NO_DEFAULT:
                    content[field.name] = value
        if errors:
            self._form, self._errors = form, errors
            return self.first()
        return self._settle(Answer.accepted(content), "Your answer was sent.")


@contextmanager
def serving(page: P) -> Generator[P]:
    """Serve the page within the block."""
    server = _Server(page)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield page
    finally:
        # In a thread: closing waits for the serving thread, which would block the loop.
        threading.Thread(target=_shut, args=(server,), daemon=True).start()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, page: AnswerPage) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.page = page
        page.url = f"http://127.0.0.1:{self.server_address[1]}{page.path}"

    def server_bind(self) -> None:
        # Unlike HTTPServer's own method, it does not ask a resolver for the host's name.
        TCPServer.server_bind(self)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log nothing to stderr; a browser that disconnects early is not an error."""
        logger.debug("a request broke off", exc_info=True)


def _shut(server: _Server) -> None:
    server.shutdown()
    server.server_close()


class _Handler(BaseHTTPRequestHandler):
    timeout = _IDLE_SECONDS

    @property
    def _page(self) -> AnswerPage:
        return cast(_Server, self.server).page

    def do_GET(self) -> None:
        """Show the first question."""
        if self._is_for_us():
            self._send(200, self._page.first())

    def do_POST(self) -> None:
        """Take an answer, and show the next page."""
        if not self._is_for_us():
            return
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > _MOST_BYTES:
            self._send(413, closing("That is too much."))
            return
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            return  # the browser has disconnected: half a form is not an answer
        fields = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True)
        following, elsewhere = self._page.take(fields)
        self._send(303 if elsewhere else 200, following, elsewhere)

    def _is_for_us(self) -> bool:
        host = urlsplit(self._page.url).netloc
        hosts = (host, host.replace("127.0.0.1", "localhost"))
        path, ours = self.path.encode(), self._page.path.encode()
        is_ours = self.headers.get("Host") in hosts and secrets.compare_digest(path, ours)
        if not is_ours:
            self._send(404, closing("There is nothing here."))
        return is_ours

    def _send(self, status: int, text: str, elsewhere: str = "") -> None:
        data = text.encode("utf-8", "replace")
        self.send_response(status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        if elsewhere:
            self.send_header("Location", elsewhere)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing to stderr."""


def _value(field: Field, values: list[str]) -> Any:
    """Return the submitted value of one field, or `NO_DEFAULT` if it is empty."""
    if field.kind == "boolean":
        return bool(values) if field.is_needed or values or field.default is True else NO_DEFAULT
    if field.kind == "many":
        if not values and not field.is_needed:
            return NO_DEFAULT
        if problems := field.problems(values):
            raise Unfit(f"{problems[0]}.")
        return values
    text = values[0] if values else ""
    if text.strip():
        return field.read(text)
    if field.is_needed:
        raise Unfit("An answer is needed here.")
    return NO_DEFAULT


def _defaults(field: Field) -> list[str]:
    default = field.default
    if default is NO_DEFAULT or default is False:
        return []
    if isinstance(default, list):
        return [str(x) for x in default]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return [field.value_text(default) if default is True else str(default)]


def _for_a_header(url: str) -> str:
    """Return an address in the characters that a header allows."""
    return quote(url, safe=punctuation)


def closing(message: str) -> str:
    """Return the closing page."""
    return html(title="Done", message=message)


def html(**values: object) -> str:
    """Return one of our pages with these values."""
    return template(_HTML).render(values)
