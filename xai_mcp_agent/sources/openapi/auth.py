"""Credentials for requests: the first security alternative that the settings can satisfy.

It also gets client credentials tokens (RFC 6749, 4.4) and keeps them until they expire. Errors name
schemes and settings keys, never a secret.
"""

from __future__ import annotations

import base64
import os
import re
from collections import defaultdict
from collections.abc import AsyncGenerator, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from urllib.parse import quote, urlencode, urlsplit

import anyio
import httpx2
from pydantic import TypeAdapter, ValidationError

from ...core.errors import BadSetting, SourceFailed, XaiMcpError
from ...core.json import as_object
from ...secrets.secrets import Secret, Secrets, mask_and_cut
from ...settings.interpolation import Variables
from ...settings.openapi import ANY_SCHEME, CredentialsByScheme, CredentialSettings
from ...settings.validation import ValidationContext
from ..web.network_errors import is_this_machine
from ..web.origins import origin_of
from .client import ServiceClient, ServiceResponse
from .plan import FORM, SecurityNeed
from .request import can_be_header
from .styles import Unwritable, one_line

Credentials: TypeAlias = Mapping[str, CredentialSettings]
"""Credentials by scheme name, as in the settings."""

_TOKEN_SECONDS = 30.0  # token services answer at once; a hanging one must not hold up calls
_EARLY_SECONDS = 30.0  # a token that expires on the way is refused
_TOKEN = re.compile(r"[\x21-\x7e]{1,65536}")  # RFC 6750, 2.1, and a few more characters
_USUAL_SECONDS = 300.0  # if the answer does not say how long the token is valid
_CHECK_CLIENT = (
    "Check `tokenUrl` (an https:// address), `clientId`, `clientSecret` and `scopes` under `auth` "
    "of the service."
)
# The settings keys that satisfy each kind of scheme.
_KEYS = {
    "apiKey": "`apiKey`",
    "basic": "`username` and `password`",
    "bearer": "`bearer`, or `clientId`, `clientSecret` and `tokenUrl`",
    "oauth2": "`bearer`, or `clientId` and `clientSecret`",
    "openIdConnect": "`bearer`, or `clientId`, `clientSecret` and `tokenUrl`",
}


class CredentialsMissing(XaiMcpError):
    """No alternative of an operation's security can be satisfied; nothing was sent."""

    def __init__(self, problem: str, next_step: str) -> None:
        super().__init__(f"{problem} Nothing was sent.\n  Next step: {next_step}")
        self.problem = problem
        self.next_step = next_step


@dataclass(frozen=True, slots=True)
class Grant:
    """A security need and the credentials that satisfy it."""

    need: SecurityNeed
    credential: CredentialSettings

    @property
    def takes_token(self) -> bool:
        """Whether a token must be fetched first."""
        is_for_tokens = self.need.family in ("bearer", "oauth2", "openIdConnect")
        return not self.credential.bearer and self.credential.is_client and is_for_tokens

    @property
    def token_url(self) -> str:
        """The URL that issues the token."""
        return self.credential.token_url or self.need.token_url

    @property
    def scopes(self) -> tuple[str, ...]:
        """The scopes of the token; the settings take precedence over the document."""
        return self.credential.scopes or self.need.scopes


def grants_for(
    security: Iterable[tuple[SecurityNeed, ...]], credentials: Credentials, base_url: str
) -> tuple[Grant, ...]:
    """Return the grants for the first alternative that can be satisfied; none if it is optional.

    An operation without security information gets the credentials that apply to all schemes.

    Raises:
        CredentialsMissing: no alternative can be satisfied.
    """
    alternatives = tuple(security)
    if not alternatives:
        return _grants_for_any(credentials)
    for needs in filter(None, alternatives):
        grants = [x for need in needs if (x := _grant(need, credentials))]
        if len(grants) == len(needs):
            for grant in grants:
                _check_token_url(grant, base_url)
            return tuple(grants)
    if () in alternatives:
        return ()
    raise _missing(alternatives)


class ServiceAuth(httpx2.Auth):
    """Adds credentials to requests. After a refusal it gets a new token, once.

    A request may be sent again, so credentials that it already has are not added twice.
    """

    def __init__(self, grants: Iterable[Grant], tokens: ClientTokens) -> None:
        self._grants = tuple(grants)
        self._tokens = tokens

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Send a request with credentials."""
        grant = next((x for x in self._grants if x.takes_token), None)
        token = await self._tokens.token(grant) if grant else ""
        add_credentials(request, self._grants, token)
        response = yield request
        if response.status_code == 401 and grant:
            token = await self._tokens.token(grant, refused=token)
            add_credentials(request, self._grants, token)
            yield request


def add_credentials(request: httpx2.Request, grants: Iterable[Grant], token: str = "") -> None:
    """Add the credentials of these grants to a request. `token` is for the one that takes a token.

    Raises:
        CredentialsMissing: a secret has a line break.
    """
    headers = request.headers
    for grant in grants:
        need, credential = grant.need, grant.credential
        if need.family == "basic":
            pair = f"{credential.username}:{_reveal(credential.password)}".encode()
            headers["Authorization"] = f"Basic {base64.b64encode(pair).decode()}"
        elif need.kind != "apiKey":
            text = token if grant.takes_token else _reveal(credential.bearer)
            headers["Authorization"] = f"Bearer {_one_line(text, need)}"
        elif need.place == "header":
            headers[need.name] = _one_line(_reveal(credential.api_key), need)
        else:
            pair = f"{quote(need.name, safe='')}={quote(_reveal(credential.api_key), safe='')}"
            if need.place == "cookie":
                headers["Cookie"] = _append_pair(headers.get("Cookie", ""), "; ", pair)
            else:
                query = _append_pair(request.url.query.decode("ascii"), "&", pair)
                request.url = request.url.copy_with(query=query.encode("ascii"))


def _append_pair(text: str, joint: str, pair: str) -> str:
    parts = text.split(joint) if text else []
    return text if pair in parts else joint.join([*parts, pair])


def read_credentials(auth: Mapping[str, Any]) -> Credentials:
    """Read a program's credentials and replace variables in them from the environment.

    They have the form of `auth` in the settings.

    Raises:
        BadSetting: the credentials are not valid; says where, without the secret.
    """
    adapter: TypeAdapter[Credentials] = TypeAdapter(CredentialsByScheme)
    try:
        context = ValidationContext(Variables(os.environ, ""))
        return adapter.validate_python(auth, context=context)
    except ValidationError as cause:
        error = cause.errors(include_input=False, include_url=False)[0]
        where = ".".join(str(x) for x in error["loc"] if x)
        raise BadSetting(
            f"`auth`{f', at {where}' if where else ''}: {error['msg']} "
            'Give such as {"apiKey": "${NAME}"}, {"bearer": "${NAME}"}, or username and password.'
        ) from None


def _reveal(secret: Secret | None) -> str:
    return secret.reveal() if secret else ""


def _grants_for_any(credentials: Credentials) -> tuple[Grant, ...]:
    needs = (SecurityNeed(ANY_SCHEME, "http", method=x) for x in ("bearer", "basic"))
    grants = (_grant(need, credentials) for need in needs)
    return tuple(x for x in grants if x is not None)[:1]


def _grant(need: SecurityNeed, credentials: Credentials) -> Grant | None:
    credential = credentials.get(need.scheme) or credentials.get(ANY_SCHEME)
    if credential is None or not _is_possible(need):
        return None
    grant = Grant(need, credential)
    is_satisfied = {"apiKey": credential.api_key, "basic": credential.username}.get(
        need.family, credential.bearer or (credential.is_client and grant.token_url)
    )
    return grant if is_satisfied else None


def _is_possible(need: SecurityNeed) -> bool:
    """Return whether any credentials could satisfy this need."""
    if need.kind != "apiKey":
        return need.family in _KEYS
    return bool(need.place and need.name) and (need.place != "header" or can_be_header(need.name))


def _check_token_url(grant: Grant, base_url: str) -> None:
    """Refuse to send a secret to another host that only the document names."""
    token_url = grant.need.token_url
    if not grant.takes_token or grant.credential.token_url:
        return
    if origin_of(token_url)[1] == origin_of(base_url)[1]:
        return
    raise CredentialsMissing(
        f"The document says that tokens for {grant.need.scheme!r} are got at {token_url}, which is "
        "another host than the service's.",
        f'If that is right, add "tokenUrl": "{token_url}" beside `clientId` under `auth`.',
    )


def _missing(alternatives: tuple[tuple[SecurityNeed, ...], ...]) -> CredentialsMissing:
    ways = " or ".join(" and ".join(map(_description, needs)) for needs in alternatives)
    possible = [need for needs in alternatives for need in needs if _is_possible(need)]
    if not possible:
        return CredentialsMissing(
            f"The operation needs {ways}, which is not supported.",
            "Use another operation, or ask whoever runs the service for another way to sign in.",
        )
    need = possible[0]
    return CredentialsMissing(
        f"The operation needs {ways}, and the settings have no credentials for that.",
        f'add under `auth` of the service: "{need.scheme}": {{...}} with {_KEYS[need.family]}; '
        "${NAME} takes values from the environment.",
    )


def _description(need: SecurityNeed) -> str:
    return f"{need.scheme} ({f'{need.kind} {need.method}'.strip()})"


def _one_line(text: str, need: SecurityNeed) -> str:
    try:
        return one_line(text)
    except Unwritable:
        raise CredentialsMissing(
            f"The credentials for {need.scheme!r} have a line break or a control character.",
            "Check the variable that they come from.",
        ) from None


# Tokens


@dataclass(slots=True)
class _Token:
    """The token of one client. Calls that need a new one wait for the lock."""

    lock: anyio.Lock = field(default_factory=anyio.Lock)
    text: str = ""
    good_until: float = 0.0


class ClientTokens:
    """The tokens of one service. Concurrent callers cause one request.

    Each new token is added to `secrets`.
    """

    def __init__(self, client: ServiceClient, secrets: Secrets) -> None:
        self._client = client
        self._secrets = secrets
        self._tokens = defaultdict[tuple[str, str, tuple[str, ...]], _Token](_Token)

    async def token(self, grant: Grant, *, refused: str = "") -> str:
        """Return a valid token other than `refused`, which the service did not accept.

        Raises:
            SourceFailed: no token was issued; says why.
        """
        token = self._tokens[grant.token_url, grant.credential.client_id, grant.scopes]
        async with token.lock:
            is_good = token.text and anyio.current_time() < token.good_until
            if not is_good or token.text == refused:
                answer = await self._ask(grant)
                token.text = self._read(answer, grant)
                token.good_until = anyio.current_time() + _good_seconds(answer)
            return token.text

    async def _ask(self, grant: Grant) -> Mapping[str, Any]:
        url = grant.token_url
        if not url.startswith("https:") and not (url.startswith("http:") and is_this_machine(url)):
            raise self._failure(grant, "does not use https")
        # A refusal may repeat the secret in the form before base64.
        self._secrets.add(quote(_reveal(grant.credential.client_secret), safe=""))
        how = grant.credential.client_authentication
        try:
            with anyio.fail_after(_TOKEN_SECONDS):
                response = await self._send(grant, how or "client_secret_basic")
                if how is None and _is_unknown_client(response):
                    # Every service should accept the default method; quite a few accept only the
                    # other.
                    response = await self._send(grant, "client_secret_post")
        except TimeoutError as cause:
            problem = f"did not answer within {_TOKEN_SECONDS:g} s"
            raise self._failure(grant, problem) from cause
        if 300 <= response.status < 400:
            problem = f"redirects (HTTP {response.status}), and secrets do not follow redirects"
            raise self._failure(grant, problem)
        if response.status != 200:
            words = " ".join(response.body.decode("utf-8", "replace").split())
            words = mask_and_cut(words, self._secrets.redact)
            raise self._failure(grant, f"refused with HTTP {response.status}: {words}")
        return as_object(response.json())

    async def _send(self, grant: Grant, how: str) -> ServiceResponse:
        client_id, secret = grant.credential.client_id, _reveal(grant.credential.client_secret)
        form = {"grant_type": "client_credentials"}
        if grant.scopes:
            form["scope"] = " ".join(grant.scopes)
        if how != "client_secret_basic":
            form["client_id"] = client_id
        if how == "client_secret_post":
            form["client_secret"] = secret
        headers = {"Accept": "application/json", "Content-Type": FORM}
        request = httpx2.Request("POST", grant.token_url, headers=headers, content=urlencode(form))
        if how == "client_secret_basic":
            # RFC 6749, 2.3.1: both are encoded before they are joined.
            pair = httpx2.BasicAuth(quote(client_id, safe=""), quote(secret, safe=""))
            request = next(pair.auth_flow(request))
        return await self._client.send(request, redirects=False)

    def _read(self, answer: Mapping[str, Any], grant: Grant) -> str:
        token, kind = answer.get("access_token"), answer.get("token_type", "bearer")
        is_token = isinstance(token, str) and _TOKEN.fullmatch(token)
        if not is_token or str(kind).lower() != "bearer":
            raise self._failure(grant, "answered without a bearer token")
        self._secrets.add(str(token))
        return str(token)

    def _failure(self, grant: Grant, problem: str) -> SourceFailed:
        where = urlsplit(grant.token_url).netloc.rpartition("@")[2]
        problem = f"no token was issued: {where} {problem}."
        return SourceFailed(self._client.name, problem, _CHECK_CLIENT)


def _good_seconds(answer: Mapping[str, Any]) -> float:
    """Return how many seconds to use a token; half its lifetime if that is only a minute."""
    try:  # some services send a string
        seconds = float(answer.get("expires_in") or _USUAL_SECONDS)
    except (TypeError, ValueError):
        seconds = _USUAL_SECONDS
    return max(seconds - _EARLY_SECONDS, seconds / 2)


def _is_unknown_client(response: ServiceResponse) -> bool:
    error = as_object(response.json()).get("error")
    is_refused = response.status == 400 and error in ("invalid_client", "invalid_request")
    return response.status == 401 or is_refused
