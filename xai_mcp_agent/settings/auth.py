"""Settings for access to a server: the `auth` of its entry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias, cast
from urllib.parse import urlsplit

from pydantic import Field, ValidationInfo, model_validator
from pydantic_core import PydanticKnownError

from ..core.questions import SIGN_IN_SECONDS
from .entry import (
    OptionalUrl,
    Seconds,
    SecretText,
    TrimmedText,
    Words,
    trimmed_text,
    url_problem,
)
from .validation import Section, context_of, file_keys, mistake, read_by

Use: TypeAlias = Literal["auto", "yes", "no"]
"""auto: sign in if the server asks as OAuth defines. yes: after any 401. no: never."""
Grant: TypeAlias = Literal["authorization_code", "client_credentials"]
"""authorization_code: a person signs in. client_credentials: a machine, with its own secret."""
ClientAuthentication: TypeAlias = Literal["none", "client_secret_basic", "client_secret_post"]

ClientAuthenticationKey = Annotated[
    ClientAuthentication | None,
    file_keys("tokenEndpointAuthMethod", "token_endpoint_auth_method"),
]
Scopes = Annotated[Words, file_keys("scopes", "scope")]


def _use(value: Any) -> Use:
    if not isinstance(value, bool):
        raise PydanticKnownError("bool_type")
    return "yes" if value else "no"


def _file_url(value: Any, info: ValidationInfo) -> str:
    """Return the https address of a file, or ""."""
    text = trimmed_text(value, info)
    is_file = text.startswith("https:") and not url_problem(text)
    if text and not context_of(info).is_off and not (is_file and urlsplit(text).path.strip("/")):
        fix = "Write it in full, such as https://example.com/client.json."
        raise mistake("must be the https:// address of a file.", fix)
    return text


@dataclass(frozen=True)
class AuthSettings(Section):
    """Settings for signing in; all are optional, since servers announce the rest.

    `client_id`, `client_secret` and `private_key` belong to a registered client. Without them a
    client is registered on demand, or `client_metadata_url` says who the client is. `issuer` is the
    sign-in service of that client, the only one that gets its secrets. The browser returns to
    `redirect_uri`; if that is empty, to `redirect_port` on this machine, or to any free port.
    """

    example: ClassVar = '{"clientId": "..."}, or leave it out'
    # Other clients write these keys; they mean nothing here.
    ignored_keys: ClassVar = ("//", "comment", "type")

    use: Annotated[Use, read_by(_use, bool), file_keys("enabled")] = "auto"
    grant: Annotated[Grant, file_keys("grant", "grantType", "grant_type")] = "authorization_code"
    client_id: Annotated[TrimmedText, file_keys("clientId", "client_id", "CLIENT_ID")] = ""
    client_secret: Annotated[
        SecretText, file_keys("clientSecret", "client_secret", "CLIENT_SECRET")
    ] = None
    client_authentication: ClientAuthenticationKey = None
    private_key: Annotated[SecretText, file_keys("privateKey", "private_key")] = None
    private_key_file: Annotated[TrimmedText, file_keys("privateKeyFile", "private_key_file")] = ""
    signing_algorithm: Annotated[
        TrimmedText, file_keys("signingAlgorithm", "signing_algorithm")
    ] = "RS256"
    client_metadata_url: Annotated[
        str, read_by(_file_url), file_keys("clientMetadataUrl", "client_metadata_url")
    ] = ""
    issuer: OptionalUrl = ""
    scopes: Scopes = ()
    redirect_port: Annotated[
        int, Field(strict=True, ge=0, le=65535), file_keys("redirectPort", "callbackPort")
    ] = 0
    redirect_uri: Annotated[OptionalUrl, file_keys("redirectUri", "redirect_uri")] = ""
    sign_in_seconds: Annotated[Seconds, file_keys("signInTimeout", "sign_in_timeout")] = (
        SIGN_IN_SECONDS
    )

    @model_validator(mode="after")
    def _check_proof(self, info: ValidationInfo) -> Self:
        """Require an id and a secret or key for a machine."""
        has_proof = self.client_secret is not None or self.has_private_key
        needs_proof = self.is_for_machines and not context_of(info).is_off
        if needs_proof and not (self.client_id and has_proof):
            problem = "the grant needs a `clientId`, and a `clientSecret` or a `privateKey`."
            raise mistake(problem, "Add them; write a secret as ${NAME}.")
        return self

    @property
    def is_for_machines(self) -> bool:
        """Whether the grant needs no person to sign in."""
        return self.grant == "client_credentials"

    @property
    def has_private_key(self) -> bool:
        """Whether the client proves itself with a signature."""
        return bool(self.private_key or self.private_key_file)


def read_auth(value: Any) -> Any:
    """Return the value of `auth` as an object; `true` and FastMCP's "oauth" enable it."""
    if value is True or value == "oauth":
        return {"enabled": True}
    if value is False:
        return {"enabled": False}
    if not isinstance(value, Mapping):
        return value
    values = {"enabled": True, **cast(Mapping[Any, Any], value)}
    return values if values["enabled"] is not False else {"enabled": False}
