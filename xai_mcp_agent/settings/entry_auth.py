"""The `auth` of one entry: from what is written to an `AuthSettings`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import urlsplit

from .auth import AuthSettings
from .document import Place
from .secrets import Secret
from .written_auth import WrittenAuth

_Text: TypeAlias = Callable[..., str]
"""A text with its variables replaced, and the keys of its place."""


def read_auth(written: WrittenAuth, key: str, entry: Place, text: _Text) -> AuthSettings:
    """What stands under `key` of an entry; `text` replaces the variables in it.

    Raises:
        SettingsError: something in it is wrong or missing.
    """
    if not written.enabled:
        return AuthSettings(use="no")
    auth = _Reader(written, key, text).auth()
    _check(auth, entry.at(key))
    return auth


def secrets_in_auth(auth: AuthSettings) -> Iterator[str]:
    """The secret texts under `auth`."""
    for secret in (auth.client_secret, auth.private_key):
        if secret:
            yield secret.reveal()


@dataclass(frozen=True)
class _Reader:
    written: WrittenAuth
    key: str
    text: _Text

    def auth(self) -> AuthSettings:
        written = self.written
        return AuthSettings(
            use="yes",
            grant=written.grant,
            client_id=self._text(written.client_id, "clientId"),
            client_secret=self._secret(written.client_secret, "clientSecret"),
            client_authentication=written.client_authentication,
            private_key=self._secret(written.private_key, "privateKey"),
            private_key_file=self._text(written.private_key_file, "privateKeyFile"),
            signing_algorithm=self._text(written.signing_algorithm, "signingAlgorithm"),
            client_metadata_url=self._text(written.client_metadata_url, "clientMetadataUrl"),
            issuer=self._text(written.issuer, "issuer"),
            scopes=tuple(self._text(x, "scopes") for x in written.scopes),
            redirect_port=written.redirect_port,
            redirect_uri=self._text(written.redirect_uri, "redirectUri"),
            sign_in_seconds=written.sign_in_timeout,
        )

    def _text(self, text: str, name: str) -> str:
        return self.text(text, self.key, name).strip()

    def _secret(self, text: str, name: str) -> Secret | None:
        value = self._text(text, name)
        return Secret(value) if value else None


def _check(auth: AuthSettings, place: Place) -> None:
    """What a sign-in service would trip over, told with its place in the file."""
    if auth.client_metadata_url and not _is_file(auth.client_metadata_url):
        fix = "Write the https:// address of a file, such as https://example.com/client.json."
        raise place.at("clientMetadataUrl").error("this is not the address of such a file.", fix)
    for key, text in (("issuer", auth.issuer), ("redirectUri", auth.redirect_uri)):
        if text and not _is_address(text):
            raise place.at(key).error("this is not an address.", "Write it with https://.")
    if auth.is_for_machines and not (auth.client_id and _proof(auth)):
        problem = "client_credentials need a `clientId`, and a `clientSecret` or `privateKey`."
        raise place.error(problem, "Add them; ${NAME} takes them from the environment.")


def _proof(auth: AuthSettings) -> bool:
    return auth.client_secret is not None or auth.has_private_key


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        _ = parts.port  # reading it is what checks it
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)


def _is_file(text: str) -> bool:
    """Whether it is a safe address, and not of a host as a whole."""
    return _is_address(text) and text.startswith("https:") and urlsplit(text).path not in ("", "/")
