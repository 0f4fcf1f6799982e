"""The object under `auth` as people write it, in the spellings of several clients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, cast

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field

from ..core.names import did_you_mean
from ..core.sign_in import SIGN_IN_SECONDS
from .auth import ClientAuthentication, Grant
from .document import Place
from .secrets import Secret


def _scopes(value: Any) -> Any:
    if isinstance(value, str):
        return value.split()
    return list(cast(tuple[Any, ...], value)) if isinstance(value, tuple) else value


def _revealed(value: Any) -> Any:
    return value.reveal() if isinstance(value, Secret) else value


_Text = Annotated[str, BeforeValidator(_revealed)]
_Scopes = Annotated[list[str], BeforeValidator(_scopes)]


def _spelled(*names: str) -> AliasChoices:
    return AliasChoices(*names)


class WrittenAuth(BaseModel):
    """What is written, its types checked."""

    model_config = ConfigDict(strict=True, frozen=True, hide_input_in_errors=True)

    enabled: bool = True
    client_id: _Text = Field("", validation_alias=_spelled("clientId", "client_id", "CLIENT_ID"))
    client_secret: _Text = Field(
        "", validation_alias=_spelled("clientSecret", "client_secret", "CLIENT_SECRET")
    )
    scopes: _Scopes = Field([], validation_alias=_spelled("scopes", "scope"))
    grant: Grant = Field(
        "authorization_code", validation_alias=_spelled("grant", "grantType", "grant_type")
    )
    client_authentication: ClientAuthentication | None = Field(
        None,
        validation_alias=_spelled("tokenEndpointAuthMethod", "token_endpoint_auth_method"),
    )
    private_key: _Text = Field("", validation_alias=_spelled("privateKey", "private_key"))
    private_key_file: _Text = Field(
        "", validation_alias=_spelled("privateKeyFile", "private_key_file")
    )
    signing_algorithm: _Text = Field(
        "RS256", validation_alias=_spelled("signingAlgorithm", "signing_algorithm")
    )
    client_metadata_url: _Text = Field(
        "", validation_alias=_spelled("clientMetadataUrl", "client_metadata_url")
    )
    issuer: _Text = ""
    redirect_port: int = Field(
        0, ge=0, le=65535, validation_alias=_spelled("redirectPort", "callbackPort")
    )
    redirect_uri: _Text = Field("", validation_alias=_spelled("redirectUri", "redirect_uri"))
    sign_in_timeout: float = Field(
        SIGN_IN_SECONDS,
        gt=0,
        le=3600,
        validation_alias=_spelled("signInTimeout", "sign_in_timeout"),
    )


# Written by other clients; what they say is so anyway.
_HARMLESS_KEYS = ("//", "comment", "type")


def known_auth_keys() -> tuple[str, ...]:
    """Every key that may stand under `auth`."""
    found: list[str] = []
    for name, field in WrittenAuth.model_fields.items():
        alias = field.validation_alias
        spelled = alias.choices if isinstance(alias, AliasChoices) else [name]
        found += [str(x) for x in spelled]
    return tuple(found)


def auth_notes(value: Any, place: Place) -> list[str]:
    """One line for each key under `auth` that is ignored."""
    if not isinstance(value, Mapping):
        return []
    known = known_auth_keys()
    keys = [str(key) for key in cast(Mapping[Any, Any], value)]
    return [
        place.at(key).note(f"ignored, unknown key. {did_you_mean(key, known)}".rstrip())
        for key in keys
        if key not in known and key not in _HARMLESS_KEYS
    ]
