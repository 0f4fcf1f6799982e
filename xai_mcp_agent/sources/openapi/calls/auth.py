"""Which credentials a request is sent with: the first alternative that the settings can satisfy.

Nothing here is shown: what is wrong is told by the names of schemes and of keys in the settings.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import quote, urlsplit

from ....core.errors import XaiMcpError
from ....settings.openapi import ANY_SCHEME, CredentialSettings
from ..plan import SecurityNeed
from ..requests.request import Access, can_be_header
from ..requests.serialize import Unwritable, one_line

Credentials: TypeAlias = Mapping[str, CredentialSettings]
"""By the names of schemes, as `settings/openapi_auth.py` reads them."""

# What a scheme of each kind is satisfied with, as keys of the settings.
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
    """A need, and the credentials that satisfy it."""

    need: SecurityNeed
    credential: CredentialSettings

    @property
    def takes_token(self) -> bool:
        """Whether a token has to be got first."""
        return (
            not self.credential.bearer
            and self.credential.is_client
            and _family(self.need) in ("bearer", "oauth2", "openIdConnect")
        )

    @property
    def token_url(self) -> str:
        """Where that token is got."""
        return self.credential.token_url or self.need.token_url

    @property
    def scopes(self) -> tuple[str, ...]:
        """What it is to be good for; an operator's word counts before the document's."""
        return self.credential.scopes or self.need.scopes


def grants_for(
    security: Iterable[tuple[SecurityNeed, ...]], credentials: Credentials, base_url: str
) -> tuple[Grant, ...]:
    """What satisfies an operation: the first alternative that can be; where it is optional, none.

    An operation that says nothing gets the credentials that are for all schemes.

    Raises:
        CredentialsMissing: none can be satisfied.
    """
    alternatives = tuple(security)
    if not alternatives:
        return _for_any(credentials)
    for needs in filter(None, alternatives):
        found = [_grant(need, credentials) for need in needs]
        if all(found):
            return tuple(_checked(x, base_url) for x in found if x)
    if () in alternatives:
        return ()
    raise _missing(alternatives)


def access_of(grants: Iterable[Grant], token_of: Callable[[Grant], str]) -> Access:
    """What the grants add to a request. `token_of` gives the tokens of those that take one.

    Raises:
        CredentialsMissing: a secret has a line break.
    """
    headers: dict[str, str] = {}
    query: list[tuple[str, str]] = []
    cookies: list[tuple[str, str]] = []
    for grant in grants:
        need = grant.need
        if need.kind != "apiKey":
            headers["Authorization"] = _authorization(grant, token_of)
            continue
        key = grant.credential.api_key.reveal() if grant.credential.api_key else ""
        if need.place == "header":
            headers[need.name] = _one_line(key, need)
        else:
            (query if need.place == "query" else cookies).append(
                (quote(need.name, safe=""), quote(key, safe=""))
            )
    return Access(headers, tuple(query), tuple(cookies))


def _authorization(grant: Grant, token_of: Callable[[Grant], str]) -> str:
    credential = grant.credential
    if _family(grant.need) == "basic":
        password = credential.password.reveal() if credential.password else ""
        pair = f"{credential.username}:{password}".encode()
        return f"Basic {base64.b64encode(pair).decode()}"
    token = token_of(grant) if grant.takes_token else ""
    token = token or (credential.bearer.reveal() if credential.bearer else "")
    return f"Bearer {_one_line(token, grant.need)}"


def _for_any(credentials: Credentials) -> tuple[Grant, ...]:
    credential = credentials.get(ANY_SCHEME)
    if credential is None:
        return ()
    needs = (
        SecurityNeed(ANY_SCHEME, "http", method="bearer"),
        SecurityNeed(ANY_SCHEME, "http", method="basic"),
    )
    found = (Grant(need, credential) for need in needs if _satisfies(credential, need))
    return tuple(found)[:1]


def _grant(need: SecurityNeed, credentials: Credentials) -> Grant | None:
    credential = credentials.get(need.scheme) or credentials.get(ANY_SCHEME)
    if credential is None or not _satisfies(credential, need):
        return None
    return Grant(need, credential)


def _satisfies(credential: CredentialSettings, need: SecurityNeed) -> bool:
    family = _family(need)
    if not _is_possible(need):
        return False
    if family == "apiKey":
        return bool(credential.api_key)
    if family == "basic":
        return bool(credential.username)
    token_url = credential.token_url or need.token_url
    return bool(credential.bearer or (credential.is_client and token_url))


def _is_possible(need: SecurityNeed) -> bool:
    """Whether there are credentials that would satisfy it."""
    if _family(need) != "apiKey":
        return _family(need) in _KEYS
    return bool(need.place and need.name) and (need.place != "header" or can_be_header(need.name))


def _family(need: SecurityNeed) -> str:
    return need.method.lower() if need.kind == "http" else need.kind


def _checked(grant: Grant, base_url: str) -> Grant:
    """Refuse to take a secret where only the document says that it belongs."""
    told = grant.need.token_url
    if not grant.takes_token or grant.credential.token_url or _is_at_host_of(told, base_url):
        return grant
    raise CredentialsMissing(
        f"The document says that tokens for {grant.need.scheme!r} are got at {told}, which is "
        "another host than the service's.",
        f'If that is right, add "tokenUrl": "{told}" beside `clientId` under `auth`.',
    )


def _is_at_host_of(token_url: str, base_url: str) -> bool:
    return urlsplit(token_url).netloc.lower() == urlsplit(base_url).netloc.lower()


def _missing(alternatives: tuple[tuple[SecurityNeed, ...], ...]) -> CredentialsMissing:
    ways = [" and ".join(map(_described, needs)) for needs in alternatives]
    wanted = [need for needs in alternatives for need in needs if _is_possible(need)]
    if not wanted:
        return CredentialsMissing(
            f"The operation wants {' or '.join(ways)}, which is not possible here.",
            "Use another operation, or ask who runs the service for another way in.",
        )
    need = wanted[0]
    return CredentialsMissing(
        f"The operation wants {' or '.join(ways)}, and the settings have no credentials for that.",
        f'add under `auth` of the service: "{need.scheme}": {{...}} with {_KEYS[_family(need)]}; '
        "${NAME} takes values from the environment.",
    )


def _described(need: SecurityNeed) -> str:
    return f"{need.scheme} ({f'{need.kind} {need.method}'.strip()})"


def _one_line(text: str, need: SecurityNeed) -> str:
    try:
        return one_line(text)
    except Unwritable:
        raise CredentialsMissing(
            f"The credentials for {need.scheme!r} have a line break or a control character.",
            "Look at the variable that they are taken from.",
        ) from None
