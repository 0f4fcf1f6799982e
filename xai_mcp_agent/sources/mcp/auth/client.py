"""The OAuth client for one server: the SDK's provider, made of its settings."""

from __future__ import annotations

import warnings
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from ....settings.server import ServerSettings
from ..sdk import NAME
from .errors import key_problem
from .token_store import Record

if TYPE_CHECKING:
    from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
    from mcp.shared.auth import OAuthClientInformationFull, OAuthMetadata, OAuthToken

Keep: TypeAlias = Callable[[bool], Awaitable[None]]
"""Told that there is something new to keep, and whether there are tokens for it."""

# Until a listener is open; registered nowhere.
_NO_CALLBACK = "http://127.0.0.1/callback"
_KEY_SECONDS = 300


class Storage:
    """What the SDK keeps, as it wants to be given it; `keep` is called when something is new."""

    def __init__(
        self,
        tokens: OAuthToken | None,
        client: OAuthClientInformationFull | None,
        keep: Keep,
    ) -> None:
        self._tokens = tokens
        self._client = client
        self._keep = keep

    async def get_tokens(self) -> OAuthToken | None:
        """The tokens so far."""
        return self._tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """New ones."""
        self._tokens = tokens
        await self._keep(True)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Who we are so far."""
        return self._client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Who we are from now on."""
        self._client = client_info
        await self._keep(False)


def provider_of(
    server: ServerSettings,
    record: Record,
    keep: Keep,
    on_link: Callable[[str], Awaitable[None]],
    on_answer: Callable[[], Awaitable[AuthorizationCodeResult]],
) -> OAuthClientProvider:
    """The SDK's provider, knowing what `record` does. `keep` is told when there is more to keep.

    Raises:
        ValueError: the record does not hold what it should.
    """
    # Here, as in the other functions: the SDK is imported once a server is started, in a thread.
    from mcp.shared.auth import OAuthMetadata, OAuthToken, ProtectedResourceMetadata

    tokens = OAuthToken.model_validate(record.tokens) if record.tokens else None
    client = client_info(server, record)
    provider = _provider(server, record, Storage(tokens, client, keep), on_link, on_answer)
    context = provider.context
    context.token_expiry_time = record.expires_at
    if record.service:
        context.oauth_metadata = OAuthMetadata.model_validate(record.service)
    if record.resource:
        found = ProtectedResourceMetadata.model_validate(record.resource)
        context.protected_resource_metadata = found
        context.auth_server_url = record.issuer or None
    return provider


def client_info(server: ServerSettings, record: Record) -> OAuthClientInformationFull | None:
    """Who the settings say that we are, or as whom we were registered before."""
    from mcp.shared.auth import OAuthClientInformationFull

    auth = server.auth
    if not auth.client_id:
        return OAuthClientInformationFull.model_validate(record.client) if record.client else None
    secret = auth.client_secret.reveal() if auth.client_secret else None
    return OAuthClientInformationFull(
        client_id=auth.client_id,
        client_secret=secret,
        token_endpoint_auth_method=auth.client_authentication or ("" if secret else "none"),
        issuer=auth.issuer or record.issuer or None,
    )


def choose_authentication(
    client: OAuthClientInformationFull, service: OAuthMetadata | None
) -> None:
    """Where the settings give a secret and do not say how to show it: as the service takes it."""
    if client.client_secret is None or client.token_endpoint_auth_method:
        return
    taken = service.token_endpoint_auth_methods_supported if service else None
    # RFC 8414: basic is what a service takes that does not say.
    is_posted = taken and "client_secret_basic" not in taken and "client_secret_post" in taken
    client.token_endpoint_auth_method = "client_secret_post" if is_posted else "client_secret_basic"


def _provider(
    server: ServerSettings, record: Record, storage: Storage, on_link: Any, on_answer: Any
) -> OAuthClientProvider:
    from mcp.client.auth import OAuthClientProvider
    from mcp.shared.auth import OAuthClientMetadata
    from pydantic import AnyUrl

    auth = server.auth
    if auth.is_for_machines:
        return _machine(server, record, storage)
    metadata = OAuthClientMetadata(
        client_name=NAME,
        redirect_uris=[AnyUrl(_NO_CALLBACK)],
        scope=" ".join(auth.scopes) or None,
        token_endpoint_auth_method=auth.client_authentication,
    )
    url = auth.client_metadata_url or None
    return OAuthClientProvider(
        server.url, metadata, storage, on_link, on_answer, client_metadata_url=url
    )


def _machine(server: ServerSettings, record: Record, storage: Storage) -> OAuthClientProvider:
    from mcp.client.auth.extensions.client_credentials import (
        ClientCredentialsOAuthProvider,
        PrivateKeyJWTOAuthProvider,
    )

    auth = server.auth
    known: dict[str, Any] = {
        "server_url": server.url,
        "storage": storage,
        "client_id": auth.client_id,
        "scope": " ".join(auth.scopes) or None,
        # The service of the first time is the one that is trusted from then on.
        "issuer": auth.issuer or record.issuer or None,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it may be unknown the first time
        if auth.has_private_key:
            return PrivateKeyJWTOAuthProvider(assertion_provider=_signer(server), **known)
        secret = auth.client_secret.reveal() if auth.client_secret else ""
        how = auth.client_authentication
        return ClientCredentialsOAuthProvider(
            client_secret=secret,
            token_endpoint_auth_method="client_secret_post"
            if how == "client_secret_post"
            else "client_secret_basic",
            **known,
        )


def _signer(server: ServerSettings) -> Callable[[str], Awaitable[str]]:
    """Proves who we are with the private key."""
    from mcp.client.auth.extensions.client_credentials import SignedJWTParameters

    async def sign(audience: str) -> str:
        """An assertion for this audience; `key_problem` where the key cannot be used."""
        try:
            parameters = SignedJWTParameters(
                issuer=server.auth.client_id,
                subject=server.auth.client_id,
                signing_key=_private_key(server),
                signing_algorithm=server.auth.signing_algorithm,
                lifetime_seconds=_KEY_SECONDS,
            )
            return await parameters.create_assertion_provider()(audience)
        except Exception as cause:  # noqa: BLE001 - several libraries read keys, each in its way
            # Not chained: the exception may quote the key.
            raise key_problem(server, type(cause).__name__) from None

    return sign


def _private_key(server: ServerSettings) -> str:
    if server.auth.private_key:
        return server.auth.private_key.reveal()
    return (Path(server.cwd) / Path(server.auth.private_key_file).expanduser()).read_text()
