"""What an attempt to ask a model came to when it failed, and whether another may do better."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ...core.errors import ModelError, ModelUnreachable, let_go_of_frames
from . import openai_errors as errors
from .fields import mapping

Again: TypeAlias = Literal["never", "soon", "when free"]


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an attempt came to nothing, and whether another may do better.

    A value, not raised where it is found: the client library's errors hold the request with its
    key, and an error of ours that is raised beside one would be chained to it.
    """

    error: ModelError
    again: Again = "never"
    wait_seconds: float | None = None  # as the service asks
    words: str = ""  # its own, where they came in the middle of an answer

    @property
    def reason(self) -> str:
        """What happened, without what to do next."""
        return str(self.error).partition(". ")[0]


def failure(cause: BaseException, service: errors.Service) -> Failure:
    """What an error of the client library, or of the HTTP library under it, comes to.

    The error must not be raised again: it has no frames any more.
    """
    try:
        return _read(cause, service)
    finally:
        let_go_of_frames(cause)


def _read(cause: BaseException, service: errors.Service) -> Failure:
    # Here, because they are heavy; they are loaded when this is called.
    import httpx2
    import openai

    if isinstance(cause, openai.APIConnectionError):
        cause = cause.__cause__ or cause
    if isinstance(cause, httpx2.ConnectTimeout):
        step = "Check `base_url`, the network and any proxy."
        error = ModelUnreachable(service.says("does not accept a connection", step))
        return Failure(error, "soon")
    if isinstance(cause, httpx2.TimeoutException | openai.APITimeoutError):
        return Failure(errors.timeout_error(service.silence_seconds, service))
    if isinstance(cause, httpx2.HTTPError | openai.APIConnectionError):
        return dropped(service, f"{cause}", could_connect="Connect" not in type(cause).__name__)
    if isinstance(cause, openai.APIStatusError):
        return _status_failure(cause, service)
    return Failure(errors.model_error(cause, service))


def body_failure(body: Any, service: errors.Service) -> Failure | None:
    """What a body sent with status 200, or a piece of a stream, says of an error in it."""
    piece = mapping(body)
    error: Any = piece.get("error")
    if piece.get("type") == "response.failed":
        error = mapping(piece.get("response")).get("error") or "It does not say why."
    elif piece.get("type") == "error":
        error = error or piece
    if not error:
        return None
    fields = mapping(error)
    code = str(fields.get("code") or fields.get("type") or "")
    words = errors.words_of(error)
    return Failure(errors.refused(0, {}, error, service), _again(code), words=words)


def dropped(service: errors.Service, words: str = "", *, could_connect: bool = True) -> Failure:
    """The connection broke off, or was never there; `words` are the operating system's."""
    if could_connect:
        step = "Run again; if it happens again, look at the server's log."
        error = ModelUnreachable(service.says("dropped the connection", step, words))
    else:
        step = "Is the server running, and is `base_url` right?"
        error = ModelUnreachable(service.says("cannot be reached", step, words))
    return Failure(error, "soon")


def _status_failure(cause: Any, service: errors.Service) -> Failure:
    headers, status = cause.response.headers, cause.status_code
    error = errors.refused(status, headers, cause.body, service)
    again = _again("408" if status == 409 else str(status))
    if cause.code == "insufficient_quota" or headers.get("x-should-retry") == "false":
        again = "never"
    return Failure(error, again, errors.retry_after_seconds(headers))


def _again(code: str) -> Again:
    """Whether an error of this status, or of this name, may pass."""
    if code in {"429", "rate_limit_exceeded", "rate_limit_error"}:
        return "when free"
    return "soon" if re.fullmatch(r"408|5\d\d|server_error|overloaded(_error)?", code) else "never"
