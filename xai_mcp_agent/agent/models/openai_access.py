"""Whom an OpenAI model asks and with what: the address, the key, the client made from them."""

from __future__ import annotations

import base64
import hashlib
import ipaddress
import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast
from urllib.parse import unquote, urlsplit

from ...core.errors import ModelAuthenticationError, ModelError
from ...core.util import trusted_certificates
from ...secrets.redactor import redact_url
from ...secrets.secrets import Secret, Secrets
from . import openai_errors as errors

if TYPE_CHECKING:
    from openai import AsyncOpenAI

OpenAIProvider: TypeAlias = Literal["openai", "openai_responses", "bedrock", "vertexai"]

# A reachable service accepts in a fraction of it; the rest of the limit is for the answer.
_CONNECT_SECONDS = 10.0
# Local servers want no key, but the client library wants to send one.
_UNUSED_KEY = "unused"
# `google/gemini` of `google/gemini-3-pro`: models of one family understand each other's fields.
_FAMILY = re.compile(r"(?:.*/)?[a-z.]*")
# Where the credentials that the environment has for a provider may go.
_OWN_HOSTS = {
    "openai": (".api.openai.com",),
    "bedrock": (".amazonaws.com", ".amazonaws.com.cn", ".api.aws"),
    "vertexai": (".googleapis.com",),
}
_DIGEST_CHARS = 8  # tells apart addresses whose secret parts are not shown


@dataclass(frozen=True)
class Access:
    """Whom to ask and with what; makes the client."""

    provider: OpenAIProvider
    model: str
    base_url: str | None = field(repr=False)  # a password may stand in it
    api_key: Secret | None
    node: str = "AgentModel"  # whose ports these are, for messages

    @property
    def sent_model(self) -> str:
        """The model's name as the service knows it: Vertex AI wants the publisher in front."""
        google = self.provider == "vertexai" and not self.base_url and "/" not in self.model
        return f"google/{self.model}" if google else self.model

    def service(self, client: AsyncOpenAI | None, silence_seconds: float) -> errors.Service:
        """For messages. Before there is a client, the address is what was asked for."""
        url = str(client.base_url) if client else self._asked_url()
        key = self._key()
        user_and_password = _credentials_in(self._asked_url())
        password = user_and_password.partition(":")[2]
        secrets = Secrets([key or "", user_and_password, password])
        return errors.Service(
            self.provider, self.model, url, silence_seconds, self._key_from(), self.node, secrets
        )

    def service_id(self, client: AsyncOpenAI) -> str:
        """What tells this service from others: the provider, the model's family, the address.

        For the messages that it adds something to; no key and no password can be read in it.
        """
        url = str(client.base_url)
        family = _FAMILY.match(self.sent_model.lower())
        digest = hashlib.sha256(url.encode()).hexdigest()[:_DIGEST_CHARS]
        shown = redact_url(errors.shown_url(url))
        return f"{self.provider} {family[0] if family else ''} at {shown} ({digest})"

    def open(self, timeout_seconds: float) -> AsyncOpenAI:
        """Make the client, after `check`. Takes a second the first time; call it in a thread.

        Raises:
            ModelError: a setting or a package is missing.
        """
        import openai

        connect = min(_CONNECT_SECONDS, timeout_seconds)
        timeout = openai.Timeout(timeout_seconds, connect=connect)
        try:
            # The client's own would load the certificates of this machine for each run.
            http = openai.DefaultAsyncHttpxClient(verify=trusted_certificates(), timeout=timeout)
            return openai.AsyncOpenAI(
                **self.identity(), timeout=timeout, max_retries=0, http_client=http
            )
        except (openai.OpenAIError, ValueError, TypeError) as cause:
            error = errors.model_error(cause, self.service(None, timeout_seconds))
        try:
            raise error  # out here: not chained to one that may quote what it was given
        finally:
            del error  # it holds this frame: held by it, both would stay for long

    def check(self, timeout_seconds: float) -> None:
        """Look at the address and the key before they are used.

        Raises:
            ModelError: one of them is missing, or cannot be one.
        """
        url, key = self._asked_url(), self._key()
        service = self.service(None, timeout_seconds)
        if self._whose == "openai" and url and not _is_web_address(url):
            step = "Write it in full, such as http://localhost:11434/v1."
            raise ModelError(service.says("cannot be asked: `base_url` is no web address", step))
        if key and not _could_be_a_key(key):
            step = f"Check {errors.where_keys_are(self.node)}."
            what = "cannot be asked: the API key has spaces or letters that no key has"
            raise ModelAuthenticationError(service.says(what, step))
        wants_one = self._whose == "openai" or not self._is_at_home()
        if wants_one and not key and not is_local(url):
            raise errors.no_key_error(service)

    def identity(self) -> dict[str, Any]:
        """The arguments of the client that say who asks and where."""
        if self.provider == "bedrock":
            return {"provider": self._bedrock()}
        if self.provider == "vertexai":
            return {"provider": self._vertex()}
        url, headers = self._asked_url(), self._headers()
        key = self._key()
        return {
            "base_url": _without_password(url) or None,
            "api_key": key.reveal() if key else _UNUSED_KEY,
            "default_headers": headers,
        }

    def _headers(self) -> dict[str, Any]:
        """What the client is to send in place of what it finds in the environment by itself."""
        import openai

        headers: dict[str, Any] = {}
        if not self._is_at_home():
            lines = os.environ.get("OPENAI_CUSTOM_HEADERS", "").split("\n")
            named = [x.partition(":")[0].strip() for x in lines if ":" in x]
            key = self._key()
            # Left out, it would take the key with it.
            bearer = f"Bearer {key.reveal() if key else _UNUSED_KEY}"
            headers = {x: bearer if x.lower() == "authorization" else openai.omit for x in named}
            headers |= {"OpenAI-Organization": openai.omit, "OpenAI-Project": openai.omit}
        if credentials := _credentials_in(self._asked_url()):
            # As the HTTP library makes it of such an address; but that one it writes into logs.
            encoded = base64.b64encode(credentials.encode()).decode()
            headers["Authorization"] = f"Basic {encoded}"
        return headers

    def _bedrock(self) -> Any:
        from openai.providers import bedrock

        # What is not given is looked for by the provider, in AWS_... variables and profiles.
        key = self._key()
        given: dict[str, Any] = {"base_url": self.base_url, "api_key": key.reveal() if key else ""}
        return bedrock(**{name: value for name, value in given.items() if value})

    def _vertex(self) -> Any:
        """Vertex AI; where the address is not given, its Chat Completions for Google's models.

        The library's own default address has the Responses API only.
        """
        from openai import providers

        key = self._key()
        vertex = cast(Any, providers).vertex  # Its credentials argument has no types.
        provider = vertex(base_url=self.base_url, token_provider=key.reveal if key else None)
        if self.base_url:
            return provider
        project, location = (os.environ[f"GOOGLE_CLOUD_{x}"] for x in ("PROJECT", "LOCATION"))
        host = "" if location == "global" else f"{location}-"
        path = f"projects/{project}/locations/{location}/endpoints/openapi"
        url = f"https://{host}aiplatform.googleapis.com/v1/{path}"
        return vertex(base_url=url, token_provider=key.reveal if key else None)

    @property
    def _whose(self) -> str:
        return errors.whose(self.provider)

    def _asked_url(self) -> str:
        default = os.environ.get("OPENAI_BASE_URL", "") if self._whose == "openai" else ""
        return (self.base_url or default).strip()

    def _key(self) -> Secret | None:
        """The key to send; that of the environment goes to the service it belongs to only."""
        text = self.api_key.reveal() if self.api_key else self._environment_key()
        return Secret(text.strip()) if text.strip() else None

    def _key_from(self) -> errors.KeyFrom:
        if self.api_key:
            return "port"
        return "environment" if self._is_at_home() else "nowhere"

    def _environment_key(self) -> str:
        ours = self._whose == "openai" and self._is_at_home()
        return os.environ.get("OPENAI_API_KEY", "") if ours else ""

    def _is_at_home(self) -> bool:
        """Whether the address is the one that the credentials of the environment are for."""
        url = (self.base_url or "").strip()
        return not url or is_home(self.provider, url)


def is_home(provider: OpenAIProvider, url: str) -> bool:
    """Whether the environment's credentials for this provider are for this address.

    They are for the provider's own addresses; a key in OPENAI_API_KEY is for the one in
    OPENAI_BASE_URL where that is set.
    """
    named = (
        os.environ.get("OPENAI_BASE_URL", "").strip() if errors.whose(provider) == "openai" else ""
    )
    if named and _address(url) == _address(named):
        return True
    return _is_own(provider, url) and (not named or _is_own(provider, named))


def _is_own(provider: OpenAIProvider, url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    host = f".{(parts.hostname or '').rstrip('.')}"
    return parts.scheme == "https" and host.endswith(_OWN_HOSTS[errors.whose(provider)])


def _address(url: str) -> tuple[Any, ...]:
    """What makes an address another one: all but credentials, parameters and a slash at the end."""
    try:
        parts = urlsplit(url)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return (url,)
    return parts.scheme, parts.hostname, port, parts.path.rstrip("/")


def _could_be_a_key(key: Secret) -> bool:
    text = key.reveal()
    return text.isascii() and not any(x.isspace() for x in text)


def _credentials_in(url: str) -> str:
    """User and password of an address, as Basic authentication has them; empty without any."""
    credentials, at, _ = _authority(url).rpartition("@")
    user, _, password = credentials.partition(":")
    return f"{unquote(user)}:{unquote(password)}" if at else ""


def _without_password(url: str) -> str:
    authority = _authority(url)
    return url.replace(authority, authority.rpartition("@")[2], 1) if "@" in authority else url


def _authority(url: str) -> str:
    try:
        return urlsplit(url).netloc
    except ValueError:
        return ""


def _is_web_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:  # An unclosed bracket, or a port that cannot be one.
        return False


def is_local(url: str) -> bool:
    """Whether the address is on this machine or this network, where servers want no key."""
    host = urlsplit(url).hostname or ""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        # A name without a dot is of this machine, of a container, or of the local network.
        return bool(host) and ("." not in host or host.endswith((".local", ".internal")))
    return address.is_private or address.is_loopback
