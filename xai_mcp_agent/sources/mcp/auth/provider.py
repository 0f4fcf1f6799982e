"""Access to one server: a token on each request, and the SDK's OAuth flow where none is good.

The SDK's provider holds its lock while a request is under way (python-sdk#2847, #3209, #3382), so
that one slow call holds up all others. Here a request with a good token passes at once. Where a
token must be got, one request at a time does it, in all processes, and looks first whether another
one has done so meanwhile.

Imported when the first server behind a URL is reached: the SDK is heavy.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from time import monotonic, time
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
from mcp.shared.auth import (
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl

from ....core.calls import Host
from ....core.questions import SignIn
from ....settings.server import ServerSettings
from ...web.origins import is_same_host
from ..sdk import NAME
from . import errors
from .callback import LOCAL_HOSTS, Callback, open_callback
from .services import SignInServices
from .sign_in import Clocks, agree, ask, asking
from .token_store import Access, Record

Flow: TypeAlias = AsyncGenerator[httpx2.Request, httpx2.Response]

# Requests that waited for the same sign-in share its failure; nobody is asked again at once.
_SAME_FAILURE_SECONDS = 10.0
# Took a token that another process got, renewed it, signed in: no request needs more.
_MAX_ROUNDS = 3
_LONG_AGO = 1.0  # a time when any token had ended
_NO_CALLBACK = "http://127.0.0.1/callback"  # until a listener is open; registered nowhere
_INSUFFICIENT = re.compile(r'\berror="?insufficient_scope\b')
_SCOPE = re.compile(r'\bscope=(?:"([^"]*)"|([^\s,]+))')
_METADATA = re.compile(r'\bresource_metadata=(?:"[^"]*"|[^\s,]+)')


class ServerAuth(OAuthClientProvider):
    """Access in the name of a person.

    `clocks` stop while the person is waited for; one of the `hosts` asks them.
    """

    def __init__(
        self,
        server: ServerSettings,
        access: Access,
        clocks: Clocks,
        hosts: Callable[[], Sequence[Host]],
    ) -> None:
        self._server = server
        self._access = access
        self._clocks = clocks
        self._hosts = hosts
        self._record: Record | None = None
        # Tokens: of the last sign-in here, of the last renewal; those that the server took.
        self._signed_in = self._renewed = ""
        self._accepted: set[str] = set()
        self._asked_scopes: frozenset[str] = frozenset()  # by that sign-in
        self._one_at_a_time = anyio.Lock()
        self._failure: tuple[float, errors.AuthFailure] | None = None
        self._is_due = access.is_forced
        self._services: SignInServices
        self._callback: Callback | None = None
        self._link = ""
        self._init_sdk()

    def _init_sdk(self) -> None:
        auth = self._server.auth
        metadata = OAuthClientMetadata(
            client_name=NAME,
            redirect_uris=[AnyUrl(_NO_CALLBACK)],
            token_endpoint_auth_method=auth.client_authentication,
        )
        OAuthClientProvider.__init__(
            self, self._server.url, metadata, self, self._open_page, self._wait_for_code,
            client_metadata_url=auth.client_metadata_url or None,
        )  # fmt: skip

    # A request

    async def async_auth_flow(self, request: httpx2.Request) -> Flow:
        """Send a request with a token; after a refusal again, with another one.

        Raises:
            AuthFailure: there is no access.
        """
        if not is_same_host(self._server.url, str(request.url)):
            yield request  # the token goes nowhere else
            return
        record = self._record or await self._latest()
        self._is_due = self._is_due and not record.access_token
        token, response = record.access_token, None
        if record.is_fresh() or not record.can_be_renewed:
            token = self._sign(request)
            response = yield request
        for _ in range(_MAX_ROUNDS):
            if response is not None and not self._is_refused(response):
                self._accepted.add(token)
                return
            signed_in = await self._get_token(request, response, token)
            token = self._sign(request)
            response = yield request
            if signed_in:
                break
        if response is not None and self._is_refused(response):
            raise self._in_vain(response)
        self._accepted.add(token)

    def _sign(self, request: httpx2.Request) -> str:
        """Put the token on a request, if there is one that may still be good; return it."""
        request.headers.pop("authorization", None)
        if self._record is None or not self._record.is_fresh():
            return ""
        request.headers["authorization"] = f"Bearer {self._record.access_token}"
        return self._record.access_token

    def _is_refused(self, response: httpx2.Response) -> bool:
        """Whether the server wants access, or other access than it was shown."""
        challenge = response.headers.get("www-authenticate", "")
        if response.status_code == 401:
            is_oauth = self._server.auth.use == "yes" or "bearer" in challenge.lower()
            return is_oauth or self._is_due
        if response.status_code == 403:
            return bool(_INSUFFICIENT.search(challenge))
        return self._is_due

    # Getting a token

    async def _get_token(
        self, request: httpx2.Request, refused: httpx2.Response | None, used: str
    ) -> bool:
        """Get another token than the one `used`; return whether it took a sign-in."""
        services = SignInServices(self._server, refused)
        if refused is not None:
            await _drop_body(refused)
        try:
            async with self._alone(used):
                self._services = services
                return await self._get_token_alone(request, refused, used)
        finally:
            await services.close()

    @asynccontextmanager
    async def _alone(self, used: str) -> AsyncGenerator[None]:
        """Nobody else gets a token within the block; who waits meanwhile shares its failure."""
        async with self._one_at_a_time:
            await self._repeat_failure(used)
            try:
                async with self._access.store.locked(self._server):
                    yield
            except errors.AuthFailure as failure:
                self._failure = (monotonic(), failure)
                raise
            self._is_due = False

    async def _repeat_failure(self, used: str) -> None:
        if self._failure and monotonic() - self._failure[0] < _SAME_FAILURE_SECONDS:
            record = await self._latest()
            if record.is_fresh() and record.access_token != used:
                return  # somebody has signed in elsewhere
            failure = self._failure[1]
            # Anew: a raised exception collects the tracebacks of its travels.
            raise errors.AuthFailure(failure.problem, failure.next_step)

    async def _get_token_alone(
        self, request: httpx2.Request, refused: httpx2.Response | None, used: str
    ) -> bool:
        record = await self._latest()
        if record.is_fresh() and record.access_token != used:
            return False  # somebody else was faster
        status = refused.status_code if refused is not None else None
        if status == 401 and self._was_in_vain(used, self._signed_in):
            raise errors.refused_at_once(self._server)
        renews = record.can_be_renewed and status in (None, 401)
        renews = renews and not self._was_in_vain(used, self._renewed)
        await self._load(record, renews=renews)
        try:
            return await self._run(request, refused, used, renews=renews)
        except errors.OutOfReach:
            if refused is not None:
                raise
            return False  # where the server is is known once it was asked something
        except (OAuthFlowError, httpx2.InvalidURL) as cause:
            raise await self._failure_of(cause, refused) from None
        finally:
            if self._callback is not None:
                await self._callback.close()
                self._callback = None

    def _was_in_vain(self, used: str, token: str) -> bool:
        """Whether this token was used now, and the server never took it."""
        return bool(used) and used == token and token not in self._accepted

    async def _run(
        self,
        request: httpx2.Request,
        refused: httpx2.Response | None,
        used: str,
        *,
        renews: bool,
    ) -> bool:
        """Drive the SDK's flow, which would send `request` itself; whether it took a sign-in."""
        async with aclosing(super().async_auth_flow(request)) as flow:
            outgoing = await anext(flow)
            while outgoing is not request:
                answer = await self._ask(outgoing)
                if answer.status_code >= 500 or answer.status_code == 429:
                    # A service that is down must not cost the token that only it can renew.
                    reason = f"HTTP {answer.status_code}"
                    raise errors.unreachable(outgoing.url.netloc.decode(), reason)
                outgoing = await flow.asend(answer)
            if renews and self.context.is_token_valid():
                self._renewed = self._token
                return False
            if renews:
                await self._save(replace(self._known, tokens=None, expires_at=None))
            if refused is None:
                return False  # the server has yet to say what it wants
            await self._prepare_sign_in(refused, used)
            outgoing = await flow.asend(self._challenge(request, refused))
            while outgoing is not request:
                if outgoing.method == "POST":
                    await self._check_before_posting(refused)
                outgoing = await flow.asend(await self._ask(outgoing))
        self._signed_in = self._token
        self._asked_scopes = _words(self.context.client_metadata.scope)
        return True

    async def _ask(self, request: httpx2.Request) -> httpx2.Response:
        """Ask a sign-in service."""
        self._require_safety(str(request.url))
        return await self._services.ask(request)

    @property
    def _token(self) -> str:
        tokens = self.context.current_tokens
        return tokens.access_token if tokens else ""

    # Signing in

    async def _prepare_sign_in(self, refused: httpx2.Response, used: str) -> None:
        """Find out whether it makes sense, and where the browser is to bring the outcome."""
        was_asked = _scopes_in(refused) <= self._asked_scopes
        if refused.status_code == 403 and was_asked and used == self._signed_in:
            raise self._in_vain(refused)
        if self._server.auth.is_for_machines or self._sign_in() is None:
            return
        auth, context = self._server.auth, self.context
        client = context.client_info
        registered = [str(uri) for uri in (client and client.redirect_uris) or ()]
        usual_port = urlsplit(registered[0]).port or 0 if registered else 0
        try:
            self._callback = await open_callback(
                self._server.name, auth.redirect_uri, auth.redirect_port, usual_port
            )
        except OSError as reason:
            raise errors.port_taken(self._server, reason.strerror or str(reason)) from None
        uri = self._callback.uri
        context.client_metadata.redirect_uris = [AnyUrl(uri)]
        expires_at = client.client_secret_expires_at if client else None
        is_expired = bool(expires_at and expires_at < time())
        if not auth.client_id and (is_expired or (registered and uri not in registered)):
            context.client_info = None

    def _challenge(self, request: httpx2.Request, refused: httpx2.Response) -> httpx2.Response:
        """Return the refusal as the SDK should see it: with the scopes of the settings, if any."""
        if refused.status_code not in (401, 403):
            return httpx2.Response(401, request=request)  # it would have given without
        if not self._server.auth.scopes or refused.status_code == 403:
            return refused
        scopes = list(dict.fromkeys([*self._server.auth.scopes, *sorted(_scopes_in(refused))]))
        metadata = _METADATA.search(refused.headers.get("www-authenticate", ""))
        parts = [f'scope="{" ".join(scopes)}"', *([metadata[0]] if metadata else [])]
        headers = {"www-authenticate": f"Bearer {', '.join(parts)}"}
        return httpx2.Response(401, headers=headers, request=request)

    async def _check_before_posting(self, refused: httpx2.Response) -> None:
        """The last look before we register, or ask for a token."""
        if self._server.auth.is_for_machines:
            return
        if self._server.auth.client_id and self.context.client_info is None:
            raise errors.other_service(self._server)
        self._require_somebody(refused)
        host = self._host()
        if self.context.client_info is None and host is not None:
            service = self.context.oauth_metadata
            page = str(service.authorization_endpoint) if service else self._server.url
            await agree(self._server, host, urlsplit(page).hostname or "", self._clocks)

    def _require_somebody(self, refused: httpx2.Response | None = None) -> None:
        if self._sign_in() is not None:
            return
        if self.context.oauth_metadata is None and refused is not None:
            raise errors.NotOffered(self._server, refused.status_code == 401)
        raise errors.nobody_there(self._server)

    def _require_safety(self, url: str) -> None:
        where = urlsplit(url)
        is_local = where.hostname in LOCAL_HOSTS
        if self._server.url.startswith("https:") and where.scheme != "https" and not is_local:
            raise errors.not_safe(where.netloc)

    async def _open_page(self, url: str) -> None:
        """The SDK's redirect handler."""
        self._require_somebody()
        self._require_safety(url)
        await self._services.check(httpx2.URL(url))
        if self.context.client_info is not None:
            _choose_authentication(self.context.client_info, self.context.oauth_metadata)
        self._link = url

    async def _wait_for_code(self) -> AuthorizationCodeResult:
        """The SDK's callback handler."""
        assert self._callback is not None
        state = parse_qs(urlsplit(self._link).query)["state"][0]
        sign_in = self._sign_in()
        if sign_in is None:
            raise errors.nobody_there(self._server)  # who was there has left
        outcome = await ask(self._server, sign_in, self._link, state, self._callback, self._clocks)
        self._server.secrets.add(outcome.code)
        return AuthorizationCodeResult(code=outcome.code, state=outcome.state, iss=outcome.issuer)

    def _sign_in(self) -> SignIn | None:
        """How somebody signs in now: as the program says, else whoever waits for the server."""
        host = self._host()
        return asking(host) if host else self._access.sign_in

    def _host(self) -> Host | None:
        """Who is asked whether to sign in, where no program was told how to."""
        hosts = [x for x in self._hosts() if not x.why_nobody]
        return hosts[-1] if hosts and self._access.sign_in is None else None

    def _in_vain(self, refused: httpx2.Response) -> errors.AuthFailure:
        """The server does not take what it sent us to get."""
        if refused.status_code == 403:
            return errors.too_little(_scopes_in(refused))
        return errors.refused_at_once(self._server)

    async def _failure_of(
        self, cause: Exception, refused: httpx2.Response | None
    ) -> errors.AuthFailure:
        """Word it. A service that does not know us any more is asked anew the next time."""
        if "invalid_client" in str(cause) and self._known.client:
            await self._save(replace(self._known, client=None, tokens=None))
        if isinstance(cause, OAuthRegistrationError) and self.context.oauth_metadata is None:
            is_wanted = refused is not None and refused.status_code == 401
            return errors.NotOffered(self._server, is_wanted)
        return errors.of_the_flow(cause, self._server)

    # What is stored

    @property
    def _known(self) -> Record:
        return self._record or Record(self._server.url)

    async def _latest(self) -> Record:
        """Return what is stored now, perhaps by another process."""
        record = await self._access.store.read(self._server)
        # Where nothing can be stored, what is in memory counts.
        if record.access_token or self._record is None:
            self._server.secrets.update(record.secrets())
            self._record = record
        return self._record

    async def _save(self, record: Record) -> None:
        """Use this from now on, and store it; its secrets are hidden from here on."""
        self._server.secrets.update(record.secrets())
        self._record = record
        await self._access.store.write(self._server, record)

    async def _load(self, record: Record, *, renews: bool) -> None:
        """Have the SDK know what the record does. It renews what has ended, and only then."""
        context = self.context
        context.protected_resource_metadata = context.auth_server_url = None
        context.oauth_metadata = None
        context.client_metadata.scope = " ".join(self._server.auth.scopes) or None
        try:
            await self._initialize()
            if record.service:
                context.oauth_metadata = OAuthMetadata.model_validate(record.service)
            if record.resource:
                context.protected_resource_metadata = ProtectedResourceMetadata.model_validate(
                    record.resource
                )
                context.auth_server_url = record.issuer or None
        except ValueError:  # somebody else's idea of a record
            self._record = Record(self._server.url)
            await self._initialize()
        context.token_expiry_time = _LONG_AGO if renews else None

    async def get_tokens(self) -> OAuthToken | None:
        """Of the SDK's storage."""
        tokens = self._known.tokens
        return OAuthToken.model_validate(tokens) if tokens else None

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Of the SDK's storage: who the settings say that we are, or were registered as."""
        auth, client = self._server.auth, self._known.client
        if not auth.client_id:
            return OAuthClientInformationFull.model_validate(client) if client else None
        secret = auth.client_secret.reveal() if auth.client_secret else None
        return OAuthClientInformationFull(
            client_id=auth.client_id,
            client_secret=secret,
            token_endpoint_auth_method=auth.client_authentication or ("" if secret else "none"),
            issuer=auth.issuer or self._known.issuer or None,
        )

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Of the SDK's storage."""
        await self._save(self._as_record(self.context.current_tokens))

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Of the SDK's storage; tokens of another client are void."""
        await self._save(self._as_record(None))

    def _as_record(self, tokens: OAuthToken | None) -> Record:
        context = self.context
        client, service = context.client_info, context.oauth_metadata
        resource = context.protected_resource_metadata
        is_ours = bool(self._server.auth.client_id)
        return Record(
            self._server.url,
            context.auth_server_url or (str(service.issuer) if service else ""),
            _dumped(tokens),
            context.token_expiry_time if tokens else None,
            None if is_ours else _dumped(client),
            _dumped(service),
            _dumped(resource),
        )


def _choose_authentication(
    client: OAuthClientInformationFull, service: OAuthMetadata | None
) -> None:
    """Where the settings give a secret and do not say how to show it: as the service takes it."""
    if client.client_secret is None or client.token_endpoint_auth_method:
        return
    methods = service.token_endpoint_auth_methods_supported if service else None
    # RFC 8414: basic is what a service takes that does not say.
    is_posted = methods and "client_secret_basic" not in methods and "client_secret_post" in methods
    client.token_endpoint_auth_method = "client_secret_post" if is_posted else "client_secret_basic"


async def _drop_body(refused: httpx2.Response) -> None:
    """Have nothing read of a refusal but its headers: its body may have no end."""
    if isinstance(refused.stream, httpx2.AsyncByteStream):
        await refused.stream.aclose()
    refused.stream = httpx2.ByteStream(b"")
    refused.headers.pop("content-encoding", None)


def _dumped(model: Any) -> dict[str, Any] | None:
    return model.model_dump(mode="json", exclude_none=True) if model else None


def _scopes_in(response: httpx2.Response) -> frozenset[str]:
    scope = _SCOPE.search(response.headers.get("www-authenticate", ""))
    return _words(scope[1] or scope[2]) if scope else frozenset()


def _words(text: str | None) -> frozenset[str]:
    return frozenset((text or "").split())
