"""How we may get access to one server: the `auth` of its entry in the settings."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal, TypeAlias

from ..core.sign_in import SIGN_IN_SECONDS
from .secrets import Secret

Use: TypeAlias = Literal["auto", "yes", "no"]
"""auto: sign in when the server asks for it in the way of OAuth. yes: whatever it answers 401."""
Grant: TypeAlias = Literal["authorization_code", "client_credentials"]
"""authorization_code: a person signs in. client_credentials: a machine, with its own secret."""
ClientAuthentication: TypeAlias = Literal["none", "client_secret_basic", "client_secret_post"]


@dataclass(frozen=True, repr=False)
class AuthSettings:
    """What to know before signing in; all of it optional, servers tell the rest.

    `client_id`, `client_secret` and `private_key` are those of a client that somebody has
    registered; without them one is registered when it is needed, or `client_metadata_url` says who
    we are. `issuer` is the service that they belong to: they are given to no other. `redirect_uri`
    is where the browser brings the outcome; empty: a port of this machine, `redirect_port` or any.
    """

    use: Use = "auto"
    grant: Grant = "authorization_code"
    client_id: str = ""
    client_secret: Secret | None = None
    client_authentication: ClientAuthentication | None = None
    private_key: Secret | None = None
    private_key_file: str = ""
    signing_algorithm: str = "RS256"
    client_metadata_url: str = ""
    issuer: str = ""
    scopes: tuple[str, ...] = ()
    redirect_port: int = 0
    redirect_uri: str = ""
    sign_in_seconds: float = SIGN_IN_SECONDS

    @property
    def is_for_machines(self) -> bool:
        """Whether nobody has to sign in."""
        return self.grant == "client_credentials"

    @property
    def has_private_key(self) -> bool:
        """Whether the client proves itself with a signature."""
        return bool(self.private_key or self.private_key_file)

    def __repr__(self) -> str:
        """Only what was set; secrets hide themselves."""
        values = {x.name: getattr(self, x.name) for x in fields(self) if x.name != "use"}
        defaults = {x.name: x.default for x in fields(self)}
        told = [f"{name}={x!r}" for name, x in values.items() if x != defaults[name]]
        return f"AuthSettings({', '.join([f'use={self.use!r}', *told])})"
