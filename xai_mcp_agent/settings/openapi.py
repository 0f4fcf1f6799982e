"""An OpenAPI service: an entry under `openapiServices`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Self, cast

from pydantic import AfterValidator, PlainValidator, ValidationInfo

from ..core.kinds import OPENAPI
from ..secrets.redactor import redact_url, secrets_in_headers, secrets_in_text
from .document import Place
from .entry import (
    OURS,
    START_TIMEOUT_SECONDS,
    Count,
    Reading,
    Seconds,
    SourceSettings,
    Texts,
    mistake,
    read_text,
    spelled,
)
from .http import Address, Headers, wrong_with_url
from .interpolation import Variables
from .openapi_auth import CredentialsByScheme, credential_notes
from .openapi_operation import OperationsByName

MAX_ANSWER_BYTES = 10 * 1024 * 1024  # a model reads a thousandth of it; programs read pages


def _spec(value: Any, info: ValidationInfo) -> str:
    """A URL as it is, a file as an absolute path."""
    reading = cast(Reading, info.context)
    text = read_text(value, info).strip()
    if not text and not reading.is_off:
        raise mistake("it is empty.", "Write the file or the URL of the service's document.")
    if "://" not in text:
        folder = reading.variables.folder
        return os.path.normpath(os.path.join(folder, os.path.expanduser(text)))
    if not reading.is_off and (problem := wrong_with_url(text)):
        raise mistake(problem, "Write a file, or a full address such as https://example.com/api.")
    return text


def _base_url(url: str) -> str:
    """One that paths can be added to."""
    if "?" in url or "#" in url:
        problem = "it has a query or a fragment, and paths are added to its end."
        raise mistake(problem, "Write it without; `headers` go along with every request.")
    return url


@dataclass(frozen=True, kw_only=True, repr=False)
class OpenApiSettings(SourceSettings):
    """One service. With `include` only these operations are tools, and never those in `exclude`.

    `spec` is the file or the URL of its document; `base_url` is where it is called, whatever the
    document says. `headers` go along with every request to it, and with that for the document.
    `operations` say how single ones are called.
    """

    kind: ClassVar = OPENAPI
    noun: ClassVar = "OpenAPI service"
    shapes: ClassVar = ('{"spec": ...}',)

    transport: Annotated[str, OURS] = "http"
    spec: Annotated[str, PlainValidator(_spec)]
    base_url: Annotated[Address, AfterValidator(_base_url), spelled("baseUrl", "base_url")] = ""
    auth: CredentialsByScheme = field(default_factory=dict[str, Any])
    headers: Headers = field(default_factory=dict[str, str])
    include: Texts = ()
    exclude: Texts = ()
    operations: OperationsByName = field(default_factory=dict[str, Any])
    max_answer_bytes: Annotated[Count, spelled("maxResponseBytes")] = MAX_ANSWER_BYTES
    start_timeout_seconds: Annotated[Seconds, spelled("startTimeout")] = START_TIMEOUT_SECONDS

    @classmethod
    def read(cls, name: str, value: Any, place: Place, variables: Variables) -> Self:
        """The service that an entry describes; see `SourceSettings.read`."""
        service = super().read(name, value, place, variables)
        variables.secrets.update(service._secret_texts())
        return service

    def _secret_texts(self) -> Iterator[str]:
        yield from (x for credential in self.auth.values() for x in credential.secret_texts())
        yield from secrets_in_headers(self.headers)
        yield from secrets_in_text(self.spec)

    @classmethod
    def notes(cls, value: Any, place: Place) -> list[str]:
        """One line for each key that is ignored, also under `auth`."""
        written = cast(Mapping[Any, Any], value if isinstance(value, Mapping) else {})
        return [
            *super().notes(value, place),
            *credential_notes(written.get("auth"), place.at("auth")),
        ]

    @property
    def origin(self) -> object:
        """The document."""
        return self.spec

    @property
    def is_remote(self) -> bool:
        """Whether the document is behind a URL."""
        return "://" in self.spec

    def _shown(self) -> Mapping[str, Any]:
        return {"spec": redact_url(self.spec), "headers": sorted(self.headers)}
