"""Which providers there are, and the model behind a provider's name."""

from __future__ import annotations

from typing import Literal, TypeAlias

from ...core.errors import XaiMcpError
from ...core.imports import import_aside
from ...core.names import did_you_mean
from ...secrets.secrets import Secret
from .base import Model, ModelSettings

Provider: TypeAlias = Literal["offline", "openai", "openai_responses", "bedrock", "vertexai"]
PROVIDERS: tuple[Provider, ...] = (
    "offline",
    "openai",
    "openai_responses",
    "bedrock",
    "vertexai",
)


class UnknownProvider(XaiMcpError):
    """No such provider of models."""


def model_for(
    provider: str,
    model: str = "",
    *,
    base_url: str = "",
    api_key: Secret | None = None,
    settings: ModelSettings | None = None,
) -> Model:
    """The model to talk to. Nothing is connected yet.

    Raises:
        UnknownProvider: the name is none of `PROVIDERS`, or the provider wants a model's name.
    """
    settings = settings or ModelSettings()
    if provider == "offline":
        import_aside(".offline.model", __package__)
        from .offline.model import OfflineModel

        return OfflineModel()
    if provider not in ("openai", "openai_responses", "bedrock", "vertexai"):
        raise unknown_provider(provider)
    if not model:
        raise UnknownProvider(
            f"Provider {provider!r} wants the name of a model: set `agent_model`, for instance "
            "to the name your service lists. Provider 'offline' needs none."
        )
    import_aside(".openai", __package__)
    from .openai import OpenAIModel

    return OpenAIModel(
        model, provider=provider, base_url=base_url or None, api_key=api_key, settings=settings
    )


def model_named(name: str, *, base_url: str = "", settings: ModelSettings | None = None) -> Model:
    """The model of a name such as `openai:gpt-5-mini`; without a provider it is `openai`'s.

    Raises:
        UnknownProvider: a provider alone wants a model's name; `offline` wants none.
    """
    provider, model = split_name(name) or ("openai", name.strip())
    return model_for(provider, model, base_url=base_url, settings=settings)


def split_name(said: str) -> tuple[str, str] | None:
    """Provider and model of `openai:gpt-5-mini` or `openai/gpt-5-mini`; None without a provider.

    Names of models may have both signs in them: `llama3:8b`, `meta/llama-4`.
    """
    provider, _, model = said.strip().partition(":")
    if provider.strip().lower() not in PROVIDERS:
        provider, _, model = said.strip().partition("/")
    known = provider.strip().lower()
    return (known, model.strip()) if known in PROVIDERS else None


def unknown_provider(name: str) -> UnknownProvider:
    """The error for a provider that does not exist, naming the nearest."""
    hint = did_you_mean(name, PROVIDERS) or f"Did you mean 'openai:{name}'?"
    text = f"No provider {name!r} of models. {hint} Known: {', '.join(PROVIDERS)}."
    return UnknownProvider(text.replace("  ", " "))
