"""Tokens that a client gets with its id and secret (RFC 6749, 4.4), kept until they expire."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard, cast
from urllib.parse import quote, urlencode, urlsplit

import anyio

from ....core.errors import SourceFailed
from ....core.places import THIS_MACHINE, place_of_host
from ....secrets.secrets import Secrets, masked_and_cut
from .auth import Grant

if TYPE_CHECKING:
    import httpx2

    from .client import Answer, ServiceClient

_SECONDS = 30.0  # such services answer at once; one that does not must not hold up calls
_EARLY_SECONDS = 30.0  # a token that expires on its way is refused
_UNKNOWN_SECONDS = 300.0  # where it is not said how long one is good for
_MOST_CHARS = 64 * 1024  # servers take headers of 8 to 64 KB
_TOKEN = re.compile(r"[\x21-\x7e]+")  # RFC 6750, 2.1, and some more
_Key: TypeAlias = tuple[str, str, tuple[str, ...]]


@dataclass(slots=True)
class _Kept:
    """The token of one client; whoever needs a new one waits for the lock."""

    lock: anyio.Lock = field(default_factory=anyio.Lock)
    token: str = ""
    until: float = 0.0


class ClientTokens:
    """The tokens of one service. Callers at the same time cause one request.

    What is got is added to `secrets`.
    """

    def __init__(self, name: str, client: ServiceClient, secrets: Secrets) -> None:
        self._name = name
        self._client = client
        self._secrets = secrets
        self._kept: defaultdict[_Key, _Kept] = defaultdict(_Kept)

    async def token(self, grant: Grant, *, refused: str = "") -> str:
        """A token that is good; another one than `refused`, which the service did not take.

        Raises:
            SourceFailed: none can be got; says why.
        """
        kept = self._kept[grant.token_url, grant.credential.client_id, grant.scopes]
        async with kept.lock:
            is_good = kept.token and kept.token != refused and anyio.current_time() < kept.until
            if not is_good:
                found = await self._got(grant)
                kept.token, seconds = self._read(found, grant)
                kept.until = anyio.current_time() + seconds
            return kept.token

    async def _got(self, grant: Grant) -> Mapping[str, Any]:
        if not _is_safe(grant.token_url):
            raise self._failed(
                grant, "is not encrypted", "Write the https:// address of it as `tokenUrl`."
            )
        how = grant.credential.client_authentication
        answer = await self._ask(grant, how or "client_secret_basic")
        if how is None and _is_unknown_client(answer):
            # Every service should take the usual way; quite some take only the other.
            answer = await self._ask(grant, "client_secret_post")
        if 300 <= answer.status < 400:
            raise self._failed(
                grant, f"redirects (HTTP {answer.status}), and secrets are not taken along",
                "Write the address of it as `tokenUrl` under `auth`, where it is now.",
            )  # fmt: skip
        if answer.status != 200:
            said = masked_and_cut(answer.words, self._secrets.redact)
            raise self._failed(
                grant,
                f"refused with HTTP {answer.status}: {said}",
                "Check `clientId`, `clientSecret` and `scopes` under `auth` of the service.",
            )
        return answer.json_object()

    async def _ask(self, grant: Grant, how: str) -> Answer:
        # As it is sent, before base64; the service may repeat it in its refusal.
        self._secrets.add(quote(_secret_of(grant), safe=""))
        try:
            with anyio.fail_after(_SECONDS):
                return await self._client.send_once(_request(grant, how))
        except TimeoutError as cause:
            raise self._failed(
                grant, f"gave no answer in {_SECONDS:g} s", "Try again later."
            ) from cause

    def _read(self, found: Mapping[str, Any], grant: Grant) -> tuple[str, float]:
        token, kind = found.get("access_token"), found.get("token_type", "bearer")
        if not _is_token(token) or str(kind).lower() != "bearer":
            raise self._failed(
                grant, "answered without a bearer token", "Check `tokenUrl` under `auth`."
            )
        self._secrets.add(token)
        try:
            seconds = float(found.get("expires_in") or _UNKNOWN_SECONDS)
        except (TypeError, ValueError):
            seconds = _UNKNOWN_SECONDS
        seconds = seconds if math.isfinite(seconds) else _UNKNOWN_SECONDS
        # Of one that is good for a minute, half of it is left.
        return token, max(seconds - _EARLY_SECONDS, seconds / 2)

    def _failed(self, grant: Grant, problem: str, next_step: str) -> SourceFailed:
        where = urlsplit(grant.token_url).netloc.rpartition("@")[2]
        return SourceFailed(self._name, f"no token could be got: {where} {problem}.", next_step)


def _request(grant: Grant, how: str) -> httpx2.Request:
    import httpx2  # here, as everywhere: it takes a while

    client_id, secret = grant.credential.client_id, _secret_of(grant)
    form = {"grant_type": "client_credentials"}
    if grant.scopes:
        form["scope"] = " ".join(grant.scopes)
    headers = {"Accept": "application/json", "Content-Type": "application/x-www-form-urlencoded"}
    if how == "client_secret_basic":
        # RFC 6749, 2.3.1: encoded before they are put together.
        pair = httpx2.BasicAuth(quote(client_id, safe=""), quote(secret, safe=""))
        request = httpx2.Request("POST", grant.token_url, headers=headers, content=urlencode(form))
        return next(pair.auth_flow(request))
    form["client_id"] = client_id
    if how == "client_secret_post":
        form["client_secret"] = secret
    return httpx2.Request("POST", grant.token_url, headers=headers, content=urlencode(form))


def _secret_of(grant: Grant) -> str:
    secret = grant.credential.client_secret
    return secret.reveal() if secret else ""


def _is_token(found: Any) -> TypeGuard[str]:
    """Whether it is one that a header can hold."""
    return isinstance(found, str) and len(found) <= _MOST_CHARS and bool(_TOKEN.fullmatch(found))


def _is_safe(url: str) -> bool:
    parts = urlsplit(url)
    is_here = (place_of_host(parts.hostname or "") or "").startswith(THIS_MACHINE)
    return parts.scheme == "https" or (parts.scheme == "http" and is_here)


def _is_unknown_client(answer: Answer) -> bool:
    if answer.status == 401:
        return True
    said = cast(Any, answer.json_object().get("error"))
    return answer.status == 400 and said in ("invalid_client", "invalid_request")
