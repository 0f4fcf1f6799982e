"""Models by name, with their settings, as a person chooses them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from ...core.errors import XaiMcpError
from ...core.imports import import_aside
from ...core.json import JsonObject
from ...core.names import did_you_mean
from ...secrets.redactor import redact_url
from ...secrets.secrets import Secret
from ..window import DEFAULT_WINDOW_TOKENS, ContextWindow
from .access import is_home, is_openai_address, key_variable
from .base import INSTALL, Model, ModelSettings

OFFLINE = "offline"
OPENAI = "openai"
NATIVE = ("anthropic", "google", "vertexai", "bedrock", "mistral", "groq", "cohere", "xai")
"""Providers with an API of their own, which need the extra `providers`."""
PROVIDERS = (OFFLINE, OPENAI, "openai_responses", *NATIVE)
_NOTHING: Mapping[str, str] = MappingProxyType({})


class UnknownProvider(XaiMcpError):
    """No such provider of models."""


def split_name(name: str, base_url: str = "") -> tuple[str, str]:
    """Split `openai:gpt-5-mini` into provider and model; the provider may be empty.

    Model names can contain colons and slashes, too: `llama3:8b`, `meta/llama-4`. OpenRouter's
    `anthropic/claude-x` and Groq's `openai/gpt-oss-120b`, at its `base_url`, are whole names.
    """
    for mark in ":/":
        provider, _, model = name.strip().partition(mark)
        provider = provider.strip().lower()
        is_openai = provider.startswith(OPENAI) and is_openai_address(base_url)
        if provider in PROVIDERS and (mark == ":" or is_openai):
            return provider, model.strip()
    return "", name.strip()


def unknown_provider(name: str) -> UnknownProvider:
    """Return the error for an unknown provider, naming the nearest."""
    hint = did_you_mean(name, PROVIDERS) or f"Did you mean 'openai:{name}'?"
    return UnknownProvider(f"No provider {name!r} of models. {hint} Known: {', '.join(PROVIDERS)}.")


@dataclass(frozen=True, kw_only=True)
class AgentModel:
    """A model of a provider, with its settings. None leaves a setting to the service.

    `provider` is `offline` (rules, no model), `openai` (also every compatible service, with its
    `base_url`), `openai_responses` or one of `NATIVE`; `name` is the model's name there. Without
    `api_key` the provider's usual environment variable counts. `context_tokens` is the size of the
    context window. The other fields are as on the node AgentModel.
    """

    provider: str = OFFLINE
    name: str = ""
    base_url: str = field(default="", repr=False)
    api_key: str | Secret | None = field(default=None, repr=False)
    context_tokens: int | None = None
    temperature: float | None = None
    max_output_tokens: int | None = None
    reasoning_effort: str | None = None
    extra_body: JsonObject = field(default_factory=dict[str, Any], repr=False)
    timeout_seconds: float | None = None
    turn_timeout_seconds: float | None = None

    @classmethod
    def of(cls, model: AgentModel | str, base_url: str = "") -> AgentModel:
        """Return the model for a name such as `openai:gpt-5-mini` or `offline`.

        The default provider is `openai`: `gpt-5-mini`, `llama3:8b`. `base_url` is its address.
        """
        if isinstance(model, AgentModel):
            return model
        provider, name = split_name(model, base_url)
        return cls(provider=provider or OPENAI, name=name, base_url=base_url)

    @property
    def secrets(self) -> list[Secret]:
        """Return the values that must not be shown anywhere."""
        address = [Secret(self.base_url)] if redact_url(self.base_url) != self.base_url else []
        return [*address, *([self._key] if self._key else [])]

    def window(self, model: Model) -> ContextWindow:
        """Return the context window of the opened model.

        Its service may have named the size earlier in this process. Rules take any length, and
        cannot summarize.
        """
        is_offline = self.provider == OFFLINE
        usual = 0 if is_offline else DEFAULT_WINDOW_TOKENS
        size = self.context_tokens or getattr(model, "window_tokens", 0) or usual
        return ContextWindow(size, self.max_output_tokens, sums_up=not is_offline)

    def open(self, env: Mapping[str, str] = _NOTHING) -> Model:
        """Return the model, not yet connected.

        `env` may hold its key, as the `.env` beside the settings does.

        Raises:
            UnknownProvider: there is no such provider, or it needs a model's name.
        """
        if self.provider == OFFLINE:
            import_aside(".offline", __package__)
            from .offline import OfflineModel

            return OfflineModel()
        if self.provider not in PROVIDERS:
            raise unknown_provider(self.provider)
        if not self.name:
            raise UnknownProvider(
                f"Provider {self.provider!r} needs the name of a model: set `agent_model`, for "
                "instance to the name your service lists. Provider 'offline' needs none."
            )
        api_key = self._key or _key_of_file(self.provider, self.base_url, env)
        if self.provider in NATIVE:
            return self._open_native(api_key)
        import_aside(".openai", __package__)
        if self.provider == OPENAI:
            from .chat import ChatModel as OpenAIModel
        else:
            from .responses import ResponsesModel as OpenAIModel
        return OpenAIModel(
            self.name, base_url=self.base_url, api_key=api_key, settings=self._settings
        )

    def _open_native(self, api_key: Secret | None) -> Model:
        if self.base_url:
            # Their libraries would send the provider's key from the environment there.
            raise UnknownProvider(
                f"Provider {self.provider!r} uses its own address: leave `base_url` out, or use "
                "provider 'openai' for a service there that is compatible with OpenAI's."
            )
        try:
            import_aside(".providers", __package__)
        except ImportError as cause:
            raise UnknownProvider(
                f"Provider {self.provider!r} needs a further package ({cause.name}). {INSTALL}"
            ) from cause
        from .providers import NativeModel

        return NativeModel(self.provider, self.name, api_key=api_key, settings=self._settings)

    @property
    def _settings(self) -> ModelSettings:
        usual = ModelSettings()
        return ModelSettings(
            self.temperature,
            self.max_output_tokens,
            self.reasoning_effort,
            self.extra_body,
            self.timeout_seconds or usual.timeout_seconds,
            self.turn_timeout_seconds,
        )

    @property
    def _key(self) -> Secret | None:
        return Secret(self.api_key) if isinstance(self.api_key, str) else self.api_key


def _key_of_file(provider: str, base_url: str, env: Mapping[str, str]) -> Secret | None:
    """Return the provider's own key, for its own address only. The environment's key wins."""
    name = key_variable(provider)
    key = "" if os.environ.get(name) else env.get(name, "")
    if not key or (base_url and not is_home(base_url.strip())):
        return None
    return Secret(key)
