"""An OpenAPI service: an entry under `openapiServices`, with its credentials and operations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias, cast

from pydantic import AfterValidator, Field, ValidationInfo, model_validator
from pydantic_core import PydanticKnownError

from ..core.tools import OPENAPI
from ..secrets.search import secrets_in_text
from .auth import ClientAuthenticationKey, Scopes
from .entry import (
    START_TIMEOUT_SECONDS,
    Count,
    Headers,
    OptionalUrl,
    Seconds,
    SecretText,
    SourceSettings,
    Text,
    Texts,
    TrimmedText,
    absolute,
    header_names,
    remembering,
    trimmed_text,
    url_problem,
)
from .validation import (
    INTERNAL,
    Section,
    context_of,
    file_keys,
    mistake,
    prepared_by,
    read_by,
)

ANY_SCHEME = ""
"""The key of the credentials for every scheme without its own."""

Mode: TypeAlias = Literal["auto", "sync_http", "async_poll"]
"""sync_http: the response is the result. async_poll: the response starts a job, which is polled.

auto: a job if the response is 202 and has the job's address, else the result.
"""

MAX_ANSWER_BYTES = 10 * 1024 * 1024  # a model reads a thousandth of it; programs read pages
# ten minutes: some reports and exports take that long, and a lost job must end
DEADLINE_SECONDS = 600.0
INTERVAL_SECONDS = 1.0
MAX_INTERVAL_SECONDS = 30.0  # a person who waits sees progress
GROWTH = 1.5
SUCCESS = ("succeeded", "success", "successful", "completed", "complete", "done", "finished",
           "ready", "ok")  # fmt: skip
FAILURE = ("failed", "failure", "error", "errored", "cancelled", "canceled", "aborted", "expired",
           "rejected", "timed_out", "timedout")  # fmt: skip


@dataclass(frozen=True)
class CredentialSettings(Section):
    """Credentials for a scheme; the scheme decides which fields it uses.

    A client gets its tokens at `token_url`, by default at the token URL in the document if that is
    on the service's own host.
    """

    example: ClassVar = (
        '{"apiKey": "${NAME}"}, or bearer, username and password, or clientId and so on'
    )

    api_key: Annotated[SecretText, file_keys("apiKey", "api_key")] = None
    bearer: Annotated[SecretText, file_keys("bearer", "token")] = None
    username: TrimmedText = ""
    password: SecretText = None
    client_id: Annotated[TrimmedText, file_keys("clientId", "client_id")] = ""
    client_secret: Annotated[SecretText, file_keys("clientSecret", "client_secret")] = None
    client_authentication: ClientAuthenticationKey = None
    token_url: Annotated[OptionalUrl, file_keys("tokenUrl", "token_url")] = ""
    scopes: Scopes = ()

    @model_validator(mode="after")
    def _check_complete(self, info: ValidationInfo) -> Self:
        if context_of(info).is_off:
            return self
        if not (self.username or self.client_id or any(self.secret_texts())):
            problem = "it has no credentials, or they are empty."
            raise mistake(problem, f"Write {self.example}.")
        if bool(self.client_id) != bool(self.client_secret):
            problem = "`clientId` and `clientSecret` belong together."
            raise mistake(problem, "Add the other; ${NAME} takes it from the environment.")
        return self

    @property
    def is_client(self) -> bool:
        """Whether tokens are obtained with a client id and a secret."""
        return bool(self.client_id and self.client_secret)


def _by_scheme(value: Any) -> dict[Any, Any]:
    """Return the credentials by the names of their schemes."""
    if not isinstance(value, Mapping):
        raise PydanticKnownError("dict_type")
    auth = dict(cast(Mapping[Any, Any], value))
    if not any(isinstance(x, Mapping) for x in auth.values()):
        return {ANY_SCHEME: auth} if auth else {}
    if any(not isinstance(x, Mapping) for x in auth.values()):
        problem = "some keys hold an object for a scheme, and others do not."
        raise mistake(problem, "Write one object for all schemes, or one for each.")
    return auth


CredentialsByScheme = Annotated[
    dict[str, CredentialSettings],
    prepared_by(_by_scheme, CredentialSettings | dict[str, CredentialSettings]),
]
"""The `auth` of an entry: credentials by the names of schemes in the document.

One object for all schemes is under `ANY_SCHEME`.
"""


def _pointer(text: str) -> str:
    if text and not text.startswith("/"):
        raise mistake("this is not a JSON pointer.", "Write it as /status or /data/0/id.")
    return text


_Pointer = Annotated[Text, AfterValidator(_pointer)]


@dataclass(frozen=True, kw_only=True)
class AsyncSettings(Section):
    """Settings of a job that an operation starts.

    The job's address or id is in the header `job_header` of the first response (if empty:
    `Operation-Location` or `Location`), or at the JSON pointer `job_pointer`. In `poll_url`,
    `result_url` and `cancel_url`, `{job}` stands for the id and `{url}` for the address; in
    `result_url`, `{result}` stands for the value at `result_pointer`. A path is added to the base
    URL. Without a `status_pointer`, the status is at `/status` or `/state`. A job may also be at
    one of the `hosts`; they get no credentials.
    """

    job_header: Text = ""
    job_pointer: _Pointer = ""
    poll_url: Text = ""
    status_pointer: _Pointer = ""
    success: Texts = SUCCESS
    failure: Texts = FAILURE
    running: Texts = ()
    progress_pointer: _Pointer = "/progress"
    result_pointer: _Pointer = ""
    result_url: Text = ""
    interval_seconds: Seconds = INTERVAL_SECONDS
    growth: Annotated[float, Field(strict=True, ge=1, le=10)] = GROWTH
    max_interval_seconds: Seconds = MAX_INTERVAL_SECONDS
    deadline_seconds: Seconds = DEADLINE_SECONDS
    cancel_url: Text = ""
    cancel_method: Literal["DELETE", "POST", "PUT", "PATCH"] = "DELETE"
    hosts: Texts = ()


@dataclass(frozen=True, kw_only=True)
class OperationSettings(Section):
    """One operation. The templates `url`, `headers` and `body` replace the planned ones.

    With a `job` and without a `mode` the operation starts a job.
    """

    mode: Mode = "auto"
    job: Annotated[AsyncSettings | None, file_keys("async")] = None
    url: Text = ""
    headers: Annotated[dict[str, Text], AfterValidator(header_names)] = field(
        default_factory=dict[str, str], hash=False
    )
    body: Text = ""
    call_timeout_seconds: Annotated[Seconds | None, file_keys("timeout")] = None

    @property
    def is_job(self) -> bool:
        """Whether the first response is never the result."""
        return self.mode == "async_poll" or (self.mode == "auto" and self.job is not None)


def _spec(value: Any, info: ValidationInfo) -> str:
    """Read the document's location: a URL as it is, or a file as an absolute path."""
    context, text = context_of(info), trimmed_text(value, info)
    if not text and not context.is_off:
        raise mistake("it is empty.", "Write the file or the URL of the service's document.")
    if "://" not in text:
        return absolute(text, info)
    if not context.is_off and (problem := url_problem(text)):
        raise mistake(problem, "Write a file, or a full address such as https://example.com/api.")
    return text


def _base_url(url: str) -> str:
    """Return a URL if paths can be added to it."""
    if "?" in url or "#" in url:
        problem = "it has a query or a fragment, but paths are added to its end."
        raise mistake(problem, "Remove that; `headers` are sent with every request.")
    return url


@dataclass(frozen=True, kw_only=True, repr=False)
class OpenApiSettings(SourceSettings):
    """One service. `include` and `exclude` select its operations.

    `spec` is the file or the URL of its document; `base_url` replaces the base URL in it. `headers`
    are sent with every request, including the one for the document. `operations` has settings for
    single operations.
    """

    kind: ClassVar = OPENAPI
    noun: ClassVar = "OpenAPI service"
    example: ClassVar = '{"spec": ...}'

    transport: Annotated[str, INTERNAL] = "http"
    spec: Annotated[str, read_by(_spec), remembering(secrets_in_text)]
    base_url: Annotated[
        OptionalUrl, AfterValidator(_base_url), file_keys("baseUrl", "base_url")
    ] = ""
    auth: CredentialsByScheme = field(default_factory=dict[str, Any])
    headers: Headers = field(default_factory=dict[str, str])
    include: Texts = ()
    exclude: Texts = ()
    operations: dict[str, OperationSettings] = field(default_factory=dict[str, Any])
    max_answer_bytes: Annotated[Count, file_keys("maxResponseBytes")] = MAX_ANSWER_BYTES
    start_timeout_seconds: Seconds = START_TIMEOUT_SECONDS

    @property
    def origin(self) -> object:
        """The location of the document."""
        return self.spec

    @property
    def is_remote(self) -> bool:
        """Whether the document is behind a URL."""
        return "://" in self.spec
