"""How requests to one OpenAPI service prove who we are: the `auth` of its entry.

Either one object for whatever scheme an operation wants, or one for each scheme, by the names that
the document gives them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any, ClassVar, cast

from pydantic import AfterValidator, BeforeValidator, ConfigDict, ValidationInfo
from pydantic_core import PydanticKnownError

from .auth import Address, ClientAuthentication, SecretText, TrimmedText, read_scopes
from .document import Place
from .entry import Reading, ignored, known_keys, mistake, spelled

ANY_SCHEME = ""
"""Stands for every scheme that has no credentials of its own."""

_EXAMPLE = 'Write {"apiKey": "${NAME}"}, or bearer, username and password, or clientId and so on.'


@dataclass(frozen=True, repr=False)
class CredentialSettings:
    """What one scheme is satisfied with; which of it counts is up to the scheme.

    `token_url` is where a client gets its tokens; without it the document's counts, where that is
    at the service's own host.
    """

    __pydantic_config__: ClassVar = ConfigDict(arbitrary_types_allowed=True)

    api_key: Annotated[SecretText, spelled("apiKey", "api_key")] = None
    bearer: Annotated[SecretText, spelled("bearer", "token")] = None
    username: TrimmedText = ""
    password: SecretText = None
    client_id: Annotated[TrimmedText, spelled("clientId", "client_id")] = ""
    client_secret: Annotated[SecretText, spelled("clientSecret", "client_secret")] = None
    client_authentication: Annotated[
        ClientAuthentication | None,
        spelled("tokenEndpointAuthMethod", "token_endpoint_auth_method"),
    ] = None
    token_url: Annotated[Address, spelled("tokenUrl", "token_url")] = ""
    scopes: Annotated[
        tuple[TrimmedText, ...], BeforeValidator(read_scopes), spelled("scopes", "scope")
    ] = ()

    @property
    def is_client(self) -> bool:
        """Whether it gets tokens with an id and a secret."""
        return bool(self.client_id and self.client_secret)

    def secret_texts(self) -> Iterator[str]:
        """The secrets in it, revealed."""
        found = (self.api_key, self.bearer, self.password, self.client_secret)
        yield from (x.reveal() for x in found if x)

    def __repr__(self) -> str:
        """Which keys it has, and no value."""
        given = [x.name for x in fields(self) if getattr(self, x.name) != x.default]
        return f"CredentialSettings({', '.join(given)})"


def _by_scheme(value: Any) -> dict[Any, Any]:
    """What is written, with the name of its scheme before each."""
    if not isinstance(value, Mapping):
        raise PydanticKnownError("dict_type")
    written = dict(cast(Mapping[Any, Any], value))
    if not any(isinstance(x, Mapping) for x in written.values()):
        return {ANY_SCHEME: written} if written else {}
    if any(not isinstance(x, Mapping) for x in written.values()):
        problem = "some keys hold an object for a scheme, and others do not."
        raise mistake(problem, "Write one object for all schemes, or one for each.")
    return written


def _usable(credential: CredentialSettings, info: ValidationInfo) -> CredentialSettings:
    if cast(Reading, info.context).is_off:
        return credential
    if not (credential.username or credential.client_id or any(credential.secret_texts())):
        raise mistake("it has no credentials, or they are empty.", _EXAMPLE)
    if bool(credential.client_id) != bool(credential.client_secret):
        problem = "`clientId` and `clientSecret` belong together."
        raise mistake(problem, "Add the other; ${NAME} takes it from the environment.")
    return credential


CredentialsByScheme = Annotated[
    dict[str, Annotated[CredentialSettings, AfterValidator(_usable)]], BeforeValidator(_by_scheme)
]
"""The `auth` of an entry: credentials by the names of schemes, `ANY_SCHEME` for all others."""


def credential_notes(value: Any, place: Place) -> list[str]:
    """One line for each key under `auth` that is ignored."""
    if not isinstance(value, Mapping):
        return []
    known = known_keys(CredentialSettings)
    schemes = cast(Mapping[Any, Any], value)
    parts: dict[Any, Any] = {ANY_SCHEME: schemes}
    if any(isinstance(x, Mapping) for x in schemes.values()):
        parts = dict(schemes)
    return [
        ignored(str(key), place.at(*(x for x in (name,) if x)), known)
        for name, part in parts.items()
        if isinstance(part, Mapping)
        for key in cast(Mapping[Any, Any], part)
        if str(key) not in known
    ]
