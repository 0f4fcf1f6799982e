"""The OAuth flow for one token: taken over from another process, renewed, or by signing in."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from time import time
from typing import TYPE_CHECKING, Protocol, TypeAlias
from urllib.parse import parse_qs, urlsplit

from ....core.host import Host
from ....core.sign_in import SignIn
from ....settings.server import ServerSettings
from . import errors
from .callback import LOCAL_HOSTS, Callback, open_callback
from .client import choose_authentication, provider_of
from .sign_in import Clocks, agree, ask
from .token_store import Record

if TYPE_CHECKING:
    import httpx2
    from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
    from mcp.client.auth.oauth2 import OAuthContext

    from .services import SignInServices

    Flow: TypeAlias = AsyncGenerator[httpx2.Request, httpx2.Response]

_LONG_AGO = 1.0  # a time when any token had ended
_SCOPE = re.compile(r'\bscope=(?:"([^"]*)"|([^\s,]+))')
_METADATA = re.compile(r'\bresource_metadata=(?:"[^"]*"|[^\s,]+)')


class Owner(Protocol):
    """The connection that needs the token."""

    server: ServerSettings
    clocks: Clocks
    signed_in: str
    renewed: str
    accepted: set[str]
    asked_scopes: frozenset[str]

    def sign_in(self) -> SignIn | None:
        """How somebody signs in now; None where nobody is there."""
        ...

    def host(self) -> Host | None:
        """Who is asked whether to sign in; None where `sign_in` is told, or nobody is there."""
        ...

    async def keep(self, record: Record) -> None:
        """Use this record from now on."""
        ...

    async def latest(self) -> Record:
        """What is kept now."""
        ...


class TokenFlow:
    """For one request, which was refused (or not sent) with the token `used`.

    `signed_in` tells afterwards whether it took a sign-in.
    """

    def __init__(
        self,
        owner: Owner,
        services: SignInServices,
        request: httpx2.Request,
        refused: httpx2.Response | None,
        used: str,
    ) -> None:
        self.signed_in = False
        self._owner = owner
        self._services = services
        self._server = owner.server
        self._request = request
        self._refused = refused
        self._used = used
        self._record = Record(owner.server.url)
        self._is_renewing = False
        self._link = ""
        self._callback: Callback | None = None
        self._provider: OAuthClientProvider

    async def run(self) -> None:
        """Get one. After that the owner's record has a new token, unless it could not be renewed
        and nothing was refused yet.

        Raises:
            AuthFailure: there is none to be had.
        """
        # Here, as in the other functions: the SDK is imported once a server is started.
        import httpx2
        from mcp.client.auth import OAuthFlowError

        self._record = await self._owner.latest()
        if self._record.is_fresh() and self._record.access_token != self._used:
            return  # somebody else was faster
        is_refused = self._refused is not None and self._refused.status_code == 401
        if is_refused and self._was_in_vain(self._owner.signed_in):
            raise errors.refused_at_once(self._server)
        self._provider = self._new_provider()
        try:
            await self._ask_services()
        except errors.OutOfReach:
            # Where the server is is known once it was asked something.
            if self._refused is not None:
                raise
        except (OAuthFlowError, httpx2.InvalidURL) as cause:
            raise await self._failure(cause) from None
        finally:
            if self._callback is not None:
                await self._callback.close()

    async def _ask_services(self) -> None:
        async with aclosing(self._provider.async_auth_flow(self._request)) as flow:
            outgoing = await anext(flow)
            while (outgoing := await self._next_to_ask(outgoing, flow)) is not None:
                answer = await self._services.ask(outgoing)
                self._judge_renewal(outgoing, answer)
                outgoing = await flow.asend(answer)

    async def _next_to_ask(self, outgoing: httpx2.Request, flow: Flow) -> httpx2.Request | None:
        """The next request to a service; None when there is nothing more to ask."""
        if outgoing is not self._request:
            return await self._checked(outgoing)
        if self.signed_in:
            self._owner.signed_in = self._token
            self._owner.asked_scopes = _words(self._context.client_metadata.scope)
            return None
        if self._is_renewing:
            if self._context.is_token_valid():
                self._owner.renewed = self._token
                return None
            await self._give_up_tokens()
        if self._refused is None:
            return None  # the server has yet to say what it wants
        await self._begin_to_sign_in(self._refused)
        self.signed_in = True
        return await self._checked(await flow.asend(self._challenge(self._refused)))

    @property
    def _context(self) -> OAuthContext:
        return self._provider.context

    @property
    def _token(self) -> str:
        tokens = self._context.current_tokens
        return tokens.access_token if tokens else ""

    def _new_provider(self) -> OAuthClientProvider:
        try:
            provider = self._provider_of(self._record)
        except ValueError:  # somebody else's idea of a record
            self._record = Record(self._server.url)
            provider = self._provider_of(self._record)
        is_refused = self._refused is not None and self._refused.status_code != 401
        was_in_vain = self._was_in_vain(self._owner.renewed)
        self._is_renewing = self._record.can_be_renewed and not (is_refused or was_in_vain)
        # The SDK renews what has ended, and only then.
        provider.context.token_expiry_time = _LONG_AGO if self._is_renewing else None
        return provider

    def _was_in_vain(self, got: str) -> bool:
        """Whether this token was used now, and never taken: other requests may have used it."""
        return bool(self._used) and self._used == got and got not in self._owner.accepted

    def _provider_of(self, record: Record) -> OAuthClientProvider:
        return provider_of(self._server, record, self._keep, self._on_link, self._on_answer)

    async def _begin_to_sign_in(self, refused: httpx2.Response) -> None:
        """Find out whether it makes sense, and where the browser is to bring the outcome."""
        asked = _scopes_in(refused) <= self._owner.asked_scopes
        if refused.status_code == 403 and asked and self._used == self._owner.signed_in:
            raise in_vain(self._server, refused)
        if not self._server.auth.is_for_machines and self._owner.sign_in() is not None:
            await self._open_callback()

    async def _open_callback(self) -> None:
        from pydantic import AnyUrl

        auth, context = self._server.auth, self._context
        known = [str(x) for x in (context.client_info and context.client_info.redirect_uris) or ()]
        usual_port = urlsplit(known[0]).port or 0 if known else 0
        try:
            self._callback = await open_callback(
                self._server.name, auth.redirect_uri, auth.redirect_port, usual_port
            )
        except OSError as reason:
            raise errors.port_taken(self._server, reason.strerror or str(reason)) from None
        context.client_metadata.redirect_uris = [AnyUrl(self._callback.uri)]
        if not auth.client_id and not self._is_registered_for(self._callback.uri, known):
            context.client_info = None

    def _is_registered_for(self, uri: str, known: list[str]) -> bool:
        """Whether the service still knows us, and would send a browser there."""
        client = self._context.client_info
        until = client.client_secret_expires_at if client else None
        return (not known or uri in known) and not (until and until < time())

    def _challenge(self, refused: httpx2.Response) -> httpx2.Response:
        """What was refused, as the SDK should see it: with the scopes of the settings, if any."""
        import httpx2

        if refused.status_code not in (401, 403):
            return httpx2.Response(401, request=self._request)  # it would have given without
        if not self._server.auth.scopes or refused.status_code == 403:
            return refused
        scopes = list(dict.fromkeys([*self._server.auth.scopes, *sorted(_scopes_in(refused))]))
        found = _METADATA.search(refused.headers.get("www-authenticate", ""))
        parts = [f'scope="{" ".join(scopes)}"', *([found[0]] if found else [])]
        headers = {"www-authenticate": f"Bearer {', '.join(parts)}"}
        return httpx2.Response(401, headers=headers, request=self._request)

    async def _checked(self, outgoing: httpx2.Request) -> httpx2.Request:
        """A request to a service, if it may be made."""
        self._require_safety(str(outgoing.url))
        is_last_look = outgoing.method == "POST" and self.signed_in
        if is_last_look and not self._server.auth.is_for_machines:
            if self._server.auth.client_id and self._context.client_info is None:
                raise errors.other_service(self._server)
            self._require_somebody()
            if self._context.client_info is None:
                await self._require_agreement()
        return outgoing

    def _require_safety(self, url: str) -> None:
        where = urlsplit(url)
        is_local = where.hostname in LOCAL_HOSTS
        if self._server.url.startswith("https:") and where.scheme != "https" and not is_local:
            raise errors.not_safe(where.netloc)

    def _require_somebody(self) -> None:
        if self._owner.sign_in() is not None:
            return
        if self._context.oauth_metadata is None:
            raise self._not_offered()
        raise errors.nobody_there(self._server)

    async def _require_agreement(self) -> None:
        """Ask the person who would sign in, before a service hears of us for the first time."""
        host = self._owner.host()
        if host is None:
            return  # a program signs in, or a command that was given for that
        service = self._context.oauth_metadata
        page = str(service.authorization_endpoint) if service else self._server.url
        await agree(self._server, host, urlsplit(page).hostname or "", self._owner.clocks)

    def _not_offered(self) -> errors.NotOffered:
        is_wanted = self._refused is not None and self._refused.status_code == 401
        return errors.NotOffered(self._server, is_wanted)

    def _judge_renewal(self, outgoing: httpx2.Request, answer: httpx2.Response) -> None:
        """A service that is down must not cost the token that only it can renew."""
        is_down = answer.status_code >= 500 or answer.status_code == 429
        if self._is_renewing and not self.signed_in and is_down:
            reason = f"HTTP {answer.status_code}"
            raise errors.unreachable(outgoing.url.netloc.decode(), reason)

    async def _on_link(self, url: str) -> None:
        import httpx2

        self._require_somebody()
        self._require_safety(url)
        await self._services.check(httpx2.URL(url))
        if self._context.client_info is not None:
            choose_authentication(self._context.client_info, self._context.oauth_metadata)
        self._link = url

    async def _on_answer(self) -> AuthorizationCodeResult:
        from mcp.client.auth import AuthorizationCodeResult

        assert self._callback is not None
        state = parse_qs(urlsplit(self._link).query)["state"][0]
        sign_in, clocks = self._owner.sign_in(), self._owner.clocks
        if sign_in is None:
            raise errors.nobody_there(self._server)  # who was there has left
        found = await ask(self._server, sign_in, self._link, state, self._callback, clocks)
        self._server.secrets.add(found.code)
        return AuthorizationCodeResult(code=found.code, state=found.state, iss=found.issuer)

    async def _keep(self, with_tokens: bool) -> None:
        """Told by the SDK when there is something new; tokens of another client are void."""
        context = self._context
        tokens = context.current_tokens if with_tokens else None
        client, service = context.client_info, context.oauth_metadata
        resource = context.protected_resource_metadata
        issuer = context.auth_server_url or (str(service.issuer) if service else "")
        is_ours = bool(self._server.auth.client_id)
        self._record = Record(
            self._server.url,
            issuer,
            tokens.model_dump(mode="json", exclude_none=True) if tokens else None,
            context.token_expiry_time if tokens else None,
            client.model_dump(mode="json", exclude_none=True) if client and not is_ours else None,
            service.model_dump(mode="json", exclude_none=True) if service else None,
            resource.model_dump(mode="json", exclude_none=True) if resource else None,
        )
        await self._owner.keep(self._record)

    async def _give_up_tokens(self) -> None:
        self._record = replace(self._record, tokens=None, expires_at=None)
        await self._owner.keep(self._record)

    async def _failure(self, cause: Exception) -> errors.AuthFailure:
        """In our words. A service that does not know us any more is asked anew the next time."""
        from mcp.client.auth import OAuthRegistrationError

        if "invalid_client" in str(cause) and self._record.client:
            await self._owner.keep(replace(self._record, client=None, tokens=None))
        if isinstance(cause, OAuthRegistrationError) and self._context.oauth_metadata is None:
            return self._not_offered()
        return errors.of_the_flow(cause, self._server)


def in_vain(server: ServerSettings, refused: httpx2.Response) -> errors.AuthFailure:
    """The server does not take what it sent us to get."""
    if refused.status_code == 403:
        return errors.too_little(_scopes_in(refused))
    return errors.refused_at_once(server)


def _scopes_in(response: httpx2.Response) -> frozenset[str]:
    found = _SCOPE.search(response.headers.get("www-authenticate", ""))
    return _words(found[1] or found[2]) if found else frozenset()


def _words(text: str | None) -> frozenset[str]:
    return frozenset((text or "").split())
