"""Access of a machine (OAuth's client credentials): nobody signs in.

Imported when the first server behind a URL is reached: the SDK is heavy.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

from mcp.client.auth.extensions.client_credentials import (
    ClientCredentialsOAuthProvider,
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
)

from ....core.calls import Host
from ....settings.server import ServerSettings
from . import errors
from .provider import ServerAuth
from .sign_in import Clocks
from .token_store import Access

_KEY_SECONDS = 300  # the life of an assertion


def provider_for(
    server: ServerSettings,
    access: Access,
    clocks: Clocks,
    hosts: Callable[[], Sequence[Host]],
) -> ServerAuth:
    """Return the provider of one connection, by what the settings say that we are."""
    if not server.auth.is_for_machines:
        return ServerAuth(server, access, clocks, hosts)
    kind = KeyAuth if server.auth.has_private_key else SecretAuth
    return kind(server, access, clocks, hosts)


class SecretAuth(ServerAuth, ClientCredentialsOAuthProvider):
    """Access of a machine that has a secret."""

    def _init_sdk(self) -> None:
        auth = self._server.auth
        is_posted = auth.client_authentication == "client_secret_post"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the issuer is not known yet
            ClientCredentialsOAuthProvider.__init__(
                self, self._server.url, self, auth.client_id,
                auth.client_secret.reveal() if auth.client_secret else "",
                "client_secret_post" if is_posted else "client_secret_basic",
                " ".join(auth.scopes) or None,
            )  # fmt: skip

    async def _initialize(self) -> None:
        # The service of the first time is the one that is trusted from then on.
        self._issuer = self._server.auth.issuer or self._known.issuer or None
        await ClientCredentialsOAuthProvider._initialize(self)


class KeyAuth(ServerAuth, PrivateKeyJWTOAuthProvider):
    """Access of a machine that signs with a private key."""

    def _init_sdk(self) -> None:
        auth = self._server.auth
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the issuer is not known yet
            PrivateKeyJWTOAuthProvider.__init__(
                self, self._server.url, self, auth.client_id, self._sign_assertion,
                " ".join(auth.scopes) or None,
            )  # fmt: skip

    async def _initialize(self) -> None:
        self._issuer = self._server.auth.issuer or self._known.issuer or None
        await PrivateKeyJWTOAuthProvider._initialize(self)

    async def _sign_assertion(self, audience: str) -> str:
        """Prove who we are to this audience."""
        auth = self._server.auth
        try:
            parameters = SignedJWTParameters(
                issuer=auth.client_id,
                subject=auth.client_id,
                signing_key=_private_key(self._server),
                signing_algorithm=auth.signing_algorithm,
                lifetime_seconds=_KEY_SECONDS,
            )
            return await parameters.create_assertion_provider()(audience)
        except Exception as cause:  # noqa: BLE001 - several libraries read keys, each in its way
            # Not chained: the exception may quote the key.
            raise errors.key_problem(self._server, type(cause).__name__) from None


def _private_key(server: ServerSettings) -> str:
    if server.auth.private_key:
        return server.auth.private_key.reveal()
    return (Path(server.cwd) / Path(server.auth.private_key_file).expanduser()).read_text()
