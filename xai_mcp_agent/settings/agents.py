"""Agents of others as tools: an entry under `agents`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias

from ..core.kinds import ACP
from ..secrets.redactor import redact_url, secrets_in_headers, secrets_in_text
from ..secrets.secrets import MASK
from .document import Place
from .entry import OURS, START_TIMEOUT_SECONDS, Seconds, SourceSettings, Texts, spelled
from .http import Address, Headers, HeaderText
from .interpolation import Variables

AgentProtocol: TypeAlias = Literal["a2a", "acp"]
"""a2a: A2A 1.0, and 0.3. acp: the REST interface of BeeAI's ACP, which has become part of A2A."""

# Agents think, and call tools of their own.
_CALL_TIMEOUT_SECONDS = 300.0


@dataclass(frozen=True, kw_only=True, repr=False)
class AgentSettings(SourceSettings):
    """One agent. Its card may send calls to its own host, and to those in `allowed_hosts`.

    `bearer` is a token that is sent as `Authorization`. With `include` only these of its skills are
    tools, and never those in `exclude`. `start_timeout_seconds` is the limit for reading its card.
    """

    kind: ClassVar = ACP
    noun: ClassVar = "agent"
    shapes: ClassVar = ('{"url": ...}',)

    transport: Annotated[str, OURS] = "a2a"
    url: Address = field(repr=False)
    protocol: AgentProtocol = "a2a"
    headers: Headers = field(default_factory=dict[str, str], hash=False)
    bearer: HeaderText = field(default="", repr=False)
    allowed_hosts: Annotated[Texts, spelled("allowedHosts")] = ()
    include: Texts = ()
    exclude: Texts = ()
    call_timeout_seconds: Annotated[Seconds, spelled("timeout")] = _CALL_TIMEOUT_SECONDS
    start_timeout_seconds: Annotated[Seconds, spelled("startTimeout")] = START_TIMEOUT_SECONDS

    @classmethod
    def read(cls, name: str, value: Any, place: Place, variables: Variables) -> Self:
        """See `SourceSettings.read`."""
        found = super().read(name, value, place, variables)
        if found.bearer and any(x.lower() == "authorization" for x in found.headers):
            problem = "both `bearer` and the header `Authorization` are given."
            raise place.error(problem, "Remove one of them.")
        variables.secrets.update(found.secret_texts())
        return replace(found, transport=found.protocol)

    @property
    def origin(self) -> object:
        """The address."""
        return self.url

    @property
    def sent_headers(self) -> dict[str, str]:
        """The headers of every request to the agent."""
        return self.headers | ({"Authorization": f"Bearer {self.bearer}"} if self.bearer else {})

    def secret_texts(self) -> Iterator[str]:
        """What is secret in its texts."""
        bearer = [self.bearer] if self.bearer else []
        return chain(secrets_in_text(self.url), secrets_in_headers(self.headers), bearer)

    def _shown(self) -> Mapping[str, Any]:
        headers = dict.fromkeys(self.headers, MASK)
        return {"url": self.secrets.redact(redact_url(self.url)), "headers": headers}
