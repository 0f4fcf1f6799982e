"""Whom an OpenAI model asks and with what: the address, the key, the client made from them."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast
from urllib.parse import urlsplit

from ...core.errors import ModelAuthenticationError, ModelError
from ...settings.secrets import Secret, Secrets
from . import openai_errors as errors

if TYPE_CHECKING:
    from openai import AsyncOpenAI

OpenAIProvider: TypeAlias = Literal["openai", "bedrock", "vertexai"]

# A reachable service accepts in a fraction of it; the rest of the limit is for the answer.
_CONNECT_SECONDS = 10.0
# Local servers want no key, but the client library wants to send one.
_UNUSED_KEY = "unused"


@dataclass(frozen=True)
class Access:
    """Whom to ask and with what; makes the client."""

    provider: OpenAIProvider
    model: str
    base_url: str | None
    api_key: Secret | None

    @property
    def sent_model(self) -> str:
        """The model's name as the service knows it: Vertex AI wants the publisher in front."""
        google = self.provider == "vertexai" and not self.base_url and "/" not in self.model
        return f"google/{self.model}" if google else self.model

    def service(self, client: AsyncOpenAI | None) -> errors.Service:
        """For messages. Before there is a client, the address is what was asked for."""
        url = str(client.base_url) if client else self._asked_url()
        return errors.Service(self.provider, self.model, url, Secrets([self._key() or ""]))

    def open(self, timeout_seconds: float) -> AsyncOpenAI:
        """Make the client. Takes a second the first time; call it in a thread.

        Raises:
            ModelError: a key, a setting or a package is missing.
        """
        import openai

        connect = min(_CONNECT_SECONDS, timeout_seconds)
        timeout = openai.Timeout(timeout_seconds, connect=connect)
        try:
            client = openai.AsyncOpenAI(**self._identity(), timeout=timeout, max_retries=0)
            _ = client.chat.completions.with_raw_response  # Imports the rest, still in the thread.
        except (openai.OpenAIError, ValueError, TypeError) as cause:
            raise errors.model_error(cause, self.service(None)) from cause
        return client

    def _identity(self) -> dict[str, Any]:
        """The arguments of the client that say who asks and where."""
        if self.provider == "bedrock":
            return {"provider": self._bedrock()}
        if self.provider == "vertexai":
            return {"provider": self._vertex()}
        url = self._asked_url()
        service = self.service(None)
        if url and not _is_web_address(url):
            step = "Write it in full, such as http://localhost:11434/v1."
            raise ModelError(service.says("cannot be asked: `base_url` is no web address", step))
        key = self._key() or (_UNUSED_KEY if is_local(url) else "")
        if not key:
            raise errors.no_key_error(service)
        if not key.isascii() or any(x.isspace() for x in key):
            step = "Check `api_key` of AgentInit, or the environment variable OPENAI_API_KEY."
            what = "cannot be asked: the API key has spaces or letters that no key has"
            raise ModelAuthenticationError(service.says(what, step))
        return {"base_url": url or None, "api_key": key}

    def _bedrock(self) -> Any:
        from openai.providers import bedrock

        # What is not given is looked for by the provider, in AWS_... variables and profiles.
        given: dict[str, Any] = {"base_url": self.base_url, "api_key": self._key() or None}
        return bedrock(**{name: value for name, value in given.items() if value})

    def _vertex(self) -> Any:
        """Vertex AI; where the address is not given, its Chat Completions for Google's models.

        The library's own default address has the Responses API only.
        """
        from openai import providers

        key = self._key()
        vertex = cast(Any, providers).vertex  # Its credentials argument has no types.
        provider = vertex(base_url=self.base_url, token_provider=(lambda: key) if key else None)
        if self.base_url:
            return provider
        project, location = (os.environ[f"GOOGLE_CLOUD_{x}"] for x in ("PROJECT", "LOCATION"))
        host = "" if location == "global" else f"{location}-"
        path = f"projects/{project}/locations/{location}/endpoints/openapi"
        url = f"https://{host}aiplatform.googleapis.com/v1/{path}"
        return vertex(base_url=url, token_provider=(lambda: key) if key else None)

    def _asked_url(self) -> str:
        default = os.environ.get("OPENAI_BASE_URL", "") if self.provider == "openai" else ""
        return (self.base_url or default).strip()

    def _key(self) -> str:
        default = os.environ.get("OPENAI_API_KEY", "") if self.provider == "openai" else ""
        return (self.api_key.reveal() if self.api_key else default).strip()


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
