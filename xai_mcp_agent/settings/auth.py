"""How we may get access to one server: the `auth` of its entry in the settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any, ClassVar, Literal, TypeAlias, cast
from urllib.parse import urlsplit

from pydantic import BeforeValidator, ConfigDict, Field, PlainValidator, ValidationInfo
from pydantic_core import PydanticKnownError

from ..core.sign_in import SIGN_IN_SECONDS
from ..secrets.secrets import Secret
from .document import Place
from .entry import Reading, Seconds, ignored, known_keys, mistake, read_list, read_text, spelled

Use: TypeAlias = Literal["auto", "yes", "no"]
"""auto: sign in when the server asks for it in the way of OAuth. yes: whatever it answers 401."""
Grant: TypeAlias = Literal["authorization_code", "client_credentials"]
"""authorization_code: a person signs in. client_credentials: a machine, with its own secret."""
ClientAuthentication: TypeAlias = Literal["none", "client_secret_basic", "client_secret_post"]

# Written by other clients; what they say is so anyway.
_HARMLESS_KEYS = ("//", "comment", "type")


def _use(value: Any) -> Use:
    if not isinstance(value, bool):
        raise PydanticKnownError("bool_type")
    return "yes" if value else "no"


def trimmed_text(value: Any, info: ValidationInfo) -> str:
    """A text without what is around it."""
    return read_text(value, info).strip()


def secret_text(value: Any, info: ValidationInfo) -> Secret | None:
    """A text that hides itself; None where it is empty."""
    text = trimmed_text(value, info)
    return Secret(text) if text else None


def read_scopes(value: Any) -> tuple[Any, ...]:
    """Scopes, as a list or with spaces between them."""
    return tuple(value.split()) if isinstance(value, str) else read_list(value)


def read_address(value: Any, info: ValidationInfo) -> str:
    """An address, or an empty text."""
    text = trimmed_text(value, info)
    if text and not _is_off(info) and not _is_address(text):
        raise mistake("this is not an address.", "Write it with https://.")
    return text


def _file_address(value: Any, info: ValidationInfo) -> str:
    """A safe address, and not of a host as a whole."""
    text = trimmed_text(value, info)
    if text and not _is_off(info) and not (_is_address(text) and _is_file(text)):
        fix = "Write the https:// address of a file, such as https://example.com/client.json."
        raise mistake("this is not the address of such a file.", fix)
    return text


def _is_off(info: ValidationInfo) -> bool:
    return cast(Reading, info.context).is_off


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        _ = parts.port  # reading it is what checks it
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)


def _is_file(text: str) -> bool:
    return text.startswith("https:") and urlsplit(text).path not in ("", "/")


TrimmedText = Annotated[str, PlainValidator(trimmed_text)]
SecretText = Annotated[Secret | None, PlainValidator(secret_text)]
Address = Annotated[str, PlainValidator(read_address)]


@dataclass(frozen=True, repr=False)
class AuthSettings:
    """What to know before signing in; all of it optional, servers tell the rest.

    `client_id`, `client_secret` and `private_key` are those of a client that somebody has
    registered; without them one is registered when it is needed, or `client_metadata_url` says who
    we are. `issuer` is the service that they belong to: they are given to no other. `redirect_uri`
    is where the browser brings the outcome; empty: a port of this machine, `redirect_port` or any.
    """

    __pydantic_config__: ClassVar = ConfigDict(arbitrary_types_allowed=True)

    use: Annotated[Use, PlainValidator(_use), spelled("enabled")] = "auto"
    grant: Annotated[Grant, spelled("grant", "grantType", "grant_type")] = "authorization_code"
    client_id: Annotated[TrimmedText, spelled("clientId", "client_id", "CLIENT_ID")] = ""
    client_secret: Annotated[
        SecretText, spelled("clientSecret", "client_secret", "CLIENT_SECRET")
    ] = None
    client_authentication: Annotated[
        ClientAuthentication | None,
        spelled("tokenEndpointAuthMethod", "token_endpoint_auth_method"),
    ] = None
    private_key: Annotated[SecretText, spelled("privateKey", "private_key")] = None
    private_key_file: Annotated[TrimmedText, spelled("privateKeyFile", "private_key_file")] = ""
    signing_algorithm: Annotated[TrimmedText, spelled("signingAlgorithm", "signing_algorithm")] = (
        "RS256"
    )
    client_metadata_url: Annotated[
        str, PlainValidator(_file_address), spelled("clientMetadataUrl", "client_metadata_url")
    ] = ""
    issuer: Address = ""
    scopes: Annotated[
        tuple[TrimmedText, ...], BeforeValidator(read_scopes), spelled("scopes", "scope")
    ] = ()
    redirect_port: Annotated[
        int, Field(strict=True, ge=0, le=65535), spelled("redirectPort", "callbackPort")
    ] = 0
    redirect_uri: Annotated[Address, spelled("redirectUri", "redirect_uri")] = ""
    sign_in_seconds: Annotated[Seconds, spelled("signInTimeout", "sign_in_timeout")] = (
        SIGN_IN_SECONDS
    )

    @property
    def is_for_machines(self) -> bool:
        """Whether nobody has to sign in."""
        return self.grant == "client_credentials"

    @property
    def has_private_key(self) -> bool:
        """Whether the client proves itself with a signature."""
        return bool(self.private_key or self.private_key_file)

    def secret_texts(self) -> Iterator[str]:
        """The secrets in it, revealed."""
        yield from (x.reveal() for x in (self.client_secret, self.private_key) if x)

    def __repr__(self) -> str:
        """Only what was set; secrets hide themselves."""
        values = {x.name: getattr(self, x.name) for x in fields(self) if x.name != "use"}
        defaults = {x.name: x.default for x in fields(self)}
        told = [f"{name}={x!r}" for name, x in values.items() if x != defaults[name]]
        return f"AuthSettings({', '.join([f'use={self.use!r}', *told])})"


def read_auth(value: Any) -> Any:
    """What is written under `auth` as an object: `false` switches it off, `true` on.

    FastMCP writes the word.
    """
    if value is True or value == "oauth":
        return {"enabled": True}
    if value is False:
        return {"enabled": False}
    if not isinstance(value, Mapping):
        return value
    written = {"enabled": True, **cast(Mapping[Any, Any], value)}
    return written if written["enabled"] is not False else {"enabled": False}


def auth_notes(value: Any, place: Place) -> list[str]:
    """One line for each key under `auth` that is ignored."""
    if not isinstance(value, Mapping):
        return []
    known = known_keys(AuthSettings)
    keys = [str(key) for key in cast(Mapping[Any, Any], value)]
    return [
        ignored(key, place, known) for key in keys if key not in known and key not in _HARMLESS_KEYS
    ]
