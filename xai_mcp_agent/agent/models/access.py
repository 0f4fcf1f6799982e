"""Whom an OpenAI model asks and with what: the address, the key, the client made from them."""

from __future__ import annotations

import hashlib
import ipaddress
import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, unquote, urlsplit

from ...core.errors import ModelAuthenticationError, ModelError
from ...core.util import trusted_certificates
from ...secrets.redactor import redact_url
from ...secrets.secrets import Secret, Secrets
from .errors import Service, no_key_error, shown_url

if TYPE_CHECKING:
    from openai import AsyncOpenAI

# A reachable service accepts in a fraction of it; the rest of the limit is for the answer.
_CONNECT_SECONDS = 10.0
# Local servers want no key, but the client library wants to send one.
_UNUSED_KEY = "unused"
# `google/gemini` of `google/gemini-3-pro`: models of one family understand each other's fields.
_FAMILY = re.compile(r"(?:.*/)?[a-z.]*")
_DEFAULT_URL = "https://api.openai.com/v1"
_OWN_HOST = ".api.openai.com"
_DIGEST_CHARS = 8  # tells apart addresses whose secret parts are not shown
_KEY_VARIABLES = {
    "openai": "OPENAI_API_KEY",
    "openai_responses": "OPENAI_API_KEY",
    "vertexai": "GOOGLE_API_KEY",
    "bedrock": "AWS_BEARER_TOKEN_BEDROCK",
    "cohere": "CO_API_KEY",
}  # all others are as ANTHROPIC_API_KEY of `anthropic`


@dataclass(frozen=True)
class Access:
    """Whom to ask and with what; makes the client."""

    provider: str
    model: str
    base_url: str | None = field(repr=False)  # a password may stand in it
    api_key: Secret | None
    node: str = "AgentModel"  # whose ports these are, for messages

    @property
    def url(self) -> str:
        """The address that is asked; empty where it is OpenAI's own."""
        return (self.base_url or os.environ.get("OPENAI_BASE_URL", "")).strip()

    def service(self, silence_seconds: float) -> Service:
        """For messages."""
        user, password = _credentials(self.url)
        key = self.key
        secrets = Secrets([key or "", password, f"{user}:{password}" if user else ""])
        key_from = "port" if self.api_key else "environment" if self._is_at_home() else "nowhere"
        return Service(
            self.provider, self.model, self.url, silence_seconds, key_from, self.node,
            secrets=secrets,
        )  # fmt: skip

    @property
    def service_id(self) -> str:
        """What tells this service from others: the provider, the model's family, the address.

        For the messages that it adds something to; no key and no password can be read in it.
        """
        url = self.bare_url.rstrip("/") or _DEFAULT_URL
        digest = hashlib.sha256(url.encode()).hexdigest()[:_DIGEST_CHARS]
        shown = redact_url(shown_url(url))
        return f"{self.provider} {family_of(self.model)} at {shown} ({digest})"

    @property
    def bare_url(self) -> str:
        """The address without user and password."""
        parts = _parts(self.url)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()

    def open(self, timeout_seconds: float) -> AsyncOpenAI:
        """Make the client, after `check`. Takes a second the first time; call it in a thread."""
        import openai

        connect = min(_CONNECT_SECONDS, timeout_seconds)
        timeout = openai.Timeout(timeout_seconds, connect=connect)
        # The client's own would load the certificates of this machine for each run.
        http = openai.DefaultAsyncHttpxClient(
            verify=trusted_certificates(), timeout=timeout, auth=self.basic_auth
        )
        return openai.AsyncOpenAI(
            **self.identity(), timeout=timeout, max_retries=0, http_client=http
        )

    def check(self, timeout_seconds: float) -> None:
        """Look at the address and the key before they are used.

        Raises:
            ModelError: one of them is missing, or cannot be one.
        """
        key = self.key
        service = self.service(timeout_seconds)
        if self.url and not _is_web_address(self.url):
            step = "Write it in full, such as http://localhost:11434/v1."
            raise ModelError(service.says("cannot be asked: `base_url` is no web address", step))
        if key and not _could_be_a_key(key):
            what = "cannot be asked: the API key has spaces or letters that no key has"
            raise ModelAuthenticationError(service.says(what, f"Check {service.key_places}."))
        if not key and not is_local(self.url):
            raise no_key_error(service)

    @property
    def basic_auth(self) -> tuple[str, str] | None:
        """User and password of the address, for the HTTP client: it writes addresses into logs."""
        user, password = _credentials(self.url)
        return (user, password) if user or password else None

    def identity(self) -> dict[str, Any]:
        """The arguments of the client that say who asks and where."""
        import openai

        key = self.key
        bearer = key.reveal() if key else _UNUSED_KEY
        headers: dict[str, Any] = {}
        if not self._is_at_home():
            # What the client finds in the environment by itself is for OpenAI.
            lines = os.environ.get("OPENAI_CUSTOM_HEADERS", "").split("\n")
            named = {x.partition(":")[0].strip() for x in lines if ":" in x}
            headers = dict.fromkeys({*named, "OpenAI-Organization", "OpenAI-Project"}, openai.omit)
            # Left out, it would take the key with it.
            headers |= {x: f"Bearer {bearer}" for x in named if x.lower() == "authorization"}
        return {"base_url": self.bare_url or None, "api_key": bearer, "default_headers": headers}

    @property
    def key(self) -> Secret | None:
        """The key to send; that of the environment goes to the service it belongs to only."""
        own = os.environ.get("OPENAI_API_KEY", "") if self._is_at_home() else ""
        text = self.api_key.reveal() if self.api_key else own
        return Secret(text.strip()) if text.strip() else None

    def _is_at_home(self) -> bool:
        return not self.base_url or is_home(self.base_url.strip())


def key_variable(provider: str) -> str:
    """The environment variable with the key of a provider."""
    return _KEY_VARIABLES.get(provider, f"{provider.upper()}_API_KEY")


def family_of(model: str) -> str:
    """The name of a model up to its first digit or hyphen."""
    match = _FAMILY.match(model.lower())
    return match[0] if match else ""


def is_home(url: str) -> bool:
    """Whether the environment's key is for this address.

    It is for OpenAI's own, or for the one in OPENAI_BASE_URL where that is set.
    """
    named = os.environ.get("OPENAI_BASE_URL", "").strip()
    if named and _address(url) == _address(named):
        return True
    return _is_own(url) and (not named or _is_own(named))


def is_local(url: str) -> bool:
    """Whether the address is on this machine or this network, where servers want no key."""
    host = _parts(url).hostname or ""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        # A name without a dot is of this machine, of a container, or of the local network.
        return bool(host) and ("." not in host or host.endswith((".local", ".internal")))
    return address.is_private or address.is_loopback


def _is_own(url: str) -> bool:
    parts = _parts(url)
    host = f".{(parts.hostname or '').rstrip('.')}"
    return parts.scheme == "https" and host.endswith(_OWN_HOST)


def _address(url: str) -> tuple[Any, ...]:
    """What makes an address another one: all but credentials, parameters and a slash at the end."""
    parts = _parts(url)
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    return parts.scheme, parts.hostname, port, parts.path.rstrip("/")


def _could_be_a_key(key: Secret) -> bool:
    text = key.reveal()
    return text.isascii() and not any(x.isspace() for x in text)


def _credentials(url: str) -> tuple[str, str]:
    parts = _parts(url)
    return unquote(parts.username or ""), unquote(parts.password or "")


def _is_web_address(url: str) -> bool:
    parts = _parts(url)
    return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0


def _parts(url: str) -> SplitResult:
    """The parts of an address; empty ones where it has an unclosed bracket or an odd port."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return SplitResult("", "", "", "", "")
    return parts
