"""Tokens that a client gets with its id and secret (RFC 6749, 4.4), kept until they expire."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from urllib.parse import quote, urlencode, urlsplit

import anyio
import httpx2

from ...core.errors import SourceFailed
from ...secrets.secrets import Secrets, masked_and_cut
from ..web.network_errors import is_this_machine
from .auth import Grant
from .client import ServiceClient, ServiceResponse

_SECONDS = 30.0  # such services answer at once; one that does not must not hold up calls
_EARLY_SECONDS = 30.0  # a token that expires on its way is refused
_USUAL_SECONDS = 300.0  # where it is not said how long one is good for
_MAX_CHARS = 64 * 1024  # servers take headers of 8 to 64 KB
_TOKEN = re.compile(r"[\x21-\x7e]+")  # RFC 6750, 2.1, and some more
_Key: TypeAlias = tuple[str, str, tuple[str, ...]]


@dataclass(slots=True)
class _Token:
    """The token of one client; whoever needs a new one waits for the lock."""

    lock: anyio.Lock = field(default_factory=anyio.Lock)
    text: str = ""
    good_until: float = 0.0


class ClientTokens:
    """The tokens of one service. Callers at the same time cause one request.

    What is got is added to `secrets`.
    """

    def __init__(self, client: ServiceClient, secrets: Secrets) -> None:
        self._client = client
        self._secrets = secrets
        self._tokens: defaultdict[_Key, _Token] = defaultdict(_Token)

    async def token(self, grant: Grant, *, refused: str = "") -> str:
        """Return a token that is good; another one than `refused`, which the service did not take.

        Raises:
            SourceFailed: none can be got; says why.
        """
        token = self._tokens[grant.token_url, grant.credential.client_id, grant.scopes]
        async with token.lock:
            is_good = token.text and anyio.current_time() < token.good_until
            if not is_good or token.text == refused:
                text, seconds = self._read(await self._get(grant), grant)
                token.text, token.good_until = text, anyio.current_time() + seconds
            return token.text

    async def _get(self, grant: Grant) -> Mapping[str, Any]:
        url = grant.token_url
        if not url.startswith("https:") and not (url.startswith("http:") and is_this_machine(url)):
            fix = "Write the https:// address of it as `tokenUrl`."
            raise self._failed(grant, "is not encrypted", fix)
        how = grant.credential.client_authentication
        response = await self._ask(grant, how or "client_secret_basic")
        if how is None and _is_unknown_client(response):
            # Every service should take the usual way; quite some take only the other.
            response = await self._ask(grant, "client_secret_post")
        if 300 <= response.status < 400:
            raise self._failed(
                grant, f"redirects (HTTP {response.status}), and secrets are not taken along",
                "Write the address of it as `tokenUrl` under `auth`, where it is now.",
            )  # fmt: skip
        if response.status != 200:
            words = masked_and_cut(response.words, self._secrets.redact)
            raise self._failed(
                grant,
                f"refused with HTTP {response.status}: {words}",
                "Check `clientId`, `clientSecret` and `scopes` under `auth` of the service.",
            )
        return response.json_object()

    async def _ask(self, grant: Grant, how: str) -> ServiceResponse:
        # As it is sent, before base64; the service may repeat it in its refusal.
        self._secrets.add(quote(_secret_of(grant), safe=""))
        try:
            with anyio.fail_after(_SECONDS):
                return await self._client.send(_request(grant, how), redirects=False)
        except TimeoutError as cause:
            problem = f"gave no answer in {_SECONDS:g} s"
            raise self._failed(grant, problem, "Try again later.") from cause

    def _read(self, answer: Mapping[str, Any], grant: Grant) -> tuple[str, float]:
        token, kind = answer.get("access_token"), answer.get("token_type", "bearer")
        is_token = isinstance(token, str) and len(token) <= _MAX_CHARS and _TOKEN.fullmatch(token)
        if not is_token or str(kind).lower() != "bearer":
            problem = "answered without a bearer token"
            raise self._failed(grant, problem, "Check `tokenUrl` under `auth`.")
        self._secrets.add(str(token))
        try:
            seconds = float(answer.get("expires_in") or _USUAL_SECONDS)
        except (TypeError, ValueError):
            seconds = _USUAL_SECONDS
        seconds = seconds if math.isfinite(seconds) else _USUAL_SECONDS
        # Of one that is good for a minute, half of it is left.
        return str(token), max(seconds - _EARLY_SECONDS, seconds / 2)

    def _failed(self, grant: Grant, problem: str, next_step: str) -> SourceFailed:
        where = urlsplit(grant.token_url).netloc.rpartition("@")[2]
        problem = f"no token could be got: {where} {problem}."
        return SourceFailed(self._client.name, problem, next_step)


def _request(grant: Grant, how: str) -> httpx2.Request:
    client_id, secret = grant.credential.client_id, _secret_of(grant)
    form = {"grant_type": "client_credentials"}
    if grant.scopes:
        form["scope"] = " ".join(grant.scopes)
    if how != "client_secret_basic":
        form["client_id"] = client_id
    if how == "client_secret_post":
        form["client_secret"] = secret
    headers = {"Accept": "application/json", "Content-Type": "application/x-www-form-urlencoded"}
    request = httpx2.Request("POST", grant.token_url, headers=headers, content=urlencode(form))
    if how == "client_secret_basic":
        # RFC 6749, 2.3.1: encoded before they are put together.
        pair = httpx2.BasicAuth(quote(client_id, safe=""), quote(secret, safe=""))
        request = next(pair.auth_flow(request))
    return request


def _secret_of(grant: Grant) -> str:
    secret = grant.credential.client_secret
    return secret.reveal() if secret else ""


def _is_unknown_client(response: ServiceResponse) -> bool:
    if response.status == 401:
        return True
    error = response.json_object().get("error")
    return response.status == 400 and error in ("invalid_client", "invalid_request")
