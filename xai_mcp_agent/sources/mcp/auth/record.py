"""What is kept about the access to one server, as a value and as JSON."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from typing import Any, cast

# A token is renewed this long before it ends, or a tenth of its life if that is shorter: a request
# takes its time, and clocks differ.
_EARLY_SECONDS = 30.0
_EARLY_SHARE = 0.1


@dataclass(frozen=True, repr=False)
class Record:
    """The access to the server at `url` that `issuer` gave, in the shapes that OAuth gives them.

    `expires_at` is in seconds since 1970. `client` is who we are to the issuer, `service` what it
    says of itself, `resource` what the server says of itself. Printing it shows no secret.
    """

    url: str
    issuer: str = ""
    tokens: dict[str, Any] | None = None
    expires_at: float | None = None
    client: dict[str, Any] | None = None
    service: dict[str, Any] | None = None
    resource: dict[str, Any] | None = None

    @property
    def access_token(self) -> str:
        """The token that goes with requests; empty if there is none."""
        return str((self.tokens or {}).get("access_token") or "")

    @property
    def can_be_renewed(self) -> bool:
        """Whether a new token can be had without a person: where to ask must be known, too."""
        return bool((self.tokens or {}).get("refresh_token") and self.client and self.service)

    def is_fresh(self) -> bool:
        """Whether there is a token that has not ended yet, as far as is known."""
        if not self.access_token:
            return False
        if self.expires_at is None:
            return True
        life = (self.tokens or {}).get("expires_in") or 0
        early = min(_EARLY_SECONDS, life * _EARLY_SHARE) if self.can_be_renewed else 0.0
        return time.time() < self.expires_at - early

    def secrets(self) -> Iterator[str]:
        """The texts in it that nobody may see."""
        tokens, client = self.tokens or {}, self.client or {}
        for text in (
            tokens.get("access_token"),
            tokens.get("refresh_token"),
            client.get("client_secret"),
        ):
            if isinstance(text, str):
                yield text

    def as_json(self) -> str:
        """For a file."""
        return json.dumps(asdict(self), indent=1)

    @classmethod
    def of_json(cls, text: str, url: str) -> Record | None:
        """What a file holds, if it can be used and is about this URL."""
        try:
            found: Any = json.loads(text)
        except (ValueError, RecursionError):
            return None
        if not isinstance(found, dict):
            return None
        inside = cast(dict[str, Any], found)
        known: dict[str, Any] = {x.name: inside.get(x.name) for x in fields(cls)}
        return cls(**known) if known["url"] == url and _is_sound(known) else None

    def __repr__(self) -> str:
        has = "a token" if self.tokens else "no token"
        return f"<Record of {self.url}: {has}, issuer {self.issuer or 'unknown'}>"


def _is_sound(known: dict[str, Any]) -> bool:
    parts = [known[x] for x in ("tokens", "client", "service", "resource")]
    tokens = known["tokens"] or {"access_token": ""}
    return (
        all(x is None or isinstance(x, dict) for x in parts)
        and isinstance(known["issuer"], str)
        and isinstance(known["expires_at"], int | float | None)
        and isinstance(tokens.get("access_token"), str)
        and isinstance(tokens.get("expires_in"), int | float | None)
    )
