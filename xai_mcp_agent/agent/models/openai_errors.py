"""What went wrong at a model's service, as our errors: what, where, its own words, what next.

No secret is shown: the key is masked and the address loses its credentials.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal, TypeAlias, cast

from ...core.errors import (
    ModelAuthenticationError,
    ModelCannotCallFunctions,
    ModelContentFiltered,
    ModelContextOverflow,
    ModelError,
    ModelRateLimited,
    ModelTimeout,
    ModelUnreachable,
)
from ...core.json import clipped
from ...secrets.secrets import Secrets
from .fields import mapping

# Services explain at length and some repeat the whole request: this much tells what is wrong.
_MAX_WORDS_CHARS = 500
# In the words of OpenAI; vLLM; llama.cpp; Ollama; Anthropic and Bedrock; Gemini.
_OVERFLOW = re.compile(
    r"context[ _](?:length|window|size)|maximum model length|longer than the (?:maximum )?model"
    r"|prompt is too long|input is too long|input length|too many (?:input )?tokens"
    r"|exceeds the maximum number of tokens|maximum prompt length",
    re.IGNORECASE,
)
# `maximum context length is 8192`, `tokens allowed (1048576)`, `210000 tokens > 200000 maximum`.
_WINDOW = re.compile(
    r"(?:context[ _](?:length|window|size)|(?:model|prompt) length|maximum number of tokens)"
    r"(?! by\b)\D{0,24}?(\d[\d,]{2,})|>\s*(\d[\d,]{2,})|(\d[\d,]{2,}) maximum context",
    re.IGNORECASE,
)
_LEAST_WINDOW_TOKENS = 512  # a smaller number counts something else
_FILTERED = re.compile(
    r"content[ _](?:filter|management policy|policy)|usage polic|responsible ?ai", re.IGNORECASE
)
_FILTERED_CODE = re.compile(r"content_|.*_policy(?:_violation)?$")
# In the words of Ollama; vLLM; OpenRouter; llama.cpp.
_LACKS_FUNCTIONS = re.compile(
    r"does not support (?:tool|function)|--enable-auto-tool-choice|support tool use"
    r"|tools? param requires|(?:tools?|functions?) (?:is|are) not supported",
    re.IGNORECASE,
)
_NEXT_OFFLINE = "The provider `offline` needs no key."
_WHERE_TO_SET = {
    "openai": "Set `api_key` and `base_url` of AgentModel, or OPENAI_API_KEY and OPENAI_BASE_URL.",
    "bedrock": "Set AWS_REGION and AWS credentials in the environment or in a profile.",
    "vertexai": "Set GOOGLE_CLOUD_PROJECT, GOOGLE_CLOUD_LOCATION and Google credentials.",
}
_EXTRAS = {"openai[bedrock]": "bedrock", "openai[vertex]": "vertex"}


_RESPONSES = "_responses"  # a provider's name with this is the same provider by another API
KeyFrom: TypeAlias = Literal["port", "environment", "nowhere"]
"""Where the key would come from; `nowhere`: the environment's is not for this address."""


@dataclass(frozen=True, slots=True)
class Service:
    """Whom we talk to, for messages, and how long it may be silent."""

    provider: str
    model: str
    base_url: str = field(repr=False)  # a password may stand in it
    silence_seconds: float
    key_from: KeyFrom = "port"
    node: str = "AgentModel"  # whose ports these are
    secrets: Secrets = field(default_factory=Secrets)

    @property
    def whose(self) -> str:
        """Whose service it is, by whatever API it is asked."""
        return whose(self.provider)

    def says(self, what: str, next_step: str, words: str = "") -> str:
        """One message: what happened, where, the service's own words, what to do next."""
        quoted = f' It says: "{_one_line(self.secrets.redact(words))}".' if words else ""
        place = f" at {shown_url(self.base_url)}" if self.base_url else ""
        text = f"{self.provider} {self.model}{place} {what}.{quoted} {next_step}"
        return self.secrets.redact(text).strip()


def whose(provider: str) -> str:
    """Whose service a provider's name means: `openai` for `openai_responses`."""
    return provider.removesuffix(_RESPONSES)


def shown_url(url: str) -> str:
    """An address for a person: without credentials, query and trailing slash."""
    without_credentials = re.sub(r"//[^/]*@", "//", url)
    return re.split(r"[?#]", without_credentials)[0].rstrip("/")


def model_error(cause: BaseException, service: Service) -> ModelError:
    """Our error for one that has nothing to do with the connection."""
    import openai  # Loaded already, see `failure`.

    if isinstance(cause, openai.APIError):
        return refused(0, {}, cause.body or cause.message, service)
    if isinstance(cause, openai.OpenAIError):
        return _not_set_up(str(cause), service)
    return ModelUnreachable(
        service.says("could not be talked to", "Check `base_url`.", f"{cause or type(cause)}")
    )


def web_page_error(status: int, service: Service) -> ModelError:
    """The error for a web page in place of an answer."""
    return ModelUnreachable(
        service.says(
            f"answered with a web page (status {status}), not with a model's reply",
            "Check `base_url`: it usually ends in /v1. A proxy or a sign-in page may be between.",
        )
    )


def no_key_error(service: Service) -> ModelError:
    """The error for a service that wants a key when there is none."""
    if service.key_from == "nowhere":
        what = "cannot be asked: there is no API key for this address"
        return ModelAuthenticationError(service.says(what, f"{_own_key(service)} {_NEXT_OFFLINE}"))
    return ModelAuthenticationError(
        service.says(
            "cannot be asked: there is no API key",
            f"Set {where_keys_are(service.node)}. {_NEXT_OFFLINE}",
        )
    )


def where_keys_are(node: str) -> str:
    """The two places for the key of OpenAI."""
    return f"`api_key` of {node}, or the environment variable OPENAI_API_KEY"


def _own_key(service: Service) -> str:
    """What to do about an address that the credentials of the environment are not for."""
    why = {
        "openai": "OPENAI_API_KEY is sent to OpenAI only, or to the address in OPENAI_BASE_URL.",
        "bedrock": "The AWS credentials are used for Amazon's addresses only.",
        "vertexai": "The Google credentials are used for Google's addresses only.",
    }
    return f"Set `api_key` of {service.node}, such as ${{ACME_API_KEY}}. {why[service.whose]}"


def is_overflow(code: str | None, words: str) -> bool:
    """Whether the service complains that the request does not fit its context."""
    return code in {"context_length_exceeded", "exceed_context_size_error"} or bool(
        _OVERFLOW.search(words)
    )


def window_in(fields: Mapping[str, Any], words: str) -> int | None:
    """How many tokens the context has, if a service that complains of it says so."""
    said = fields.get("n_ctx")  # llama.cpp
    if not isinstance(said, int):
        found = _WINDOW.search(words)
        said = int(next(x for x in found.groups() if x).replace(",", "")) if found else 0
    return said if said >= _LEAST_WINDOW_TOKENS else None


def words_of(body: Any) -> str:
    """A service's own words in the body of an error, wherever it put them."""
    if isinstance(body, Mapping):
        fields = cast(Mapping[str, Any], body)
        for key in ("message", "detail", "error", "msg"):
            if fields.get(key):
                return words_of(fields[key])
    if isinstance(body, list):
        return "; ".join(words_of(x) for x in cast(list[Any], body))
    return str(cast(object, body) or "")


def retry_after_seconds(headers: Mapping[str, str]) -> float | None:
    """How long the service asks to wait, from its headers; None when it does not say."""
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


def refused(status: int, headers: Mapping[str, str], body: Any, service: Service) -> ModelError:
    """The error for an answer that is an error; `status` is 0 when it came in a stream."""
    if "html" in headers.get("content-type", ""):
        return web_page_error(status, service)
    fields = mapping(body)
    code = str(fields.get("code") or fields.get("type") or "")
    words = words_of(body)
    if (status in {0, 400, 413, 422, 500} and is_overflow(code, words)) or status == 413:
        window = window_in(fields, words)
        return ModelContextOverflow(service.says(*_OVERFLOW_TEXT, words), window)
    if _FILTERED_CODE.match(code) or (status in {0, 400} and _FILTERED.search(words)):
        return ModelContentFiltered(service.says(*_FILTERED_TEXT, words))
    if status in {0, 400, 404, 422, 500, 501} and _LACKS_FUNCTIONS.search(words):
        return ModelCannotCallFunctions(service.says(*_LACKS_FUNCTIONS_TEXT, words))
    if status in {401, 403} or code == "invalid_api_key":
        return _not_allowed(status, words, service)
    if status == 429 or code in {"rate_limit_exceeded", "insufficient_quota", "429"}:
        return _rate_limited(headers, code, words, service)
    if status == 404 or code == "model_not_found":
        return _not_found(code, words, service)
    return _other(status, words, service)


_OVERFLOW_TEXT = (
    "cannot take in this request: the conversation and the tools are too long for it",
    "Shorten the conversation, offer fewer tools, or use a model with a larger context window.",
)
_FILTERED_TEXT = (
    "did not answer: the service's content filter stopped it",
    "Change the request, or the filter's settings where the service has them.",
)
_LACKS_FUNCTIONS_TEXT = (
    "cannot call functions",
    "Use the text protocol for it, or a model that can.",
)


def _not_allowed(status: int, words: str, service: Service) -> ModelError:
    where = {
        "openai": f"Check {where_keys_are(service.node)}.",
        "bedrock": "Check the AWS credentials, and that the account may use this model.",
        "vertexai": "Check the Google credentials, and that the project may use this model.",
    }
    check = _own_key(service) if service.key_from == "nowhere" else where[service.whose]
    step = f"{check} {_NEXT_OFFLINE}"
    what = "refused the key" if status != 403 else "does not allow this"
    return ModelAuthenticationError(
        service.says(f"{what} ({status or 'in its reply'})", step, words)
    )


def _rate_limited(
    headers: Mapping[str, str], code: str, words: str, service: Service
) -> ModelError:
    if code == "insufficient_quota":
        what, step = "has no quota left for this account", "Check the plan and its billing."
        return ModelRateLimited(service.says(what, step, words))
    seconds = retry_after_seconds(headers)
    wait = f"Wait {seconds:.0f} seconds, as it asks" if seconds else "Wait a little"
    step = f"{wait}, then run again; or ask for a higher limit."
    return ModelRateLimited(service.says("had too many requests (429)", step, words))


def _not_found(code: str, words: str, service: Service) -> ModelError:
    if code == "model_not_found" or "model" in words.lower():
        step = f"Check the name {service.model!r}; a local server must have the model first."
        return ModelError(service.says("does not have this model (404)", step, words))
    step = f"Check `base_url` (it usually ends in /v1) and the model's name {service.model!r}."
    return ModelError(service.says("has nothing at this address (404)", step, words))


def _other(status: int, words: str, service: Service) -> ModelError:
    if status == 408:
        return ModelTimeout(service.says("gave up on the request (408)", "Run again.", words))
    if status >= 500:
        step = "Run again later; the service's log or status page tells more."
        return ModelUnreachable(service.says(f"failed ({status})", step, words))
    if status == 0:
        return ModelError(service.says("broke off its reply with an error", "Run again.", words))
    step = "Check the model's settings and the conversation against the service's documentation."
    return ModelError(service.says(f"refused the request ({status})", step, words))


def timeout_error(limit_seconds: float, service: Service) -> ModelTimeout:
    """The error for a service that was silent for too long."""
    step = "Raise `timeout_seconds`, or check whether the server is busy or loading the model."
    return ModelTimeout(service.says(f"did not answer within {limit_seconds:g} seconds", step))


def turn_error(limit_seconds: float, service: Service) -> ModelTimeout:
    """The error for an answer that came, but did not end in time."""
    step = "Raise `turn_timeout_seconds`, or have it answer shorter with `max_output_tokens`."
    what = f"did not end its turn within {limit_seconds:g} seconds, repeated attempts included"
    return ModelTimeout(service.says(what, step))


def _not_set_up(words: str, service: Service) -> ModelError:
    """The client library refuses to ask: something is missing on our side."""
    for extra, ours in _EXTRAS.items():
        if extra in words:
            step = f"Install it: pip install 'xai-mcp-agent[{ours}]'."
            return ModelError(service.says("needs a package that is not installed", step))
    if re.search(r"credential|authenticat|token|api_key", words, re.IGNORECASE):
        step = f"{_WHERE_TO_SET[service.whose]} {_NEXT_OFFLINE}"
        return ModelAuthenticationError(service.says("cannot be asked", step, words))
    return ModelError(service.says("cannot be asked", _WHERE_TO_SET[service.whose], words))


def _one_line(words: str) -> str:
    folded = " ".join(words.split()).removesuffix(".")
    return clipped(folded, _MAX_WORDS_CHARS)
