"""Failures of a model's service as our errors: what, where, its own words, what next.

A failed attempt is a value, an `AttemptFailure`: errors of client libraries hold the request with
its key, and an error of ours raised beside one would be chained to it. No secret is shown: the key
is masked and the address loses its credentials.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal, NamedTuple, TypeAlias

from ...core.errors import (
    ModelAuthenticationError,
    ModelCannotCallFunctions,
    ModelContentFiltered,
    ModelContextOverflow,
    ModelError,
    ModelRateLimited,
    ModelTimeout,
    ModelUnreachable,
    drop_tracebacks,
)
from ...core.json import as_object, clip, is_list, is_object
from ...secrets.secrets import Secrets

# Services explain at length and some repeat the whole request; this much shows what is wrong.
_MAX_WORDS_CHARS = 500
# As worded by OpenAI; vLLM; llama.cpp; Ollama; Anthropic and Bedrock; Gemini.
_OVERFLOW = (
    r"context[ _](?:length|window|size)|maximum model length|longer than the (?:maximum )?model"
    r"|prompt is too long|input is too long|input length|too many (?:input )?tokens"
    r"|exceeds the maximum number of tokens|maximum prompt length"
)
_OVERFLOW_CODES = "context_length_exceeded|exceed_context_size_error"
# `maximum context length is 8192`, `tokens allowed (1048576)`, `210000 tokens > 200000 maximum`.
_WINDOW = re.compile(
    r"(?:context[ _](?:length|window|size)|(?:model|prompt) length|maximum number of tokens)"
    r"(?! by\b)\D{0,24}?(\d[\d,]{2,})|>\s*(\d[\d,]{2,})|(\d[\d,]{2,}) maximum context",
    re.IGNORECASE,
)
_MIN_WINDOW_TOKENS = 512  # a smaller number counts something else
_FILTERED = r"content[ _](?:filter|management policy|policy)|usage polic|responsible ?ai"
# As worded by Gemini; xAI.
_WRONG_KEY = r"api key not valid|incorrect api key"
# As worded by Ollama; vLLM; OpenRouter; llama.cpp.
_LACKS_FUNCTIONS = (
    r"does not support (?:tool|function)|--enable-auto-tool-choice|support tool use"
    r"|tools? param requires|(?:tools?|functions?) (?:is|are) not supported"
)
_PASSES = re.compile(r"408|409|5\d\d|server_error|overloaded(_error)?")
_BUSY = re.compile(r"429|rate_limit_exceeded|rate_limit_error")
_NEXT_OFFLINE = "The provider `offline` needs no key."
_CHECK_LOG = "Check `base_url` and the server's log."

Retry: TypeAlias = Literal["never", "soon", "when free"]


@dataclass(frozen=True, slots=True)
class ModelService:
    """A model's service for messages, and how long it may be silent.

    `needs_own_key` is true if the environment's key is not for this address, and it has no other.
    """

    provider: str
    model: str
    base_url: str = field(repr=False)  # may contain a password
    silence_seconds: float
    needs_own_key: bool = False
    node: str = "AgentModel"  # node with these ports
    key_variable: str = "OPENAI_API_KEY"
    secrets: Secrets = field(default_factory=Secrets, repr=False)

    def message(self, what: str, next_step: str, words: str = "") -> str:
        """Return a message: what happened, where, the service's own words, what to do next."""
        quoted = f' It says: "{_one_line(self.secrets.redact(words))}".' if words else ""
        place = f" at {display_url(self.base_url)}" if self.base_url else ""
        text = f"{self.provider} {self.model}{place} {what}.{quoted} {next_step}"
        return self.secrets.redact(text).strip()

    @property
    def key_port(self) -> str:
        """Return the port that takes the key, with the option for the command line."""
        option = " (`--api-key` of a command)" if self.node == "AgentModel" else ""
        return f"`api_key` of {self.node}{option}"

    @property
    def key_places(self) -> str:
        """Return the places for the key."""
        file = f"{self.key_variable} in the file .env beside mcp_settings.json"
        return f"{file} or in the environment, or {self.key_port}"


@dataclass(frozen=True, slots=True)
class AttemptFailure:
    """Why an attempt failed, and whether another may succeed."""

    error: ModelError
    retry: Retry = "never"
    wait_seconds: float | None = None  # as the service asks
    words: str = ""  # the service's own
    status: int = 0  # of the response; 0 in the middle of an answer

    @property
    def reason(self) -> str:
        """Return what happened, without the next step."""
        return str(self.error).partition(". ")[0]


def failure_of(cause: BaseException, service: ModelService) -> AttemptFailure:
    """Convert an error of the client library, or of its HTTP library, to an `AttemptFailure`.

    The error must not be raised again: its frames are cleared.
    """
    # Imported here because they are heavy; the caller has loaded them already.
    import httpx2
    import openai

    try:
        if isinstance(cause, openai.APIStatusError):
            return status_failure(cause.status_code, cause.response.headers, cause.body, service)
        if isinstance(cause, openai.APIConnectionError):
            cause = cause.__cause__ or cause
        if isinstance(cause, httpx2.ConnectTimeout):
            step = "Check `base_url`, the network and any proxy."
            error = ModelUnreachable(service.message("does not accept a connection", step))
            return AttemptFailure(error, "soon")
        if isinstance(cause, httpx2.TimeoutException):
            return AttemptFailure(timeout_error(service))
        if isinstance(cause, httpx2.ConnectError):
            is_untrusted = "certificate verify failed" in str(cause)
            step = "Is the server running, and is `base_url` right?"
            if is_untrusted:
                step = "SSL_CERT_FILE can name a PEM file that vouches for its certificate."
            error = ModelUnreachable(service.message("cannot be reached", step, str(cause)))
            return AttemptFailure(error, "never" if is_untrusted else "soon")
        if isinstance(cause, httpx2.HTTPError):
            return dropped_failure(service, str(cause))
        words = f"{cause or type(cause)}"
        return unreadable_failure("could not be used", service, words)
    finally:
        drop_tracebacks(cause)


def status_failure(
    status: int, headers: Mapping[str, str], body: Any, service: ModelService
) -> AttemptFailure:
    """Return the failure for a response with an error status."""
    error = refusal(status, headers, body, service)
    retry = _retry_after(str(status))
    is_final = headers.get("x-should-retry") == "false"
    if is_final or as_object(body).get("code") == "insufficient_quota":
        retry = "never"
    return AttemptFailure(error, retry, _pause_seconds(headers), words_of(body), status)


def body_failure(body: Any, service: ModelService) -> AttemptFailure | None:
    """Return the error in a body sent with status 200, or in a piece of a stream."""
    piece = as_object(body)
    error: Any = piece.get("error")
    if piece.get("type") == "response.failed":
        error = as_object(piece.get("response")).get("error") or "It does not say why."
    elif piece.get("type") == "error":
        error = error or piece
    if not error:
        return None
    code = str(as_object(error).get("code") or as_object(error).get("type") or "")
    return AttemptFailure(refusal(0, {}, error, service), _retry_after(code), words=words_of(error))


def dropped_failure(service: ModelService, words: str = "") -> AttemptFailure:
    """Return the failure for a lost connection; `words` are the operating system's."""
    step = "Run again; if it happens again, look at the server's log."
    return AttemptFailure(
        ModelUnreachable(service.message("dropped the connection", step, words)), "soon"
    )


def unreadable_failure(what: str, service: ModelService, words: str = "") -> AttemptFailure:
    """Return the failure for an answer that is no reply."""
    return AttemptFailure(ModelUnreachable(service.message(what, _CHECK_LOG, words)))


def _retry_after(code: str) -> Retry:
    """Return whether an error with this status or code may pass."""
    if _BUSY.fullmatch(code):
        return "when free"
    return "soon" if _PASSES.fullmatch(code) else "never"


def _pause_seconds(headers: Mapping[str, str]) -> float | None:
    """Return the wait that the service asks for in its headers, or None."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            return max(0.0, float(headers.get(name, "")) * unit)
        except ValueError:
            continue
    try:
        until = parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return None
    return max(0.0, (until.astimezone(UTC) - datetime.now(UTC)).total_seconds())


def refusal(
    status: int, headers: Mapping[str, str], body: Any, service: ModelService
) -> ModelError:
    """Return the error for an error response; `status` is 0 if it came in a stream."""
    if "html" in headers.get("content-type", ""):
        return web_page_error(status, service)
    code = str(as_object(body).get("code") or as_object(body).get("type") or "")
    words, seconds = words_of(body), _pause_seconds(headers)
    row = next(x for x in _REFUSALS if x.fits(str(status), code, words))
    step = row.step.format(
        model=repr(service.model),
        key=_key_step(service),
        wait=f"Wait {seconds:.0f} seconds, as it asks" if seconds else "Wait a little",
    )
    text = service.message(row.what.format(status or "in its reply"), step, words)
    if row.error is ModelContextOverflow:
        return ModelContextOverflow(text, window_in(as_object(body), words))
    return row.error(text)


class _Refusal(NamedTuple):
    """A way in which services refuse: by status, by code, or by words with a status in `of`."""

    status: str
    code: str
    error: type[ModelError]
    what: str
    step: str
    words: str = ""
    of: str = "none"

    def fits(self, status: str, code: str, words: str) -> bool:
        """Return whether a response is of this kind; status and codes are patterns."""
        if re.fullmatch(self.status, status) or (code and re.fullmatch(self.code, code)):
            return True
        return bool(re.fullmatch(self.of, status) and re.search(self.words, words, re.IGNORECASE))


_REFUSALS = (  # the first that fits wins
    _Refusal("413", _OVERFLOW_CODES, ModelContextOverflow,
        "cannot take this request: the conversation and the tools are too long for it",
        "Shorten the conversation, offer fewer tools, or use a model with a larger context window.",
        _OVERFLOW, "0|400|422|500"),
    _Refusal("none", r"content_.*|.*_policy(_violation)?", ModelContentFiltered,
        "did not answer: the service's content filter stopped it",
        "Change the request, or the filter's settings where the service has them.",
        _FILTERED, "0|400"),
    _Refusal("none", "", ModelCannotCallFunctions, "cannot call functions",
        "Use the text protocol for it, or a model that can.",
        _LACKS_FUNCTIONS, "0|400|404|422|500|501"),
    _Refusal("403", "", ModelAuthenticationError, "does not allow this ({})", "{key}"),
    _Refusal("401", "invalid_api_key", ModelAuthenticationError, "refused the key ({})", "{key}",
        _WRONG_KEY, "400"),
    _Refusal("402", "402|insufficient_quota", ModelRateLimited,
        "has no quota left for this account", "Check the plan and its billing."),
    _Refusal("429", _BUSY.pattern, ModelRateLimited, "received too many requests (429)",
        "{wait}, then run again; or ask for a higher limit."),
    _Refusal("none", "model_not_found", ModelError, "does not have this model (404)",
        "Check the name {model}; a local server must have the model first.", "model", "404"),
    _Refusal("404", "", ModelError, "has nothing at this address (404)",
        "Check `base_url` (it usually ends in /v1) and the model's name {model}."),
    _Refusal("408", "", ModelTimeout, "gave up on the request (408)", "Run again."),
    _Refusal(r"5\d\d", "", ModelUnreachable, "failed ({})",
        "Run again later; the service's log or status page tells more."),
    _Refusal("0", "", ModelError, "broke off its reply with an error", "Run again."),
    _Refusal(".*", "", ModelError, "refused the request ({})",
        "Check the model's settings and the conversation against the service's documentation."),
)  # fmt: skip


def web_page_error(status: int, service: ModelService) -> ModelError:
    """Return the error for a web page in place of an answer."""
    what = f"answered with a web page (status {status}), not with a model's reply"
    step = "Check `base_url`: it usually ends in /v1. A proxy or a sign-in page may be between."
    return ModelUnreachable(service.message(what, step))


def no_key_error(service: ModelService) -> ModelError:
    """Return the error for a service that needs a key when there is none."""
    where = " for this address" if service.needs_own_key else ""
    what = f"cannot be asked: there is no API key{where}"
    return ModelAuthenticationError(service.message(what, _key_step(service, "Set")))


def timeout_error(service: ModelService) -> ModelTimeout:
    """Return the error for a service that was silent for too long."""
    what = f"did not answer within {service.silence_seconds:g} seconds"
    step = "Raise `timeout_seconds`, or check whether the server is busy or loading the model."
    return ModelTimeout(service.message(what, step))


def turn_error(limit_seconds: float, service: ModelService) -> ModelTimeout:
    """Return the error for an answer that came, but did not end in time."""
    step = "Raise `turn_timeout_seconds`, or have it answer shorter with `max_output_tokens`."
    what = f"did not end its turn within {limit_seconds:g} seconds, repeated attempts included"
    return ModelTimeout(service.message(what, step))


def is_overflow(code: str | None, words: str) -> bool:
    """Return whether the service complains that the request exceeds its context."""
    return _REFUSALS[0].fits("400", code or "", words)


def window_in(fields: Mapping[str, Any], words: str) -> int | None:
    """Return the context size that a service states in its complaint, or None."""
    tokens = fields.get("n_ctx")  # llama.cpp
    if not isinstance(tokens, int):
        match = _WINDOW.search(words)
        tokens = int(next(x for x in match.groups() if x).replace(",", "")) if match else 0
    return tokens if tokens >= _MIN_WINDOW_TOKENS else None


def words_of(body: Any) -> str:
    """Return a service's own words from an error body, wherever it put them."""
    if is_object(body):
        for key in ("message", "detail", "error", "msg"):
            if body.get(key):
                return words_of(body[key])
    if is_list(body):
        return "; ".join(map(words_of, body))
    return str(body or "")


def display_url(url: str) -> str:
    """Return an address for people: without credentials, query and trailing slash."""
    without_credentials = re.sub(r"//[^/]*@", "//", url)
    return re.split(r"[?#]", without_credentials)[0].rstrip("/")


def _key_step(service: ModelService, verb: str = "Check") -> str:
    """Return what to do about the key; the environment's is for some addresses only."""
    step = f"{verb} {service.key_places}."
    if service.needs_own_key:
        step = (
            f"Set {service.key_port}, such as ${{ACME_API_KEY}}. OPENAI_API_KEY is sent "
            "to OpenAI only, or to the address in OPENAI_BASE_URL."
        )
    return f"{step} {_NEXT_OFFLINE}"


def _one_line(words: str) -> str:
    return clip(" ".join(words.split()).removesuffix("."), _MAX_WORDS_CHARS)
