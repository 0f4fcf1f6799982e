"""One run of the SDK's OAuth flow: discovery, registration, sign-in and tokens.

The SDK decides which requests are sent; this module decides where they may go. A server names its
sign-in service and may give any address, so a service on this machine or in a private network is
used only if the server is there too, or if the settings name it.

Imported when the first server behind a URL is reached, because its libraries are heavy.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from contextlib import aclosing
from dataclasses import replace
from time import time
from typing import Any, TypeAlias
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx2
from mcp.client.auth import (
    AuthorizationCodeResult,
    OAuthClientProvider,
    OAuthFlowError,
    OAuthRegistrationError,
)
from mcp.client.auth.utils import (
    extract_resource_metadata_from_www_auth,
    extract_scope_from_www_auth,
)
from mcp.shared.auth import (
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl, BaseModel

from ....core.places import INTERNET, OutOfPlace, place_of_host
from ....settings.server import ServerSettings
from ...http import WebClient, check_places, place_of_peer, read_body
from ...web.network_errors import proxy_of
from ..sdk import NAME
from . import errors
from .errors import AuthFailure, OutOfReach
from .machine import machine_provider
from .sign_in import LOCAL_HOSTS, Callback, Person, open_callback
from .token_store import Record

# Sign-in services answer at once; a slow one must not hold up everything.
_ANSWER_SECONDS = 30.0
_MAX_BYTES = 1024 * 1024  # documents of real services have a few thousand
# These no longer describe a body that was read.
_BODY_HEADERS = ("content-encoding", "content-length", "transfer-encoding")
_LONG_AGO = 1.0  # any time in the past: the token has expired
_NO_CALLBACK = "http://127.0.0.1/callback"  # until a listener is open; never registered

Save: TypeAlias = Callable[[Record, bool], Awaitable[None]]
"""Function that stores a record; the flag says whether its token was renewed."""


class TokenFlow:
    """One run that gets a token, starting from `record`; also the SDK's token storage.

    The server may direct us only to `places`.
    """

    def __init__(
        self,
        server: ServerSettings,
        record: Record,
        save: Save,
        person: Person,
        places: Collection[str],
    ) -> None:
        self._server = server
        self._record = record
        self._write = save
        self._person = person
        self._places = places
        # Behind a proxy the server's place is unknown, but its own host is always allowed.
        trusted_urls = (server.auth.issuer, server.url if proxy_of(server.url) else "")
        self._trusted_hosts = {urlsplit(x).hostname for x in trusted_urls if x}
        self._client = WebClient()
        self._callback: Callback | None = None
        self._page = ""
        self._renews = False
        self._tokens: OAuthToken | None = None
        self._registered: OAuthClientInformationFull | None = None
        self._sdk = self._provider()
        self._context = self._sdk.context

    @property
    def scopes(self) -> frozenset[str]:
        """Scopes that were requested in the end."""
        return frozenset((self._context.client_metadata.scope or "").split())

    async def run(
        self, request: httpx2.Request, refusal: httpx2.Response | None, *, may_renew: bool
    ) -> bool:
        """Get a token for a request, after its `refusal` or before it is sent.

        Return whether it took a sign-in.

        Raises:
            AuthFailure: there is no token.
        """
        self._renews = may_renew and self._record.can_be_renewed
        self._load()
        try:
            return await self._drive(request, refusal)
        except OutOfReach:
            if refusal is not None:
                raise
            return False  # the server's place is known after its first response
        except (OAuthFlowError, httpx2.InvalidURL) as cause:
            if "invalid_client" in str(cause) and self._record.client:
                # The service no longer knows us, so the next run registers anew.
                await self._save(replace(self._record, client=None, tokens=None))
            if isinstance(cause, OAuthRegistrationError) and self._context.oauth_metadata is None:
                is_required = refusal is not None and refusal.status_code == 401
                raise errors.no_sign_in_error(self._server, is_required) from None
            raise errors.flow_error(cause, self._server) from None
        finally:
            await self._client.close()
            if self._callback is not None:
                await self._callback.close()

    async def _drive(self, request: httpx2.Request, refusal: httpx2.Response | None) -> bool:
        """Send the requests of the SDK's flow, except for `request` itself."""
        async with aclosing(self._sdk.async_auth_flow(request)) as flow:
            outgoing = await anext(flow)
            while outgoing is not request:  # a renewal
                response = await self._fetch(outgoing)
                if response.status_code >= 500 or response.status_code == 429:
                    # A service that is down must not cost us the token that only it can renew.
                    reason = f"HTTP {response.status_code}"
                    raise errors.unreachable_error(outgoing.url.netloc.decode(), reason)
                outgoing = await flow.asend(response)
            if self._renews:
                if self._context.is_token_valid():
                    return False
                await self._save(replace(self._record, tokens=None, expires_at=None))
                self._renews = False
            if refusal is None:
                return False  # only the server's refusal says what it requires
            await self._open_callback()
            outgoing = await flow.asend(self._challenge(request, refusal))
            while outgoing is not request:
                if outgoing.method == "POST":
                    await self._check_before_posting(refusal)
                outgoing = await flow.asend(await self._fetch(outgoing))
        return True

    # Requests to services

    async def _fetch(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request of the flow, and return its response with its whole body."""
        host = request.url.netloc.decode()
        self._require_encryption(request.url)
        try:
            with anyio.fail_after(_ANSWER_SECONDS):
                response = await self._client.send(request, self._places_for(request.url))
                body = await read_body(response, _MAX_BYTES)
        except OutOfPlace as cause:
            raise self._out_of_reach(host, cause) from None
        except TimeoutError:
            reason = f"no whole answer in {_ANSWER_SECONDS:g} s"
            raise errors.unreachable_error(host, reason) from None
        except (httpx2.RequestError, OSError) as cause:
            raise errors.unreachable_error(host, type(cause).__name__) from None
        if len(body) > _MAX_BYTES:
            raise AuthFailure(
                f"its sign-in service at {host} sent more than {_MAX_BYTES // 1024} KiB at once.",
                "Do not sign in there; ask who runs the server.",
            )
        headers = [x for x in response.headers.items() if x[0] not in _BODY_HEADERS]
        return httpx2.Response(response.status_code, headers=headers, content=body, request=request)

    def _places_for(self, url: httpx2.URL) -> Collection[str] | None:
        return None if url.host in self._trusted_hosts else self._places

    def _out_of_reach(self, host: str, cause: OutOfPlace) -> OutOfReach:
        return OutOfReach(
            f"it leads to a sign-in at {errors.one_line(host)}, which is {cause.place}; "
            "the server is not.",
            "Do not sign in there; ask who runs the server. If it is right all the same, write the "
            f"address of that sign-in service as `issuer` under `auth` of {self._server.name!r}.",
        )

    def _require_encryption(self, url: httpx2.URL) -> None:
        is_local = url.host in LOCAL_HOSTS
        if self._server.url.startswith("https:") and url.scheme != "https" and not is_local:
            raise AuthFailure(
                f"it leads to a sign-in at {url.netloc.decode()}, which is not encrypted.",
                "Do not sign in there; ask who runs the server.",
            )

    def _challenge(self, request: httpx2.Request, refusal: httpx2.Response) -> httpx2.Response:
        """Return the refusal for the SDK, with the settings' scopes if there are any."""
        if refusal.status_code not in (401, 403):
            # the server would have answered without a token
            return httpx2.Response(401, request=request)
        if not self._server.auth.scopes or refusal.status_code == 403:
            return refusal
        scopes = dict.fromkeys([*self._server.auth.scopes, *sorted(scopes_in(refusal))])
        challenge = f'Bearer scope="{" ".join(scopes)}"'
        if metadata := extract_resource_metadata_from_www_auth(refusal):
            challenge += f', resource_metadata="{metadata}"'
        return httpx2.Response(401, headers={"www-authenticate": challenge}, request=request)

    # Sign-in by a person

    async def _open_callback(self) -> None:
        """Open the callback listener, at the registered address if possible."""
        if self._server.auth.is_for_machines or not self._person.is_there:
            return
        context, client = self._context, self._context.client_info
        registered = [str(uri) for uri in (client and client.redirect_uris) or ()]
        usual_port = urlsplit(registered[0]).port or 0 if registered else 0
        self._callback = await open_callback(self._server, usual_port)
        uri = self._callback.uri
        context.client_metadata.redirect_uris = [AnyUrl(uri)]
        expires_at = client.client_secret_expires_at if client else None
        is_expired = bool(expires_at and expires_at < time())
        if not self._server.auth.client_id and (
            is_expired or (registered and uri not in registered)
        ):
            context.client_info = None

    async def _check_before_posting(self, refusal: httpx2.Response) -> None:
        """Check that a sign-in is possible before this program registers or requests a token."""
        auth, context = self._server.auth, self._context
        if auth.is_for_machines:
            return
        if auth.client_id and context.client_info is None:
            raise AuthFailure(
                "it leads to another sign-in service than the one its `clientId` belongs to.",
                "Ask who runs the server; then correct `issuer` and `clientId` of "
                f"{self._server.name!r}, or run `xai-mcp-agent logout {self._server.name}` to "
                "forget the old service.",
            )
        service = context.oauth_metadata
        if not self._person.is_there:
            if service is None:
                raise errors.no_sign_in_error(self._server, refusal.status_code == 401)
            raise errors.no_person_error(self._server)
        if context.client_info is None:
            page = str(service.authorization_endpoint) if service else self._server.url
            await self._person.agree(urlsplit(page).hostname or "")

    async def _open_page(self, page: str) -> None:
        """Check the sign-in page's address and keep it (the SDK's redirect handler)."""
        if not self._person.is_there:
            raise errors.no_person_error(self._server)
        url = httpx2.URL(page)
        self._require_encryption(url)
        places = self._places_for(url)
        try:
            if places is not None:
                await check_places(url, places)
        except OutOfPlace as cause:
            raise self._out_of_reach(url.netloc.decode(), cause) from None
        _choose_authentication(self._context.client_info, self._context.oauth_metadata)
        self._page = page

    async def _wait_for_code(self) -> AuthorizationCodeResult:
        """Wait for the authorization code (the SDK's callback handler)."""
        assert self._callback is not None
        state = parse_qs(urlsplit(self._page).query)["state"][0]
        outcome = await self._person.outcome(self._page, state, self._callback)
        self._server.secrets.add(outcome.code)
        return AuthorizationCodeResult(code=outcome.code, state=outcome.state, iss=outcome.issuer)

    # The SDK's provider and its storage

    def _provider(self) -> OAuthClientProvider:
        auth, url = self._server.auth, self._server.url
        if auth.is_for_machines:
            # The issuer of the first sign-in stays the trusted one.
            return machine_provider(self._server, self, auth.issuer or self._record.issuer or None)
        metadata = OAuthClientMetadata(
            client_name=NAME,
            redirect_uris=[AnyUrl(_NO_CALLBACK)],
            token_endpoint_auth_method=auth.client_authentication,
            scope=" ".join(auth.scopes) or None,
        )
        return OAuthClientProvider(
            url, metadata, self, self._open_page, self._wait_for_code,
            client_metadata_url=auth.client_metadata_url or None,
        )  # fmt: skip

    def _load(self) -> None:
        """Load the record into the SDK, with its token marked as expired if it is to be renewed."""
        record, context = self._record, self._context
        try:
            if record.tokens:
                self._tokens = OAuthToken.model_validate(record.tokens)
            if record.client and not self._server.auth.client_id:
                self._registered = OAuthClientInformationFull.model_validate(record.client)
            if record.service:
                context.oauth_metadata = OAuthMetadata.model_validate(record.service)
            if record.resource:
                resource = ProtectedResourceMetadata.model_validate(record.resource)
                context.protected_resource_metadata = resource
                context.auth_server_url = record.issuer or None
        except ValueError:  # a record in another format
            self._record = Record(self._server.url)
            self._tokens, self._renews = None, False
        context.token_expiry_time = _LONG_AGO if self._renews else None

    async def get_tokens(self) -> OAuthToken | None:
        """Return the stored tokens (for the SDK's storage)."""
        return self._tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Return our client from the settings, or as registered (for the SDK's storage)."""
        auth = self._server.auth
        if not auth.client_id:
            return self._registered
        secret = auth.client_secret.reveal() if auth.client_secret else None
        info = OAuthClientInformationFull(
            client_id=auth.client_id,
            client_secret=secret,
            token_endpoint_auth_method=auth.client_authentication or ("" if secret else "none"),
            issuer=auth.issuer or self._record.issuer or None,
        )
        if self._renews:
            _choose_authentication(info, self._context.oauth_metadata)
        return info

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Store new tokens (for the SDK's storage)."""
        await self._save(self._new_record(tokens))

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Store our new client, and drop another client's tokens (for the SDK's storage)."""
        await self._save(self._new_record(None))

    async def _save(self, record: Record) -> None:
        self._record = record
        await self._write(record, self._renews)

    def _new_record(self, tokens: OAuthToken | None) -> Record:
        context = self._context
        client, service = context.client_info, context.oauth_metadata
        # The secret of a client named in the settings stays there.
        configured = (
            {"client_id": self._server.auth.client_id} if self._server.auth.client_id else None
        )
        return Record(
            self._server.url,
            context.auth_server_url or (str(service.issuer) if service else ""),
            _dump(tokens),
            context.token_expiry_time if tokens else None,
            configured or _dump(client),
            _dump(service),
            _dump(context.protected_resource_metadata),
        )


def places_around(server: ServerSettings, refusal: httpx2.Response | None) -> Collection[str]:
    """Return the places a server may direct us to: the internet and its own place."""
    if proxy_of(server.url):
        return (INTERNET,)  # behind a proxy the server's own place is unknown
    place = place_of_host(urlsplit(server.url).hostname or "") or place_of_peer(refusal)
    return (INTERNET, place)


def scopes_in(response: httpx2.Response) -> frozenset[str]:
    """Return the scopes that a refusal names."""
    return frozenset((extract_scope_from_www_auth(response) or "").split())


def _choose_authentication(
    client: OAuthClientInformationFull | None, service: OAuthMetadata | None
) -> None:
    """Set how the client sends its secret, if the settings leave that to the service."""
    if client is None or client.client_secret is None or client.token_endpoint_auth_method:
        return
    methods = (service and service.token_endpoint_auth_methods_supported) or []
    # RFC 8414: a service that names no method takes basic.
    is_posted = "client_secret_post" in methods and "client_secret_basic" not in methods
    client.token_endpoint_auth_method = "client_secret_post" if is_posted else "client_secret_basic"


def _dump(model: BaseModel | None) -> dict[str, Any] | None:
    return model.model_dump(mode="json", exclude_none=True) if model else None
