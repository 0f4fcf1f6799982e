"""Address, key and client of an OpenAI-compatible service."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from ...core.errors import ModelAuthenticationError, ModelError
from ...core.places import INTERNET, THIS_MACHINE, place_of_host
from ...core.util import trusted_certificates
from ...secrets.redactor import redact_url
from ...secrets.secrets import Secret, Secrets
from .errors import ModelService, display_url, no_key_error

if TYPE_CHECKING:
    from openai import AsyncOpenAI

# A reachable service accepts in a fraction of this; the rest of the limit is for the answer.
_CONNECT_SECONDS = 10.0
# Local servers need no key, but the client library insists on sending one.
_UNUSED_KEY = "unused"
# `google/gemini` in `google/gemini-3-pro`: models of one family understand each other's fields.
_FAMILY = re.compile(r"(?:.*/)?[a-z.]*")
_DEFAULT_URL = "https://api.openai.com/v1"
_OWN_HOST = ".api.openai.com"
_DIGEST_CHARS = 8  # distinguishes addresses that differ only in hidden parts
_KEY_VARIABLES = {
    "openai": "OPENAI_API_KEY",
    "openai_responses": "OPENAI_API_KEY",
    "vertexai": "GOOGLE_API_KEY",
    "bedrock": "AWS_BEARER_TOKEN_BEDROCK",
    "cohere": "CO_API_KEY",
}  # the others follow the pattern ANTHROPIC_API_KEY for `anthropic`


@dataclass(frozen=True)
class ModelAccess:
    """Provider, model, address and key of a service; makes its client."""

    provider: str
    model: str
    base_url: str = field(repr=False)  # may contain a password
    api_key: Secret | None
    node: str = "AgentModel"  # node with these ports, for messages

    @property
    def url(self) -> str:
        """Return the service's address; empty for OpenAI's own."""
        return _url_or_default(self.base_url)

    def service(self, silence_seconds: float) -> ModelService:
        """Return the service for error messages."""
        user, password = _credentials(self.url)
        key = self.key
        secrets = Secrets([key or "", password, f"{user}:{password}" if user else ""])
        needs_own_key = not self.api_key and not self._is_at_home()
        return ModelService(
            self.provider, self.model, self.url, silence_seconds, needs_own_key, self.node,
            secrets=secrets,
        )  # fmt: skip

    @property
    def service_id(self) -> str:
        """Return a name for this service from provider, model family and address.

        It marks the fields that the service adds to messages. It reveals no key and no password.
        """
        url = self.bare_url.rstrip("/") or _DEFAULT_URL
        digest = hashlib.sha256(url.encode()).hexdigest()[:_DIGEST_CHARS]
        url_text = redact_url(display_url(url))
        return f"{self.provider} {family_of(self.model)} at {url_text} ({digest})"

    @property
    def bare_url(self) -> str:
        """Return the address without user and password."""
        parts = _parts(self.url)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()

    def open(self, timeout_seconds: float) -> AsyncOpenAI:
        """Make the client, after `check`. The first call takes a second; use a thread.

        Raises:
            ModelError: the environment names a proxy or certificates that cannot be used.
        """
        import httpx2
        import openai

        connect = min(_CONNECT_SECONDS, timeout_seconds)
        timeout = openai.Timeout(timeout_seconds, connect=connect)
        try:
            http = openai.DefaultAsyncHttpxClient(**self.http_options(), timeout=timeout)
            return openai.AsyncOpenAI(
                **self.identity(), timeout=timeout, max_retries=0, http_client=http
            )
        except httpx2.InvalidURL:
            words = ""  # with a `/` in a proxy's password, it quotes that as the port
        except (ImportError, OSError, ValueError) as cause:
            words = str(cause)
        # Raised outside `except`: the cause may hold a proxy's password.
        what = "cannot be asked: this environment's proxy or certificates cannot be used"
        step = "Check HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, SSL_CERT_FILE and SSL_CERT_DIR."
        raise ModelError(self.service(timeout_seconds).message(what, step, words))

    def check(self, timeout_seconds: float) -> None:
        """Check the address and the key before use.

        Raises:
            ModelError: the key is missing, or the address or the key is malformed.
        """
        key = self.key
        service = self.service(timeout_seconds)
        if self.url and not _is_web_address(self.url):
            step = "Write it in full, such as http://localhost:11434/v1."
            raise ModelError(service.message("cannot be asked: `base_url` is no web address", step))
        if key and not _is_plausible_key(key):
            what = "cannot be asked: the API key has spaces or letters that no key has"
            raise ModelAuthenticationError(service.message(what, f"Check {service.key_places}."))
        if not key and not is_local(self.url):
            raise no_key_error(service)

    def http_options(self) -> dict[str, Any]:
        """Return the HTTP client's arguments for certificates, password and proxy.

        Raises:
            OSError: the environment's certificates cannot be read.
        """
        user, password = _credentials(self.url)
        place = place_of_host(_parts(self.url).hostname or "") or ""
        return {
            # The client's own would load this machine's certificates for each run.
            "verify": trusted_certificates(),
            # Not in the address, which the HTTP client logs.
            "auth": (user, password) if user or password else None,
            # No proxy of the environment reaches a server on this machine.
            "trust_env": not place.startswith(THIS_MACHINE),
        }

    def identity(self) -> dict[str, Any]:
        """Return the client's arguments for address, key and headers."""
        import openai

        key = self.key
        bearer = key.reveal() if key else _UNUSED_KEY
        headers: dict[str, Any] = {}
        if not self._is_at_home():
            # The client reads the environment itself, but its values there are for OpenAI.
            lines = os.environ.get("OPENAI_CUSTOM_HEADERS", "").split("\n")
            names = {x.partition(":")[0].strip() for x in lines if ":" in x}
            headers = dict.fromkeys({*names, "OpenAI-Organization", "OpenAI-Project"}, openai.omit)
            # Omitting this header would omit the key as well.
            headers |= {x: f"Bearer {bearer}" for x in names if x.lower() == "authorization"}
        parts = _parts(self.bare_url)
        return {
            "base_url": parts._replace(query="").geturl() or None,
            "default_query": dict(parse_qsl(parts.query)),  # such as Azure's `?api-version=`
            "api_key": bearer,
            "default_headers": headers,
        }

    @property
    def key(self) -> Secret | None:
        """Return the key to send. The environment's key goes to its own service only."""
        own = os.environ.get("OPENAI_API_KEY", "") if self._is_at_home() else ""
        text = self.api_key.reveal() if self.api_key else own
        return Secret(text.strip()) if text.strip() else None

    def _is_at_home(self) -> bool:
        return not self.base_url or is_home(self.base_url.strip())


def key_variable(provider: str) -> str:
    """Return the environment variable with a provider's key."""
    return _KEY_VARIABLES.get(provider, f"{provider.upper()}_API_KEY")


def family_of(model: str) -> str:
    """Return a model's name up to its first digit or hyphen."""
    match = _FAMILY.match(model.lower())
    return match[0] if match else ""


def is_openai_address(base_url: str) -> bool:
    """Return whether OpenAI itself is at this address; an empty one is the default."""
    url = _url_or_default(base_url)
    return not url or _is_own(url)


def is_home(url: str) -> bool:
    """Return whether the environment's key is for this address.

    It is for OpenAI's own address and for OPENAI_BASE_URL, if set.
    """
    default = os.environ.get("OPENAI_BASE_URL", "").strip()
    if default and _address(url) == _address(default):
        return True
    return _is_own(url) and (not default or _is_own(default))


def is_local(url: str) -> bool:
    """Return whether the address is on this machine or network; such servers need no key."""
    host = _parts(url).hostname or ""
    if place := place_of_host(host):
        return place != INTERNET
    # A name without a dot is a container, or a host in the local network.
    return bool(host) and ("." not in host or host.endswith((".local", ".internal")))


def _url_or_default(base_url: str) -> str:
    return (base_url or os.environ.get("OPENAI_BASE_URL", "")).strip()


def _is_own(url: str) -> bool:
    parts = _parts(url)
    host = f".{(parts.hostname or '').rstrip('.')}"
    return parts.scheme == "https" and host.endswith(_OWN_HOST)


def _address(url: str) -> tuple[Any, ...]:
    """Return an address's identity: no credentials, no parameters, no trailing slash."""
    parts = _parts(url)
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    return parts.scheme, parts.hostname, port, parts.path.rstrip("/")


def _is_plausible_key(key: Secret) -> bool:
    text = key.reveal()
    return text.isascii() and not any(x.isspace() for x in text)


def _credentials(url: str) -> tuple[str, str]:
    parts = _parts(url)
    return unquote(parts.username or ""), unquote(parts.password or "")


def _is_web_address(url: str) -> bool:
    parts = _parts(url)
    return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0


def _parts(url: str) -> SplitResult:
    """Return an address's parts, all empty for an unclosed bracket or an invalid port."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return SplitResult("", "", "", "", "")
    return parts
