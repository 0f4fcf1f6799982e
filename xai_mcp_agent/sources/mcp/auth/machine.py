"""Access of a machine: the client credentials grant, with a secret or a signed assertion.

Imported when the first server behind a URL is reached, because its libraries are heavy.
"""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path

from mcp.client.auth import OAuthClientProvider, TokenStorage
from mcp.client.auth.extensions.client_credentials import (
    ClientCredentialsOAuthProvider,
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
)

from ....settings.server import ServerSettings
from .errors import AuthFailure


def machine_provider(
    server: ServerSettings, storage: TokenStorage, issuer: str | None
) -> OAuthClientProvider:
    """Return the SDK's provider for a server whose settings have a client of a machine."""
    auth, scope = server.auth, " ".join(server.auth.scopes) or None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # no issuer is known the first time
        if auth.has_private_key:
            sign = partial(_sign_assertion, server)
            return PrivateKeyJWTOAuthProvider(
                server.url, storage, auth.client_id, sign, scope, issuer
            )
        secret = auth.client_secret.reveal() if auth.client_secret else ""
        is_posted = auth.client_authentication == "client_secret_post"
        method = "client_secret_post" if is_posted else "client_secret_basic"
        return ClientCredentialsOAuthProvider(
            server.url, storage, auth.client_id, secret, method, scope, issuer
        )


async def _sign_assertion(server: ServerSettings, audience: str) -> str:
    """Sign an assertion with the private key, which proves who we are."""
    auth = server.auth
    try:
        parameters = SignedJWTParameters(
            issuer=auth.client_id,
            subject=auth.client_id,
            signing_key=_private_key(server),
            signing_algorithm=auth.signing_algorithm,
        )
        return await parameters.create_assertion_provider()(audience)
    except Exception as cause:  # noqa: BLE001 - several libraries read keys, each in its way
        # Not chained: the exception may quote the key.
        raise AuthFailure(
            f"its private key cannot be used: {type(cause).__name__}.",
            f"Correct `privateKey` or `privateKeyFile` under `auth` of {server.name!r}.",
        ) from None


def _private_key(server: ServerSettings) -> str:
    if server.auth.private_key:
        return server.auth.private_key.reveal()
    return (Path(server.cwd) / Path(server.auth.private_key_file).expanduser()).read_text()
